// Package memory is a small client of the agent memory service. A Client works with one Context by one key, a Manager
// with the management API; both are safe for concurrent use.
//
//	c := memory.New("http://localhost:8080", "main", key)
//	_, err := c.Remember(ctx, memory.Fact{Text: "I moved to Lisbon.", Speaker: "Ada"})
//	hits, err := c.Recall(ctx, memory.Query{Text: "Where does Ada live?"})
package memory

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxAnswer bounds an answer that is read into memory, in bytes.
const maxAnswer = 128 << 20

// Client calls the service.
type Client struct {
	root, key string // root is the address below which all paths are
	// HTTP makes the calls; New sets one that follows no redirect, so that the key goes nowhere else.
	HTTP *http.Client
}

// New makes a client of the service at base for one Context.
func New(base, contextID, key string) *Client {
	return &Client{root: strings.TrimSuffix(base, "/") + "/api/v1/" + url.PathEscape(contextID), key: key,
		HTTP: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}
}

// Error is a problem that the service answered.
type Error struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Field  string `json:"field"`
}

// Error implements error.
func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("the service answered %d %s", e.Status, http.StatusText(e.Status))
	}
	return fmt.Sprintf("%s (%d %s)", e.Detail, e.Status, strings.TrimPrefix(e.Type, "urn:memsvc:error:"))
}

// Fact is a text to be stored.
type Fact struct {
	Text    string    `json:"text,omitempty"`
	Triples []Triple  `json:"triples,omitempty"`
	Infer   string    `json:"infer,omitempty"` // full (default), triples, preview or none
	Role    string    `json:"role,omitempty"`
	Speaker string    `json:"name,omitempty"`
	Session string    `json:"session_id,omitempty"`
	Scopes  []string  `json:"scopes,omitempty"` // any of them
	Labels  []string  `json:"labels,omitempty"` // key=value
	At      time.Time `json:"observed_at,omitzero"`
	Once    string    `json:"-"` // the idempotency key; "" for none
}

// Thing names an entity.
type Thing struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// Triple is a fact that the caller states: a value of a key, or a relation to a target.
type Triple struct {
	Entity   Thing  `json:"entity"`
	Key      string `json:"key"`
	Value    string `json:"value,omitempty"`
	Target   *Thing `json:"target,omitempty"`
	Category string `json:"memory_category,omitempty"`
}

// Message is one turn of a conversation.
type Message struct {
	Role    string    `json:"role,omitempty"`
	Content string    `json:"content"`
	Speaker string    `json:"name,omitempty"`
	At      time.Time `json:"ts,omitzero"`
}

// Conversation is turns to be stored together.
type Conversation struct {
	Messages []Message      `json:"messages"`
	Session  string         `json:"session_id,omitempty"`
	Infer    string         `json:"infer,omitempty"`
	Extract  string         `json:"extract,omitempty"`    // whole_conversation or per_message
	At       time.Time      `json:"observed_at,omitzero"` // of messages that have no time of their own
	Scopes   []string       `json:"scopes,omitempty"`
	Labels   []string       `json:"labels,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`
	Once     string         `json:"-"`
}

// Stored says where texts went.
type Stored struct {
	Session  string   `json:"sessionId"`
	Turn     string   `json:"turnId"`
	Turns    []string `json:"turnIds"`
	Warnings []string `json:"warnings"`
}

// Query is a search.
type Query struct {
	Text      string    `json:"query"`
	K         int       `json:"k,omitempty"`
	Mode      string    `json:"mode,omitempty"`
	Include   []string  `json:"include,omitempty"`
	Lens      []string  `json:"lens,omitempty"`
	Labels    []string  `json:"labels,omitempty"`
	Session   string    `json:"session_id,omitempty"`
	AsOf      time.Time `json:"as_of,omitzero"`
	AtInstant time.Time `json:"at_instant,omitzero"`
	From      time.Time `json:"valid_from,omitzero"`
	Until     time.Time `json:"valid_until,omitzero"`
	MaxTokens int       `json:"max_tokens,omitempty"`
}

// Hit is one memory that was found.
type Hit struct {
	ID       string    `json:"id"`
	Source   string    `json:"source"`
	Text     string    `json:"text"`
	Score    float64   `json:"score"`
	Ref      string    `json:"ref"`
	Occurred time.Time `json:"occurredAt"`
	Session  string    `json:"sessionId"`
	Document string    `json:"documentId"`
	Title    string    `json:"documentTitle"`
	Role     string    `json:"role"`
	Speaker  string    `json:"speaker"`
}

// Citation is a source that an answer names.
type Citation struct {
	Marker  string `json:"marker"`
	Ref     string `json:"ref"`
	Snippet string `json:"snippet"`
}

// Reply is an answer of a language model from memory.
type Reply struct {
	Text      string     `json:"reply"`
	Session   string     `json:"sessionId"`
	Citations []Citation `json:"citations"`
	Cached    bool       `json:"cached"`
	Err       *Error     `json:"error"`
}

