package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nacredb/nacre/memsvc/problem"
)

// The tools of /mcp. Each is one call of the user API, made with the caller's own key through the same routes: what
// a key may not do there, it may not do here.

type rememberTool struct {
	Text    string   `json:"text" jsonschema:"what to remember"`
	Session string   `json:"session_id,omitempty" jsonschema:"session that it belongs to"`
	Scope   string   `json:"scope,omitempty" jsonschema:"scope, such as org/acme/user/alice"`
	Labels  []string `json:"labels,omitempty" jsonschema:"labels of the form key=value"`
	Infer   string   `json:"infer,omitempty" jsonschema:"full, preview or none"`
	Context string   `json:"context_id,omitempty" jsonschema:"Context of the key; another one is refused"`
}

type recallTool struct {
	Query   string   `json:"query" jsonschema:"what to look for"`
	K       *int     `json:"k,omitempty" jsonschema:"most hits, 10 by default"`
	Mode    string   `json:"mode,omitempty" jsonschema:"hybrid, vector, bm25 or graph"`
	Lens    string   `json:"lens,omitempty" jsonschema:"scope to look in"`
	Labels  []string `json:"labels,omitempty" jsonschema:"labels that hits carry"`
	Context string   `json:"context_id,omitempty" jsonschema:"Context of the key; another one is refused"`
}

type forgetTool struct {
	Query   string `json:"query" jsonschema:"what to forget"`
	Purge   bool   `json:"purge,omitempty" jsonschema:"delete it instead of ending it"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"only show what matches"`
	Context string `json:"context_id,omitempty" jsonschema:"Context of the key; another one is refused"`
}

type inspectTool struct {
	Ref     string `json:"ref" jsonschema:"a reference such as turn:ID or entity:person/ada"`
	Context string `json:"context_id,omitempty" jsonschema:"Context of the key; another one is refused"`
}

type reflectTool struct {
	Query   string `json:"query" jsonschema:"what to think about"`
	Persist bool   `json:"persist,omitempty" jsonschema:"store what came of it"`
	Context string `json:"context_id,omitempty" jsonschema:"Context of the key; another one is refused"`
}

type uploadTool struct {
	Bytes    string   `json:"bytes_base64" jsonschema:"the document, in base64"`
	Title    string   `json:"title,omitempty" jsonschema:"title"`
	Source   string   `json:"source,omitempty" jsonschema:"where it comes from"`
	Mime     string   `json:"mime_type,omitempty" jsonschema:"type, such as text/markdown"`
	Filename string   `json:"filename,omitempty" jsonschema:"name of the file"`
	Scopes   []string `json:"scopes,omitempty" jsonschema:"scopes, such as org/acme"`
	Labels   []string `json:"labels,omitempty" jsonschema:"labels of the form key=value"`
	Context  string   `json:"context_id,omitempty" jsonschema:"Context of the key; another one is refused"`
}

// mcpServer makes the tools for one caller.
func (s *Server) mcpServer(key, contextID string) *mcp.Server {
	m := mcp.NewServer(&mcp.Implementation{Name: "nacre-memsvc", Version: s.version}, nil)
	m.AddReceivingMiddleware(badArguments)
	inner := innerCalls{s: s, key: key, context: contextID}
	write, destroy := false, true
	read := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcp.AddTool(m, &mcp.Tool{Name: "remember", Description: "Store a text as memory",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &write}}, tool(inner, http.MethodPost, "/facts",
		func(in rememberTool) string { return in.Context }))
	mcp.AddTool(m, &mcp.Tool{Name: "recall", Description: "Search memories", Annotations: read},
		tool(inner, http.MethodPost, "/query", func(in recallTool) string { return in.Context }))
	mcp.AddTool(m, &mcp.Tool{Name: "context", Description: "Memories about a question, as text for a prompt", Annotations: read},
		tool(inner, http.MethodPost, "/context", func(in recallTool) string { return in.Context }))
	mcp.AddTool(m, &mcp.Tool{Name: "forget", Description: "Forget what a query finds",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &destroy}}, tool(inner, http.MethodPost, "/forget",
		func(in forgetTool) string { return in.Context }))
	mcp.AddTool(m, &mcp.Tool{Name: "reflect", Description: "What memories together say about a question, with its sources",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &write}}, tool(inner, http.MethodPost, "/reflect",
		func(in reflectTool) string { return in.Context }))
	mcp.AddTool(m, &mcp.Tool{Name: "upload", Description: "Store a document as memory",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &write}}, inner.upload)
	mcp.AddTool(m, &mcp.Tool{Name: "inspect", Description: "Show what a reference stands for", Annotations: read},
		func(ctx context.Context, _ *mcp.CallToolRequest, in inspectTool) (*mcp.CallToolResult, any, error) {
			return inner.result(ctx, http.MethodGet, "/inspect?ref="+url.QueryEscape(in.Ref), nil, in.Context)
		})
	if s.cfg.FSView {
		inner.addTree(m)
	}
	return m
}

