package daemon_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/ml"
)

const modelDir = "../testdata/models"

// modelFile is a small model under a name: it maps degrees Celsius to Fahrenheit.
func modelFile(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(modelDir, "svml", "celsius.svml"))
	if err != nil {
		t.Fatal(err)
	}
	h, payload, err := ml.Split(b)
	if err != nil {
		t.Fatal(err)
	}
	h.Name = name
	return string(h.Bytes()) + string(payload)
}

func TestModelRoutes(t *testing.T) {
	s := start(t)
	file := modelFile(t, "units::celsius")
	if r := s.do("POST", "/ml/import", file, at()...); r.StatusCode != 200 || r.body != "" {
		t.Fatalf("import: %d %s", r.StatusCode, r.body)
	}
	if r := s.do("POST", "/ml/import", file, at()...); r.StatusCode != 200 {
		t.Errorf("the same file again: %d %s", r.StatusCode, r.body)
	}
	r := s.do("GET", "/ml/export/units::celsius/1.0.0", "", at()...)
	if r.StatusCode != 200 || r.body != file || r.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("export: %d, %d bytes, %s", r.StatusCode, len(r.body), r.Header.Get("Content-Type"))
	}
	for _, path := range []string{"/ml/export/none/1.0.0", "/ml/export/units::celsius/1.0.1", "/ml/export/..%2f..%2fetc/1.0.0",
		"/ml/export/units::celsius/x"} {
		if r := s.do("GET", path, "", at()...); r.StatusCode != 404 {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
	if r := s.do("GET", "/ml/export/none/1.0.0", "", at()...); problemOf(t, r).Information !=
		"The HTTP route 'Model none 1.0.0 not found' is not found" {
		t.Errorf("got %s", r.body)
	}
	if r := s.do("POST", "/sql", "RETURN ml::units::celsius<1.0.0>(100)", at()...); !strings.Contains(r.body, "212") {
		t.Errorf("call: %s", r.body)
	}
	for body, want := range map[string]string{
		`{"method":"run","params":["ml::units::celsius","1.0.0",[100]]}`: "212",
		`{"method":"run","params":["ml::units::celsius",null,[100]]}`:    "Expected version to be set for model function",
		`{"method":"run","params":["ml::units::celsius","1.0.0)(",[1]]}`: "does not exist",
		`{"method":"run","params":["ml::units::celsius","1.0.0",[]]}`:    "The model expects 1 argument",
	} {
		if r := s.do("POST", "/rpc", body, at("Content-Type: application/json")...); !strings.Contains(r.body, want) {
			t.Errorf("%s: %s", body, r.body)
		}
	}
}

func TestMalformedModelsOverHTTP(t *testing.T) {
	s := start(t)
	b, err := os.ReadFile(filepath.Join(modelDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Bad []struct{ Name, When, Match string }
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	for _, tc := range d.Bad {
		file, err := os.ReadFile(filepath.Join(modelDir, "bad", tc.Name+".svml"))
		if err != nil {
			t.Fatal(err)
		}
		r := s.do("POST", "/ml/import", string(file), at()...)
		if tc.Name == "alloc_bomb" || tc.Name == "endless_loop" { // only their calls fail
			if r.StatusCode != 200 {
				t.Errorf("%s: %d %s", tc.Name, r.StatusCode, r.body)
			}
			setup(t, s, "REMOVE MODEL ml::m<1.0.0>")
			continue
		}
		if p := problemOf(t, r); r.StatusCode != 400 || p.Information == "" || !strings.Contains(p.Information, tc.Match) {
			t.Errorf("%s: %d %s, want %q", tc.Name, r.StatusCode, r.body, tc.Match)
		}
	}
	if r := s.do("POST", "/sql", "(INFO FOR DB).models", at()...); !strings.Contains(r.body, `"result":{}`) {
		t.Errorf("something stayed: %s", r.body)
	}
}

func TestModelImportIsBounded(t *testing.T) {
	s := start(t, func(c *config.Config) { c.Limits.MLBody = 300 })
	big := modelFile(t, "big") + strings.Repeat("x", 200)
	for _, in := range []string{big, modelFile(t, strings.Repeat("n", 200))} {
		if r := s.do("POST", "/ml/import", in, at()...); r.StatusCode != 413 {
			t.Errorf("%d bytes: %d %s", len(in), r.StatusCode, r.body)
		}
		if r := s.send("POST", "/ml/import", struct{ *bytes.Reader }{bytes.NewReader([]byte(in))}, at()...); r.StatusCode != 413 {
			t.Errorf("%d bytes without a length: %d %s", len(in), r.StatusCode, r.body)
		}
	}
	if r := s.do("POST", "/ml/import", modelFile(t, "small"), at()...); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}
