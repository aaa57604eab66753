package engine

import (
	"context"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// Limits of Processes: rows of each list, and bytes of a text.
const (
	maxListed     = 1000
	maxListedText = 1024
)

// Processes lists what the servers of the store do at the moment: an object with the lists statements, sessions, live
// and transactions, the oldest first and 1000 rows of each at most, and with totals. Texts are shown without their
// data. On a store that several servers share each row has the id of its server as node, and totals has the number of
// servers that have answered (nodes) and of those that have not in three seconds (silent). Only users at root level may
// see it.
func (s *Session) Processes(ctx context.Context) (value.Value, error) {
	if err := s.MayObserve(); err != nil {
		return value.None, err
	}
	all := s.e.running(maxListed)
	if s.e.queries.Process == nil {
		return value.ObjectOf(all), nil
	}
	// SECURITY: who asks was looked at here; the other servers answer to servers alone.
	others, silent, err := s.e.queries.Process.Ask(ctx, askRunning)
	if err != nil {
		return value.None, err
	}
	return value.ObjectOf(together(all, others, silent)), nil
}

// running is what this server does, with up to most rows of each list.
func (e *Engine) running(most int) *value.Object {
	now, node := time.Now(), e.nodeField()
	working := e.queries.Working()
	sessions, txns := e.seats.list(), e.seats.transactions(nil)
	lives, allLives := e.queries.Hub.Open(most)
	totals := value.NewObject(count("statements", len(working)), count("sessions", len(sessions)),
		count("live", allLives),
		count("transactions", len(txns)))

	var statements, seated, live, open []value.Value
	busy := map[value.UUID]int{}
	for i := range working {
		w := &working[i]
		busy[w.Session]++
		if len(statements) < most {
			statements = append(statements, object(append(append(identity(&w.Who, w.NS, w.DB, w.Client),
				text("id", e.statementID(w.ID)), text("kind", w.Kind),
				value.Field{Name: "session", Value: value.UUIDOf(w.Session)}, age(now, w.Began),
				value.Field{Name: "rows", Value: value.Int(w.Rows)},
				value.Field{Name: "memory", Value: value.Int(w.Memory)},
				text("text", shape(w.Kind, w.Text))), node...)...))
		}
	}
	held := map[value.UUID]int{}
	for _, t := range txns {
		held[t.s.ID()]++
		if len(open) < most {
			open = append(open, object(append(t.row(now), node...)...))
		}
	}
	for _, one := range sessions[:min(len(sessions), most)] {
		id := one.ID()
		now := append(one.row(), value.Field{Name: "id", Value: value.UUIDOf(id)}, age(now, one.since),
			count("statements", busy[id]), count("live", e.queries.Hub.Of(id)), count("transactions", held[id]))
		seated = append(seated, object(append(now, node...)...))
	}
	for _, sub := range lives {
		live = append(live, object(append(node, value.Field{Name: "id", Value: value.UUIDOf(sub.ID)},
			value.Field{Name: "session", Value: value.UUIDOf(sub.Session)}, text("namespace", sub.NS),
			text("database", sub.DB),
			age(now, sub.Began), text("text", shape("query", sub.Text)))...))
	}
	return value.NewObject(list("statements", statements), list("sessions", seated), list("live", live),
		list("transactions", open),
		value.Field{Name: "totals", Value: value.ObjectOf(totals)})
}

// MayObserve refuses to show what the server does to all but users at root level.
func (s *Session) MayObserve() error {
	st, err := s.mayCall(s.snapshot())
	if err != nil {
		return err
	}
	return st.Auth.Allow(auth.View, ast.BaseRoot, auth.ResourceAny)
}

// row is who the session is, and where.
func (s *Session) row() []value.Field {
	st := s.snapshot()
	return identity(&st.Auth.Principal, st.Auth.NS, st.Auth.DB, s.Client())
}

func (t *Tx) row(now time.Time) []value.Field {
	return append(t.s.row(), value.Field{Name: "id", Value: value.UUIDOf(t.id)},
		value.Field{Name: "session", Value: value.UUIDOf(t.s.ID())}, age(now, t.began),
		value.Field{Name: "reads", Value: value.Bool(t.reads)})
}

// identity are the fields that say who does something, and where.
func identity(p *auth.Principal, ns, db, client string) []value.Field {
	user, level := p.Name, "guest"
	switch p.Level {
	case auth.RootUser:
		level = "root"
	case auth.NamespaceUser:
		level = "namespace"
	case auth.DatabaseUser:
		level = "database"
	case auth.RecordUser:
		level, user = "record", p.Record.Text()
	}
	return []value.Field{text("user", user), text("level", level), text("namespace", ns), text("database", db),
		text("client", client)}
}

// shape is a text as operators see it.
func shape(kind, s string) string {
	if len(s) > maxListedText {
		s = strings.ToValidUTF8(s[:maxListedText], "") + "…"
	}
	if kind == "api" {
		return s
	}
	return parse.Shape(s)
}

func object(fields ...value.Field) value.Value { return value.ObjectOf(value.NewObject(fields...)) }

func text(name, s string) value.Field { return value.Field{Name: name, Value: value.Str(s)} }

func count(name string, n int) value.Field {
	return value.Field{Name: name, Value: value.Int(int64(n))}
}

func list(name string, elems []value.Value) value.Field {
	return value.Field{Name: name, Value: value.ArrayOf(elems)}
}

// age is for how many seconds something is there.
func age(now, since time.Time) value.Field {
	return value.Field{Name: "seconds", Value: value.Float(max(now.Sub(since), 0).Seconds())}
}

// endTime is how long Terminate waits for a transaction whose statement it has stopped.
const endTime = 5 * time.Second

// Terminate ends what id names: a statement by its number, or a session, a live query or an interactive transaction by
// its uuid, on whichever server of the store it is, and gives "statement", "session", "live" or "transaction". A
// session ends with its statements, transactions and live queries; its client has to connect again. Only owners at root
// level may do it. Errors: NotFound.
func (s *Session) Terminate(ctx context.Context, id string) (what string, err error) {
	st, err := s.mayCall(s.snapshot())
	if err != nil {
		return "", err
	}
	if err := st.Auth.Allow(auth.Edit, ast.BaseRoot, auth.ResourceActor); err != nil {
		return "", err
	}
	what, err = s.e.terminate(ctx, id, s.ID())
	if errs.As(err).Kind != errs.KindNotFound || s.e.queries.Process == nil {
		return what, err
	}
	if _, here, number := s.e.statementOf(id); number && here { // each server has its own numbers
		return what, err
	}
	// SECURITY: who asks was looked at here; the other servers answer to servers alone.
	return s.e.terminateElsewhere(ctx, id, s.ID())
}

// terminate ends what id names on this server, for the session by.
func (e *Engine) terminate(ctx context.Context, id string, by value.UUID) (what string, err error) {
	if n, here, ok := e.statementOf(id); ok {
		if here && e.queries.Stop(n) {
			return "statement", nil
		}
		return "", notRunning()
	}
	u, err := value.ParseUUID(id)
	if err != nil {
		return "", errs.Validation("The id is the number of a statement, or the uuid of a session, live query or transaction")
	}
	if one, at, ok := e.seats.session(u); ok {
		return "session", one.terminate(ctx, at)
	}
	if e.queries.Hub.Kill(u, by) {
		return "live", nil
	}
	for _, t := range e.seats.transactions(nil) {
		if t.id == u {
			return "transaction", t.terminate(ctx)
		}
	}
	return "", notRunning()
}

func notRunning() error { return errs.New(errs.KindNotFound, "Nothing that runs has this id") }

// terminate ends the session for good.
func (s *Session) terminate(ctx context.Context, at seat) error {
	s.ended.Store(true)
	s.e.queries.StopSession(s.ID())
	s.e.queries.Hub.DropSession(s.ID())
	var failed error
	if d := s.durable.Load(); d != nil {
		failed = d.Delete(ctx)
	}
	for _, t := range s.e.seats.transactions(s) {
		if err := t.terminate(ctx); err != nil {
			failed = err
		}
	}
	if at.end != nil {
		at.end()
	}
	return failed
}

// terminate cancels t. A statement of t that runs is stopped before.
func (t *Tx) terminate(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, endTime)
	defer stop()
	for !t.mu.TryLock() {
		if q := t.running.Load(); q != nil {
			q.Stop()
		}
		select {
		case <-ctx.Done():
			return errs.New(errs.KindQuery, "A statement of the transaction does not end: try again")
		case <-time.After(10 * time.Millisecond):
		}
	}
	defer t.mu.Unlock()
	if t.tx != nil {
		t.take().Cancel()
		t.gone = true
	}
	return nil
}
