package memsvc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/memsvc/store"
)

// upload sends a document as a form.
func (s *service) upload(want int, key, path, method, filename, metadata string, b []byte) answer {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	f, err := form.CreateFormFile("file", filename)
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil && metadata != "" {
		err = form.WriteField("metadata", metadata)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return s.must(want, key, method, path, body.Bytes(), "Content-Type", form.FormDataContentType())
}

// ready waits until a document has ended its way.
func (s *service) ready(id, want string) answer {
	s.t.Helper()
	var a answer
	eventually(s.t, "document "+want, func() bool {
		a = s.get(200, "/documents/"+id)
		return a.str("status") == want
	})
	return a
}

func TestTurnsAreStoredAndFound(t *testing.T) {
	s := start(t)
	a := s.post(200, "/facts/batch", `{"messages": [
		{"role": "user", "name": "Ada", "content": "I adopted a kitten from the shelter yesterday.", "ts": "2023-05-08T10:00:00Z"},
		{"role": "user", "name": "Ben", "content": "What do you call the little one?", "ts": "2023-05-08T10:01:00Z"},
		{"role": "user", "name": "Ada", "content": "Pickles, because of the color.", "ts": "2023-05-08T10:02:00Z"}], "infer": "none"}`)
	turns := a.list("turnIds")
	if len(turns) != 3 || a.str("warnings") != "" {
		t.Fatalf("got %s", a.raw)
	}
	q := s.post(200, "/query", `{"query": "When did Ada adopt her cat from the shelter?"}`)
	if q.str("hits", 0, "ref") != "turn:"+fmt.Sprint(turns[0]) ||
		q.str("hits", 0, "occurredAt") != "2023-05-08T10:00:00Z" {
		t.Errorf("got %s", q.raw)
	}
	q = s.post(200, "/query", `{"query": "What is the name of Ada's kitten?", "k": 2}`)
	if !strings.Contains(string(q.raw), "Pickles") {
		t.Errorf("the answer to a question is not found: %s", q.raw)
	}
	ctx := s.post(200, "/context", `{"query": "Ada's kitten", "maxTokens": 200}`)
	if !strings.Contains(ctx.str("context"), "8 May 2023") || !strings.Contains(ctx.str("context"), "Pickles") {
		t.Errorf("context: %s", ctx.str("context"))
	}
	list := s.get(200, "/sessions/"+a.str("sessionId")+"/turns?limit=2")
	if len(list.list("turns")) != 2 || list.str("turns", 0, "content") != "I adopted a kitten from the shelter yesterday." {
		t.Errorf("turns: %s", list.raw)
	}
	s.get(400, "/sessions/"+a.str("sessionId")+"/turns?limit=501")
	trace := s.get(200, "/traces/"+q.str("trace", "traceId"))
	if trace.str("returned", 0) != q.str("hits", 0, "id") {
		t.Errorf("trace: %s", trace.raw)
	}
}

func TestQueryCeiling(t *testing.T) {
	s := start(t, "MEMSVC_MAX_QUERY_K", "500")
	for _, path := range []string{"/query", "/context", "/documents/query"} {
		a := s.post(400, path, `{"query": "x", "k": 51}`)
		if a.str("type") != "urn:memsvc:error:query-ceiling" {
			t.Errorf("%s: %s", path, a.raw)
		}
		s.post(400, path, `{"query": "x", "limit": 51}`)
		s.post(200, path, `{"query": "x", "limit": 50}`)
	}
	s.post(400, "/query", `{"query": "x", "k": 0}`)
	s.post(400, "/query", `{"query": "x", "mode": "magic"}`)
	s.post(400, "/query", `{"query": ""}`)
	s.post(400, "/query", `{"query": "x", "asOf": "never"}`)
	s.post(413, "/query", `{"query": "`+strings.Repeat("x", 9000)+`"}`)
}

func TestScopesOfWrites(t *testing.T) {
	s := start(t)
	_, bob := s.member("main", "bob", map[string][]string{"memory:read": {"org/a/*"}, "memory:write": {"org/a/bob"}})
	path := "/api/v1/main/facts"
	s.must(400, bob, "POST", path, `{"text": "x", "scopes": "org/a/bob"}`)
	s.post(201, "/scopes", `{"path": "org/a/bob"}`)
	s.post(201, "/scopes", `{"path": "org/a/eve"}`)
	s.must(200, bob, "POST", path, `{"text": "x", "scopes": "org/a/bob"}`)
	s.must(403, bob, "POST", path, `{"text": "x", "scopes": "org/a/eve"}`)
	s.must(400, bob, "POST", path, `{"text": "x", "scopes": []}`)
	ses := s.post(201, "/sessions", `{"scopes": "org/a/eve"}`).str("id")
	own := s.must(403, bob, "POST", path, `{"text": "x", "session_id": "`+ses+`"}`)
	none := s.must(403, bob, "POST", path, `{"text": "x", "session_id": "nothing"}`)
	if own.str("detail") != none.str("detail") {
		t.Error("an absent session and a foreign one are told apart")
	}
	s.must(204, s.key, "DELETE", "/api/v1/main/scopes?path=org/a/bob", nil)
	s.must(400, bob, "POST", path, `{"text": "x", "scopes": "org/a/bob"}`)
	s.post(400, "/facts", `{"text": "x", "labels": ["_a=b"]}`)
	s.post(400, "/facts", `{"text": "x", "role": "root"}`)
	s.post(400, "/facts", `{"text": "x", "infer": "magic"}`)
	s.post(400, "/facts", `{}`)
	s.must(501, s.key, "POST", "/api/v1/main/scope-grants", "{}")
}

func TestIdempotencyKeys(t *testing.T) {
	s := start(t)
	send := func(want int, key, text string) answer {
		return s.must(want, s.key, "POST", "/api/v1/main/facts", `{"text": "`+text+`"}`, "Idempotency-Key", key)
	}
	one, two := send(200, "k1", "hello"), send(200, "k1", "hello")
	if string(one.raw) != string(two.raw) || two.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("got %s and %s", one.raw, two.raw)
	}
	send(409, "k1", "other")
	send(400, "k2", "")
	send(200, "k2", "now it is good")
}

