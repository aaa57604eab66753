package telemetry

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/errs"
)

// outcome counts successes and failures of one thing and how long it took.
type outcome struct {
	ok, failed atomic.Uint64
	spent      histogram
}

func (o *outcome) observe(d time.Duration, ok bool) {
	if ok {
		o.ok.Add(1)
	} else {
		o.failed.Add(1)
	}
	o.spent.observe(d)
}

// Metrics are the daemon's counters. A nil *Metrics counts nothing.
type Metrics struct {
	// Release is the version of the program, beside that of the protocol; "" is left out. It is set before the first
	// use.
	Release string

	start   time.Time
	version string

	query, statement, request   outcome
	slow, authTried, authFailed atomic.Uint64
	sent, received              atomic.Uint64
	sockets, active             atomic.Int64
	sessionTotal, dropped       atomic.Uint64
	rows, bodies                atomic.Uint64
	work                        work
	verbs                       verbs
	denied                      verbs // statements that their user may not run
	slowest                     slowest

	mu      sync.Mutex // guards the maps, not the counters in them; a leaf lock
	methods map[string]*outcome
	status  map[statusKey]*atomic.Uint64
	limited map[string]*atomic.Uint64 // requests refused, by the limit

	operations map[operationKey]*outcome // of GraphQL
	mcp        mcp

	usage usage // of the processor, by scrapes
}

type statusKey struct {
	route string
	code  int
}

// NewMetrics makes the counters of a daemon of the given version.
func NewMetrics(version string) *Metrics {
	return &Metrics{start: time.Now(), version: version, methods: map[string]*outcome{},
		status:  map[statusKey]*atomic.Uint64{},
		limited: map[string]*atomic.Uint64{}, operations: map[operationKey]*outcome{}, verbs: newVerbs(),
		denied: newVerbs()}
}

// Query counts a text of statements.
func (m *Metrics) Query(d time.Duration, ok bool) {
	if m != nil {
		m.query.observe(d, ok)
	}
}

// Statement counts a statement that answered so many rows, or failed; verb says what it does.
func (m *Metrics) Statement(verb string, d time.Duration, failed *errs.Error, rows int) {
	if m == nil {
		return
	}
	m.statement.observe(d, failed == nil)
	m.verbs.count(verb)
	m.rows.Add(uint64(rows))
	if failed != nil && failed.Kind == errs.KindNotAllowed {
		m.denied.count(verb)
	}
}

// SlowQuery counts a query that went to the slow log.
func (m *Metrics) SlowQuery() {
	if m != nil {
		m.slow.Add(1)
	}
}

// RPC counts a call of a method; name is from the method table.
func (m *Metrics) RPC(name string, d time.Duration, ok bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	o := m.methods[name]
	if o == nil {
		o = &outcome{}
		m.methods[name] = o
	}
	m.mu.Unlock()
	o.observe(d, ok)
}

// HTTPStart counts a request that begins; the result is called when it ends.
func (m *Metrics) HTTPStart() func(route string, code int, d time.Duration) {
	if m == nil {
		return func(string, int, time.Duration) {}
	}
	m.active.Add(1)
	return func(route string, code int, d time.Duration) {
		m.active.Add(-1)
		m.request.observe(d, code < 500)
		key := statusKey{route, code}
		m.mu.Lock()
		n := m.status[key]
		if n == nil {
			n = &atomic.Uint64{}
			m.status[key] = n
		}
		m.mu.Unlock()
		n.Add(1)
	}
}

// Auth counts an attempt to get an identity.
func (m *Metrics) Auth(ok bool) {
	if m == nil {
		return
	}
	m.authTried.Add(1)
	if !ok {
		m.authFailed.Add(1)
	}
}

// Network counts bytes of messages and bodies.
func (m *Metrics) Network(received, sent int) {
	if m == nil {
		return
	}
	m.received.Add(uint64(received))
	m.sent.Add(uint64(sent))
}

// Body counts bytes of the body of a request.
func (m *Metrics) Body(n int64) {
	if m != nil && n > 0 {
		m.bodies.Add(uint64(n))
		m.received.Add(uint64(n))
	}
}

// Limited counts a request refused by a limit; the names of limits are a closed set.
func (m *Metrics) Limited(limit string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.limited[limit]
	if n == nil {
		n = &atomic.Uint64{}
		m.limited[limit] = n
	}
	n.Add(1)
}

// SocketOpened and SocketClosed count WebSockets; slow says that the client was closed because it did not read.
func (m *Metrics) SocketOpened() {
	if m != nil {
		m.sockets.Add(1)
		m.sessionTotal.Add(1)
	}
}

// SocketClosed ends what SocketOpened began.
func (m *Metrics) SocketClosed(slow bool) {
	if m == nil {
		return
	}
	m.sockets.Add(-1)
	if slow {
		m.dropped.Add(1)
	}
}
