package telemetry

import (
	"io"
	"math"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
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
	start   time.Time
	version string

	query, statement, request      outcome
	slow, authTried, authFailed    atomic.Uint64
	sent, received                 atomic.Uint64
	sockets, active                atomic.Int64
	sessionTotal, limited, dropped atomic.Uint64

	mu      sync.Mutex // guards the maps, not the counters in them; a leaf lock
	methods map[string]*outcome
	status  map[statusKey]*atomic.Uint64
}

type statusKey struct {
	route string
	code  int
}

// NewMetrics makes the counters of a daemon of the given version.
func NewMetrics(version string) *Metrics {
	return &Metrics{start: time.Now(), version: version, methods: map[string]*outcome{}, status: map[statusKey]*atomic.Uint64{}}
}

// Query counts a text of statements.
func (m *Metrics) Query(d time.Duration, ok bool) {
	if m != nil {
		m.query.observe(d, ok)
	}
}

// Statement counts a statement.
func (m *Metrics) Statement(d time.Duration, ok bool) {
	if m != nil {
		m.statement.observe(d, ok)
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

// Limited counts a request refused by a limit.
func (m *Metrics) Limited() {
	if m != nil {
		m.limited.Add(1)
	}
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

// Write prints the metrics in Prometheus text format. Unless all is set, only what an anonymous scrape may see.
func (m *Metrics) Write(w io.Writer, all bool) {
	if m == nil {
		return
	}
	family(w, "surrealdb_build_info", "gauge", "Version of the server.")
	line(w, "surrealdb_build_info", `version="`+m.version+`",go="`+runtime.Version()+`"`, 1)
	single(w, "surrealdb_process_uptime_seconds", "gauge", "Seconds since the start.", time.Since(m.start).Seconds())
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	single(w, "surrealdb_process_memory_bytes", "gauge", "Memory obtained from the system.", float64(mem.Sys-mem.HeapReleased))
	single(w, "surrealdb_http_active_requests", "gauge", "HTTP requests under way.", float64(m.active.Load()))
	single(w, "surrealdb_session_active", "gauge", "Open connections with a session.", float64(m.sockets.Load()))
	single(w, "nacre_ws_connections", "gauge", "Open WebSockets.", float64(m.sockets.Load()))
	if !all {
		return
	}
	m.writeWork(w)
	m.writeNetwork(w)
	single(w, "go_goroutines", "gauge", "Goroutines.", float64(runtime.NumGoroutine()))
	single(w, "go_memstats_heap_alloc_bytes", "gauge", "Bytes of live and unswept heap objects.", float64(mem.HeapAlloc))
	single(w, "go_memstats_mallocs_total", "counter", "Heap objects allocated.", float64(mem.Mallocs))
	single(w, "go_gc_cycles_total", "counter", "Finished garbage collections.", float64(mem.NumGC))
}

func (m *Metrics) writeWork(w io.Writer) {
	pair(w, "surrealdb_query", "Query texts.", &m.query)
	pair(w, "surrealdb_statement", "Statements.", &m.statement)
	single(w, "surrealdb_slow_query_total", "counter", "Queries over the slow-log threshold.", float64(m.slow.Load()))

	m.mu.Lock()
	names := make([]string, 0, len(m.methods))
	for name := range m.methods {
		names = append(names, name)
	}
	rows := make(map[string]*outcome, len(names))
	for _, name := range names {
		rows[name] = m.methods[name]
	}
	m.mu.Unlock()
	sort.Strings(names)
	family(w, "surrealdb_rpc_total", "counter", "Remote calls.")
	for _, name := range names {
		line(w, "surrealdb_rpc_total", `method="`+name+`",status="ok"`, float64(rows[name].ok.Load()))
		line(w, "surrealdb_rpc_total", `method="`+name+`",status="error"`, float64(rows[name].failed.Load()))
	}
	family(w, "surrealdb_rpc_duration_seconds", "histogram", "Time of remote calls.")
	for _, name := range names {
		rows[name].spent.write(w, "surrealdb_rpc_duration_seconds", `method="`+name+`"`)
	}
}

func (m *Metrics) writeNetwork(w io.Writer) {
	m.mu.Lock()
	keys := make([]statusKey, 0, len(m.status))
	for k := range m.status {
		keys = append(keys, k)
	}
	counts := make(map[statusKey]uint64, len(keys))
	for _, k := range keys {
		counts[k] = m.status[k].Load()
	}
	m.mu.Unlock()
	sort.Slice(keys, func(i, j int) bool {
		return keys[i].route < keys[j].route || keys[i].route == keys[j].route && keys[i].code < keys[j].code
	})
	family(w, "surrealdb_http_request_total", "counter", "HTTP requests.")
	for _, k := range keys {
		line(w, "surrealdb_http_request_total", `route="`+k.route+`",status="`+strconv.Itoa(k.code)+`"`, float64(counts[k]))
	}
	family(w, "surrealdb_http_request_duration_seconds", "histogram", "Time of HTTP requests.")
	m.request.spent.write(w, "surrealdb_http_request_duration_seconds", "")
	single(w, "surrealdb_session_total", "counter", "Connections with a session so far.", float64(m.sessionTotal.Load()))
	single(w, "surrealdb_auth_attempts_total", "counter", "Attempts to sign in, sign up or authenticate.", float64(m.authTried.Load()))
	single(w, "surrealdb_auth_failures_total", "counter", "Attempts that failed.", float64(m.authFailed.Load()))
	single(w, "surrealdb_network_received_bytes_total", "counter", "Bytes of messages and bodies received.", float64(m.received.Load()))
	single(w, "surrealdb_network_sent_bytes_total", "counter", "Bytes of messages and bodies sent.", float64(m.sent.Load()))
	single(w, "nacre_limit_hits_total", "counter", "Requests refused by a limit.", float64(m.limited.Load()))
	single(w, "nacre_ws_slow_clients_total", "counter", "WebSockets closed because the client did not read.", float64(m.dropped.Load()))
}

func pair(w io.Writer, name, help string, o *outcome) {
	family(w, name+"_total", "counter", help)
	line(w, name+"_total", `status="ok"`, float64(o.ok.Load()))
	line(w, name+"_total", `status="error"`, float64(o.failed.Load()))
	family(w, name+"_duration_seconds", "histogram", help)
	o.spent.write(w, name+"_duration_seconds", "")
}

func single(w io.Writer, name, kind, help string, v float64) {
	family(w, name, kind, help)
	line(w, name, "", v)
}

func family(w io.Writer, name, kind, help string) {
	_, _ = io.WriteString(w, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+kind+"\n")
}

func line(w io.Writer, name, labels string, v float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		text = strconv.FormatInt(int64(v), 10)
	}
	_, _ = io.WriteString(w, name+labels+" "+text+"\n")
}
