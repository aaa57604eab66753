package memsvc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withKey sends a key with every request.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

func (s *service) mcp(key string) (*mcp.ClientSession, error) {
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	return c.Connect(s.t.Context(), &mcp.StreamableClientTransport{Endpoint: s.base + "/mcp", MaxRetries: -1,
		HTTPClient: &http.Client{Transport: withKey(key)}, DisableStandaloneSSE: true}, nil)
}

func TestMCPTools(t *testing.T) {
	s := start(t)
	if _, err := s.mcp("msk-wrong-key"); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("a wrong key: got %v, want Unauthorized", err)
	}
	_, reader := s.member("main", "reader", map[string][]string{"memory:read": {"org/a"}})
	admin, err := s.mcp(s.key)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	call := func(c *mcp.ClientSession, name string, args map[string]any) *mcp.CallToolResult {
		t.Helper()
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return res
	}
	tools, err := admin.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 7 {
		t.Fatalf("tools: %v, %v", tools, err)
	}
	s.post(201, "/scopes", `{"path": "org/b"}`)
	made := call(admin, "remember", map[string]any{"text": "The heron stands in the pond.", "scope": "org/b"})
	if made.IsError {
		t.Fatalf("remember: %v", made.StructuredContent)
	}
	if got := fmt.Sprint(call(admin, "recall",
		map[string]any{"query": "heron"}).StructuredContent); !strings.Contains(got, "pond") {
		t.Errorf("recall: %s", got)
	}
	if got := fmt.Sprint(call(admin, "context",
		map[string]any{"query": "heron"}).StructuredContent); !strings.Contains(got, "pond") {
		t.Errorf("context: %s", got)
	}
	if res := call(admin, "recall", map[string]any{"query": "heron", "k": 51}); !res.IsError ||
		!strings.Contains(fmt.Sprint(res.StructuredContent), "400") {
		t.Errorf("k above the ceiling: %v", res.StructuredContent)
	}
	if res := call(admin, "recall", map[string]any{"query": "heron", "context_id": "other"}); !res.IsError ||
		!strings.Contains(fmt.Sprint(res.StructuredContent), "401") {
		t.Errorf("another Context: %v", res.StructuredContent)
	}
	if res := call(admin, "upload", map[string]any{"filename": "note.txt", "title": "Note",
		"bytes_base64": "VGhlIG90dGVyIHN3aW1zLg=="}); res.IsError {
		t.Errorf("upload: %v", res.StructuredContent)
	}
	eventually(t, "the otter is found", func() bool {
		return strings.Contains(fmt.Sprint(call(admin, "recall",
			map[string]any{"query": "otter"}).StructuredContent), "swims")
	})
	if res := call(admin, "upload", map[string]any{"bytes_base64": "%"}); !res.IsError {
		t.Error("what is no base64 is taken")
	}
	if res := call(admin, "reflect", map[string]any{"query": "heron"}); !res.IsError ||
		!strings.Contains(fmt.Sprint(res.StructuredContent), "503") {
		t.Errorf("reflect without a provider: %v", res.StructuredContent)
	}
	stranger, err := s.mcp(reader)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if got := fmt.Sprint(call(stranger, "recall",
		map[string]any{"query": "heron"}).StructuredContent); strings.Contains(got, "pond") {
		t.Errorf("a stranger recalls %s", got)
	}
	if res := call(stranger, "remember", map[string]any{"text": "x"}); !res.IsError {
		t.Error("a reader writes")
	}
	if res := call(admin, "forget", map[string]any{"query": "heron pond"}); res.IsError {
		t.Errorf("forget: %v", res.StructuredContent)
	}
}
