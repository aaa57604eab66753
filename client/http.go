package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// ErrNotReady is a server that answers but does not serve: not yet, or no longer.
var ErrNotReady = errors.New("server is not ready")

// maxErrorBody bounds what is read of an error answer.
const maxErrorBody = 64 << 10

// request builds a request to one of the HTTP endpoints with the session's identity and place.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	if c.base == nil {
		return nil, errs.Validation("This needs a server: an embedded database has no HTTP endpoints")
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path).String(), body)
	if err != nil {
		return nil, err
	}
	if c.opt.Namespace != "" {
		req.Header.Set("Surreal-NS", c.opt.Namespace)
	}
	if c.opt.Database != "" {
		req.Header.Set("Surreal-DB", c.opt.Database)
	}
	switch {
	case c.opt.Token != "":
		req.Header.Set("Authorization", "Bearer "+c.opt.Token)
	case c.opt.User != "":
		req.SetBasicAuth(c.opt.User, c.opt.Pass)
		if c.opt.Level == "namespace" || c.opt.Level == "database" {
			req.Header.Set("Surreal-Auth-NS", c.opt.Namespace)
		}
		if c.opt.Level == "database" {
			req.Header.Set("Surreal-Auth-DB", c.opt.Database)
		}
	}
	return req, nil
}

// send does req; a status outside ok becomes the server's error. The caller closes the body.
func (c *Client) send(req *http.Request, ok ...int) (*http.Response, error) {
	hc := c.opt.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	res, err := hc.Do(req)
	if err != nil {
		if cause := context.Cause(req.Context()); cause != nil {
			return nil, cause
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, unwrapURL(err))
	}
	for _, s := range append(ok, http.StatusOK) {
		if res.StatusCode == s {
			return res, nil
		}
	}
	defer res.Body.Close()
	return nil, statusError(res)
}

// unwrapURL drops the method and address that net/http puts before a cause.
func unwrapURL(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// statusError is the error in an answer with a bad status: the error body's information, or its text.
func statusError(res *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	var body struct{ Details, Description, Information string }
	msg := strings.TrimSpace(string(b))
	if json.Unmarshal(b, &body) == nil {
		for _, s := range []string{body.Information, body.Description, body.Details} {
			if s != "" {
				msg = s
				break
			}
		}
	}
	if msg == "" {
		msg = res.Status
	}
	switch res.StatusCode {
	case http.StatusUnauthorized:
		e := errs.InvalidAuth()
		e.Msg = msg
		return e
	case http.StatusTooManyRequests:
		e := errs.InvalidAuth()
		e.Msg, e.Detail.Inner = msg, &errs.Detail{Kind: "TooManyAttempts"}
		return e
	case http.StatusForbidden:
		return errs.NotAllowed("%s", msg)
	case http.StatusNotFound:
		return errs.New(errs.KindNotFound, "%s", msg)
	case http.StatusServiceUnavailable:
		return fmt.Errorf("%w: %s", ErrNotReady, msg)
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType:
		return errs.Validation("%s", msg)
	}
	return errs.Internal("%s", msg)
}

// httpTransport is RPC over POST /rpc. The server keeps nothing between calls, so the place is sent with each.
type httpTransport struct {
	c *Client

	mu sync.Mutex // guards c.opt.Namespace, c.opt.Database and c.opt.Token; never held across a call
}

func newHTTPTransport(c *Client) *httpTransport { return &httpTransport{c: c} }

// Call implements Transport.
func (t *httpTransport) Call(ctx context.Context, call Request) (value.Value, error) {
	if call.Method == "use" {
		return value.None, t.use(call.Params)
	}
	b, err := encodeRequest("", call)
	if err != nil {
		return value.None, err
	}
	t.mu.Lock()
	req, err := t.c.request(ctx, http.MethodPost, "rpc", bytes.NewReader(b))
	t.mu.Unlock()
	if err != nil {
		return value.None, err
	}
	req.Header.Set("Content-Type", "application/cbor")
	req.Header.Set("Accept", "application/cbor")
	res, err := t.c.send(req)
	if err != nil {
		return value.None, err
	}
	defer res.Body.Close()
	b, err = io.ReadAll(io.LimitReader(res.Body, t.c.opt.MaxMessage+1))
	if err != nil {
		return value.None, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if int64(len(b)) > t.c.opt.MaxMessage {
		return value.None, errs.Validation("Message too long")
	}
	return DecodeAnswer(b)
}

// use remembers the place for the headers of later calls.
func (t *httpTransport) use(params []value.Value) error {
	if len(params) != 2 {
		return errs.InvalidParams("Expected (ns, db)")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, place := range []*string{&t.c.opt.Namespace, &t.c.opt.Database} {
		switch params[i].Kind() {
		case value.KindString:
			*place = params[i].Str()
		case value.KindNull:
			*place = ""
		case value.KindNone:
		default:
			return errs.InvalidParams("Expected (ns, db)")
		}
	}
	return nil
}

// Close implements Transport.
func (t *httpTransport) Close() error { return nil }

// Ready asks whether the server serves: nil, ErrNotReady (it answers, but not yet), or ErrUnreachable.
func (c *Client) Ready(ctx context.Context) error { return c.probe(ctx, "ready") }

// Health asks whether the server reaches its store.
func (c *Client) Health(ctx context.Context) error { return c.probe(ctx, "health") }

func (c *Client) probe(ctx context.Context, path string) error {
	req, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	req.Header.Del("Authorization")
	res, err := c.send(req)
	if err != nil {
		if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrNotReady) || ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	return res.Body.Close()
}

// Version is the server's name and the version of its protocol, as GET /version gives it.
func (c *Client) Version(ctx context.Context) (string, error) {
	protocol, _, err := c.Versions(ctx)
	return protocol, err
}

// Versions are the server's name and the version of its protocol, as GET /version gives them, and the version of its
// program, as its header Server has it: "" where that hides it.
func (c *Client) Versions(ctx context.Context) (protocol, program string, err error) {
	req, err := c.request(ctx, http.MethodGet, "version", nil)
	if err != nil {
		return "", "", err
	}
	res, err := c.send(req)
	if err != nil {
		return "", "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	_, program, _ = strings.Cut(res.Header.Get("Server"), "/")
	return strings.TrimSpace(string(b)), program, err
}
