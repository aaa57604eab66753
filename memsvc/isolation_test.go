package memsvc_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// secretRow is a memory with a word that nothing else holds.
type secretRow struct {
	context, word string
	clauses       [][]string
}

// reader is a principal with a random region.
type reader struct {
	context, key, home string
	nodes              map[string]bool // pattern of a node → also all below it
}

// sees is the rule of visibility written down anew: one clause has all of its scopes in the region, or above a part of
// it.
func (r *reader) sees(m secretRow) bool {
	if r.context != m.context {
		return false
	}
	for _, clause := range m.clauses {
		all := true
		for _, path := range clause {
			covered := false
			for node, deep := range r.nodes {
				covered = covered || path == node || deep && strings.HasPrefix(path, node+"/") ||
					strings.HasPrefix(node, path+"/")
			}
			all = all && covered
		}
		if all {
			return true
		}
	}
	return false
}

// TestRandomRegionsReadNothingForeign makes Contexts with memories of random scopes and readers of random regions.
// Every way to read, through models and caches as well, shows a reader the words of what it may see, and no other word.
// MEMSVC_ISOLATION_SEEDS sets how many rounds there are.
func TestRandomRegionsReadNothingForeign(t *testing.T) {
	seeds, _ := strconv.Atoi(os.Getenv("MEMSVC_ISOLATION_SEEDS")) // 0 where it is not set
	for seed := range max(seeds, 1) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			s, _ := withModels(t)
			r := rand.New(rand.NewPCG(uint64(seed), 16))
			var rows []secretRow
			var readers []*reader
			for _, id := range []string{"main", "two", "three"} {
				if id != "main" {
					s.must(201, managementKey, "POST", "/api/v1/contexts/"+id, nil)
				}
				s.must(200, managementKey, "PATCH", "/api/v1/contexts/"+id,
					`{"config": {"llm_extraction_enabled": true}}`)
				rows = append(rows, s.secrets(r, id)...)
				for i := range 4 {
					readers = append(readers, s.reader(r, id, i))
				}
			}
			for _, p := range readers {
				s.readsAll(p, rows)
			}
			for _, p := range readers {
				s.chats(p, rows)
			}
		})
	}
}

var scopeTree = []string{"org", "org/a", "org/a/x", "org/a/y", "org/b", "org/b/x", "team", "team/red"}

// secrets fills a Context.
func (s *service) secrets(r *rand.Rand, id string) (rows []secretRow) {
	s.t.Helper()
	_, admin := s.member(id, "writer", map[string][]string{"scope:create": {"*"}, "memory:write": {"*"},
		"memory:read": {"*"}})
	for _, path := range scopeTree {
		s.must(201, admin, "POST", "/api/v1/"+id+"/scopes", `{"path": "`+path+`"}`)
	}
	base, docs := "/api/v1/"+id, 0
	for i := range 12 {
		m := secretRow{context: id, word: fmt.Sprintf("qz%s%dx%d", id, i, r.IntN(10_000))}
		for range 1 + r.IntN(2) {
			var clause []string
			for range 1 + r.IntN(2) {
				clause = append(clause, scopeTree[r.IntN(len(scopeTree))])
			}
			m.clauses = append(m.clauses, clause)
		}
		rows = append(rows, m)
		body := map[string]any{"scopes": m.clauses, "location": map[string]any{"lat": 52.5, "lng": 13.4}}
		switch i % 3 {
		case 0:
			body["text"] = "My name is Q" + m.word[1:] + ". The secret word is " + m.word + "."
			s.must(200, admin, "POST", base+"/facts", body)
		case 1:
			body["triples"] = []any{map[string]any{"key": "secret", "value": m.word,
				"entity": map[string]string{"type": "person", "name": "Shared"}},
				map[string]any{"key": "knows", "entity": map[string]string{"type": "person", "name": "Shared"},
					"target": map[string]string{"type": "person", "name": m.word}}}
			s.must(200, admin, "POST", base+"/facts", body)
		default:
			docs++
			scopes := strings.ReplaceAll(fmt.Sprintf("%q", m.clauses), " ", ",")
			meta := fmt.Sprintf(`{"title": %q, "scopes": %s}`, m.word, scopes)
			s.upload(202, admin, base+"/documents", "POST", "a.md", meta,
				[]byte("# "+m.word+"\n\nThe secret word is "+m.word+", see [it](a.md)."))
		}
	}
	eventually(s.t, "documents are ready", func() bool {
		return len(s.must(200, admin, "GET", base+"/documents?status=ready", nil).list("documents")) == docs
	})
	s.must(200, admin, "POST", base+"/consolidate", nil)
	s.must(200, admin, "POST", base+"/documents/recompute-links", nil)
	return rows
}

func (s *service) reader(r *rand.Rand, id string, i int) *reader {
	s.t.Helper()
	p := &reader{context: id, home: fmt.Sprintf("private/%d", i), nodes: map[string]bool{}}
	p.nodes[p.home] = false
	patterns := []string{p.home}
	for range 1 + r.IntN(2) {
		node, deep := scopeTree[r.IntN(len(scopeTree))], r.IntN(2) == 0
		p.nodes[node] = p.nodes[node] || deep
		if deep {
			node += "/*"
		}
		patterns = append(patterns, node)
	}
	_, p.key = s.member(id, fmt.Sprint("reader", i), map[string][]string{"memory:read": patterns,
		"memory:write": {p.home}, "memory:forget": {p.home}, "scope:read": patterns})
	return p
}

