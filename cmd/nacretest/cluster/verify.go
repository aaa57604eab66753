package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nacredb/nacre/engine/value"
)

// verify holds each server to what any of them has acknowledged. All writers have stopped.
func (r *round) verify(ctx context.Context) error {
	for w := range r.writers { // what is not known yet is settled by sending it again
		rm := r.roamer("ws", w)
		for r.writers[w].unsure {
			if _, err := r.step(ctx, rm, w); err != nil {
				return fmt.Errorf("writer %d: %w", w, err)
			}
		}
		rm.Leave()
	}
	failed := make([]error, r.f.Size())
	var looking sync.WaitGroup
	for i := range r.f.Size() {
		looking.Go(func() {
			if err := r.verifyAt(ctx, i); err != nil {
				failed[i] = fmt.Errorf("server %d: %w", i, err)
			}
		})
	}
	looking.Wait()
	return errors.Join(failed...)
}

// look is a question and its only right answer.
type look struct {
	ask  string
	want int
}

// verifyAt looks at everything through one server.
func (r *round) verifyAt(ctx context.Context, i int) error {
	rm := r.roamer("ws", i)
	defer rm.Leave()
	ask := func(text string) (value.Value, error) {
		answers, err := untilDone(ctx, rm, text)
		if err != nil {
			return value.None, err
		}
		return answers[0].Value, nil
	}
	for _, l := range r.looks() {
		got, err := ask("RETURN " + l.ask)
		if err != nil {
			return err
		}
		if got.Int() != int64(l.want) {
			return fmt.Errorf("%s is %s, not %d", l.ask, got.Text(), l.want)
		}
	}
	for table, field := range map[string]string{"part": "tag", "uniq": "mail", "race": "mail"} {
		got, err := ask(fmt.Sprintf(`RETURN array::sort(SELECT VALUE id FROM %[1]s WHERE %[2]s > '') = array::sort(SELECT VALUE id FROM %[1]s WITH NOINDEX WHERE %[2]s > '')`,
			table, field))
		if err != nil {
			return err
		}
		if !got.Bool() {
			return fmt.Errorf("the index of %s and a scan of it differ", table)
		}
	}
	if err := r.registered(ask); err != nil {
		return err
	}
	return r.verifyRaces(ask)
}

// looks are the totals, and the last transactions of each writer.
func (r *round) looks() []look {
	sum := 0
	var all []look
	for w := range r.writers {
		n := r.writers[w].acked
		sum += n
		from := max(1, n-20)
		span := n - from + 1
		all = append(all, look{fmt.Sprintf("counter:%d.n ?? 0", w), n})
		if n == 0 {
			continue
		}
		for _, l := range []look{
			{"count(SELECT VALUE id FROM part:[%[1]d, %[2]d]..=[%[1]d, %[3]d, 9])", 2 * span},
			{"count(array::flatten(SELECT VALUE ->follows->part FROM part:[%[1]d, %[2]d]..=[%[1]d, %[3]d, 9]))", span},
			{"count(SELECT VALUE id FROM uniq WHERE mail = 'w%[1]d-%[3]d@example.org')", 1},
		} {
			all = append(all, look{fmt.Sprintf(l.ask, w, from, n), l.want})
		}
		tagged := look{fmt.Sprintf("count(SELECT VALUE id FROM part WHERE tag = 't%d-%d')", w, n/perTag), 2 * min(n, n%perTag+1)}
		all = append(all, tagged)
	}
	return append(all, look{"math::sum(SELECT VALUE n FROM shared)", sum},
		look{"math::sum(SELECT VALUE n FROM account)", accounts * opening},
		look{"(SELECT count() FROM part GROUP ALL)[0].count ?? 0", 2 * sum}, look{"count(SELECT VALUE id FROM part)", 2 * sum},
		look{"(SELECT count() FROM uniq GROUP ALL)[0].count ?? 0", sum}, look{"count(SELECT VALUE id FROM follows)", sum},
		look{"(SELECT count() FROM bulk GROUP ALL)[0].count ?? 0", r.rows})
}

// verifyRaces: each unique value is there once, and the writer who was told that it won has won.
func (r *round) verifyRaces(ask func(string) (value.Value, error)) error {
	got, err := ask("SELECT mail, by FROM race WITH NOINDEX")
	if err != nil {
		return err
	}
	by := map[string]int64{}
	for _, row := range got.Elems() {
		mail, _ := row.Object().Get("mail")
		winner, _ := row.Object().Get("by")
		if _, twice := by[mail.Str()]; twice {
			return fmt.Errorf("the unique value %s is there twice", mail.Str())
		}
		by[mail.Str()] = winner.Int()
	}
	for n, w := range r.winners {
		if have, ok := by[fmt.Sprintf("m%d", n)]; !ok || have != int64(w) {
			return fmt.Errorf("writer %d was told that it won race %d: it is there %v, by %d", w, n, ok, have)
		}
	}
	return nil
}

// registered: the register has each server that is there. One that was killed may stay for a while.
func (r *round) registered(ask func(string) (value.Value, error)) error {
	got, err := ask("RETURN (INFO FOR ROOT STRUCTURE).nodes")
	if err != nil {
		return err
	}
	listed := map[string]bool{}
	for _, row := range got.Elems() {
		at, _ := row.Object().Get("address")
		listed[at.Str()] = true
	}
	for i := range r.f.Size() {
		if at := r.f.At(i).Addr; !listed[at] {
			return fmt.Errorf("server %d at %s is not among those that are listed: %s", i, at, got.Text())
		}
	}
	return nil
}
