package memsvc_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLoad prints how fast a Context of many turns is: MEMSVC_LOAD_TURNS=10000 go test ./memsvc -run TestLoad -v.
func TestLoad(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("MEMSVC_LOAD_TURNS"))
	if err != nil {
		t.Skip("it runs with MEMSVC_LOAD_TURNS only")
	}
	s := start(t, "MEMSVC_LOG_LEVEL", "error")
	r := rand.New(rand.NewPCG(1, 2))
	nouns := []string{"garden", "violin", "invoice", "harbour", "telescope", "recipe", "meeting", "holiday", "bicycle",
		"library", "printer", "contract", "painting", "school", "hospital", "kitchen", "airport", "novel",
		"river", "server"}
	verbs := []string{"bought", "lost", "mended", "visited", "painted", "sold", "found", "wrote about",
		"cleaned", "forgot"}
	people := []string{"Ada", "Ben", "Carol", "Dan", "Eve", "Frank", "Grace", "Heidi"}
	pick := func(l []string) string { return l[r.IntN(len(l))] }
	began := time.Now()
	for at := 0; at < n; at += 500 {
		var messages []map[string]any
		for i := range 500 {
			messages = append(messages, map[string]any{"name": pick(people), "ts": time.Date(2023, 1, 1, 0, at+i, 0, 0,
				time.UTC), "content": fmt.Sprintf("I %s the %s near the %s with %s on day %d, and then we talked about the %s for a while.",
				pick(verbs), pick(nouns), pick(nouns), pick(people), r.IntN(900), pick(nouns))})
		}
		s.post(200, "/facts/batch", map[string]any{"messages": messages, "infer": "none"})
	}
	t.Logf("ingest: %.0f turns/s", float64(n)/time.Since(began).Seconds())
	began = time.Now()
	s.post(200, "/query", `{"query": "violin"}`)
	t.Logf("first query: %v", time.Since(began).Round(time.Millisecond))
	for _, path := range []string{"/query", "/context"} {
		var took []time.Duration
		for range 300 {
			began := time.Now()
			s.post(200, path,
				map[string]any{"query": fmt.Sprintf("When did %s say that the %s was %s near the %s?", pick(people),
					pick(nouns), pick(verbs), pick(nouns))})
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		t.Logf("%s: p50 %v, p95 %v, p99 %v", path, took[150], took[285], took[297])
	}
}

// rss is the memory of the process of a service in MiB: now, and the most it ever was.
func (p *process) rss() (now, most float64) {
	p.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		name, rest, _ := strings.Cut(line, ":")
		kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		switch {
		case name == "VmRSS" && err == nil:
			now = float64(kib) / 1024
		case name == "VmHWM" && err == nil:
			most = float64(kib) / 1024
		}
	}
	return now, most
}

// TestManyContexts prints the memory of a process when it is idle and with many Contexts:
// MEMSVC_LOAD_CONTEXTS=1000 go test ./memsvc -run TestManyContexts -v.
func TestManyContexts(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("MEMSVC_LOAD_CONTEXTS"))
	if err != nil {
		t.Skip("it runs with MEMSVC_LOAD_CONTEXTS only")
	}
	p := spawn(t, t.TempDir(), "", "")
	time.Sleep(2 * time.Second)
	now, _ := p.rss()
	t.Logf("idle: %.0f MiB", now)
	p.post(200, "/facts", `{"text": "I moved to Lisbon.", "name": "Ada"}`)
	p.post(200, "/query", `{"query": "Where does Ada live?"}`)
	now, most := p.rss()
	t.Logf("after the first fact and query: %.0f MiB, most %.0f MiB", now, most)
	began := time.Now()
	for i := range n {
		id := fmt.Sprintf("c%d", i)
		p.must(201, managementKey, "POST", "/api/v1/contexts/"+id, `{}`)
		_, key := p.member(id, "m", map[string][]string{"memory:read": {"*"}, "memory:write": {"*"}})
		for j := range 5 {
			p.must(200, key, "POST", "/api/v1/"+id+"/facts",
				fmt.Sprintf(`{"text": "Member %d likes number %d and nothing of %d."}`, i, j, i+1))
		}
		a := p.must(200, key, "POST", "/api/v1/"+id+"/query", fmt.Sprintf(`{"query": "What does member %d like?"}`, i))
		if len(a.list("hits")) != 5 {
			t.Fatalf("%s: %s", id, a.raw)
		}
	}
	now, most = p.rss()
	t.Logf("%d Contexts in %v: %.0f MiB, most %.0f MiB", n, time.Since(began).Round(time.Second), now, most)
	time.Sleep(5 * time.Second)
	now, most = p.rss()
	t.Logf("5 s later: %.0f MiB, most %.0f MiB", now, most)
}
