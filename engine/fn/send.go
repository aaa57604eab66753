package fn

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
)

// Sent is the answer to Send.
type Sent struct {
	Status  int
	URL     string // after redirects
	Headers [][2]string
	Body    []byte
}

// ToSend is a request for Send.
type ToSend struct {
	Method, URL string
	Headers     [][2]string
	Body        []byte
	Manual      bool  // a redirect is an answer
	Limit       int64 // bytes of the answer
}

// Send makes a web request as the http functions do, and gives the answer of any status.
func (t *Table) Send(ctx context.Context, filter NetFilter, q *ToSend) (*Sent, error) {
	u, err := url.Parse(q.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errs.Internal("The URL `%s` is invalid", q.URL)
	}
	target := &targetFilter{filter: filter}
	if err := target.checkName(u); err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, netFilterKey{}, target)
	req, err := http.NewRequestWithContext(ctx, q.Method, u.String(), bytes.NewReader(q.Body))
	if err != nil {
		return nil, errs.Internal("There was an error processing a remote HTTP request: invalid request")
	}
	req.Header.Set("User-Agent", "nacre")
	for _, h := range q.Headers {
		if strings.ContainsAny(h[0]+h[1], "\r\n\x00") {
			return nil, errs.Internal("There was an error processing a remote HTTP request: invalid header")
		}
		req.Header.Set(h[0], h[1])
		if strings.EqualFold(h[0], "host") {
			req.Host = h[1]
		}
	}
	client := *t.web.http
	if q.Manual {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, remoteError(err)
	}
	defer resp.Body.Close()
	out := &Sent{Status: resp.StatusCode, URL: resp.Request.URL.String()}
	if out.Body, err = io.ReadAll(io.LimitReader(resp.Body, q.Limit+1)); err != nil {
		return nil, remoteError(err)
	}
	if int64(len(out.Body)) > q.Limit {
		return nil, errs.Internal("There was an error processing a remote HTTP request: the answer is too large")
	}
	for name, values := range resp.Header {
		out.Headers = append(out.Headers, [2]string{name, strings.Join(values, ", ")})
	}
	return out, nil
}
