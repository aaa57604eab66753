package daemon_test

import (
	"io"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"github.com/nacredb/nacre/daemon/config"
)

// GET and POST /export, POST /import: what one database exports another imports, and exports the same.
func TestExportAndImport(t *testing.T) {
	s := start(t)
	setup := s.do("POST", "/sql", `
		DEFINE TABLE person SCHEMALESS; DEFINE FIELD age ON person TYPE option<int>; DEFINE PARAM $p VALUE 5;
		DEFINE FUNCTION fn::f($a: int) { RETURN $a }; DEFINE USER u ON DATABASE PASSWORD 'secret-word' ROLES VIEWER;
		CREATE person:1 SET name = 'Ada', age = 36; CREATE person:2 SET name = 'Bob'; CREATE other:1; RELATE person:1->knows->person:2`, at()...)
	if strings.Contains(setup.body, "ERR") {
		t.Fatal(setup.body)
	}
	r := s.do("GET", "/export", "", at()...)
	if r.StatusCode != 200 || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/plain") {
		t.Fatalf("%d %s\n%s", r.StatusCode, r.Header.Get("Content-Type"), r.body)
	}
	for _, want := range []string{"OPTION IMPORT", "DEFINE TABLE person", "DEFINE PARAM $p", "fn::f", "person:1", "'Bob'"} {
		if !strings.Contains(r.body, want) {
			t.Errorf("%s is missing in\n%s", want, r.body)
		}
	}
	if strings.Contains(r.body, "secret-word") {
		t.Error("the export holds a password")
	}
	copyOf := []string{rootAuth, "Service-NS: test", "Service-DB: copy", "Accept: application/json"}
	if in := s.do("POST", "/import", r.body, copyOf...); in.StatusCode != 200 || in.body != "[]" {
		t.Fatalf("import: %d %s", in.StatusCode, in.body)
	}
	again := s.do("GET", "/export", "", copyOf...)
	if body := strings.Replace(again.body, "copy", "test", 1); body != r.body && again.body != r.body {
		t.Errorf("the copy exports\n%s\nthe original\n%s", again.body, r.body)
	}
}

func TestExportOptions(t *testing.T) {
	s := start(t)
	if r := s.do("POST", "/sql", `CREATE a:1; CREATE b:1; DEFINE PARAM $p VALUE 5; DEFINE API "/x" FOR get THEN { 1 }; DEFINE CONFIG API PERMISSIONS FULL`, at()...); strings.Contains(r.body, "ERR") {
		t.Fatal(r.body)
	}
	inCBOR, err := cbor.Marshal(map[string]any{"tables": []string{"b"}, "params": false})
	if err != nil {
		t.Fatal(err)
	}
	const json, asCBOR = "Content-Type: application/json", "Content-Type: application/cbor"
	for _, tc := range []struct {
		name, body, contentType string
		has, hasNot             string
	}{
		{"records off", `{"records":false}`, json, "DEFINE TABLE a", "a:1"},
		{"tables named", `{"tables":["a"]}`, json, "a:1", "b:1"},
		{"tables off", `{"tables":false}`, json, "DEFINE PARAM $p", "DEFINE TABLE a"},
		{"params off", `{"params":false}`, json, "a:1", "DEFINE PARAM $p"},
		{"APIs off", `{"apis":false}`, json, "DEFINE CONFIG API", "DEFINE API"},
		{"configs off", `{"configs":false}`, json, "DEFINE API", "DEFINE CONFIG"},
		{"unknown options are not minded", `{"colour":"red","params":true}`, json, "DEFINE PARAM $p", "\x00"},
		{"in CBOR", string(inCBOR), asCBOR, "b:1", "a:1"},
		{"nothing", "", json, "a:1", "\x00"},
	} {
		r := s.do("POST", "/export", tc.body, append([]string{rootAuth, "Service-NS: test", "Service-DB: test", "Accept: plain/text"}, tc.contentType)...)
		if r.StatusCode != 200 || !strings.Contains(r.body, tc.has) || strings.Contains(r.body, tc.hasNot) {
			t.Errorf("%s: %d\n%s", tc.name, r.StatusCode, r.body)
		}
	}
	for _, body := range []string{`[]`, `{"tables":5}`, `{"records":"yes"}`, `{"tables":[1]}`, `{`} {
		if r := s.do("POST", "/export", body, at(json)...); r.StatusCode != 400 {
			t.Errorf("%s: %d %s", body, r.StatusCode, r.body)
		}
	}
}

