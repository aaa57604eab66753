package top

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nacredb/nacre/cli/process"
)

// Source is a server that is watched.
type Source interface {
	// Read asks for the metrics, in the text format of Prometheus, and for what runs.
	Read(ctx context.Context) (metrics string, list *process.List, err error)
	// Kill ends what an id names.
	Kill(ctx context.Context, id string) error
}

// reading is an answer of a source.
type reading struct {
	at     time.Time
	series series
	list   *process.List
}

func read(ctx context.Context, src Source, now func() time.Time) (*reading, error) {
	text, list, err := src.Read(ctx)
	if err != nil {
		return nil, err
	}
	return &reading{now(), parseMetrics(text), list}, nil
}

// Rate is how often something happens.
type Rate struct {
	Name      string  `json:"name"`
	PerSecond float64 `json:"per_second"`
}

// Latency are times in seconds that shares of the statements since the last reading did not exceed.
type Latency struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Figures are the numbers on the screen; rates are those since the reading before.
type Figures struct {
	Time          time.Time `json:"time"`
	Uptime        float64   `json:"uptime_seconds"`
	Requests      float64   `json:"requests_per_second"`
	Statements    float64   `json:"statements_per_second"`
	Errors        float64   `json:"errors_per_second"`
	Verbs         []Rate    `json:"statements"` // by what they do, the most frequent first
	Methods       []Rate    `json:"requests"`   // by method or route
	Latency       *Latency  `json:"latency_seconds"`
	Transactions  float64   `json:"transactions_per_second"`
	Conflicts     float64   `json:"conflicts_per_second"`
	Retries       float64   `json:"retries_per_second"`
	OpenTxns      float64   `json:"open_transactions"`
	OldestTxn     float64   `json:"oldest_transaction_seconds"`
	Sessions      float64   `json:"sessions"`
	LiveQueries   float64   `json:"live_queries"`
	Notifications float64   `json:"notifications_per_second"`
	Memory        float64   `json:"memory_bytes"`
	QueryMemory   float64   `json:"query_memory_bytes"`
	QueryLimit    float64   `json:"query_memory_limit_bytes"`
	CPU           float64   `json:"cpu_percent"`
	FileBytes     float64   `json:"file_bytes"`
	LogBytes      float64   `json:"log_bytes"`
	Checkpoints   float64   `json:"checkpoints"`
	SyncTime      float64   `json:"sync_seconds"` // of one sync of the log
	ReadOnly      bool      `json:"read_only"`
	Received      float64   `json:"received_bytes_per_second"`
	Sent          float64   `json:"sent_bytes_per_second"`
	SlowTotal     float64   `json:"slow_queries"`
	AuthFailures  float64   `json:"auth_failures_per_second"`

	Processes *process.List `json:"processes"`
}

// figures compares two readings of a server.
func figures(old, now *reading) *Figures {
	s, was := now.series, old.series
	if s["surrealdb_process_uptime_seconds"] < was["surrealdb_process_uptime_seconds"] {
		was = series{} // the server was started again: its counters began at zero
	}
	span := max(now.at.Sub(old.at).Seconds(), 1e-3)
	rate := func(family string) float64 { return max(0, s.sum(family)-was.sum(family)) / span }
	f := &Figures{
		Time: now.at, Uptime: s["surrealdb_process_uptime_seconds"],
		Requests:   rate("surrealdb_rpc_total") + rate("surrealdb_http_request_total"),
		Statements: rate("surrealdb_statement_total"), Errors: rate(`surrealdb_statement_total{status="error"}`),
		Verbs: rates(s, was, span, "nacre_statement_verb_total", "verb"),
		Methods: merged(rates(s, was, span, "surrealdb_rpc_total", "method"),
			rates(s, was, span, "surrealdb_http_request_total", "route")),
		Transactions: rate("surrealdb_transaction_total"), Conflicts: rate("surrealdb_transaction_conflicts_total"),
		Retries:  rate("nacre_transaction_retries_total"),
		OpenTxns: s["nacre_txn_open"], OldestTxn: s["nacre_txn_oldest_seconds"],
		Sessions: s["surrealdb_session_active"], LiveQueries: s["surrealdb_live_query_active"],
		Notifications: rate("surrealdb_live_query_notifications_total"), Memory: s["surrealdb_process_memory_bytes"],
		QueryMemory: s["nacre_query_memory_bytes"], QueryLimit: s["nacre_query_memory_limit_bytes"],
		CPU:       s["surrealdb_process_cpu_percent"],
		FileBytes: s["nacre_kv_file_bytes"], LogBytes: s["nacre_kv_overlay_bytes"],
		Checkpoints: s["nacre_kv_checkpoints_total"], ReadOnly: s["nacre_kv_read_only"] != 0,
		Received: rate("surrealdb_network_received_bytes_total"), Sent: rate("surrealdb_network_sent_bytes_total"),
		SlowTotal: s["surrealdb_slow_query_total"], AuthFailures: rate("surrealdb_auth_failures_total"),
		Processes: now.list,
	}
	if q := s.quantiles(was, "surrealdb_statement_duration_seconds", 0.5, 0.95, 0.99); len(q) == 3 {
		f.Latency = &Latency{q[0], q[1], q[2]}
	}
	if n := s["nacre_kv_fsync_duration_seconds_count"] - was["nacre_kv_fsync_duration_seconds_count"]; n > 0 {
		f.SyncTime = (s["nacre_kv_fsync_duration_seconds_sum"] - was["nacre_kv_fsync_duration_seconds_sum"]) / n
	}
	return f
}

// rates are the rates of a family by a label, without what did not happen.
func rates(s, was series, span float64, family, label string) []Rate {
	out := []Rate{}
	old := was.label(family, label)
	for name, n := range s.label(family, label) {
		if d := n - old[name]; d > 0 {
			out = append(out, Rate{name, d / span})
		}
	}
	slices.SortFunc(out, func(a, b Rate) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func merged(lists ...[]Rate) []Rate {
	by := map[string]float64{}
	for _, list := range lists {
		for _, r := range list {
			by[r.Name] += r.PerSecond
		}
	}
	out := []Rate{}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, Rate{name, by[name]})
	}
	slices.SortStableFunc(out, func(a, b Rate) int { return cmp.Compare(b.PerSecond, a.PerSecond) })
	return out
}
