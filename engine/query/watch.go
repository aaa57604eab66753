package query

import (
	"context"
	"crypto/sha256"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/relay"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// watch is a live query at work.
type watch struct {
	ex    *exec.Executor
	stmt  *ast.Live
	fetch [][]ast.Part
	vars  []record.Param            // parameters of the text as they were when it began
	now   func() *exec.SessionState // the session as it is by then: rights are checked anew for each change
	state exec.SessionState         // as it was when the query began
}

// errWatchOver ends a live query whose session may not watch any longer.
var errWatchOver = errors.New("the session may not watch any longer")

// class names all that the outcome of a change depends on, but for the viewer; "" where that has no name. It is a
// digest: variables may be large, and a session may have many live queries.
func (w *watch) class(text string) string {
	digest := sha256.New()
	part := append([]byte(text), 0)
	part = append(append(part, w.state.Auth.NS...), 0)
	part = append(append(part, w.state.Auth.DB...), 0)
	digest.Write(part)
	for _, vars := range [...][]record.Param{w.vars, w.state.Vars} {
		for _, v := range vars {
			var err error
			if part, err = value.AppendCBOR(append(append(part[:0], v.Name...), 0), v.Value); err != nil {
				return ""
			}
			digest.Write(part)
		}
		digest.Write([]byte{0})
	}
	return string(digest.Sum(nil))
}

// weight is about how many bytes the live query keeps in memory, those of the session's variables included: they
// outlive the session's own.
func (w *watch) weight(text string) int {
	n := watchCost + len(text)
	for _, vars := range [...][]record.Param{w.vars, w.state.Vars} {
		for _, v := range vars {
			n += len(v.Name) + value.Weight(v.Value)
		}
	}
	return n
}

// watchCost is about what a live query takes beside its text and variables.
const watchCost = 2 << 10

// Viewer is who looks, as far as rights and $auth go: it is equal for those who see the same.
type Viewer struct {
	level                    auth.Level
	ns, db, name, access, id string
	roles                    auth.Roles
}

// ViewerOf is the viewer that an identity is.
func ViewerOf(p *auth.Principal) Viewer {
	v := Viewer{level: p.Level, ns: p.NS, db: p.DB, name: p.Name, access: p.Access, roles: p.Roles}
	if p.Record.Kind() == value.KindRecord {
		v.id = p.Record.Text()
	}
	return v
}

// seen returns the notification of a change for some viewer; nil for none.
type seen struct {
	by  Viewer
	out *live.Outcome
}

// match decides whether a change concerns the subscriber, and what it is told. Subscribers of the same class with the
// same rights are told the same, unless that depended on their session.
func (w *watch) match(ctx context.Context, c *live.Change, memo *live.Memo) (*live.Outcome, error) {
	sess := w.now()
	if sess.Expired(w.ex.Clock) {
		return nil, errWatchOver
	}
	if sess.Still != nil && sess.Checked != w.ex.Catalog.Identities() {
		now, err := sess.Still(sess)
		if err != nil {
			return nil, errWatchOver
		}
		sess = now
	}
	by := ViewerOf(&sess.Auth.Principal)
	all, _ := memo.Kept.([]seen)
	for i := range all {
		if all[i].by == by {
			return all[i].out, nil
		}
	}
	out, personal, err := w.timed(ctx, sess, c, memo)
	if err != nil {
		if ctx.Err() == nil && err != live.ErrSlow {
			w.ex.Log.Debug("live query ended", "err", err)
		}
		return nil, err
	}
	if !personal {
		memo.Kept = append(all, seen{by, out})
	}
	return out, nil
}

// timed is look inside of the time that memo gives.
func (w *watch) timed(ctx context.Context, now *exec.SessionState, c *live.Change,
	memo *live.Memo) (out *live.Outcome, personal bool, err error) {
	start := time.Now()
	bound, stop := context.WithTimeout(ctx, memo.Limit)
	defer stop()
	out, personal, err = w.look(bound, now, c)
	memo.Spent += max(time.Since(start), 1)
	// A record counts as hidden when its permission ran out of time, also with a result.
	if bound.Err() != nil && ctx.Err() == nil {
		return nil, personal, live.ErrSlow
	}
	return out, personal, err
}

// look is match for one viewer; personal says that the outcome holds for its session alone.
func (w *watch) look(ctx context.Context, now *exec.SessionState,
	c *live.Change) (out *live.Outcome, personal bool, err error) {
	tx, err := txn.Begin(ctx, w.ex.Store, w.ex.Reading())
	if err != nil {
		return nil, false, err
	}
	defer tx.Cancel()
	sess := *now
	sess.Auth.NS, sess.Auth.DB, sess.Vars = w.state.Auth.NS, w.state.Auth.DB, w.state.Vars
	r := w.ex.NewRun(&sess, exec.NewEnv(append([]record.Param(nil), w.vars...)...), tx)
	r.Watching = true
	defer func() {
		if p := recover(); p != nil {
			w.ex.Log.Error("live query panicked", "panic", p, "stack", string(debug.Stack()))
			out, err = nil, errs.Internal("An internal error occurred")
		}
	}()
	if err := (&run{r}).stillAllowed(); err != nil {
		return nil, false, err
	}
	v, ok, err := w.result(ctx, r, c)
	if !ok || err != nil {
		return nil, r.Personal, err
	}
	return &live.Outcome{Result: value.Detach(v)}, r.Personal, nil
}

// stillAllowed looks whether the identity of the session is still defined, and takes over the roles that it has by now.
func (r *run) stillAllowed() error {
	p := &r.Sess.Auth.Principal
	if err := r.Auth.Caps.MayEnter(p); err != nil {
		return err
	}
	if p.Access == "" && p.Name == "" {
		return nil // a guest, or the engine itself
	}
	kind, name := ast.DefUser, p.Name
	if p.Access != "" {
		kind, name = ast.DefAccess, p.Access
	}
	d, err := r.Cat.Actor(kind, name, p.NS, p.DB)
	if err != nil {
		return err
	}
	if d == nil {
		return errWatchOver
	}
	if u, ok := d.Stmt.(*ast.DefineUser); ok {
		if p.Roles, ok = auth.ParseRoles(u.Roles); !ok {
			return errWatchOver
		}
	}
	return nil
}

func (w *watch) result(ctx context.Context, r *exec.Run, c *live.Change) (value.Value, bool, error) {
	tb, err := r.Table(c.Name)
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
	doc, ok, err := g.Show(ctx, tb, id, stored)
	if !ok || err != nil {
		return value.None, false, err
	}
	before, after := doc, value.None
	if !c.After.IsNone() {
		after = doc
		if before, _, err = g.Show(ctx, tb, id, c.Before); err != nil {
			return value.None, false, err
		}
		// SECURITY: a change of hidden fields alone is none that may be told of.
		if tb.FieldReads && !r.Auth.CanRead() && value.Equal(before, after) {
			return value.None, false, nil
		}
	}
	env := r.Base.WithDoc(doc)
	env.Reset([]record.Param{{Name: "event", Value: value.Str(c.Action())}, {Name: "value", Value: doc},
		{Name: "before", Value: before}, {Name: "after", Value: after}})
	if w.stmt.Where != nil {
		v, err := r.Value(ctx, env, w.stmt.Where)
		if err != nil || !value.Truthy(v) {
			return value.None, false, err
		}
	}
	return w.shown(ctx, r, env, before, after)
}

// shown is the patch of a DIFF, or the fields that were asked for.
func (w *watch) shown(ctx context.Context, r *exec.Run, env *exec.Env,
	before, after value.Value) (value.Value, bool, error) {
	if w.stmt.Diff {
		out, err := value.Diff(before, after, ctx.Err)
		return out, err == nil, err
	}
	out, err := r.Project(ctx, env, w.stmt.Projections)
	if err == nil {
		out, err = r.Follow(ctx, out, w.fetch)
	}
	return out, err == nil, err
}

// publish tells the hub of a transaction's changes, in the order of commits. Tables without subscribers cost a look.
func (x *Runner) publish(tx *txn.Tx, log *record.Log) error {
	if log.Len() > 0 {
		if err := x.subjectsGone(tx, log); err != nil {
			return err
		}
	}
	if x.Relay != nil {
		return x.tell(tx, log)
	}
	if log.Len() == 0 {
		return nil
	}
	added, watched := x.watched(log)
	tx.OnApply(func(v kv.Version) { x.apply(v, log, added, watched) })
	return nil
}

// tell makes the commit of a transaction tell the processes that share the store what it has changed of tables that one
// of them watches, and which live queries end with it.
func (x *Runner) tell(tx *txn.Tx, log *record.Log) error {
	if log == nil {
		return nil
	}
	watched := map[uint32]nodes.Tables{} // by database
	var changes []live.Change
	for i := range log.Changes {
		c := &log.Changes[i]
		tables, ok := watched[c.Table.Scope.DB]
		if !ok {
			var err error
			if tables, err = nodes.Watched(tx, c.Table.Scope.DB); err != nil {
				return err
			}
			watched[c.Table.Scope.DB] = tables
		}
		if tables.Has(c.Table.ID) {
			changes = append(changes, changeOf(c, i))
		}
	}
	var ends []live.Table
	for _, s := range log.Ended {
		ends = append(ends, live.Table{NS: s.NS, DB: s.DB, TB: s.TB})
	}
	if log.Lives > 0 {
		if err := x.Relay.Hold(); err != nil {
			return err
		}
		tx.OnEnd(x.Relay.Release)
	}
	if len(changes)+len(ends) == 0 {
		return nil
	}
	b, err := relay.Encode(log.Own, changes, ends)
	if err != nil {
		return err
	}
	return tx.Tell(b)
}

// subjectsGone counts deletes that may be of records that users are, for the sessions of those.
func (x *Runner) subjectsGone(tx *txn.Tx, log *record.Log) error {
	if !tx.Shared() {
		deletes := func(c record.Change) bool { return c.Deletes() }
		if !x.Catalog.HasSubjects() || !slices.ContainsFunc(log.Changes, deletes) {
			return nil
		}
		return x.Catalog.View(tx).IdentityChanged()
	}
	cat := x.Catalog.View(tx)
	seen := map[*catalog.Table]bool{}
	for i := range log.Changes {
		c := &log.Changes[i]
		if !c.Deletes() || seen[c.Table] {
			continue
		}
		seen[c.Table] = true
		marked, err := cat.MarkedSubjects(c.Table.Inner())
		if err != nil {
			return err
		}
		if marked {
			return cat.IdentityChanged()
		}
	}
	return nil
}

// apply hands the changes of a transaction to the hub. added and watched are what watched gave before.
func (x *Runner) apply(v kv.Version, log *record.Log, added uint64, watched []live.Change) {
	for len(watched) > 0 || x.Hub.Added() != added {
		if x.Hub.Publish(added, uint64(v), watched) {
			return
		}
		added, watched = x.watched(log) // a live query came meanwhile; what it asks for is still at hand
	}
}

// watched copies the changes of tables that somebody watches; it holds as long as Hub.Added is what it gives.
func (x *Runner) watched(log *record.Log) (added uint64, out []live.Change) {
	added = x.Hub.Added()
	for i := range log.Changes {
		c := &log.Changes[i]
		t := live.Table{NS: c.Table.Scope.NS, DB: c.Table.Scope.DB, TB: c.Table.ID}
		if !x.Hub.Watched(t) {
			continue
		}
		l := changeOf(c, i)
		l.ID, l.Before, l.After = value.Detach(l.ID), value.Detach(l.Before), value.Detach(l.After)
		l.Bytes = value.Weight(l.Before) + value.Weight(l.After)
		out = append(out, l)
	}
	return added, out
}

// changeOf is a change for live queries, in values of the transaction.
func changeOf(c *record.Change, seq int) live.Change {
	return live.Change{Table: live.Table{NS: c.Table.Scope.NS, DB: c.Table.Scope.DB, TB: c.Table.ID},
		Name: c.Table.Name, ID: value.RecordOf(c.ID), Before: c.Before(), After: c.After(), Seq: seq}
}
