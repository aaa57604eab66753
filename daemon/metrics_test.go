package daemon_test

import (
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// scrape is the metrics as root sees them, by name and labels.
func (s *server) scrape() map[string]float64 {
	s.t.Helper()
	values := map[string]float64{}
	for line := range strings.Lines(s.do("GET", "/metrics", "", rootAuth).body) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		v, err := strconv.ParseFloat(text, 64)
		if _, twice := values[name]; err != nil || twice {
			s.t.Errorf("%q: %v", line, err)
		}
		values[name] = v
	}
	return values
}

// Every family counts what it says: each row is what happens, and what moves by how much at least.
func TestMetricsMove(t *testing.T) {
	s := start(t, func(c *config.Config) {
		c.Path, c.Limits.SQLBody = "bolt://"+filepath.Join(t.TempDir(), "a.db"), 1000
	})
	k := s.dial("json").root()
	place := `{"id":1,"method":"use","params":["test","test"]}`
	k.say(place)
	setup(t, s, "DEFINE TABLE t; CREATE t:1; CREATE t:2")
	conflict := func() {
		begin := func(k *socket) string {
			k.say(place)
			return strings.Split(k.say(`{"id":1,"method":"begin"}`), `"`)[5]
		}
		other := s.dial("json").root()
		a, b := begin(k), begin(other)
		for _, tx := range []struct {
			k  *socket
			id string
		}{{k, a}, {other, b}} {
			tx.k.say(`{"id":1,"method":"query","txn":"` + tx.id + `","params":["UPDATE t:1 SET n += 1"]}`)
		}
		k.say(`{"id":1,"method":"commit","params":["` + a + `"]}`)
		if got := other.say(`{"id":1,"method":"commit","params":["` + b + `"]}`); !strings.Contains(got, "error") {
			t.Error("no conflict: ", got)
		}
	}
	for _, tc := range []struct {
		name string
		do   func()
		want map[string]float64
	}{
		{"a write", func() { s.do("POST", "/sql", "CREATE t:3 SET text = 'abcdefgh'", at()...) }, map[string]float64{
			`surrealdb_transaction_total{status="committed"}`: 1, `surrealdb_transaction_keys_written_total`: 1, `surrealdb_transaction_value_bytes_written_total`: 8,
			`surrealdb_transaction_key_bytes_written_total`: 1, `surrealdb_transaction_kv_ops_total{op="set"}`: 1, `surrealdb_transaction_duration_seconds_count`: 1,
			`nacre_kv_commits_total`: 1, `nacre_kv_batch_size_count`: 1, `nacre_kv_batch_size_sum`: 1, `nacre_kv_fsync_duration_seconds_count`: 1,
			`nacre_kv_fsync_duration_seconds_sum`: 1e-9, `nacre_kv_overlay_bytes`: 8, `surrealdb_http_request_size_bytes_total`: 32,
			`surrealdb_http_request_total{route="/sql",status="200"}`: 1, `surrealdb_statement_total{status="ok"}`: 1, `surrealdb_query_total{status="ok"}`: 1,
		}},
		{"a read of a table", func() { s.do("POST", "/sql", "SELECT * FROM t", at()...) }, map[string]float64{
			`surrealdb_transaction_keys_read_total`: 3, `surrealdb_transaction_value_bytes_read_total`: 20, `surrealdb_transaction_key_bytes_read_total`: 3,
			`surrealdb_transaction_kv_ops_total{op="scan"}`: 1, `surrealdb_statement_rows_total`: 3, `nacre_kv_snapshots_total`: 1,
			`surrealdb_network_sent_bytes_total`: 50, `surrealdb_network_received_bytes_total`: 15,
		}},
		{"a read of a record", func() { s.do("POST", "/sql", "SELECT * FROM t:1", at()...) }, map[string]float64{`surrealdb_transaction_kv_ops_total{op="get"}`: 1}},
		{"a failure", func() { s.do("POST", "/sql", "CREATE t:1; DELETE t:3", at()...) }, map[string]float64{
			`surrealdb_statement_total{status="error"}`: 1, `surrealdb_transaction_total{status="cancelled"}`: 1, `surrealdb_transaction_kv_ops_total{op="delete"}`: 1,
		}},
		{"a conflict", conflict, map[string]float64{`surrealdb_transaction_conflicts_total`: 1, `surrealdb_transaction_total{status="conflict"}`: 1,
			`nacre_kv_conflicts_total`: 1, `nacre_ws_connections`: 1, `surrealdb_session_active`: 1, `surrealdb_session_total`: 1,
			`surrealdb_rpc_total{method="begin",status="ok"}`: 2, `surrealdb_rpc_total{method="commit",status="error"}`: 1}},
		{"an open transaction", func() { k.say(`{"id":1,"method":"begin"}`); s.do("POST", "/sql", "CREATE t:9", at()...) }, map[string]float64{
			`nacre_txn_open`: 1, `nacre_txn_oldest_versions`: 1, `nacre_txn_oldest_seconds`: 1e-9}},
		{"a live query", func() {
			k.say(`{"id":1,"method":"live","params":["t"]}`)
			s.do("POST", "/sql", "CREATE t:10", at()...)
			k.message()
		}, map[string]float64{
			`surrealdb_live_query_active`: 1, `surrealdb_live_query_notifications_total`: 1}},
		{"a live query whose client leaves", func() {
			gone := s.dial("json")
			gone.say(`{"id":1,"method":"signin","params":[{"user":"root","pass":"root"}]}`)
			gone.say(`{"id":1,"method":"use","params":["test","test"]}`)
			gone.say(`{"id":1,"method":"live","params":["t"]}`)
			gone.say(`{"id":1,"method":"reset"}`)
		}, map[string]float64{`surrealdb_live_query_orphaned_total`: 1, `surrealdb_live_query_active`: 0}},
		{"a statement that is not allowed", func() {
			s.do("POST", "/sql", "DEFINE USER vi ON ROOT PASSWORD 'x' ROLES VIEWER", at()...)
			s.do("POST", "/sql", "DEFINE TABLE mine", "Authorization: Basic dmk6eA==", "Service-NS: test", "Service-DB: test")
		}, map[string]float64{`nacre_permission_denied_total{action="define"}`: 1}},
		{"a body over its cap", func() { s.do("POST", "/sql", strings.Repeat(" ", 1001), at()...) }, map[string]float64{`nacre_limit_hits_total{limit="body"}`: 1}},
		{"a wrong password", func() { s.do("POST", "/signin", `{"user":"root","pass":"x"}`) }, map[string]float64{
			`surrealdb_auth_attempts_total`: 1, `surrealdb_auth_failures_total`: 1}},
		{"a session attached over HTTP", func() {
			s.do("POST", "/rpc", `{"method":"attach","session":"018ff8e0-0000-7000-8000-000000000001"}`, at("Content-Type: application/json")...)
		}, map[string]float64{`surrealdb_session_active`: 1}},
	} {
		before := s.scrape()
		tc.do()
		after := s.scrape()
		for name, least := range tc.want {
			if _, there := after[name]; !there || after[name]-before[name] < least {
				t.Errorf("%s: %s goes from %v to %v", tc.name, name, before[name], after[name])
			}
		}
	}
	if v, there := s.scrape()["surrealdb_process_cpu_percent"]; !there || v < 0 { // it may be too short to be seen
		t.Errorf("surrealdb_process_cpu_percent is %v", v)
	}
	for _, name := range []string{"surrealdb_process_memory_bytes", "surrealdb_process_uptime_seconds", "nacre_kv_file_bytes"} {
		if v := s.scrape()[name]; v <= 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
	if _, there := s.scrape()["nacre_kv_free_pages"]; !there { // how many a new file has is up to bbolt
		t.Error("nacre_kv_free_pages is not there")
	}
	for _, name := range []string{"nacre_kv_checkpoints_total", "nacre_kv_pinned_pages", "nacre_kv_read_only", "nacre_transaction_retries_total", "nacre_ws_send_queue_bytes"} {
		if v, there := s.scrape()[name]; !there || v != 0 {
			t.Errorf("%s is %v", name, v)
		}
	}
}

// TestQueryMemory: statements are refused what --query-memory has no room for; the metrics tell.
func TestQueryMemory(t *testing.T) {
	s := start(t, func(c *config.Config) { c.QueryMemory = 4 << 20 })
	r := s.do("POST", "/sql", "RETURN (<array> 0..1000).map(|$i| string::repeat('x', 10000)); RETURN 1", at()...)
	if r.StatusCode != 200 || !strings.Contains(r.body, "more than 4194304 bytes") || !strings.Contains(r.body, `"result":1`) {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	m := s.scrape()
	if m["nacre_query_memory_limit_bytes"] != 4<<20 || m["nacre_query_memory_bytes"] != 0 || m["nacre_query_memory_refused_total"] != 1 {
		t.Errorf("limit %v, taken %v, refused %v", m["nacre_query_memory_limit_bytes"], m["nacre_query_memory_bytes"], m["nacre_query_memory_refused_total"])
	}
}

// TestAnswersOnTheirWayCount: what a client has not taken yet is held, and counts.
func TestAnswersOnTheirWayCount(t *testing.T) {
	s := start(t, func(c *config.Config) { c.QueryMemory = 1 << 30 })
	s.do("POST", "/sql", "INSERT INTO big (SELECT VALUE { id: $this, s: string::repeat('x', 1000000) } FROM <array> 0..40) RETURN NONE", at()...)
	req, err := http.NewRequest("POST", s.url+"/sql", strings.NewReader("SELECT * FROM big"))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range at() {
		name, text, _ := strings.Cut(h, ": ")
		req.Header.Set(name, text)
	}
	r, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if taken := s.scrape()["nacre_query_memory_bytes"]; taken < 80e6 { // the head of the answer is here, most of it cannot be
		t.Errorf("%v bytes are taken while the answer is on its way", taken)
	}
	if n, err := io.Copy(io.Discard, r.Body); err != nil || n < 40e6 {
		t.Errorf("%d bytes, %v", n, err)
	}
	eventually(t, "all is given back", func() bool { return s.scrape()["nacre_query_memory_bytes"] == 0 })
}