// holds fails when an answer shows a word that the reader may not see, and gives the words that it shows.
func (s *service) holds(p *reader, rows []secretRow, what string, raw []byte, shown map[string]bool) {
	s.t.Helper()
	low := strings.ToLower(string(raw))
	for _, m := range rows {
		if !strings.Contains(low, m.word) {
			continue
		}
		if !p.sees(m) {
			s.t.Fatalf("%s with %v reads %s of %s %v by %s: %s", p.context, p.nodes, m.word, m.context, m.clauses, what,
				raw)
		}
		shown[m.word] = true
	}
}

// readsAll reads everywhere but by models.
func (s *service) readsAll(p *reader, rows []secretRow) {
	s.t.Helper()
	base, shown := "/api/v1/"+p.context, map[string]bool{}
	read := func(method, path string, body any) answer {
		a := s.send(p.key, method, base+path, body)
		if a.status >= 500 && a.status != 501 {
			s.t.Fatalf("%s %s: %d %s", method, path, a.status, a.raw)
		}
		s.holds(p, rows, method+" "+path, a.raw, shown)
		return a
	}
	for _, path := range []string{"/me", "/sessions", "/scopes", "/entities", "/entities/person/shared", "/profile",
		"/state", "/entities/person/shared/history/secret", "/documents",
		"/documents/keywords", "/observations", "/traces",
		"/traces/stats", "/audit", "/keys", "/principals", "/entities/person/shared?asOf=2030-01-01",
		"/entities/person/shared?atInstant=2999-01-01", "/entities/person/shared?validFrom=2000-01-01",
		"/entities/person/shared/history/secret?atInstant=2999-01-01", "/state?atInstant=2999-01-01",
		"/state?validUntil=2999-01-01", "/profile?atInstant=2999-01-01",
		"/inspect?ref=attribute:person/Shared/secret&atInstant=2999-01-01"} {
		read("GET", path, nil)
	}
	for _, check := range []string{"duplicates", "contradictions", "injection"} {
		read("POST", "/fsck", map[string]any{"check": check, "duplicateThreshold": 0.1})
	}
	for _, mode := range []string{"hybrid", "bm25", "vector", "graph"} {
		a := read("POST", "/query", map[string]any{"query": "secret word", "k": 50, "mode": mode, "explain": true,
			"includeDuplicates": true})
		if id := a.str("trace", "traceId"); id != "" {
			read("GET", "/traces/"+id, nil)
		}
	}
	for _, extra := range []string{`"atInstant": "2999-01-01"`, `"validFrom": "2000-01-01"`,
		`"location": {"near": {"lat": 52.5, "lng": 13.4, "radiusKm": 5}}`,
		`"location": {"within": "POLYGON((13 52, 14 52, 14 53, 13 53, 13 52))"}`} {
		for _, path := range []string{"/query", "/context"} {
			read("POST", path, `{"query": "secret word", "k": 50, `+extra+`}`)
		}
	}
	// The address without the prefix is the same door.
	short := s.must(200, p.key, "POST", "/"+p.context+"/query", `{"query": "secret word", "k": 50}`)
	s.holds(p, rows, "/query without the prefix", short.raw, shown)
	read("POST", "/documents/keywords/search", `{"query": "secret word", "k": 50}`)
	read("POST", "/consolidate", `{"dryRun": true}`)
	read("POST", "/forget", `{"query": "secret word", "dryRun": true}`)
	c, err := s.mcp(p.key)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	tree, err := c.ListResources(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range tree.Resources {
		res, err := c.ReadResource(s.t.Context(), &mcp.ReadResourceParams{URI: f.URI})
		if err != nil {
			s.t.Fatal(err)
		}
		s.holds(p, rows, "mcp "+f.URI, []byte(f.URI+res.Contents[0].Text), shown)
	}
	for _, m := range rows {
		for _, path := range []string{"/query", "/context", "/documents/query"} {
			a := s.send(p.key, "POST", base+path, map[string]any{"query": m.word, "k": 50})
			// The answer repeats no question, so a word in it was read.
			s.holds(p, rows, path, a.raw, shown)
		}
		s.holds(p, rows, "/entities", s.send(p.key, "GET", base+"/entities/person/"+m.word, nil).raw, shown)
		s.holds(p, rows, "/inspect", s.send(p.key, "GET", base+"/inspect?ref=entity:person/"+m.word, nil).raw, shown)
		if m.context != p.context {
			s.must(401, p.key, "POST", "/api/v1/"+m.context+"/query", `{"query": "secret"}`)
			s.must(401, p.key, "POST", "/"+m.context+"/query", `{"query": "secret"}`)
		}
	}
	for _, m := range rows {
		if p.sees(m) && !shown[m.word] {
			s.t.Errorf("%s with %v does not find %s of %v", p.context, p.nodes, m.word, m.clauses)
		}
	}
}

// chats asks models the same questions for every reader: what one was answered, no other gets from the cache.
func (s *service) chats(p *reader, rows []secretRow) {
	s.t.Helper()
	base, shown := "/api/v1/"+p.context, map[string]bool{}
	s.must(200, managementKey, "PATCH", "/api/v1/contexts/"+p.context, `{"config": {"response_cache":
		{"similarity_threshold": 0.5}}}`)
	for _, q := range []string{"What is the secret word?", "Which secret word is there?", "Who is shared?"} {
		for range 2 {
			s.holds(p, rows, "/chat", s.send(p.key, "POST", base+"/chat", map[string]any{"message": q}).raw, shown)
			s.holds(p, rows, "/reflect", s.send(p.key, "POST", base+"/reflect", map[string]any{"query": q}).raw, shown)
		}
	}
}
