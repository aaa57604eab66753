// Package ingest turns what callers give into rows: turns of sessions, documents and their chunks, facts. It resumes
// after a crash, and it never shows a half-ingested document.
package ingest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/blob"
	"github.com/nacredb/nacre/memsvc/gateway"
	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/place"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	"github.com/nacredb/nacre/memsvc/text"
)

// Service ingests.
type Service struct {
	Store   *store.Store
	Schema  *settings.Schema
	Blob    blob.Store
	Models  *gateway.Gateway
	Log     *slog.Logger
	AtStage func(string)  // called when a job reaches a stage; may be nil
	Backoff time.Duration // before the second try of a job, doubled for each further one

	wake chan struct{} // holds at most one token: there is a new job
}

// New makes a service.
func New(st *store.Store, models *gateway.Gateway, b blob.Store, log *slog.Logger) *Service {
	return &Service{Store: st, Schema: models.Schema, Blob: b, Models: models, Log: log, Backoff: 5 * time.Second,
		wake: make(chan struct{}, 1)}
}

// Wake tells the worker of this process that there is a job.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Message is one turn to be stored.
type Message struct {
	Role, Content, Speaker string
	TS                     time.Time
	Location               *place.Point
}

// TurnWrite is a request to store turns.
type TurnWrite struct {
	Session  string // "": a new one
	Messages []Message
	Scopes   grant.Clauses // nil: those of the session, else the caller's own
	Labels   []string
	Metadata map[string]any
	Observed time.Time // of messages without a time; zero: now
	Category string    // memory category of facts in it
}

// Appended reports the rows that a write stored.
type Appended struct {
	Session string
	Turns   []store.Turn
}

// maxScopes bounds the scopes of a Context.
const maxScopes = 100_000

// maxSessionTurns bounds a session, so that its keys keep their order.
const maxSessionTurns = 99_999_999

// TurnKey is the key of a turn: turns of a session sort in their order.
func TurnKey(session string, seq int) string { return fmt.Sprintf("%s-%08d", session, seq) }

// Target is the clauses that a write gets: what it names, when the caller may write there and the scopes are
// registered, else the roots of the caller's region.
func Target(ctx context.Context, t *settings.Tenant, who *grant.Caller, named grant.Clauses) (grant.Clauses, error) {
	if named == nil {
		if home := who.Region.Home(); len(home) > 0 {
			return home, nil
		}
		return nil, problem.Forbidden("The grants of this key do not cover %s", grant.Write)
	}
	if !who.Region.Writable(grant.Write, named) {
		return nil, problem.Forbidden("The grants of this key do not cover %s at these scopes", grant.Write)
	}
	return named, registered(ctx, t, named)
}

func registered(ctx context.Context, t *settings.Tenant, named grant.Clauses) error {
	want := map[string]bool{}
	for _, clause := range named {
		for _, p := range clause {
			if p != grant.Root {
				want[p] = true
			}
		}
	}
	keys := make([]string, 0, len(want))
	for p := range want {
		keys = append(keys, p)
	}
	found, err := store.Lookup[store.Scope](ctx, t.DB, "scope", keys...)
	if err != nil {
		return err
	}
	for _, s := range found {
		if s.TombstonedAt.IsZero() {
			delete(want, s.ID)
		}
	}
	for p := range want {
		return problem.Of(400, "scope-not-registered", "The scope %.200q is not registered", p)
	}
	return nil
}

// Append stores turns.
func (s *Service) Append(ctx context.Context, t *settings.Tenant, who *grant.Caller, w TurnWrite) (*Appended, error) {
	clauses := w.Scopes
	var err error
	if w.Session == "" || w.Scopes != nil {
		if clauses, err = Target(ctx, t, who, w.Scopes); err != nil {
			return nil, err
		}
	}
	now := time.Now().UTC()
	out := &Appended{}
	err = t.DB.Update(ctx, func(tx *store.Tx) error {
		ses, err := s.session(ctx, t, who, &w, clauses, now)
		if err != nil {
			return err
		}
		if clauses == nil {
			clauses = ses.Clauses
		}
		if ses.TurnCount+len(w.Messages) > maxSessionTurns {
			return problem.Conflict("The session is full")
		}
		out.Session, out.Turns = ses.ID, out.Turns[:0]
		for _, m := range w.Messages {
			turn := s.turn(t, ses, m, w.Observed, now)
			turn.Clauses, turn.Labels, turn.Principal = clauses, w.Labels, who.Principal
			ses.TurnCount++
			out.Turns = append(out.Turns, turn)
			tx.Insert("turn", turn)
			if text.Injection(turn.Content) != "" {
				tx.Put("uncertainty", suspicious("turn:"+turn.ID, clauses, now))
			}
		}
		tx.Put("session", *ses)
		return nil
	})
	if err == nil {
		s.embedTurns(ctx, t, out.Turns)
	}
	return out, err
}