// badArguments makes a fault of the request (-32602) of arguments that do not fit the schema of a tool: the library
// answers them as a failure of the tool.
func badArguments(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if r, ok := res.(*mcp.CallToolResult); ok && err == nil && r.IsError && r.StructuredContent == nil &&
			len(r.Content) == 1 {
			if t, ok := r.Content[0].(*mcp.TextContent); ok && strings.Contains(t.Text, `"arguments"`) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: t.Text}
			}
		}
		return res, err
	}
}

// tool makes a tool of a route that takes a JSON body.
func tool[In any](inner innerCalls, method, path string, where func(In) string) mcp.ToolHandlerFor[In, any] {
	return func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		body, err := json.Marshal(in)
		if err != nil {
			return nil, nil, err
		}
		return inner.result(ctx, method, path, body, where(in))
	}
}

// innerCalls runs requests of one key through the router of the service.
type innerCalls struct {
	s            *Server
	key, context string
}

func (i innerCalls) result(ctx context.Context, method, path string, body []byte, contextID string) (
	*mcp.CallToolResult, any, error) {
	return i.send(ctx, method, path, "application/json", body, contextID)
}

func (i innerCalls) send(ctx context.Context, method, path, kind string, body []byte, contextID string) (
	*mcp.CallToolResult, any, error) {
	if contextID == "" {
		contextID = i.context
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), method,
		"http://memsvc/api/v1/"+url.PathEscape(contextID)+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+i.key)
	req.Header.Set("Content-Type", kind)
	out := &memoryWriter{header: http.Header{}, status: http.StatusOK}
	i.s.ServeHTTP(out, req)
	var v map[string]any
	if err := json.Unmarshal(out.body.Bytes(), &v); err != nil {
		v = map[string]any{}
	}
	if out.status < 400 {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out.body.String()}}}, v, nil
	}
	detail, _ := v["detail"].(string)
	if v["type"] == "urn:memsvc:error:query-ceiling" { // a fault of the request, not of the operation
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: detail}
	}
	failed := map[string]any{"error": map[string]any{"status": out.status, "message": detail}}
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: detail}},
		StructuredContent: failed}, nil, nil
}

// upload makes the form of an upload out of the arguments of a tool.
func (i innerCalls) upload(ctx context.Context, _ *mcp.CallToolRequest, in uploadTool) (*mcp.CallToolResult,
	any, error) {
	b, err := base64.StdEncoding.DecodeString(in.Bytes)
	if err != nil {
		return &mcp.CallToolResult{IsError: true,
			Content: []mcp.Content{&mcp.TextContent{Text: "bytes_base64: want base64"}},
			StructuredContent: map[string]any{"error": map[string]any{"status": 400,
				"message": "bytes_base64: want base64"}}}, nil, nil
	}
	meta := map[string]any{"title": in.Title, "source": in.Source, "mime_type": in.Mime, "filename": in.Filename}
	if len(in.Scopes) > 0 {
		meta["scopes"] = in.Scopes
	}
	if len(in.Labels) > 0 {
		meta["labels"] = in.Labels
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	j, err := json.Marshal(meta)
	if err == nil {
		err = form.WriteField("metadata", string(j))
	}
	if err != nil {
		return nil, nil, err
	}
	part, err := form.CreateFormFile("file", in.Filename)
	if err == nil {
		_, err = part.Write(b)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return nil, nil, err
	}
	return i.send(ctx, http.MethodPost, "/documents", form.FormDataContentType(), body.Bytes(), in.Context)
}

// memoryWriter keeps an answer.
type memoryWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *memoryWriter) Header() http.Header         { return w.header }
func (w *memoryWriter) WriteHeader(status int)      { w.status = status }
func (w *memoryWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

type mcpCaller struct{}

// serveMCP is the door of MCP: streamable HTTP, without sessions. Each request carries the key.
func (s *Server) serveMCP(c *call) (any, error) {
	if o := c.r.Header.Get("Origin"); o != "" && c.w.Header().Get("Access-Control-Allow-Origin") == "" {
		return nil, problem.Forbidden("This origin is not allowed")
	}
	_, who, err := s.enter(c.ctx(), c.r, "")
	if err != nil {
		return nil, err
	}
	c.done = true
	m := s.mcpServer(bearer(c.r), who.Context)
	s.mcp.ServeHTTP(c.w, c.r.WithContext(context.WithValue(c.ctx(), mcpCaller{}, m)))
	return nil, nil
}

func newMCP(log *slog.Logger) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		m, _ := r.Context().Value(mcpCaller{}).(*mcp.Server) // serveMCP put it there
		return m
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, Logger: log, MaxRequestBodyBytes: maxBody})
}
