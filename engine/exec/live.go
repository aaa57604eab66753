package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// live is LIVE SELECT: the subscription begins with the commit of the transaction.
func (r *Run) live(env *Env, s *ast.Live) (value.Value, error) {
	var from value.Value
	if t, ok := s.From.(*ast.Table); ok {
		from = value.TableOf(t.Name)
	} else {
		var err error
		if from, err = r.Eval(env, s.From); err != nil {
			return value.None, err
		}
	}
	if from.Kind() != value.KindTable {
		return value.None, errs.Internal("Cannot execute LIVE statement using value: %s", from.Text())
	}
	tb, err := r.table(from.Table())
	if err != nil {
		return value.None, err
	}
	if tb == nil {
		return value.None, errs.TableNotFound(from.Table())
	}
	id := r.Ex.NewKey("uuid4")
	if r.Sess.Deliver == nil {
		return id, nil // nobody to tell: a request that ends with its answer
	}
	fetch, err := r.fetchPaths(env, s.Fetch)
	if err != nil {
		return value.None, err
	}
	w := &watch{ex: r.Ex, stmt: s, fetch: fetch, vars: detached(env.visible()), now: r.Sess.Current, state: *r.Sess}
	sub := &live.Subscription{
		ID: id.UUID(), Table: live.Table{NS: tb.Scope.NS, DB: tb.Scope.DB, TB: tb.ID}, Text: ast.Text(s),
		Match: w.match, Deliver: r.Sess.Deliver,
	}
	if r.Sess.ID.Kind() == value.KindUUID {
		sub.Session = r.Sess.ID.UUID()
	}
	r.Tx.OnCommit(func(kv.Version) { r.Ex.Hub.Add(sub) })
	return id, nil
}

func detached(vars []Var) []Var {
	for i := range vars {
		vars[i].Value = value.Detach(vars[i].Value)
	}
	return vars
}

// kill is KILL.
func (r *Run) kill(env *Env, s *ast.Kill) (value.Value, error) {
	v, err := r.Eval(env, s.ID)
	if err != nil {
		return value.None, err
	}
	if v.Kind() == value.KindString {
		if u, err := value.Cast(v, value.Simple(value.TypeUUID), r.Ex); err == nil {
			v = u
		}
	}
	if v.Kind() == value.KindUUID {
		var by value.UUID
		if r.Sess.ID.Kind() == value.KindUUID {
			by = r.Sess.ID.UUID()
		}
		sub, ok := r.Ex.Hub.Find(v.UUID())
		if ok && (sub.Session == by || r.Auth.CanWrite()) && r.Ex.Hub.Kill(sub.ID, by) {
			return value.None, nil
		}
	}
	return value.None, errs.Internal("Cannot execute KILL statement using id: %s", ast.Text(s.ID))
}

// watch is what a live query looks for.
type watch struct {
	ex    *Executor
	stmt  *ast.Live
	fetch [][]ast.Part
	vars  []Var           // parameters as they were when it began
	now   func() *Session // the session as it is by then: rights are checked anew for each change
	state Session
}

// match decides whether a change concerns the subscriber, and what it is told.
func (w *watch) match(ctx context.Context, c *live.Change) (value.Value, bool, error) {
	sess := &w.state
	if w.now != nil {
		if sess = w.now(); sess.Expired(w.ex.Clock()) {
			return value.None, false, nil
		}
		place := sess.Auth
		place.NS, place.DB = w.state.Auth.NS, w.state.Auth.DB
		sess.Auth = place
	}
	tx, err := txn.Begin(ctx, w.ex.Store, txn.Options{})
	if err != nil {
		return value.None, false, err
	}
	defer tx.Cancel()
	r := w.ex.NewRun(ctx, sess, NewEnv(append([]Var(nil), w.vars...)...), tx)
	out, ok, err := w.result(r, c)
	return value.Detach(out), ok, err
}

func (w *watch) result(r *Run, c *live.Change) (value.Value, bool, error) {
	tb, err := r.table(c.Name)
	if tb == nil || err != nil {
		return value.None, false, err
	}
	g, err := r.Gate()
	if err != nil {
		return value.None, false, err
	}
	stored := c.After
	if stored.IsNone() {
		stored = c.Before
	}
	id := c.ID.Record()
	doc, ok, err := g.Show(r.Ctx, tb, id, stored)
	if !ok || err != nil {
		return value.None, false, err
	}
	before, _, err := g.Show(r.Ctx, tb, id, c.Before)
	if err != nil {
		return value.None, false, err
	}
	after := value.None
	if !c.After.IsNone() {
		after = doc
	}
	env := r.Base.WithDoc(doc)
	env.vars = []Var{{"event", value.Str(c.Action())}, {"value", doc}, {"before", before}, {"after", after}}
	if w.stmt.Where != nil {
		v, err := r.Value(env, w.stmt.Where)
		if err != nil || !value.Truthy(v) {
			return value.None, false, err
		}
	}
	return w.shown(r, env, before, after)
}

// shown is the patch of a DIFF, or the fields that were asked for.
func (w *watch) shown(r *Run, env *Env, before, after value.Value) (value.Value, bool, error) {
	if w.stmt.Diff {
		return value.Diff(before, after), true, nil
	}
	out, err := r.project(env, w.stmt.Projections)
	for _, p := range w.fetch {
		if err == nil {
			out, err = r.fetchInto(out, p)
		}
	}
	return out, err == nil, err
}

// publish tells the hub of a transaction's changes once it has committed. Tables that nobody watches cost a look.
func (ex *Executor) publish(tx *txn.Tx, log *record.Log) {
	var out []live.Change
	for i := range log.Changes {
		c := &log.Changes[i]
		t := live.Table{NS: c.Table.Scope.NS, DB: c.Table.Scope.DB, TB: c.Table.ID}
		if !ex.Hub.Watched(t) {
			continue
		}
		out = append(out, live.Change{Table: t, Name: c.Table.Name, ID: value.Detach(value.RecordOf(c.ID)),
			Before: value.Detach(c.Before), After: value.Detach(c.After)})
	}
	if out != nil {
		tx.OnCommit(func(kv.Version) { ex.Hub.Publish(out) })
	}
}
