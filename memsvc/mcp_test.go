package memsvc_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
	var fault *jsonrpc.Error
	if _, err := admin.CallTool(t.Context(), &mcp.CallToolParams{Name: "recall",
		Arguments: map[string]any{"query": "heron", "k": 51}}); !errors.As(err, &fault) || fault.Code != -32602 {
		t.Errorf("k above the ceiling: %v", err)
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

// TestMCPTree holds that memory is a tree of texts, that each caller sees its own part, and that it can be switched
// off.
func TestMCPTree(t *testing.T) {
	s := start(t)
	s.patch(200, `{"llm_extraction_enabled": true}`)
	s.post(201, "/scopes", `{"path": "org/b"}`)
	s.post(200, "/facts", `{"text": "I live in Lisbon.", "name": "Ada", "scopes": "org/b"}`)
	s.post(200, "/facts", `{"scopes": "org/b", "triples": [{"entity": {"type": "person", "name": "Ada"},
		"key": "works_at", "target": {"type": "organisation", "name": "Initech"}}]}`)
	for _, text := range []string{"# Birds\n\nThe heron stands.", "# Birds\n\nThe stork nests."} {
		id := s.upload(202, s.key, "/api/v1/main/documents", "POST", "a b.md",
			`{"title": "Birds/1", "scopes": "org/b"}`, []byte(text)).str("id")
		s.ready(id, "ready")
	}
	_, reader := s.member("main", "reader", map[string][]string{"memory:read": {"org/a"}})
	list := func(key string) (*mcp.ClientSession, map[string]bool) {
		t.Helper()
		c, err := s.mcp(key)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() }) // the service may be gone
		all, err := c.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]bool{}
		for _, r := range all.Resources {
			out[r.URI] = true
		}
		return c, out
	}
	c, files := list(s.key)
	if len(files) != 5 || !files["memsvc://fs/entities/ada/relations/works_at-initech.txt"] {
		t.Errorf("the tree is %v", files)
	}
	read := func(c *mcp.ClientSession, uri string) (string, error) {
		res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return "", err
		}
		return res.Contents[0].Text, nil
	}
	for uri := range files {
		text, err := read(c, uri)
		if err != nil || text == "" {
			t.Errorf("%s: %q, %v", uri, text, err)
		}
	}
	if text, err := read(c, "memsvc://fs/entities/ada/lives_in.txt"); !strings.Contains(text, "Lisbon") {
		t.Errorf("%q, %v", text, err)
	}
	stranger, seen := list(reader)
	if len(seen) != 0 {
		t.Errorf("a stranger sees %v", seen)
	}
	for uri := range files {
		if text, err := read(stranger, uri); err == nil {
			t.Errorf("a stranger reads %s: %s", uri, text)
		}
	}
	off := start(t, "MEMSVC_FS_VIEW", "false")
	o, err := off.mcp(off.key)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if all, err := o.ListResources(t.Context(), nil); err == nil && len(all.Resources) > 0 {
		t.Errorf("the tree is off and shows %v", all.Resources)
	}
}
