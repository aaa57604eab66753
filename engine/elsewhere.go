package engine

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/live"
	"github.com/nacredb/nacre/engine/nodes"
	"github.com/nacredb/nacre/engine/value"
)

// What the servers of a store ask each other (nodes.Process.Ask).
const (
	askRunning   = "running"   // → what Processes lists of the server
	askTerminate = "terminate" // id, by → { what } or { error }; NONE: the server has no such thing
)

// maxToldRows is how many rows of each list a server tells another one.
const maxToldRows = 250

// answerOthers says what this server answers the others.
func (e *Engine) answerOthers() {
	p := e.queries.Process
	p.Answer(askRunning, func(context.Context, *value.Object) value.Value {
		return value.ObjectOf(e.running(maxToldRows))
	})
	p.Answer(askTerminate, e.answerTerminate)
	hub := e.queries.Hub
	p.Answer(nodes.AskLives, func(_ context.Context, q *value.Object) value.Value {
		var rows []value.Value
		for _, s := range hub.List(live.Table{NS: uint32(number(q, "ns")), DB: uint32(number(q, "db")),
			TB: uint32(number(q, "tb"))}) {
			rows = append(rows, object(value.Field{Name: "id", Value: value.UUIDOf(s.ID)}, text("query", s.Text)))
		}
		return value.ArrayOf(rows)
	})
	p.Answer(nodes.AskLive, func(_ context.Context, q *value.Object) value.Value {
		id, _ := q.Get("id")
		if id.Kind() != value.KindUUID {
			return value.None
		}
		s, ok := hub.Find(id.UUID())
		if !ok {
			return value.None
		}
		return object(value.Field{Name: "session", Value: value.UUIDOf(s.Session)}, count("ns", int(s.Table.NS)),
			count("db", int(s.Table.DB)))
	})
	p.Answer(nodes.EndLive, func(_ context.Context, q *value.Object) value.Value {
		id, _ := q.Get("id")
		by, _ := q.Get("by")
		if id.Kind() != value.KindUUID || by.Kind() != value.KindUUID || !hub.Kill(id.UUID(), by.UUID()) {
			return value.None
		}
		return value.Bool(true)
	})
}

func (e *Engine) answerTerminate(ctx context.Context, q *value.Object) value.Value {
	id, _ := q.Get("id")
	by, _ := q.Get("by")
	if id.Kind() != value.KindString || by.Kind() != value.KindUUID {
		return value.None
	}
	what, err := e.terminate(ctx, id.Str(), by.UUID())
	switch {
	case errs.As(err).Kind == errs.KindNotFound && err != nil:
		return value.None
	case err != nil:
		return object(text("error", errs.As(err).Msg))
	}
	e.opt.Log.Info("ended by an operator at another server", "what", what, "id", id.Str())
	return object(text("what", what))
}

// terminateElsewhere ends what id names on another server.
func (e *Engine) terminateElsewhere(ctx context.Context, id string, by value.UUID) (what string, err error) {
	answers, silent, err := e.queries.Process.Ask(ctx, askTerminate, text("id", id),
		value.Field{Name: "by", Value: value.UUIDOf(by)})
	if err != nil {
		return "", err
	}
	for _, a := range answers {
		if a.Kind() != value.KindObject {
			continue
		}
		if why, ok := a.Object().Get("error"); ok {
			return "", errs.New(errs.KindQuery, "%s", value.ToString(why))
		}
		what, _ := a.Object().Get("what")
		return value.ToString(what), nil
	}
	if silent > 0 {
		return "", errs.New(errs.KindQuery,
			"Nothing that runs has this id at the servers that have answered, and %d have not: try again", silent)
	}
	return "", notRunning()
}

// nodeID names this server among those of its store: by its registration, or where it has none as a process.
func (e *Engine) nodeID() value.UUID {
	if id := e.node.Load(); id != nil {
		return *id
	}
	return e.queries.Process.ID()
}

// nodeField says at rows whose server they are; nothing where there can be no other one.
func (e *Engine) nodeField() []value.Field {
	if e.queries.Process == nil {
		return nil
	}
	return []value.Field{{Name: "node", Value: value.UUIDOf(e.nodeID())}}
}

// mark tells the statements of this server from those of others: the last digits of its id. The first ones are a time.
func (e *Engine) mark() string {
	id := e.nodeID()
	return hex.EncodeToString(id[10:])
}

// statementID names a statement: its number, and on a shared store the server.
func (e *Engine) statementID(n uint64) string {
	id := strconv.FormatUint(n, 10)
	if e.queries.Process != nil {
		id += "@" + e.mark()
	}
	return id
}

// statementOf is the number in what statementID gives; here: it is one of this server. A number alone is, too.
func (e *Engine) statementOf(id string) (n uint64, here, ok bool) {
	number, mark, marked := strings.Cut(id, "@")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || marked && e.queries.Process == nil {
		return 0, false, err == nil
	}
	return n, !marked || mark == e.mark(), true
}

// together adds the lists of other servers to those of this one.
func together(all *value.Object, others []value.Value, silent int) *value.Object {
	totals, _ := all.Get("totals")
	sums := totals.Object()
	for _, name := range []string{"statements", "sessions", "live", "transactions"} {
		rows, _ := all.Get(name)
		joined := slices.Clone(rows.Elems())
		sum := number(sums, name)
		for _, o := range others {
			if o.Kind() != value.KindObject {
				continue
			}
			if rows, _ := o.Object().Get(name); rows.Kind() == value.KindArray {
				joined = append(joined, rows.Elems()...)
			}
			if t, _ := o.Object().Get("totals"); t.Kind() == value.KindObject {
				sum += number(t.Object(), name)
			}
		}
		slices.SortStableFunc(joined, func(a, b value.Value) int { return cmp.Compare(seconds(b), seconds(a)) })
		all = all.With(name, value.ArrayOf(joined[:min(len(joined), maxListed)]))
		sums = sums.With(name, value.Int(sum))
	}
	sums = sums.With("nodes", value.Int(int64(1+len(others)))).With("silent", value.Int(int64(silent)))
	return all.With("totals", value.ObjectOf(sums))
}

func number(o *value.Object, name string) int64 {
	if v, _ := o.Get(name); v.Kind() == value.KindInt {
		return v.Int()
	}
	return 0
}

// seconds is for how long the thing of a row is there.
func seconds(row value.Value) float64 {
	if row.Kind() != value.KindObject {
		return 0
	}
	if v, _ := row.Object().Get("seconds"); v.Kind() == value.KindFloat {
		return v.Float()
	}
	return 0
}