// isolated is a Context with members whose memories hold a word of their own.
type isolated struct {
	context, key, word, region string
}

// TestIsolationOnEveryReadPath gives members of several Contexts random regions and looks for a word of somebody
// else in everything that they can read.
func TestIsolationOnEveryReadPath(t *testing.T) {
	s := start(t)
	r := rand.New(rand.NewPCG(1, 2))
	var members []isolated
	for _, ctx := range []string{"main", "one", "two"} {
		if ctx != "main" {
			s.must(201, managementKey, "POST", "/api/v1/contexts/"+ctx, nil)
		}
		s.must(200, managementKey, "PATCH", "/api/v1/contexts/"+ctx, `{"config": {"llm_extraction_enabled": true}}`)
		_, admin := s.member(ctx, "root", map[string][]string{"scope:create": {"*"}})
		for i := range 4 {
			region := fmt.Sprintf("org/%d/user/%d", i%2, i)
			s.must(201, admin, "POST", "/api/v1/"+ctx+"/scopes", `{"path": "`+region+`"}`)
			word := fmt.Sprintf("Zq%s%dx%d", ctx, i, r.IntN(1000))
			_, key := s.member(ctx, "member"+fmt.Sprint(i), map[string][]string{"memory:read": {region + "/*"},
				"memory:write": {region}, "memory:forget": {region}, "scope:read": {region}})
			m := isolated{ctx, key, word, region}
			s.fill(m)
			members = append(members, m)
		}
	}
	for _, m := range members {
		eventually(t, "documents are ready", func() bool {
			return s.must(200, m.key, "GET", "/api/v1/"+m.context+"/documents", nil).str("documents", 0,
				"status") == "ready"
		})
	}
	for _, m := range members {
		s.probe(m, members)
	}
}

func (s *service) fill(m isolated) {
	s.t.Helper()
	base := "/api/v1/" + m.context
	s.must(200, m.key, "POST", base+"/facts", `{"text": "My name is `+m.word+`. I live in `+m.word+` and I love `+
		m.word+`. The secret word is shared."}`)
	s.must(200, m.key, "POST", base+"/facts", `{"triples": [{"entity": {"type": "person", "name": "Shared"}, "key": "secret", "value": "`+m.word+`"}]}`)
	s.upload(202, m.key, base+"/documents", "POST", "note.md", "",
		[]byte("# "+m.word+"\n\nThe secret word is "+m.word+" and more "+m.word+" here."))
}

