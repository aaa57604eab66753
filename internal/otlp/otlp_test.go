package otlp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestPost holds which failures may succeed later, that headers go to the address that was given and to no other, and
// that an answer is read up to a limit.
func TestPost(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	for _, tc := range []struct {
		status       int
		taken, again bool
	}{{200, true, false}, {202, true, false}, {302, false, false}, {400, false, false}, {429, false, true},
		{500, false, false}, {503, false, true}} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Api-Key") != "secret" || r.Header.Get("Content-Type") != "application/json" {
				t.Errorf("headers: %v", r.Header)
			}
			w.Header().Set("Location", other.URL)
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(tc.status)
			_, _ = w.Write(make([]byte, 2*maxAnswer)) // the client may have read enough
		}))
		headers := map[string]string{"Api-Key": "secret"}
		answer, failed := Post(t.Context(), NewClient(time.Minute), srv.URL, headers, nil)
		srv.Close()
		switch {
		case (failed == nil) != tc.taken || failed != nil && failed.Again != tc.again:
			t.Errorf("%d: %v", tc.status, failed)
		case failed != nil && failed.After != 7*time.Second:
			t.Errorf("%d: try again after %s", tc.status, failed.After)
		case failed == nil && len(answer) != maxAnswer:
			t.Errorf("%d: %d bytes of the answer", tc.status, len(answer))
		}
	}
	if elsewhere != 0 {
		t.Error("a redirect was followed")
	}
	if _, failed := Post(t.Context(), NewClient(time.Second), "http://127.0.0.1:1", nil, nil); failed == nil ||
		!failed.Again {
		t.Errorf("no collector: %v", failed)
	}
}

// TestText holds that a long text is cut between two characters.
func TestText(t *testing.T) {
	got := *Text("x" + strings.Repeat("é", MaxText)).String
	if len(got) > MaxText || len(got) < MaxText-1 || !utf8.ValidString(got) {
		t.Errorf("%d bytes, valid %v", len(got), utf8.ValidString(got))
	}
}