func TestTransfersNeedAnIdentity(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/import", "/export"} {
		r := s.do("POST", path, "", "Service-NS: test", "Service-DB: test", "Content-Type: application/json")
		if p := problemOf(t, r); r.StatusCode != 403 || p.Information != "Not enough permissions to perform this action" {
			t.Errorf("%s: %d %+v", path, r.StatusCode, p)
		}
		if r := s.do("POST", path, "", "Authorization: Basic cm9vdDpub3Bl", "Content-Type: application/json"); r.StatusCode != 401 {
			t.Errorf("%s with a wrong password: %d", path, r.StatusCode)
		}
	}
}

// An import is refused as a whole, before its body is read, where its rows would be dropped one by one.
func TestImportsNeedAnEditor(t *testing.T) {
	s := start(t)
	setup(t, s, `DEFINE USER vi ON DATABASE PASSWORD 'p' ROLES VIEWER; DEFINE USER ed ON DATABASE PASSWORD 'p' ROLES EDITOR;
		DEFINE TABLE open PERMISSIONS FULL; CREATE user:1; DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNIN (SELECT * FROM user)`)
	for _, tc := range []struct {
		credentials string
		status      int
	}{{`"user":"vi","pass":"p"`, 403}, {`"ac":"acc"`, 403}, {`"user":"ed","pass":"p"`, 200}} {
		_, token, _ := s.enter(tc.credentials)
		headers := []string{"Authorization: Bearer " + token, "Accept: application/json"}
		r := s.do("POST", "/import", "OPTION IMPORT; CREATE open:1", headers...)
		if r.StatusCode != tc.status || tc.status == 403 && problemOf(t, r).Information != "IAM error: Not enough permissions to perform this action" {
			t.Errorf("%s: %d %s", tc.credentials, r.StatusCode, r.body)
		}
		r = s.do("POST", "/sql", "OPTION IMPORT; UPSERT open:1", headers...)
		if r.StatusCode != tc.status || tc.status == 403 && problemOf(t, r).Information != "IAM error: Not enough permissions to perform this action" {
			t.Errorf("%s: /sql: %d %s", tc.credentials, r.StatusCode, r.body)
		}
		want := "[]"
		if tc.status == 200 {
			want = `["open:1"]`
		}
		if got := s.do("POST", "/sql", "SELECT VALUE id FROM open", at()...).body; timeless(got) != `[`+ok(want)+`]` {
			t.Errorf("%s: applied: %s", tc.credentials, got)
		}
	}
}

// From 3.3.1, 422 when at least one statement did not apply; what was applied stays.
func TestPartialImport(t *testing.T) {
	s := start(t)
	r := s.do("POST", "/import", "OPTION IMPORT; CREATE a:1; CREATE a:1; CREATE a:2;", at()...)
	if r.StatusCode != 422 || strings.Count(r.body, `"status":"ERR"`) != 1 || !strings.Contains(r.body, "already exists") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if got := s.do("POST", "/sql", "SELECT VALUE id FROM a", at()...).body; timeless(got) != `[`+ok(`["a:1","a:2"]`)+`]` {
		t.Errorf("applied: %s", got)
	}
	if r := s.do("POST", "/import", "OPTION IMPORT; CREATE a:1;", rootAuth, "Service-NS: test", "Service-DB: test", "Accept: application/octet-stream"); r.StatusCode != 422 || r.body != "" {
		t.Errorf("silent: %d %q", r.StatusCode, r.body)
	}
}