// probe reads everywhere with the key of m and with questions for the words of everybody.
func (s *service) probe(m isolated, all []isolated) {
	s.t.Helper()
	base := "/api/v1/" + m.context
	var seen []answer
	read := func(method, path string, body any) {
		seen = append(seen, s.send(m.key, method, base+path, body))
	}
	for _, path := range []string{"/me", "/sessions", "/scopes", "/entities", "/entities/person/shared",
		"/entities/person/shared/history/secret", "/profile",
		"/state", "/documents", "/documents/keywords", "/traces", "/traces/stats", "/audit", "/keys", "/principals"} {
		read("GET", path, nil)
	}
	for _, o := range all {
		for _, q := range []string{"secret word", "Shared secret"} {
			for _, mode := range []string{"hybrid", "bm25", "vector", "graph"} {
				read("POST", "/query", fmt.Sprintf(`{"query": %q, "k": 50, "mode": %q, "explain": true}`, q, mode))
			}
			read("POST", "/query", fmt.Sprintf(`{"query": %q, "lens": %q, "k": 50}`, q, o.region))
			read("POST", "/context", fmt.Sprintf(`{"query": %q, "maxTokens": 8000}`, q))
			read("POST", "/documents/query", fmt.Sprintf(`{"query": %q, "k": 50}`, q))
			read("POST", "/forget", fmt.Sprintf(`{"query": %q, "dryRun": true}`, q))
		}
		read("GET", "/entities/person/"+o.word, nil)
		read("GET", "/inspect?ref=entity:person/"+o.word, nil)
		if o.context != m.context {
			if a := s.send(m.key, "POST", "/api/v1/"+o.context+"/query",
				`{"query": "secret"}`); a.status != http.StatusUnauthorized {
				s.t.Errorf("%s in %s: got %d", m.context, o.context, a.status)
			}
		}
	}
	own := false
	for _, a := range seen {
		if a.status >= 500 {
			s.t.Errorf("got %d: %s", a.status, a.raw)
		}
		own = own || strings.Contains(string(a.raw), m.word)
		for _, o := range all {
			if o.word != m.word && strings.Contains(strings.ToLower(string(a.raw)), strings.ToLower(o.word)) {
				s.t.Fatalf("%s of %s reads %s of %s: %s", m.region, m.context, o.word, o.context, a.raw)
			}
		}
	}
	if !own {
		s.t.Error("a member does not find what it wrote")
	}
}

func TestDocumentsOfEveryTextType(t *testing.T) {
	s := start(t)
	for name, body := range map[string]string{
		"a.txt": "The heron stands in shallow water.", "b.md": "# Birds\n\nThe heron stands in shallow water.",
		"c.html": "<html><title>T</title><script>var evil</script><h1>Birds</h1><p>The heron <b>stands</b> in water.</p></html>",
		"d.json": `{"bird": {"name": "heron", "place": "water"}}`, "e.csv": "bird,place\nheron,water\n",
		"f.eml": "From: a@b.c\r\nSubject: Heron\r\nContent-Type: text/plain\r\n\r\nA heron in the water.\r\n",
	} {
		a := s.upload(202, s.key, "/api/v1/main/documents", "POST", name, `{"labels": ["name=`+name+`"]}`, []byte(body))
		s.ready(a.str("id"), "ready")
		q := s.post(200, "/documents/query", `{"query": "heron water", "labels": ["name=`+name+`"]}`)
		if q.str("results", 0, "document", "id") != a.str("id") || strings.Contains(string(q.raw), "evil") {
			t.Errorf("%s: %s", name, q.raw)
		}
	}
	for name, body := range map[string]string{"lie.pdf": "this is no PDF", "deep.json": strings.Repeat("[", 10000) +
		strings.Repeat("]", 10000),
		"half.pdf": "%PDF-1.4\n1 0 obj <</Length 99999999999>> stream", "x.docx": "PK not a zip", "bin.txt": "a\x00b"} {
		a := s.upload(202, s.key, "/api/v1/main/documents", "POST", name, "", []byte(body))
		d := s.ready(a.str("id"), "failed")
		if d.str("error") == "" {
			t.Errorf("%s: no reason: %s", name, d.raw)
		}
	}
	s.upload(415, s.key, "/api/v1/main/documents", "POST", "x.exe", "", []byte("MZ\x90\x00\x03"))
	s.upload(400, s.key, "/api/v1/main/documents", "POST", "x.txt", "", nil)
	a := s.upload(202, s.key, "/api/v1/main/documents", "POST", "../../etc/passwd.txt", "", []byte("a hostile name"))
	if got := s.ready(a.str("id"), "ready").str("filename"); got != "passwd.txt" {
		t.Errorf("the file name is %q", got)
	}
}

