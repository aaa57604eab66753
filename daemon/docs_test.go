package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/http"
)

// docs/http.md names every route and every metric that a fresh server shows, and no metric that it does not.
func TestDocsOfTheInterface(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "docs", "http.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, name := range http.Routes() {
		if !strings.Contains(page, "/"+name) {
			t.Errorf("the route %s is missing", name)
		}
	}
	s := start(t)
	s.dial("json").root().say(`{"id":1,"method":"ping"}`)
	s.do("POST", "/signin", strings.Repeat(" ", 2000))
	shown := []string{"nacre_kv_safe_point_timestamp_seconds"} // on a cluster: telemetry's own tests have it
	for line := range strings.Lines(s.do("GET", "/metrics", "", rootAuth).body) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ := strings.Cut(rest, " ")
			shown = append(shown, name)
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the metric %s is missing", name)
			}
		}
	}
	for _, word := range strings.Split(page, "`") {
		if (strings.HasPrefix(word, "surrealdb_") || strings.HasPrefix(word, "nacre_") || strings.HasPrefix(word, "go_")) && !slices.Contains(shown, word) && word != "nacre_" {
			t.Errorf("there is no metric %s", word)
		}
	}
}
