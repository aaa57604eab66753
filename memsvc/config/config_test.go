package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func load(t *testing.T, vars map[string]string) (*Config, error) {
	t.Helper()
	return Load("", func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
}

func with(pairs ...string) map[string]string {
	m := map[string]string{"MEMSVC_SURREALDB_URL": "embedded://x"}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func TestDefaultsOfTheSpecification(t *testing.T) {
	c, err := load(t, with())
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.Bind, c.ObjectStore, c.PageSize, c.MaxList, c.MaxK, c.Pool, c.SectionExpansion, c.MaxMessage,
		c.TraceFeatureTTL}
	want := []any{"0.0.0.0:8080", "local://./data", 100, 500, 50, 256, true, int64(134217728), 60}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestBootErrorsNameTheVariable(t *testing.T) {
	remote := map[string]string{"MEMSVC_SURREALDB_URL": "ws://h:1"}
	for _, tc := range []struct {
		vars map[string]string
		want string
	}{
		{map[string]string{}, "MEMSVC_SURREALDB_URL"},
		{remote, "MEMSVC_SURREALDB_USER"},
		{remote, "MEMSVC_SURREALDB_PASS"},
		{with("MEMSVC_RERANKER_URL", "http://h/r"), "MEMSVC_RERANKER_MODEL"},
		{with("MEMSVC_OCR_URL", "http://h/r"), "MEMSVC_OCR_MODEL"},
		{with("MEMSVC_CLIP_URL", "http://h/r"), "MEMSVC_CLIP_MODEL"},
		{with("MEMSVC_STT_URL", "http://h/r"), "MEMSVC_STT_MODEL"},
		{with("MEMSVC_STT_URL", "nonsense", "MEMSVC_STT_MODEL", "m"), "MEMSVC_STT_URL"},
		{with("MEMSVC_CORS_ALLOWED_ORIGINS", "https://*"), "MEMSVC_CORS_ALLOWED_ORIGINS"},
		{with("MEMSVC_CORS_ALLOWED_ORIGINS", "https://a.b, *"), "MEMSVC_CORS_ALLOWED_ORIGINS"},
		{with("MEMSVC_MAX_LIST_LIMIT", "many"), "MEMSVC_MAX_LIST_LIMIT"},
		{with("MEMSVC_LLM_PROVIDER", "delta"), "MEMSVC_LLM_PROVIDER"},
		{with("MEMSVC_EMBEDDINGS_API_KEY", "k", "MEMSVC_MODEL_EMBEDDING", LocalEmbedding), "MEMSVC_MODEL_EMBEDDING"},
	} {
		_, err := load(t, tc.vars)
		if err == nil || !strings.Contains(err.Error(), tc.want+":") {
			t.Errorf("%v: got %v, want an error that names %s", tc.vars, err, tc.want)
		}
	}
}

// TestEmbeddingModelOfTheWire holds that an embeddings key alone chooses the model of 3072 dimensions of its wire.
func TestEmbeddingModelOfTheWire(t *testing.T) {
	for _, tc := range [][3]string{{"", "", LocalEmbedding}, {"k", "", "text-embedding-3-large"},
		{"k", "google", "gemini-embedding-001"}} {
		c, err := load(t, with("MEMSVC_EMBEDDINGS_API_KEY", tc[0], "MEMSVC_EMBEDDINGS_WIRE", tc[1]))
		if err != nil {
			t.Fatal(err)
		}
		if c.Embedding != tc[2] {
			t.Errorf("%v: got %s", tc, c.Embedding)
		}
	}
}

func TestQueryCeilingIsNeverRaised(t *testing.T) {
	c, err := load(t, with("MEMSVC_MAX_QUERY_K", "500"))
	if err != nil || c.MaxK != 50 || len(c.Warnings) != 1 {
		t.Errorf("got k %d, warnings %v, %v; want 50 with a warning", c.MaxK, c.Warnings, err)
	}
	if c, err = load(t, with("MEMSVC_MAX_QUERY_K", "7")); err != nil || c.MaxK != 7 {
		t.Errorf("got k %d, %v; want 7", c.MaxK, err)
	}
}

func TestInvalidTraceFeatureTimeIsTheDefault(t *testing.T) {
	for _, s := range []string{"0", "x", "-3"} {
		if c, err := load(t, with("MEMSVC_TRACE_FEATURE_TTL_SECS", s)); err != nil || c.TraceFeatureTTL != 60 {
			t.Errorf("%s: got %d, %v; want 60", s, c.TraceFeatureTTL, err)
		}
	}
}

func TestFileIsReadAndTheEnvironmentWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.toml")
	text := "bind = '1.2.3.4:5'\nsurrealdb_url = 'memory'\nmax_query_k = 9\ncors_allowed_origins = ['https://A.example/', 'https://*.b.example']\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, func(n string) (string, bool) { return "8", n == "MEMSVC_MAX_QUERY_K" })
	if err != nil {
		t.Fatal(err)
	}
	if c.Bind != "1.2.3.4:5" || c.MaxK != 8 || c.CORS[0] != "https://a.example" {
		t.Errorf("got %s, %d, %v", c.Bind, c.MaxK, c.CORS)
	}
	if err := os.WriteFile(path, []byte("bindd = 'x'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, func(string) (string, bool) { return "memory", true }); err == nil ||
		!strings.Contains(err.Error(), "bindd") {
		t.Errorf("got %v, want an error that names bindd", err)
	}
}

func TestOriginPatternsAreAnchored(t *testing.T) {
	allowed, err := ParseOrigins("https://app.example.com, https://*.example.org")
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string]bool{
		"https://app.example.com": true, "https://APP.example.com": false, "http://app.example.com": false,
		"https://a.example.org": true, "https://.example.org": false, "https://a.example.org.evil": false,
		"https://evil/.example.org": false, "xhttps://a.example.org": false,
	} {
		if got := OriginAllowed(allowed, origin); got != want {
			t.Errorf("%s: got %v, want %v", origin, got, want)
		}
	}
}

// TestEmbeddingModelWithoutAWayToIt holds that the name of a model alone is the id of the deployment, and that the
// start warns that nothing embeds by it.
func TestEmbeddingModelWithoutAWayToIt(t *testing.T) {
	c, err := load(t, with("MEMSVC_MODEL_EMBEDDING", "big"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Embedding != "big" || c.Embeds() || len(c.Warnings) != 1 ||
		!strings.Contains(c.Warnings[0], "MEMSVC_EMBEDDINGS_API_KEY") {
		t.Errorf("%s, embeds %v, warnings %q", c.Embedding, c.Embeds(), c.Warnings)
	}
}

// TestTablesOfAFile holds that settings may stand in tables of the file.
func TestTablesOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.toml")
	text := "[memsvc]\nsurrealdb_url = 'memory'\n[reranker]\nurl = 'http://h/r'\nmodel = 'm'\n" +
		"[provider.beta]\napi_key = 'k'\n[memsvc.cors]\nallowed_origins = ['https://a.b']\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if c.Reranker.URL != "http://h/r" || c.Reranker.Model != "m" || c.Providers["beta"].Key != "k" ||
		len(c.CORS) != 1 {
		t.Errorf("got %+v", c)
	}
	if err := os.WriteFile(path, []byte("[reranker]\nspeed = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err = Load(path, func(string) (string, bool) { return "", false }); err == nil ||
		!strings.Contains(err.Error(), "reranker_speed") {
		t.Errorf("an unknown setting: %v", err)
	}
}