func TestSameBytesAreOneDocument(t *testing.T) {
	s := start(t)
	s.post(201, "/scopes", `{"path": "org/a"}`)
	s.post(201, "/scopes", `{"path": "org/b"}`)
	_, ann := s.member("main", "ann", map[string][]string{"memory:read": {"org/a"}, "memory:write": {"org/a"},
		"memory:forget": {"org/a"}})
	_, bob := s.member("main", "bob", map[string][]string{"memory:read": {"org/b"}, "memory:write": {"org/b"}})
	one := s.upload(202, ann, "/api/v1/main/documents", "POST", "a.txt", "", []byte("The heron stands in water."))
	s.ready(one.str("id"), "ready")
	s.must(404, bob, "GET", "/api/v1/main/documents/"+one.str("id"), nil)
	two := s.upload(202, bob, "/api/v1/main/documents", "POST", "b.txt", "", []byte("The heron stands in water."))
	if two.str("id") != one.str("id") || two.str("deduplicated") != "true" {
		t.Fatalf("got %s", two.raw)
	}
	for _, key := range []string{ann, bob} {
		if q := s.must(200, key, "POST", "/api/v1/main/query", `{"query": "heron"}`); len(q.list("hits")) != 1 {
			t.Errorf("got %s", q.raw)
		}
	}
}

func TestFactsAreSupersededAndTheirHistoryStays(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled": true}`)
	tell := func(text, at string) answer {
		return s.post(200, "/facts", `{"text": "`+text+`", "name": "Ada", "observed_at": "`+at+`"}`)
	}
	tell("I live in Paris.", "2023-01-01T00:00:00Z")
	a := tell("I moved to Lisbon.", "2023-06-01T00:00:00Z")
	if a.str("extraction", "corrections", 0, "oldValue") != "Paris" {
		t.Errorf("correction: %s", a.raw)
	}
	tell("I live in Rome.", "2023-03-01T00:00:00Z") // it arrives late
	value := func(query string) string {
		for _, v := range s.get(200, "/entities/person/Ada"+query).list("attributes") {
			if m := v.(map[string]any); m["key"] == "lives_in" {
				return fmt.Sprint(m["value"])
			}
		}
		return ""
	}
	for query, want := range map[string]string{"": "Lisbon", "?asOf=2023-02-01": "Paris",
		"?asOf=2023-04-01": "Rome", "?asOf=2023-07-01": "Lisbon", "?asOf=2022-01-01": ""} {
		if got := value(query); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
	}
	var history []string
	for _, v := range s.get(200, "/entities/person/Ada/history/lives_in").list("history") {
		history = append(history, fmt.Sprint(v.(map[string]any)["value"]))
	}
	if got := strings.Join(history, " "); got != "Paris Rome Lisbon" {
		t.Errorf("history: %s", got)
	}
	s.patch(200, `{"reconciliation": {"confidence_floor": 0.95}}`)
	a = tell("I live in Oslo.", "2023-08-01T00:00:00Z")
	if len(a.list("extraction", "uncertainties")) != 1 {
		t.Errorf("below the floor: %s", a.raw)
	}
	s.post(200, "/facts", `{"triples": [{"entity": {"type": "person", "name": "Ada"}, "key": "lives_in", "value": "Oslo"}], "observed_at": "2023-09-01T00:00:00Z"}`)
	if got := len(s.get(200, "/state").list("unknowns")); got != 0 {
		t.Errorf("%d uncertainties are open after a triple settled them", got)
	}
}

func TestConcurrentWritersLeaveOneHead(t *testing.T) {
	s := start(t)
	done := make(chan answer)
	for i := range 8 {
		go func() {
			done <- s.send(s.key, "POST", "/api/v1/main/facts", fmt.Sprintf(
				`{"triples": [{"entity": {"type": "person", "name": "Ada"}, "key": "city", "value": "City %d"}]}`, i))
		}()
	}
	for range 8 {
		if a := <-done; a.status != 200 {
			t.Errorf("got %d: %s", a.status, a.raw)
		}
	}
	if got := len(s.get(200, "/entities/person/ada").list("attributes")); got != 1 {
		t.Errorf("%d values hold at once, want 1", got)
	}
}

