// Package model calls language models and the other providers of the memory service over HTTP: three wires for text,
// one POST each for reranking, recognition of text in images and speech. It retries what may pass, stops calling what
// keeps failing, bounds every answer, and never puts a key or a provider's text into an error.
package model

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Wires that a provider may speak, by the name of their call.
const (
	ChatCompletions = "openai"
	Messages        = "anthropic"
	GenerateContent = "google"
)

// Limits of calls.
const (
	maxAnswer     = 8 << 20 // bytes of one answer, streamed or not
	maxText       = 1 << 20 // bytes of text that is taken of an answer
	maxWait       = 10 * time.Second
	maxConcurrent = 16 // calls at once to one model
	breakAfter    = 5  // failures in a row that open the breaker
	breakFor      = 15 * time.Second
)

// Target is a model at an address.
type Target struct {
	Provider, Wire, BaseURL, Key, Model string
	Foreign                             bool // a tenant named the address: see foreignAddress
}

// Message is one message of a prompt: user or assistant.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Request is one question to a model. With a schema the answer is a JSON object.
type Request struct {
	System    string
	Messages  []Message
	Schema    map[string]any
	MaxTokens int
}

// Usage is tokens; where a provider tells none they are estimated from the lengths of the texts.
type Usage struct{ Input, Output int }

// Answer is the answer of a model.
type Answer struct {
	Text  string
	Usage Usage
}

// Error is a failed call. Its text holds no key and nothing that the provider sent.
type Error struct {
	Status    int // of the answer; 0 when there was none
	Temporary bool
	after     time.Duration
	why       string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("the provider answered %d: %s", e.Status, e.why)
	}
	return "the provider " + e.why
}

// Client makes calls. Make it with New.
type Client struct {
	http    *http.Client
	foreign *http.Client  // for addresses that tenants name
	Timeout time.Duration // of one try
	Tries   int
	Pause   time.Duration // before the second try, doubled for the third

	mu    sync.Mutex // guards peers; a leaf lock
	peers map[string]*peer
}

// peer is a model at an address under one key: its slots and its breaker. What one tenant makes fail does not stop
// another one.
type peer struct {
	slots  chan struct{}
	mu     sync.Mutex // guards what follows; a leaf lock
	failed int
	until  time.Time
}

// New makes a client. Redirects are not followed: they would carry the key elsewhere. With privateOK the addresses that
// tenants name may be of loopback and private networks.
func New(privateOK bool) *Client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{http: &http.Client{CheckRedirect: stay},
		foreign: &http.Client{CheckRedirect: stay, Transport: foreignTransport(privateOK)},
		Timeout: 60 * time.Second, Tries: 3, Pause: 500 * time.Millisecond, peers: map[string]*peer{}}
}

func (c *Client) peer(name string) *peer {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.peers[name]
	if p == nil {
		if len(c.peers) >= 1000 {
			clear(c.peers) // addresses of Contexts come and go; a breaker that is forgotten costs one call
		}
		p = &peer{slots: make(chan struct{}, maxConcurrent)}
		c.peers[name] = p
	}
	return p
}

