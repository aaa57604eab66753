package isolation

import (
	"context"
	"errors"
	"fmt"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/anomaly"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/value"
)

// sqlConn works with statements. run runs some in one transaction; framed says that the answers of
// BEGIN and COMMIT are among those that it gives.
type sqlConn struct {
	run    func(ctx context.Context, stmts []string) ([]client.Result, error)
	framed bool
	end    func() error
}

func (c *sqlConn) close() error {
	if c.end == nil {
		return nil
	}
	return c.end()
}

// transact runs statements in one transaction and gives a value for each, when it was committed.
func (c *sqlConn) transact(ctx context.Context, stmts []string) ([]value.Value, anomaly.Status, error) {
	answers, err := c.run(ctx, stmts)
	if errors.Is(err, errClosed) {
		return nil, anomaly.Unknown, errClosed
	}
	if err != nil {
		return nil, anomaly.Unknown, err
	}
	switch outcome, err := harness.OutcomeOf(harness.FirstError(answers)); {
	case err != nil, outcome == harness.Unsure:
		return nil, anomaly.Unknown, err
	case outcome == harness.NotDone:
		return nil, anomaly.Aborted, nil
	}
	if c.framed {
		answers = answers[1 : len(answers)-1]
	}
	if len(answers) != len(stmts) {
		return nil, anomaly.Unknown, fmt.Errorf("%d answers to %d statements", len(answers), len(stmts))
	}
	out := make([]value.Value, len(answers))
	for i, a := range answers {
		out[i] = a.Value
	}
	return out, anomaly.Committed, nil
}

func (c *sqlConn) appends(ctx context.Context, ops []anomaly.Op) (anomaly.Status, error) {
	stmts := make([]string, len(ops))
	for i, op := range ops {
		if op.Read {
			stmts[i] = fmt.Sprintf("SELECT VALUE v FROM ONLY list:%d", op.Key)
		} else {
			stmts[i] = fmt.Sprintf("UPSERT list:%d SET v = array::append(v ?? [], %d) RETURN NONE", op.Key, op.Value)
		}
	}
	values, status, err := c.transact(ctx, stmts)
	if status != anomaly.Committed || err != nil {
		return status, err
	}
	for i := range ops {
		if ops[i].Read {
			ops[i].List = ints(values[i])
		}
	}
	return status, nil
}

// ints are the elements of an array; NONE has none.
func ints(v value.Value) []int {
	if v.Kind() != value.KindArray {
		return nil
	}
	out := make([]int, v.Len())
	for i, e := range v.Elems() {
		out[i] = int(e.Int())
	}
	return out
}

func (c *sqlConn) transfer(ctx context.Context, id string, from, to int, amount int64) (anomaly.Status, error) {
	_, status, err := c.transact(ctx, []string{
		fmt.Sprintf(`{
			LET $have = SELECT VALUE balance FROM ONLY account:%[1]d;
			IF $have >= %[3]d {
				UPDATE account:%[1]d SET balance = $have - %[3]d;
				UPDATE account:%[2]d SET balance += %[3]d;
			};
		}`, from, to, amount),
		fmt.Sprintf("CREATE transfer:⟨%s⟩ SET from = %d, to = %d", id, from, to),
	})
	return status, err
}

func (c *sqlConn) balances(ctx context.Context, split bool) ([]int64, anomaly.Status, error) {
	stmts := []string{"SELECT VALUE balance FROM account"}
	if split {
		stmts = []string{fmt.Sprintf("SELECT VALUE balance FROM account:..%d", accounts/2),
			fmt.Sprintf("SELECT VALUE balance FROM account:%d..", accounts/2)}
	}
	values, status, err := c.transact(ctx, stmts)
	var out []int64
	for _, v := range values {
		for _, n := range ints(v) {
			out = append(out, int64(n))
		}
	}
	return out, status, err
}

func (c *sqlConn) transfers(ctx context.Context) (map[string]bool, error) {
	values, _, err := c.transact(ctx, []string{"SELECT VALUE record::id(id) FROM transfer"})
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, v := range values[0].Elems() {
		out[v.Str()] = true
	}
	return out, nil
}

// open makes the accounts.
func (c *sqlConn) open(ctx context.Context) error {
	var stmts []string
	for i := range accounts {
		stmts = append(stmts, fmt.Sprintf("CREATE account:%d SET balance = %d", i, opening))
	}
	_, status, err := c.transact(ctx, stmts)
	if err == nil && status != anomaly.Committed {
		err = errors.New("the accounts could not be made")
	}
	return err
}
