package query

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
	"github.com/nacredb/nacre/internal/life"
)

// Source says what a query runs.
type Source struct {
	Kind   string // "query", "gql", "graphql", "function", "api" or "import"
	Text   string
	Weight int // bytes that the text keeps in memory while it runs, in the form that runs
}

// Working describes a query that runs, for operators.
type Working struct {
	ID      uint64
	Session value.UUID
	Who     auth.Principal // Level, Name, NS, DB and Record only
	NS, DB  string         // where it began
	Client  string         // address, or ""
	Source
	Began  time.Time
	Rows   int64 // answered so far
	Memory int64 // bytes that it has taken of the pool
}

// shards is how many lists the register has: queries that begin at the same time rarely share one.
const shards = 16

// register lists the queries of a Runner that run. A query is in it from NewQuery to Close. Its links are fields of the
// query, so that entering and leaving it allocate nothing.
type register struct {
	last   atomic.Uint64
	shards [shards]shard
}

type shard struct {
	mu    sync.Mutex // guards first, and the links of the entries; a leaf lock
	first *entry
	_     [48]byte // the next shard is in another cache line
}

// entry is a query in the register. All but the links and rows stays as it is while the query is listed.
type entry struct {
	of         *register
	id         uint64
	prev, next *entry

	src    Source
	began  time.Time
	from   *exec.SessionState // as it was then
	memory *budget.Account
	ctx    life.Context // what the query runs with
	rows   atomic.Int64
}

// enter lists a query of the session s.
func (g *register) enter(e *entry, s *exec.SessionState, src Source) {
	e.of, e.id, e.src, e.began, e.from = g, g.last.Add(1), src, time.Now(), s
	sh := &g.shards[e.id%shards]
	sh.mu.Lock()
	if e.next = sh.first; e.next != nil {
		e.next.prev = e
	}
	sh.first = e
	sh.mu.Unlock()
}

// leave ends what enter began. It does nothing for an entry that is not listed.
func (e *entry) leave() {
	if e.of == nil {
		return
	}
	sh := &e.of.shards[e.id%shards]
	sh.mu.Lock()
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		sh.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	sh.mu.Unlock()
	e.of = nil
	e.ctx.Stop(nil)
}

// session is the id of the session that the query runs for; zero where it has none.
func (e *entry) session() value.UUID {
	if e.from.ID.Kind() != value.KindUUID {
		return value.UUID{}
	}
	return e.from.ID.UUID()
}

// describe is the entry for an operator; the lock of its shard is held.
func (e *entry) describe() Working {
	p := &e.from.Auth.Principal
	w := Working{ID: e.id, Session: e.session(), NS: e.from.Auth.NS, DB: e.from.Auth.DB, Source: e.src, Began: e.began,
		Rows: e.rows.Load(), Memory: e.memory.Taken(),
		Who: auth.Principal{Level: p.Level, NS: p.NS, DB: p.DB, Name: p.Name, Record: p.Record}}
	if e.from.IP.Kind() == value.KindString {
		w.Client = e.from.IP.Str()
	}
	return w
}

// Working lists the queries that run, the oldest first.
func (x *Runner) Working() []Working {
	var out []Working
	for i := range x.working.shards {
		sh := &x.working.shards[i]
		sh.mu.Lock()
		for e := sh.first; e != nil; e = e.next {
			out = append(out, e.describe())
		}
		sh.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b Working) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out
}

// Stop ends the query id; false where none runs. It fails with errs.Stopped as soon as it looks at its context.
func (x *Runner) Stop(id uint64) bool {
	return x.working.stop(id%shards, func(e *entry) bool { return e.id == id }) > 0
}

// Stop ends the query as Runner.Stop does. It may be called by any goroutine.
func (q *Query) Stop() { q.work.ctx.Stop(exec.ErrStopped) }

// StopSession ends all queries of a session and gives their number.
func (x *Runner) StopSession(session value.UUID) int {
	n := 0
	for i := range uint64(shards) {
		n += x.working.stop(i, func(e *entry) bool { return e.session() == session })
	}
	return n
}

// stop ends the queries of one shard that match.
func (g *register) stop(shard uint64, match func(*entry) bool) int {
	sh := &g.shards[shard]
	var found []*life.Context
	sh.mu.Lock()
	for e := sh.first; e != nil; e = e.next {
		if match(e) {
			found = append(found, &e.ctx)
		}
	}
	sh.mu.Unlock()
	for _, ctx := range found {
		ctx.Stop(exec.ErrStopped)
	}
	return len(found)
}
