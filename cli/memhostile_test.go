package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestMemOfAHostileService talks to a service that wants the key elsewhere and the terminal for itself.
func TestMemOfAHostileService(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var answer func(w http.ResponseWriter)
	stolen := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a redirect was followed: %s %v", r.URL, r.Header)
	}))
	defer stolen.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
	defer srv.Close()
	send := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			if status == http.StatusBadRequest {
				w.Header().Set("Content-Type", "application/problem+json")
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body)) // the client may have gone
		}
	}
	drives := "\\u001b]0;x\\u0007\\u202e\u009b31m\u202e" // escaped in JSON, and as they are
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter)
		want   string
	}{
		{"redirect", func(w http.ResponseWriter) {
			w.Header().Set("Location", stolen.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, "307"},
		{"text of a hit", send(200, `{"hits": [{"text": "`+drives+`hit", "score": 1}]}`), "hit"},
		{"text of a refusal", send(400, `{"detail": "`+drives+`refusal", "status": 400}`), "refusal"},
		{"page", send(502, "<html>\x1b[31m"), "502"},
		{"deep", send(200, strings.Repeat("[", 1<<20)), "read the answer"},
		{"endless", func(w http.ResponseWriter) {
			page := []byte(strings.Repeat(" ", 1<<20))
			for range 256 {
				if _, err := w.Write(page); err != nil {
					return
				}
			}
		}, "larger than 128 MiB"},
	} {
		answer = c.answer
		for _, args := range [][]string{{"recall", "x"}, {"me"}, {"recall", "x", "--json"}} {
			out, talk, _ := mem(t, "", append(args, "-u", srv.URL, "-a", "msk-secret")...)
			if !strings.Contains(out+talk, c.want) {
				t.Errorf("%s, %v: %.200q", c.name, args, out+talk)
			}
			if strings.ContainsAny(out+talk, "\x1b\a\u009b\u202e") {
				t.Errorf("%s, %v: the terminal is driven: %.200q", c.name, args, out+talk)
			}
		}
	}
}
