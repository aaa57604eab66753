package telemetry

import (
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine"
)

// Gauges are figures of the moment that others keep.
type Gauges struct {
	Engine      engine.Stats
	Sessions    int   // attached over HTTP
	SocketQueue int64 // bytes that wait for clients of WebSockets
}

// usage turns the time of processors into a share of one, between two scrapes. Metrics.mu guards it.
type usage struct {
	at   time.Time
	used time.Duration
}

// percent is the share of a processor that the process has used since the last reading.
func (m *Metrics) percent() (float64, bool) {
	used, ok := processTime()
	if !ok {
		return 0, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last, now := m.usage, time.Now()
	if last.at.IsZero() {
		last.at = m.start
	}
	m.usage = usage{now, used}
	return 100 * float64(used-last.used) / float64(max(now.Sub(last.at), 1)), true
}

// Write prints the metrics in Prometheus text format. Unless all is set, only what an anonymous scrape may see.
func (m *Metrics) Write(w io.Writer, all bool, g *Gauges) {
	if m == nil {
		return
	}
	family(w, "surrealdb_build_info", "gauge", "Version of the protocol, and of the program.")
	labels := `version="` + m.version + `",go="` + runtime.Version() + `"`
	if m.Release != "" {
		labels += `,release="` + m.Release + `"`
	}
	line(w, "surrealdb_build_info", labels, 1)
	single(w, "surrealdb_process_uptime_seconds", "gauge", "Seconds since the start.", time.Since(m.start).Seconds())
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	single(w, "surrealdb_process_memory_bytes", "gauge", "Memory obtained from the system.",
		float64(mem.Sys-mem.HeapReleased))
	single(w, "surrealdb_http_active_requests", "gauge", "HTTP requests under way.", float64(m.active.Load()))
	single(w, "surrealdb_session_active", "gauge", "Open connections with a session, and sessions attached over HTTP.",
		float64(m.sockets.Load())+float64(g.Sessions))
	single(w, "nacre_ws_connections", "gauge", "Open WebSockets.", float64(m.sockets.Load()))
	if !all {
		return
	}
	if g.Engine.Node != "" {
		family(w, "nacre_node_info", "gauge", "This server among those of its store, by the id that nacre cluster status lists.")
		line(w, "nacre_node_info", `node="`+g.Engine.Node+`"`, 1)
	}
	if p, ok := m.percent(); ok {
		single(w, "surrealdb_process_cpu_percent", "gauge", "Share of one processor since the last scrape.", p)
	}
	m.writeWork(w)
	m.writeGraphQL(w)
	m.writeMCP(w)
	m.work.write(w)
	m.writeNetwork(w)
	writeEngine(w, g)
	single(w, "go_goroutines", "gauge", "Goroutines.", float64(runtime.NumGoroutine()))
	single(w, "go_memstats_heap_alloc_bytes", "gauge", "Bytes of live and unswept heap objects.", float64(mem.HeapAlloc))
	single(w, "go_memstats_mallocs_total", "counter", "Heap objects allocated.", float64(mem.Mallocs))
	single(w, "go_gc_cycles_total", "counter", "Finished garbage collections.", float64(mem.NumGC))
}

func (m *Metrics) writeWork(w io.Writer) {
	pair(w, "surrealdb_query", "Query texts.", &m.query)
	pair(w, "surrealdb_statement", "Statements.", &m.statement)
	single(w, "surrealdb_statement_rows_total", "counter", "Rows that statements answered.", float64(m.rows.Load()))
	m.verbs.write(w, "nacre_statement_verb_total", "verb", "Statements by what they do.")
	single(w, "surrealdb_slow_query_total", "counter", "Queries over the slow-log threshold.", float64(m.slow.Load()))

	m.mu.Lock()
	rows := maps.Clone(m.methods)
	m.mu.Unlock()
	names := slices.Sorted(maps.Keys(rows))
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
	counts, limited := maps.Clone(m.status), maps.Clone(m.limited)
	m.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b statusKey) int {
		if a.route != b.route {
			return strings.Compare(a.route, b.route)
		}
		return a.code - b.code
	})
	family(w, "surrealdb_http_request_total", "counter", "HTTP requests.")
	for _, k := range keys {
		line(w, "surrealdb_http_request_total", `route="`+k.route+`",status="`+strconv.Itoa(k.code)+`"`,
			float64(counts[k].Load()))
	}
	family(w, "surrealdb_http_request_duration_seconds", "histogram", "Time of HTTP requests.")
	m.request.spent.write(w, "surrealdb_http_request_duration_seconds", "")
	single(w, "surrealdb_http_request_size_bytes_total", "counter", "Bytes of request bodies.", float64(m.bodies.Load()))
	single(w, "surrealdb_session_total", "counter", "Connections with a session so far.",
		float64(m.sessionTotal.Load()))
	single(w, "surrealdb_auth_attempts_total", "counter", "Attempts to sign in, sign up or authenticate.",
		float64(m.authTried.Load()))
	single(w, "surrealdb_auth_failures_total", "counter", "Attempts that failed.", float64(m.authFailed.Load()))
	single(w, "surrealdb_network_received_bytes_total", "counter", "Bytes of messages and bodies received.",
		float64(m.received.Load()))
	single(w, "surrealdb_network_sent_bytes_total", "counter", "Bytes of messages and bodies sent.",
		float64(m.sent.Load()))
	m.denied.write(w, "nacre_permission_denied_total", "action", "Statements that their users may not run.")
	family(w, "nacre_limit_hits_total", "counter", "Requests refused by a limit.")
	for _, name := range slices.Sorted(maps.Keys(limited)) {
		line(w, "nacre_limit_hits_total", `limit="`+name+`"`, float64(limited[name].Load()))
	}
	single(w, "nacre_ws_slow_clients_total", "counter", "WebSockets closed because the client did not read.",
		float64(m.dropped.Load()))
}

