package query

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// live is LIVE SELECT. The subscription begins where the transaction commits: it hears of what the transaction changes
// after the statement and of all that commits later, so a SELECT in the same transaction and the notifications make a
// whole.
func (r *run) live(ctx context.Context, env *exec.Env, s *ast.Live) (value.Value, error) {
	if r.Auth.Code.Stored { // it would go on without what bounds the code: the parser takes none there
		return value.None, auth.Denied()
	}
	var from value.Value
	if t, ok := s.From.(*ast.Table); ok {
		from = value.TableOf(t.Name)
	} else {
		var err error
		if from, err = r.Eval(ctx, env, s.From); err != nil {
			return value.None, err
		}
	}
	if from.Kind() != value.KindTable {
		return value.None, errs.Internal("Cannot execute LIVE statement using value: %s", from.Brief())
	}
	tb, err := r.Table(from.Table())
	if err != nil {
		return value.None, err
	}
	if tb == nil {
		return value.None, errs.TableNotFound(from.Table())
	}
	if err := r.Watchable(s); err != nil {
		return value.None, err
	}
	id := r.Ex.NewKey("uuid4")
	if r.Sess.Deliver == nil {
		return id, nil // no channel for notifications: the request ends with its answer
	}
	if r.Sess.ID.Kind() == value.KindUUID && r.Ex.Hub.Of(r.Sess.ID.UUID())+r.Log.Lives >= r.Ex.Limits.LiveQueries {
		return value.None, errs.Internal("Too many live queries")
	}
	fetch, err := r.FetchPaths(ctx, env, s.Fetch)
	if err != nil {
		return value.None, err
	}
	w := &watch{ex: r.Ex, stmt: s, fetch: fetch, vars: detached(env.Visible(nil)), now: r.Sess.Current, state: *r.Sess}
	if w.now == nil {
		w.now = func() *exec.SessionState { return &w.state }
	}
	sub := &live.Subscription{
		ID: id.UUID(), Table: live.Table{NS: tb.Scope.NS, DB: tb.Scope.DB, TB: tb.ID}, Text: ast.Text(s),
		From: r.Log.Len(), Quiet: r.Sess.Quiet, Match: w.match, Deliver: r.Sess.Deliver,
		NS: r.Auth.NS, DB: r.Auth.DB, Began: time.Now(),
	}
	sub.Class = w.class(sub.Text)
	weight := w.weight(sub.Text)
	if err := r.Tx.Holds(weight); err != nil {
		return value.None, err
	}
	if r.Sess.ID.Kind() == value.KindUUID {
		sub.Session = r.Sess.ID.UUID()
	}
	r.Log.Lives++
	return id, r.begin(sub, weight)
}

// begin adds a subscription with the commit of the transaction.
func (r *run) begin(sub *live.Subscription, weight int) error {
	relay := r.Ex.Relay
	if relay == nil {
		r.Tx.OnApply(func(v kv.Version) {
			sub.Ended = r.Ex.Memory.Hold(weight).Release
			r.Ex.Hub.AddWith(sub, uint64(v))
		})
		return nil
	}
	err := relay.Watch(r.Tx, sub.Table)
	if errors.Is(err, nodes.ErrGone) {
		return errs.New(errs.KindConnection, "Other servers took this one for gone: try again")
	}
	if err != nil {
		return err
	}
	for r.Log.Own == 0 {
		r.Log.Own = rand.Uint64()
	}
	own := r.Log.Own
	r.Tx.OnApply(func(v kv.Version) {
		sub.Ended = r.Ex.Memory.Hold(weight).Release
		relay.Begin(sub, own, v)
	})
	r.Tx.OnCommit(relay.Settle)
	return nil
}

func detached(vars []record.Param) []record.Param {
	for i := range vars {
		vars[i].Value = value.Detach(vars[i].Value)
	}
	return vars
}

// kill is KILL.
func (r *run) kill(ctx context.Context, env *exec.Env, s *ast.Kill) (value.Value, error) {
	v, err := r.Eval(ctx, env, s.ID)
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
		if ok && (sub.Session == by || r.mayKill(sub.Table)) {
			r.Tx.OnCommit(func(kv.Version) { r.Ex.Hub.Kill(sub.ID, by) })
			return value.None, nil
		}
		if !ok {
			if found, err := r.killElsewhere(ctx, v, by); found || err != nil {
				return value.None, err
			}
		}
	}
	return value.None, errs.Internal("Cannot execute KILL statement using id: %s", ast.Text(s.ID))
}

// mayKill reports whether the caller may end the live query of somebody else: in the database in use, where it may
// write everything.
func (r *run) mayKill(of live.Table) bool {
	if !r.Auth.CanWrite() || r.Auth.Code.Elevated {
		return false
	}
	db, err := r.Database()
	return err == nil && of.NS == db.Scope.NS && of.DB == db.ID
}

// killElsewhere ends a live query of another server with the commit, if there is one that the caller may end: the rules
// are those of kill, and are looked at here.
func (r *run) killElsewhere(ctx context.Context, id value.Value, by value.UUID) (bool, error) {
	p, field := r.Ex.Process, value.Field{Name: "id", Value: id}
	found, _, err := p.Ask(ctx, nodes.AskLive, field)
	if err != nil {
		return false, err
	}
	for _, v := range found {
		if v.Kind() != value.KindObject {
			continue
		}
		of := func(name string) value.Value { v, _ := v.Object().Get(name); return v }
		session, ns, db := of("session"), of("ns"), of("db")
		if session.Kind() != value.KindUUID || ns.Kind() != value.KindInt || db.Kind() != value.KindInt {
			continue
		}
		if session.UUID() != by && !r.mayKill(live.Table{NS: uint32(ns.Int()), DB: uint32(db.Int())}) {
			return false, nil
		}
		r.Tx.OnCommit(func(kv.Version) {
			_, silent, err := p.Ask(context.WithoutCancel(ctx), nodes.EndLive, field,
				value.Field{Name: "by", Value: value.UUIDOf(by)})
			if err != nil || silent > 0 {
				r.Ex.Log.Warn("a live query of another server may go on", "id", id.Text(), "silent", silent, "err", err)
			}
		})
		return true, nil
	}
	return false, nil
}
