package rpc

import (
	"context"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// The names that the fixed statements bind. They win over a client's variables of the same name.
const (
	varWhat = "_what"
	varData = "_data"
	varFrom = "_from"
	varWith = "_with"
)

// bind makes the variables of a call: the client's, then ours.
func bind(vars value.Value, ours ...value.Field) *value.Object {
	if vars.Kind() != value.KindObject || vars.Object().Len() == 0 {
		return value.NewObject(ours...)
	}
	theirs := vars.Object().Fields()
	all := make([]value.Field, 0, len(theirs)+len(ours))
	return value.NewObject(append(append(all, theirs...), ours...)...) // of equal names the last wins
}

// target reads what a call works on. Text names a table; in JSON, which has no other way to name one, text
// that spells a record id is that record.
func (k *call) target(v value.Value) value.Value {
	if v.Kind() != value.KindString {
		return v
	}
	if k.req.Format == wire.JSON {
		if id, ok := recordText(v.Str()); ok {
			return id
		}
	}
	return value.TableOf(v.Str())
}

// single reports whether v names exactly one record.
func single(v value.Value) bool {
	return v.Kind() == value.KindRecord && v.Record().Key.Kind() != value.KindRange
}

// split takes a trailing object of per-call variables off the parameters: n is how many come before it.
func (k *call) split(n int) value.Value {
	p := k.req.Params
	if len(p) == n+1 && p[n].Kind() == value.KindObject {
		k.req.Params = p[:n]
		return p[n]
	}
	return value.None
}

// statement runs one fixed statement and gives its value; one says that the list it makes has one record to unwrap.
func (k *call) statement(ctx context.Context, text string, vars *value.Object, one bool) (wire.Response, error) {
	results, err := k.conn.srv.execute(ctx, k.session.engine, k.tx, text, vars, !one && k.req.Format == wire.CBOR)
	if err != nil {
		return wire.Response{}, err
	}
	if len(results) == 0 {
		return answer(value.None), nil
	}
	if results[0].Err != nil {
		return wire.Response{}, results[0].Err
	}
	if results[0].Rows != nil {
		return wire.Response{Rows: results[0].Rows}, nil
	}
	v := results[0].Value
	if one && v.Kind() == value.KindArray {
		if v.Len() == 0 {
			return answer(value.None), nil
		}
		v = v.Elems()[0]
	}
	return answer(v), nil
}

func query(ctx context.Context, k *call) (wire.Response, error) {
	text, vars, err := k.queryParams()
	if err != nil {
		return wire.Response{}, err
	}
	return statementsOf(k.conn.srv.execute(ctx, k.session.engine, k.tx, text, vars, k.req.Format == wire.CBOR))
}

// gql runs a program in ISO GQL: [program, vars?]. It answers as query does, with one result.
func gql(ctx context.Context, k *call) (wire.Response, error) {
	text, vars, err := k.queryParams()
	if err != nil {
		return wire.Response{}, err
	}
	if k.conn.opt.Persistent && !k.req.ID.IsNullish() {
		// query_cancel may stop a program, too. One that finds no place among the streams runs all the same.
		if stoppable, done, err := k.conn.openStream(ctx, k.req.ID); err == nil {
			defer done()
			ctx = stoppable
		}
	}
	return statementsOf(k.conn.srv.gql(ctx, k.session.engine, k.tx, text, vars, k.req.Format == wire.CBOR))
}

// statementsOf is the response of a text.
func statementsOf(results []engine.Result, err error) (wire.Response, error) {
	if err != nil {
		return wire.Response{}, err
	}
	return wire.Response{Statements: Statements(results), IsQuery: true}, nil
}

// Statements are the results of a text as they cross the wire, for every door that answers statement by statement.
func Statements(results []engine.Result) []wire.Statement {
	statements := make([]wire.Statement, len(results))
	for i := range results {
		r := &results[i]
		statements[i] = wire.Statement{Value: r.Value, Rows: r.Rows, Err: r.Err, Time: r.Time, Type: r.Type,
			List: r.List}
	}
	return statements
}

// AppendResults appends the results of a text, encoded. What that takes of memory is accounted for until the caller
// releases it, when the bytes have left.
func (srv *Server) AppendResults(dst []byte, f wire.Format, results []engine.Result) ([]byte, engine.Held, error) {
	statements := Statements(results)
	held := srv.Engine.Hold(2 * wire.Weight(statements)) // the values, and what they are encoded as
	dst, err := wire.AppendStatements(dst, f, statements)
	return dst, held, err
}

// queryParams reads [text, vars?].
func (k *call) queryParams() (string, *value.Object, error) {
	p, err := k.params(1, 2, "Expected (query:string, vars:object)")
	if err != nil {
		return "", nil, err
	}
	if p[0].Kind() != value.KindString {
		return "", nil, errs.InvalidParams("Expected query to be string")
	}
	switch {
	case p[1].Kind() == value.KindObject:
		return p[0].Str(), p[1].Object(), nil
	case !p[1].IsNullish():
		return "", nil, errs.InvalidParams("Expected vars to be object, got Some(%s)", debugText(p[1]))
	}
	return p[0].Str(), nil, nil
}

func selectRecords(ctx context.Context, k *call) (wire.Response, error) {
	vars := k.split(1)
	p, err := k.params(1, 1, "Expected (what:Value)")
	if err != nil {
		return wire.Response{}, err
	}
	what := k.target(p[0])
	return k.statement(ctx, "SELECT * FROM $_what", bind(vars, value.Field{Name: varWhat, Value: what}), single(what))
}

func deleteRecords(ctx context.Context, k *call) (wire.Response, error) {
	vars := k.split(1)
	p, err := k.params(1, 1, "Expected (what:Value)")
	if err != nil {
		return wire.Response{}, err
	}
	what := k.target(p[0])
	return k.statement(ctx, "DELETE $_what RETURN BEFORE", bind(vars, value.Field{Name: varWhat, Value: what}),
		single(what))
}

// write runs a statement of the form WORD what [CLAUSE data].
func (k *call) write(ctx context.Context, usage, bare, full string, alsoText bool) (wire.Response, error) {
	vars := k.split(2)
	p, err := k.params(1, 2, usage)
	if err != nil {
		return wire.Response{}, err
	}
	what := k.target(p[0])
	one := single(what) || alsoText && p[0].Kind() == value.KindString
	if p[1].IsNullish() {
		return k.statement(ctx, bare, bind(vars, value.Field{Name: varWhat, Value: what}), one)
	}
	return k.statement(ctx, full, bind(vars, value.Field{Name: varWhat, Value: what},
		value.Field{Name: varData, Value: p[1]}), one)
}

// create on a table named by text answers one object, as the reference does; on a table value, the list.
func create(ctx context.Context, k *call) (wire.Response, error) {
	return k.write(ctx, "Expected (what:Value, data:Value)", "CREATE $_what", "CREATE $_what CONTENT $_data", true)
}

func upsert(ctx context.Context, k *call) (wire.Response, error) {
	return k.write(ctx, "Expected (what:Value, data:Value)", "UPSERT $_what", "UPSERT $_what CONTENT $_data", false)
}

func update(ctx context.Context, k *call) (wire.Response, error) {
	return k.write(ctx, "Expected (what, data)", "UPDATE $_what", "UPDATE $_what CONTENT $_data", false)
}

func merge(ctx context.Context, k *call) (wire.Response, error) {
	return k.write(ctx, "Expected (what:Value, data:Value)", "UPDATE $_what", "UPDATE $_what MERGE $_data", false)
}

func patch(ctx context.Context, k *call) (wire.Response, error) {
	p, err := k.params(1, 3, "Expected (what:Value, data:Value, diff:Value)")
	if err != nil {
		return wire.Response{}, err
	}
	what := k.target(p[0])
	text := "UPDATE $_what PATCH $_data"
	if p[1].IsNullish() {
		text = "UPDATE $_what"
	}
	if p[2].Kind() == value.KindBool && p[2].Bool() {
		text += " RETURN DIFF"
	}
	vars := bind(value.None, value.Field{Name: varWhat, Value: what}, value.Field{Name: varData, Value: p[1]})
	return k.statement(ctx, text, vars, single(what))
}

func insert(ctx context.Context, k *call) (wire.Response, error) {
	return k.insert(ctx, "Expected (what:Value, data:Value)", "INSERT $_data", "INSERT INTO $_what $_data")
}

func insertRelation(ctx context.Context, k *call) (wire.Response, error) {
	return k.insert(ctx, "Expected (what, data)", "INSERT RELATION $_data", "INSERT RELATION INTO $_what $_data")
}

func (k *call) insert(ctx context.Context, usage, bare, full string) (wire.Response, error) {
	vars := k.split(2)
	p, err := k.params(2, 2, usage)
	if err != nil {
		return wire.Response{}, err
	}
	data := value.Field{Name: varData, Value: k.rows(p[1])}
	if p[0].IsNullish() {
		return k.statement(ctx, bare, bind(vars, data), false)
	}
	what := p[0]
	if what.Kind() == value.KindString {
		what = value.TableOf(what.Str())
	}
	if what.Kind() != value.KindTable {
		return wire.Response{}, errs.Internal("Cannot execute INSERT statement using value: %s", what.Brief())
	}
	return k.statement(ctx, full, bind(vars, value.Field{Name: varWhat, Value: what}, data), false)
}

func relate(ctx context.Context, k *call) (wire.Response, error) {
	const usage = "Expected (from:Value, kind:Value, with:Value, data:Value)"
	vars := k.split(4)
	p, err := k.params(3, 4, usage)
	if err != nil {
		return wire.Response{}, err
	}
	from, with := k.ends(p[0]), k.ends(p[2])
	fields := []value.Field{{Name: varFrom, Value: from}, {Name: varWhat, Value: k.target(p[1])},
		{Name: varWith, Value: with}}
	text := "RELATE $_from->$_what->$_with"
	if !p[3].IsNullish() {
		text += " CONTENT $_data"
		fields = append(fields, value.Field{Name: varData, Value: p[3]})
	}
	return k.statement(ctx, text, bind(vars, fields...), single(from) && single(with))
}

func live(ctx context.Context, k *call) (wire.Response, error) {
	p, err := k.params(1, 2, "Expected (what, diff)")
	if err != nil {
		return wire.Response{}, err
	}
	text := "LIVE SELECT * FROM $_what"
	if p[1].Kind() == value.KindBool && p[1].Bool() {
		text = "LIVE SELECT DIFF FROM $_what"
	}
	return k.statement(ctx, text, bind(value.None, value.Field{Name: varWhat, Value: k.target(p[0])}), false)
}

func kill(ctx context.Context, k *call) (wire.Response, error) {
	p, err := k.params(1, 1, "Expected (id)")
	if err != nil {
		return wire.Response{}, err
	}
	// The statement itself would name its parameter.
	failed := errs.Internal("Cannot execute KILL statement using id: %s", p[0].Brief())
	id, ok := wire.UUID(p[0])
	if !ok {
		return wire.Response{}, failed
	}
	resp, err := k.statement(ctx, "KILL $_what", bind(value.None, value.Field{Name: varWhat, Value: value.UUIDOf(id)}),
		false)
	if err != nil && errs.As(err).Kind == errs.KindInternal && errs.As(err).Err == nil {
		err = failed
	}
	return resp, err
}

func begin(ctx context.Context, k *call) (wire.Response, error) {
	id, err := k.session.begin(ctx)
	return answer(value.UUIDOf(id)), err
}

func commit(ctx context.Context, k *call) (wire.Response, error) { return k.finish(ctx, true) }

func cancel(ctx context.Context, k *call) (wire.Response, error) { return k.finish(ctx, false) }

func (k *call) finish(ctx context.Context, keep bool) (wire.Response, error) {
	const usage = "Expected transaction UUID"
	p, err := k.params(1, 1, usage)
	if err != nil {
		return wire.Response{}, err
	}
	id, ok := wire.UUID(p[0])
	if !ok {
		return wire.Response{}, errs.InvalidParams(usage)
	}
	tx, err := k.conn.take(k.session, id)
	if err != nil {
		return wire.Response{}, err
	}
	if keep {
		return answer(value.None), tx.Commit(ctx)
	}
	return answer(value.None), tx.Cancel(ctx)
}