// enter takes a slot, or refuses while the breaker is open.
func (p *peer) enter(ctx context.Context) error {
	p.mu.Lock()
	open := time.Now().Before(p.until)
	p.mu.Unlock()
	if open {
		return &Error{why: "failed several times in a row and is left alone for a moment"}
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave gives the slot back and notes how the call ended. Refusals of a request say nothing about the provider.
func (p *peer) leave(err error) {
	<-p.slots
	p.mu.Lock()
	defer p.mu.Unlock()
	var e *Error
	switch {
	case err == nil, errors.As(err, &e) && !e.Temporary, errors.As(err, &e) && e.Status == http.StatusTooManyRequests:
		p.failed = 0
	case errors.As(err, &e):
		if p.failed++; p.failed >= breakAfter {
			p.until = time.Now().Add(breakFor)
			p.failed = breakAfter - 1 // one more failure after the pause opens it again
		}
	}
}

// do makes a call with retries. read takes the answer; it must not have passed anything on when it fails, or started
// says so and there is no further try.
func (c *Client) do(ctx context.Context, via *http.Client, name string,
	build func(context.Context) (*http.Request, error),
	read func(io.Reader) error, started func() bool) error {
	p := c.peer(name)
	pause := c.Pause
	for try := 1; ; try++ {
		if err := p.enter(ctx); err != nil {
			return err
		}
		err := once(ctx, via, c.Timeout, build, read)
		p.leave(err)
		var e *Error
		if err == nil || !errors.As(err, &e) || !e.Temporary || try >= c.Tries || started() {
			return err
		}
		wait := min(max(pause, e.after), maxWait)
		pause *= 2
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func once(parent context.Context, via *http.Client, limit time.Duration,
	build func(context.Context) (*http.Request, error), read func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(parent, limit)
	defer cancel()
	req, err := build(ctx)
	if err != nil {
		return &Error{why: "cannot be called: the request is not valid"}
	}
	res, err := via.Do(req)
	if err != nil {
		if parent.Err() != nil {
			return context.Cause(parent)
		}
		if errors.Is(err, errForeign) {
			return &Error{why: "is at an address that a Context may not name"}
		}
		return &Error{Temporary: true, why: "did not answer"}
	}
	defer func() { _ = res.Body.Close() }() // it was read
	if res.StatusCode/100 != 2 {
		return refused(res)
	}
	err = read(io.LimitReader(res.Body, maxAnswer))
	var e *Error
	switch {
	case err == nil || errors.As(err, &e) || errors.As(err, new(passing)):
		return err
	case parent.Err() != nil:
		return context.Cause(parent)
	}
	return &Error{Temporary: true, why: "sent an answer that cannot be read"}
}

// passing is an error of the one who takes the answer.
type passing struct{ error }

func refused(res *http.Response) *Error {
	e := &Error{Status: res.StatusCode, why: http.StatusText(res.StatusCode)}
	e.Temporary = res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests ||
		res.StatusCode == http.StatusRequestTimeout
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 {
		e.after = time.Duration(min(s, 3600)) * time.Second
	}
	return e
}

// Generate asks a model. With delta it streams: delta gets each piece of text, and its error ends the call.
func (c *Client) Generate(ctx context.Context, t Target, r Request, delta func(string) error) (*Answer, error) {
	w, ok := wires[t.Wire]
	if !ok {
		return nil, &Error{why: "speaks an unknown wire"}
	}
	var last error
	for _, form := range w.forms(r) {
		out, err := c.generate(ctx, t, w, r, form, delta)
		var e *Error
		if err == nil || !errors.As(err, &e) || e.Status != http.StatusBadRequest {
			return out, err
		}
		last = err // the provider does not know this way to ask for JSON: try a plainer one
	}
	return nil, last
}

func (c *Client) generate(ctx context.Context, t Target, w wire, r Request, form string,
	delta func(string) error) (*Answer, error) {
	stream := delta != nil
	url, header, body := w.request(t, r, form, stream)
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	var out Answer
	var text strings.Builder
	began := false
	via := c.http
	if t.Foreign {
		via = c.foreign
	}
	err = c.do(ctx, via, t.BaseURL+"\x00"+t.Key+"\x00"+t.Model, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(b))
		if err == nil {
			req.Header = header.Clone()
			req.Header.Set("Content-Type", "application/json")
		}
		return req, err
	}, func(body io.Reader) error {
		text.Reset()
		out = Answer{}
		if !stream {
			return decode(body, w, &out, &text)
		}
		return events(body, w, &out, func(s string) error {
			if text.Len()+len(s) > maxText {
				return &Error{why: "sent too long an answer"}
			}
			text.WriteString(s)
			began = true
			if err := delta(s); err != nil {
				return passing{err}
			}
			return nil
		})
	}, func() bool { return began })
	if err != nil {
		return nil, err
	}
	out.Text = text.String()
	if out.Usage.Input == 0 {
		out.Usage.Input = estimate(r)
	}
	if out.Usage.Output == 0 {
		out.Usage.Output = (len(out.Text) + 3) / 4
	}
	return &out, nil
}

func estimate(r Request) int {
	n := len(r.System)
	for _, m := range r.Messages {
		n += len(m.Content)
	}
	return (n + 3) / 4
}

func decode(body io.Reader, w wire, out *Answer, text *strings.Builder) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	s, _, err := w.piece(b, out, false)
	if err != nil {
		return err
	}
	if len(s) > maxText {
		return &Error{why: "sent too long an answer"}
	}
	text.WriteString(s)
	return nil
}

// events reads server-sent events until the wire says that the answer is whole. A stream that ends earlier was cut off.
func events(body io.Reader, w wire, out *Answer, delta func(string) error) error {
	sc := bufio.NewScanner(body)
	sc.Buffer(make([]byte, 0, 64<<10), 1<<20)
	whole := false
	for sc.Scan() {
		data, ok := bytes.CutPrefix(sc.Bytes(), []byte("data:"))
		if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			return nil
		}
		s, end, err := w.piece(data, out, true)
		if err != nil {
			return err
		}
		if s != "" {
			if err := delta(s); err != nil {
				return err
			}
		}
		whole = whole || end
	}
	if sc.Err() != nil || !whole {
		return &Error{Temporary: true, why: "broke off in the middle of an answer"}
	}
	return nil
}