func TestForgetSoftAndPurge(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled": true}`)
	s.post(200, "/facts", `{"text": "My favourite drink is zebrajuice.", "name": "Ada"}`)
	s.post(200, "/facts", `{"text": "The weather is fine."}`)
	if a := s.post(200, "/forget", `{"query": "zebrajuice drink", "dryRun": true}`); a.str("deleted") == "0" ||
		len(a.list("matches")) == 0 {
		t.Fatalf("dry run: %s", a.raw)
	}
	s.post(200, "/forget", `{"query": "zebrajuice drink"}`)
	if q := s.post(200, "/query", `{"query": "zebrajuice"}`); strings.Contains(fmt.Sprint(q.list("hits")),
		"zebrajuice") {
		t.Errorf("it is found after a forget: %s", q.raw)
	}
	if p := s.get(200, "/profile"); strings.Contains(string(p.raw), "zebrajuice") {
		t.Errorf("it is in the profile: %s", p.raw)
	}
	if h := s.get(200, "/entities/person/Ada/history/favourite_drink"); !strings.Contains(string(h.raw), "zebrajuice") {
		t.Errorf("the history does not tell of it: %s", h.raw)
	}
	s.post(200, "/forget", `{"query": "zebrajuice drink", "purge": true}`)
	cl, err := s.connect(t.Context(), store.Login{Namespace: "memsvc_ctx", Database: "main"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	s.get(200, "/traces")
	var dump bytes.Buffer
	if _, err := exportRows(t, cl, &dump); err != nil || bytes.Contains(dump.Bytes(), []byte("zebrajuice")) {
		t.Errorf("after a purge the database holds it: %v", err)
	}
	if strings.Contains(s.log.String(), "zebrajuice") {
		t.Error("the log holds content")
	}
}

// exportRows writes every row of the database of a Context.
func exportRows(t *testing.T, cl *client.Client, out *bytes.Buffer) (int, error) {
	t.Helper()
	for _, table := range []string{"meta", "log", "session", "turn", "document", "chunk", "keyword", "entity",
		"attribute", "relation", "instruction", "uncertainty",
		"vector", "trace", "response_cache", "audit", "idempotency"} {
		res, err := cl.Query(t.Context(), "SELECT * FROM "+table, nil)
		if err != nil {
			return 0, err
		}
		out.WriteString(res[0].Value.String())
	}
	return out.Len(), nil
}

func TestEnforcementBlocked(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled": true}`)
	s.must(200, managementKey, "PATCH", "/api/v1/contexts/main", `{"enforcement_blocked": true}`)
	for _, tc := range []struct {
		want       int
		path, body string
	}{
		{429, "/facts", `{"text": "x"}`}, {429, "/facts?infer=full", `{"text": "x"}`}, {429, "/facts",
			`{"text": "x", "infer": "preview"}`},
		{429, "/facts/batch", `{"messages": [{"content": "x"}]}`},
		{200, "/facts", `{"text": "x", "infer": "none"}`}, {200, "/query", `{"query": "x"}`}, {200, "/context",
			`{"query": "x"}`},
		{200, "/facts", `{"triples": [{"entity": {"type": "person", "name": "A"}, "key": "k", "value": "v"}]}`},
	} {
		s.post(tc.want, tc.path, tc.body)
	}
}

func TestOneRegionOfAHundredStillFillsTheAnswer(t *testing.T) {
	s := start(t)
	s.post(201, "/scopes", `{"path": "org/small"}`)
	_, small := s.member("main", "small", map[string][]string{"memory:read": {"org/small"},
		"memory:write": {"org/small"}})
	s.post(201, "/scopes", `{"path": "org/large"}`)
	var many []map[string]any
	for i := range 1000 {
		many = append(many, map[string]any{"content": fmt.Sprintf("The harvest report number %d is here.", i)})
	}
	s.post(200, "/facts/batch", map[string]any{"messages": many, "scopes": "org/large", "infer": "none"})
	s.must(200, small, "POST", "/api/v1/main/facts/batch", map[string]any{"messages": many[:12], "infer": "none"})
	if q := s.must(200, small, "POST", "/api/v1/main/query",
		`{"query": "harvest report", "includeDuplicates": true}`); len(q.list("hits")) != 10 {
		t.Errorf("got %d hits, want 10", len(q.list("hits")))
	}
}

// TestJobOfAProcessThatEndedIsResumed leaves a job leased by somebody who is gone.
func TestJobOfAProcessThatEndedIsResumed(t *testing.T) {
	objects := "local://" + t.TempDir()
	s := start(t, "ROLES", "api,management", "MEMSVC_OBJECT_STORE", objects)
	a := s.upload(202, s.key, "/api/v1/main/documents", "POST", "a.txt", "", []byte("The heron stands in water."))
	st, err := store.Open(t.Context(), s.connect)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	jobs, err := st.Jobs(t.Context(), "main", store.JobQueued)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("jobs: %v, %v", jobs, err)
	}
	past := time.Now().Add(-time.Minute)
	if ok, err := st.ClaimJob(t.Context(), jobs[0].ID, "dead process", time.Now().UTC(), past); err != nil || !ok {
		t.Fatal(ok, err)
	}
	startOver(t, s.connect, "ROLES", "worker", "MEMSVC_OBJECT_STORE", objects)
	s.ready(a.str("id"), "ready")
	if chunks := s.get(200, "/documents/"+a.str("id")+"/chunks"); chunks.str("total") != "1" {
		t.Errorf("chunks: %s", chunks.raw)
	}
}