// A chunked import fails part-way when the total crosses the cap; earlier statements stay.
func TestImportCapIsCumulative(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.ImportBody = 100_000 })
	endless := &repeat{text: []byte("CREATE a SET x = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';\n"), left: 10_000}
	r := s.send("POST", "/import", io.MultiReader(strings.NewReader("OPTION IMPORT;\n"), endless), at()...)
	if r.StatusCode != 413 {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	if got := s.do("POST", "/sql", "RETURN count(SELECT VALUE id FROM a) > 100", at()...).body; timeless(got) != `[`+ok(`true`)+`]` {
		t.Errorf("applied: %s", got)
	}
}

// repeat reads as text, left times over.
type repeat struct {
	text []byte
	left int
	at   int
}

// Read implements io.Reader.
func (r *repeat) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:])
	if r.at += n; r.at == len(r.text) {
		r.at, r.left = 0, r.left-1
	}
	return n, nil
}

func TestImportFileAtTheStart(t *testing.T) {
	s := start(t, func(c *config.Config) {
		c.ImportFile = writeFile(t, "OPTION IMPORT;\nCREATE a:1;\nCREATE a:2;\n")
		c.DefaultNamespace, c.DefaultDatabase = "test", "test"
	})
	eventually(t, "ready", func() bool { return s.do("GET", "/ready", "").StatusCode == 200 })
	if got := s.do("POST", "/sql", "SELECT VALUE id FROM a", at()...).body; timeless(got) != `[`+ok(`["a:1","a:2"]`)+`]` {
		t.Errorf("got %s", got)
	}
}

func TestBrokenImportFileLeavesTheServerNotReady(t *testing.T) {
	s := start(t, func(c *config.Config) { c.ImportFile = writeFile(t, "OPTION IMPORT;\nCREATE a:1;\nCREATE a:1;\n") })
	eventually(t, "the failure is logged", func() bool { return strings.Contains(s.logs.String(), "startup failed") })
	if r := s.do("GET", "/ready", ""); r.StatusCode != 503 {
		t.Errorf("got %d", r.StatusCode)
	}
	if r := s.do("GET", "/health", ""); r.StatusCode != 200 {
		t.Errorf("/health: %d", r.StatusCode)
	}
}

// TestExportsTellSecretsToOwnersAlone: users who may read all may export it, but hashes and keys go to OWNERs, and a
// backup to a root OWNER. What is not allowed makes nothing, not even the place.
func TestExportsTellSecretsToOwnersAlone(t *testing.T) {
	s := newScene(t, true)
	for who, may := range map[string]struct{ data, secrets, backup bool }{
		"gu": {}, "ru": {}, "rx": {}, "dx": {}, "nx": {}, "ex": {},
		"dv": {data: true}, "de": {data: true}, "nv": {data: true}, "ne": {data: true}, "rv": {data: true}, "re": {data: true},
		"do": {data: true, secrets: true}, "no": {data: true, secrets: true},
		"ro": {data: true, secrets: true, backup: true},
	} {
		user := s.users[who]
		for _, body := range []string{"", `{}`, `{"users":true,"accesses":true,"records":true,"tables":true}`, `{"versions":true}`} {
			r := s.do("POST", "/export", body, user.header(), "Service-NS: n", "Service-DB: d", "Content-Type: application/json")
			if got := r.StatusCode == 200 && strings.Contains(r.body, canary); got != may.data {
				t.Errorf("%s exports %s: %d %.200s", who, body, r.StatusCode, r.body)
			}
			for _, secret := range []string{hashOfP, "DEFINE USER", "DEFINE ACCESS"} {
				if got := strings.Contains(r.body, secret); got != may.secrets {
					t.Errorf("%s exports %s: %s is there: %v", who, body, secret, got)
				}
			}
		}
		if r := s.do("GET", "/backup", "", user.header()); (r.StatusCode == 200) != may.backup {
			t.Errorf("%s takes a backup: %d", who, r.StatusCode)
		}
		r := s.do("GET", "/export", "", user.header(), "Service-NS: n", "Service-DB: nowhere")
		if r.StatusCode == 200 || strings.Contains(s.must("USE NS n; INFO FOR NS"), "nowhere") {
			t.Errorf("%s exports what is not there: %d", who, r.StatusCode)
		}
	}
}
