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

// Send makes a request of the web by the way that the http functions take, and gives the answer whatever its status is.
// manual: a redirect is an answer. At most limit bytes are read.
func (t *Table) Send(
	ctx context.Context, filter NetFilter, method, address string, headers [][2]string, body []byte, manual bool, limit int64,
) (*Sent, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errs.Internal("The URL `%s` is invalid", address)
	}
	target := &targetFilter{filter: filter}
	if err := target.checkName(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, netFilterKey{}, target), method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errs.Internal("There was an error processing a remote HTTP request: invalid request")
	}
	req.Header.Set("User-Agent", "nacre")
	for _, h := range headers {
		if strings.ContainsAny(h[0]+h[1], "\r\n\x00") {
			return nil, errs.Internal("There was an error processing a remote HTTP request: invalid header")
		}
		req.Header.Set(h[0], h[1])
		if strings.EqualFold(h[0], "host") {
			req.Host = h[1]
		}
	}
	client := *t.web.http
	if manual {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, remoteError(err)
	}
	defer resp.Body.Close()
	out := &Sent{Status: resp.StatusCode, URL: resp.Request.URL.String()}
	if out.Body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1)); err != nil {
		return nil, remoteError(err)
	}
	if int64(len(out.Body)) > limit {
		return nil, errs.Internal("There was an error processing a remote HTTP request: the answer is too large")
	}
	for name, values := range resp.Header {
		out.Headers = append(out.Headers, [2]string{name, strings.Join(values, ", ")})
	}
	return out, nil
}