// writeEngine prints what the engine and its store tell of themselves.
func writeEngine(w io.Writer, g *Gauges) {
	e := &g.Engine
	single(w, "surrealdb_live_query_active", "gauge", "Live queries.", float64(e.LiveQueries))
	single(w, "surrealdb_live_query_notifications_total", "counter", "Notifications of live queries.",
		float64(e.Notifications))
	single(w, "surrealdb_live_query_orphaned_total", "counter", "Live queries that ended with their sessions.",
		float64(e.Orphaned))
	single(w, "nacre_ws_send_queue_bytes", "gauge", "Bytes that wait for clients of WebSockets.", float64(g.SocketQueue))
	single(w, "nacre_query_memory_limit_bytes", "gauge", "Memory that statements may hold together.",
		float64(e.Memory.Limit))
	single(w, "nacre_query_memory_bytes", "gauge", "Memory that statements at work have taken of it.", float64(e.Memory.Taken))
	single(w, "nacre_query_memory_refused_total", "counter", "Statements that were refused more of it.",
		float64(e.Memory.Refused))
	single(w, "nacre_txn_open", "gauge", "Open transactions.", float64(e.Snapshots))
	single(w, "nacre_txn_oldest_seconds", "gauge", "For how long the oldest state that a transaction reads has been in use.", e.Oldest.Seconds())
	single(w, "nacre_txn_oldest_versions", "gauge", "Commits since the oldest state that a transaction reads.", float64(e.Lag))
	single(w, "nacre_kv_snapshots_total", "counter", "Snapshots opened.", float64(e.Begun))
	single(w, "nacre_kv_commits_total", "counter", "Batches that the store took.", float64(e.Commits))
	single(w, "nacre_kv_conflicts_total", "counter", "Batches that the store refused because others were first.", float64(e.Conflicts))
	single(w, "nacre_kv_checkpoints_total", "counter", "Checkpoints of the log into the data file.", float64(e.Checkpoint))
	single(w, "nacre_kv_overlay_bytes", "gauge", "Bytes that are in the log and not yet in the data file.", float64(e.Bytes))
	single(w, "nacre_kv_file_bytes", "gauge", "Bytes of the files of the store.", float64(e.FileBytes))
	single(w, "nacre_kv_free_pages", "gauge", "Free pages of the data file.", float64(e.FreePages))
	single(w, "nacre_kv_pinned_pages", "gauge", "Pages of the data file that are free but for open transactions.", float64(e.PinnedPages))
	if !e.SafePoint.IsZero() {
		single(w, "nacre_kv_safe_point_timestamp_seconds", "gauge", "The cluster may have cleared away what was before, seconds since 1970.",
			float64(e.SafePoint.UnixMilli())/1e3)
	}
	summary(w, "nacre_kv_batch_size", "Commits that were made durable together.", float64(e.Commits), e.Groups)
	summary(w, "nacre_kv_fsync_duration_seconds", "Time of syncs of the log.", e.SyncTime.Seconds(), e.Syncs)
	readOnly := 0.0
	if e.ReadOnly {
		readOnly = 1
	}
	single(w, "nacre_kv_read_only", "gauge", "1 since a write failed in a way that only a restart mends.", readOnly)
}

func summary(w io.Writer, name, help string, sum float64, count uint64) {
	family(w, name, "summary", help)
	line(w, name+"_sum", "", sum)
	line(w, name+"_count", "", float64(count))
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