func suspicious(ref string, clauses grant.Clauses, now time.Time) store.Uncertainty {
	return store.Uncertainty{ID: store.NewID(), About: ref, Reason: "The text tries to give orders to a language model",
		Rows:    []string{ref},
		Clauses: clauses, CreatedAt: now, Source: store.Source{Kind: "turn", Ref: ref}}
}

func (s *Service) turn(t *settings.Tenant, ses *store.Session, m Message, observed, now time.Time) store.Turn {
	turn := store.Turn{ID: TurnKey(ses.ID, ses.TurnCount), Session: ses.ID, Seq: ses.TurnCount, Role: m.Role,
		Speaker: m.Speaker,
		Content: m.Content, TS: m.TS.UTC(), CreatedAt: now, Location: m.Location}
	if turn.TS.IsZero() || m.TS.IsZero() {
		turn.TS = observed
	}
	if turn.TS.IsZero() {
		turn.TS = now
	}
	if turn.Speaker == "" {
		turn.Speaker = text.Speaker(turn.Content)
	}
	if t.Redaction {
		turn.Content, _ = text.Redact(turn.Content)
	}
	return turn
}

// session is the session that a write goes to. An absent one and one that the caller may not write to are refused
// alike.
func (s *Service) session(ctx context.Context, t *settings.Tenant, who *grant.Caller, w *TurnWrite,
	clauses grant.Clauses, now time.Time) (*store.Session, error) {
	if w.Session == "" {
		return &store.Session{ID: store.NewID(), Clauses: clauses, Metadata: w.Metadata, Principal: who.Principal,
			CreatedAt: now}, nil
	}
	ses, err := store.Get[store.Session](ctx, t.DB, "session", w.Session)
	if err != nil {
		return nil, err
	}
	if ses == nil || ses.EndedAt != nil || !who.Region.Visible(grant.Read, ses.Clauses) ||
		!who.Region.Writable(grant.Write, ses.Clauses) {
		return nil, problem.Forbidden("The session cannot be written to")
	}
	return ses, nil
}

// Session makes an empty session.
func (s *Service) Session(ctx context.Context, t *settings.Tenant, who *grant.Caller, scopes grant.Clauses,
	metadata map[string]any) (*store.Session, error) {
	clauses, err := Target(ctx, t, who, scopes)
	if err != nil {
		return nil, err
	}
	ses := store.Session{ID: store.NewID(), Clauses: clauses, Metadata: metadata, Principal: who.Principal,
		CreatedAt: time.Now().UTC()}
	return &ses, t.DB.Update(ctx, func(tx *store.Tx) error { tx.Insert("session", ses); return nil })
}

// RegisterScope makes a scope and the ones above it that are not there.
func (s *Service) RegisterScope(ctx context.Context, t *settings.Tenant, sc store.Scope) (*store.Scope, error) {
	now := time.Now().UTC()
	parts := strings.Split(sc.Path, "/")
	err := t.DB.Update(ctx, func(tx *store.Tx) error {
		keys := make([]string, len(parts))
		for i := range parts {
			keys[i] = strings.Join(parts[:i+1], "/")
		}
		found, err := store.Lookup[store.Scope](ctx, t.DB, "scope", keys...)
		if err != nil {
			return err
		}
		v, err := t.DB.Query(ctx, "RETURN count(SELECT VALUE id FROM scope)")
		if err != nil {
			return err
		}
		if v.Int() > maxScopes {
			return problem.Conflict("The Context has too many scopes")
		}
		have := map[string]store.Scope{}
		for _, f := range found {
			have[f.ID] = f
		}
		for _, k := range keys[:len(keys)-1] {
			if _, ok := have[k]; !ok {
				tx.Insert("scope", store.Scope{ID: k, Path: k, CreatedAt: now})
			}
		}
		old, ok := have[sc.Path]
		if ok && old.TombstonedAt.IsZero() && (old.DisplayName != "" || sc.DisplayName == "") {
			sc = old
			return nil
		}
		sc.ID, sc.CreatedAt = sc.Path, now
		tx.Put("scope", sc)
		return nil
	})
	return &sc, err
}

// TombstoneScope hides a scope and refuses new writes to it. Memories stay.
func (s *Service) TombstoneScope(ctx context.Context, t *settings.Tenant, path string) error {
	return t.DB.Update(ctx, func(tx *store.Tx) error {
		sc, err := store.Get[store.Scope](ctx, t.DB, "scope", path)
		if err != nil {
			return err
		}
		if sc == nil || !sc.TombstonedAt.IsZero() {
			return problem.NotFound("There is no such scope")
		}
		sc.TombstonedAt = time.Now().UTC()
		tx.Put("scope", *sc)
		return nil
	})
}

// Writable refuses a session that the caller may not write to; "" is a new one.
func (s *Service) Writable(ctx context.Context, t *settings.Tenant, who *grant.Caller, session string) error {
	_, err := s.session(ctx, t, who, &TurnWrite{Session: session}, nil, time.Time{})
	return err
}
