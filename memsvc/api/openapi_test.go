package api

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/nacredb/nacre/memsvc/config"
)

// TestOpenAPIIsWhatTheRouterServes holds the document and the router to each other, in both directions.
func TestOpenAPIIsWhatTheRouterServes(t *testing.T) {
	conf, err := config.Load("", func(n string) (string, bool) { return "memory", n == "MEMSVC_SURREALDB_URL" })
	if err != nil {
		t.Fatal(err)
	}
	if err := conf.SetRoles("all"); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Config: conf, Log: slog.New(slog.DiscardHandler)})
	defer s.Close()
	doc, err := s.openAPI(nil)
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for path, ops := range doc.(map[string]any)["paths"].(map[string]map[string]any) {
		for method, op := range ops {
			described[strings.ToUpper(method)+" "+path] = true
			if op.(map[string]any)["summary"] == "" {
				t.Errorf("%s %s has no summary", method, path)
			}
		}
	}
	router, ok := s.router.(chi.Routes)
	if !ok {
		t.Fatal("the router cannot be walked")
	}
	served := 0
	err = chi.Walk(router, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(path, "/{ctx}/") { // the second address of a call
			path = versionPrefix + path
		} else {
			served++
		}
		if !described[method+" "+path] {
			t.Errorf("%s %s is served and not described", method, path)
		}
		return nil
	})
	if err != nil || served != len(described) {
		t.Errorf("%d routes are served, %d described, %v", served, len(described), err)
	}
}