// Remember stores a text or triples.
func (c *Client) Remember(ctx context.Context, f Fact) (*Stored, error) {
	out := new(Stored)
	return out, c.Call(ctx, http.MethodPost, "/facts", f.Once, f, out)
}

// RememberAll stores the turns of a conversation.
func (c *Client) RememberAll(ctx context.Context, conv Conversation) (*Stored, error) {
	out := new(Stored)
	return out, c.Call(ctx, http.MethodPost, "/facts/batch", conv.Once, conv, out)
}

// Recall searches.
func (c *Client) Recall(ctx context.Context, q Query) ([]Hit, error) {
	var out struct{ Hits []Hit }
	err := c.Call(ctx, http.MethodPost, "/query", "", q, &out)
	return out.Hits, err
}

// Context returns the memory about a question, as Markdown within q.MaxTokens.
func (c *Client) Context(ctx context.Context, q Query) (string, error) {
	var out struct{ Context string }
	err := c.Call(ctx, http.MethodPost, "/context", "", q, &out)
	return out.Context, err
}

// Chat answers a message from memory and stores both. With delta the reply comes piece by piece.
func (c *Client) Chat(ctx context.Context, session, message string, delta func(string)) (*Reply, error) {
	in := map[string]any{"message": message, "session_id": session, "stream": delta != nil}
	out := new(Reply)
	if delta == nil {
		return out, c.Call(ctx, http.MethodPost, "/chat", "", in, out)
	}
	res, err := c.send(ctx, http.MethodPost, "/chat", "", "application/json", encode(in))
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // it was read
	sc := bufio.NewScanner(io.LimitReader(res.Body, maxAnswer))
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok {
			continue
		}
		var frame struct {
			Delta string
			Done  bool
			Reply
		}
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			return nil, fmt.Errorf("read the stream: %w", err)
		}
		if frame.Done {
			if frame.Err != nil {
				return nil, frame.Err
			}
			return &frame.Reply, nil
		}
		delta(frame.Delta)
	}
	return nil, errors.Join(errors.New("the stream ended before the answer did"), sc.Err())
}

// Forget ends what a query finds, or with purge deletes it. dry only counts.
func (c *Client) Forget(ctx context.Context, query string, purge, dry bool) (deleted int, err error) {
	var out struct{ Deleted int }
	err = c.Call(ctx, http.MethodPost, "/forget", "", map[string]any{"query": query, "purge": purge,
		"dry_run": dry}, &out)
	return out.Deleted, err
}

// Document is an upload and how far its ingest is: queued … ready or failed.
type Document struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Status       string   `json:"status"`
	Error        string   `json:"error"`
	Deduplicated bool     `json:"deduplicated"`
	Labels       []string `json:"labels"`
}

// Upload is a document to be stored.
type Upload struct {
	Filename string    `json:"filename,omitempty"`
	Title    string    `json:"title,omitempty"`
	Source   string    `json:"source,omitempty"`
	Mime     string    `json:"mime_type,omitempty"`
	Scopes   []string  `json:"scopes,omitempty"`
	Labels   []string  `json:"labels,omitempty"`
	At       time.Time `json:"observed_at,omitzero"`
}

// Upload stores a document; it is found when its status is ready.
func (c *Client) Upload(ctx context.Context, u Upload, b []byte) (*Document, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("metadata", string(encode(u))); err != nil {
		return nil, err
	}
	part, err := form.CreateFormFile("file", u.Filename)
	if err == nil {
		_, err = part.Write(b)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		return nil, err
	}
	res, err := c.send(ctx, http.MethodPost, "/documents", "", form.FormDataContentType(), body.Bytes())
	if err != nil {
		return nil, err
	}
	out := new(Document)
	return out, read(res, out)
}

// Document is an upload.
func (c *Client) Document(ctx context.Context, id string) (*Document, error) {
	out := new(Document)
	return out, c.Call(ctx, http.MethodGet, "/documents/"+url.PathEscape(id), "", nil, out)
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // every type here can be encoded
	}
	return b
}

// Call makes one call below /api/v1/CONTEXT. in nil sends no body; out nil drops the answer. once is an
// idempotency key.
func (c *Client) Call(ctx context.Context, method, path, once string, in, out any) error {
	var body []byte
	if in != nil {
		body = encode(in)
	}
	res, err := c.send(ctx, method, path, once, "application/json", body)
	if err != nil {
		return err
	}
	return read(res, out)
}

func read(res *http.Response, out any) error {
	defer func() { _ = res.Body.Close() }() // it was read
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer: %w", err)
	case len(b) > maxAnswer:
		return fmt.Errorf("the answer is larger than %d MiB; ask for less, by --limit", maxAnswer>>20)
	case out == nil || len(b) == 0:
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

func (c *Client) send(ctx context.Context, method, path, once, kind string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.root+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if body != nil {
		req.Header.Set("Content-Type", kind)
	}
	if once != "" {
		req.Header.Set("Idempotency-Key", once)
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("call the memory service: %w", err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	e := &Error{Status: res.StatusCode}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") {
		if err := read(res, e); err != nil {
			return nil, err
		}
		return nil, e
	}
	return nil, errors.Join(e, res.Body.Close())
}
