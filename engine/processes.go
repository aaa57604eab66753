package engine

import (
	"context"
	"strconv"
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

// Processes lists what the server does at the moment: an object with the lists statements, sessions, live and
// transactions, the oldest first and 1000 rows of each at most, and with totals. Texts are shown without their data.
// Only users at root level may see it.
func (s *Session) Processes(context.Context) (value.Value, error) {
	if err := s.MayObserve(); err != nil {
		return value.None, err
	}
	now := time.Now()
	working := s.e.queries.Working()
	sessions, txns := s.e.seats.list(), s.e.seats.transactions(nil)
	lives, allLives := s.e.queries.Hub.Open(maxListed)
	totals := value.NewObject(count("statements", len(working)), count("sessions", len(sessions)),
		count("live", allLives),
		count("transactions", len(txns)))

	var statements, seated, live, open []value.Value
	busy := map[value.UUID]int{}
	for i := range working {
		w := &working[i]
		busy[w.Session]++
		if len(statements) < maxListed {
			statements = append(statements, object(append(identity(&w.Who, w.NS, w.DB, w.Client),
				value.Field{Name: "id", Value: value.Str(strconv.FormatUint(w.ID, 10))}, text("kind", w.Kind),
				value.Field{Name: "session", Value: value.UUIDOf(w.Session)}, age(now, w.Began),
				value.Field{Name: "rows", Value: value.Int(w.Rows)},
				value.Field{Name: "memory", Value: value.Int(w.Memory)},
				text("text", shape(w.Kind, w.Text)))...))
		}
	}
	held := map[value.UUID]int{}
	for _, t := range txns {
		held[t.s.ID()]++
		if len(open) < maxListed {
			open = append(open, t.row(now))
		}
	}
	for _, one := range sessions[:min(len(sessions), maxListed)] {
		id := one.ID()
		now := append(one.row(), value.Field{Name: "id", Value: value.UUIDOf(id)}, age(now, one.since),
			count("statements", busy[id]), count("live", s.e.queries.Hub.Of(id)), count("transactions", held[id]))
		seated = append(seated, object(now...))
	}
	for _, sub := range lives {
		live = append(live, object(value.Field{Name: "id", Value: value.UUIDOf(sub.ID)},
			value.Field{Name: "session", Value: value.UUIDOf(sub.Session)}, text("namespace", sub.NS),
			text("database", sub.DB),
			age(now, sub.Began), text("text", shape("query", sub.Text))))
	}
	return object(list("statements", statements), list("sessions", seated), list("live", live),
		list("transactions", open),
		value.Field{Name: "totals", Value: value.ObjectOf(totals)}), nil
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

func (t *Tx) row(now time.Time) value.Value {
	return object(append(t.s.row(), value.Field{Name: "id", Value: value.UUIDOf(t.id)},
		value.Field{Name: "session", Value: value.UUIDOf(t.s.ID())}, age(now, t.began),
		value.Field{Name: "reads", Value: value.Bool(t.reads)})...)
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
// its uuid, and gives "statement", "session", "live" or "transaction". A session ends with its statements, transactions
// and live queries; its client has to connect again. Only owners at root level may do it. Errors: NotFound.
func (s *Session) Terminate(ctx context.Context, id string) (what string, err error) {
	st, err := s.mayCall(s.snapshot())
	if err != nil {
		return "", err
	}
	if err := st.Auth.Allow(auth.Edit, ast.BaseRoot, auth.ResourceActor); err != nil {
		return "", err
	}
	if n, err := strconv.ParseUint(id, 10, 64); err == nil {
		if s.e.queries.Stop(n) {
			return "statement", nil
		}
		return "", notRunning()
	}
	u, err := value.ParseUUID(id)
	if err != nil {
		return "", errs.Validation("The id is the number of a statement, or the uuid of a session, live query or transaction")
	}
	if one, at, ok := s.e.seats.session(u); ok {
		return "session", one.terminate(ctx, at)
	}
	if s.e.queries.Hub.Kill(u, s.ID()) {
		return "live", nil
	}
	for _, t := range s.e.seats.transactions(nil) {
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
