package h2

import (
	"context"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// takeHead begins a request, or ends one whose client sends trailers.
func (c *conn) takeHead(f *http2.MetaHeadersFrame) error {
	c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed != nil {
		return c.failed
	}
	id := f.StreamID
	if st := c.streams[id]; st != nil {
		return st.trailers(f)
	}
	switch {
	case id <= c.last && f.StreamEnded(): // of a stream that we have ended
		return c.known(id)
	case id <= c.last || id%2 == 0:
		return protocolError
	case c.draining:
		return nil // its client has been told, and asks elsewhere
	}
	c.last = id
	if len(c.streams) >= c.srv.limits.Streams || c.running >= 2*c.srv.limits.Streams {
		if !c.calm.take(1) {
			return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
		}
		_ = c.out.WriteRSTStream(id, http2.ErrCodeRefusedStream)
		if c.overfull() {
			return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
		}
		return nil
	}
	st := &stream{conn: c, id: id, send: c.initial, recv: int64(c.srv.limits.Window), length: -1,
		ended: f.StreamEnded()}
	st.readable, st.roomy = make(chan struct{}, 1), make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(c.ctx)
	st.cancel = cancel
	st.req = c.request(ctx, st, f)
	if st.req == nil {
		cancel()
		return http2.StreamError{StreamID: id, Code: http2.ErrCodeProtocol}
	}
	st.tooLarge = f.Truncated
	st.head = make(http.Header, 8)
	c.streams[id] = st
	c.running++
	c.held = st
	return nil
}

// trailers ends the body of a request. What they say is not read.
func (st *stream) trailers(f *http2.MetaHeadersFrame) error {
	switch {
	case st.ended:
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeStreamClosed}
	case !f.StreamEnded() || len(f.PseudoFields()) > 0 || st.length >= 0 && st.came < st.length:
		return http2.StreamError{StreamID: st.id, Code: http2.ErrCodeProtocol}
	}
	st.ended = true
	wake(st.readable)
	return nil
}

// request is the request of a head; nil where it has not what one needs.
func (c *conn) request(ctx context.Context, st *stream, f *http2.MetaHeadersFrame) *http.Request {
	var method, scheme, authority, path string
	pseudo := f.PseudoFields()
	for _, p := range pseudo {
		switch p.Name {
		case ":method":
			method = p.Value
		case ":scheme":
			scheme = p.Value
		case ":authority":
			authority = p.Value
		case ":path":
			path = p.Value
		default:
			return nil
		}
	}
	header, ok := headerOf(f.Fields[len(pseudo):])
	if authority == "" {
		authority = header.Get("Host")
	}
	u := c.parse(path)
	// CONNECT has no path; nothing here is reached by it.
	if !ok || method == "" || scheme != "http" && scheme != "https" || u == nil || strings.Contains(authority, "@") ||
		!httpguts.ValidHostHeader(authority) {
		return nil
	}
	req := http.Request{Method: method, URL: u, Proto: "HTTP/2.0", ProtoMajor: 2, Header: header, Host: authority,
		RemoteAddr: c.remote, RequestURI: path, Body: http.NoBody}
	if scheme == "https" {
		req.TLS = c.tls
	}
	length, stated := header["Content-Length"]
	switch {
	case stated:
		n, err := strconv.ParseUint(length[0], 10, 63)
		if err != nil || len(length) > 1 || st.ended && n != 0 {
			return nil
		}
		req.ContentLength, st.length = int64(n), int64(n)
	case !st.ended:
		req.ContentLength = -1
	}
	if !st.ended {
		req.Body = (*body)(st)
		if httpguts.HeaderValuesContainsToken(header["Expect"], "100-continue") {
			delete(header, "Expect")
			st.expects = true
		}
	}
	return req.WithContext(ctx)
}

// parse is a path as a URL; nil where it is none. Clients call the same path again and again.
func (c *conn) parse(path string) *url.URL {
	if c.url == nil || path != c.path {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return nil
		}
		c.path, c.url = path, u
	}
	u := *c.url
	return &u
}

// headerOf gives the fields of a head; false: there is one that HTTP/2 forbids.
func headerOf(fields []hpack.HeaderField) (http.Header, bool) {
	header := make(http.Header, len(fields))
	values := make([]string, len(fields))
	for i, f := range fields {
		name, ok := canonical[f.Name]
		if !ok {
			name = textproto.CanonicalMIMEHeaderKey(f.Name)
		}
		switch name {
		case "Connection", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Keep-Alive":
			return header, false
		case "Te":
			if f.Value != "trailers" {
				return header, false
			}
		case "Cookie":
			if had := header["Cookie"]; len(had) > 0 { // sent in pieces
				had[0] += "; " + f.Value
				continue
			}
		}
		if had := header[name]; had != nil {
			header[name] = append(had, f.Value)
			continue
		}
		values[i] = f.Value
		header[name] = values[i : i+1 : i+1]
	}
	return header, true
}

// canonical are the names of fields that come often, as net/http spells them; wired is the other direction.
var canonical, wired = names("accept", "accept-encoding", "authorization", "content-encoding", "content-length",
	"content-type", "cookie", "grpc-accept-encoding", "grpc-encoding", "grpc-message", "grpc-status",
	"grpc-status-details-bin", "grpc-timeout", "origin", "server", "service-db", "service-ns", "service-version",
	"surreal-db", "surreal-ns", "surreal-version", "te", "user-agent", "vary", "x-request-id")

func names(all ...string) (canonical, wired map[string]string) {
	canonical, wired = map[string]string{}, map[string]string{}
	for _, name := range all {
		key := textproto.CanonicalMIMEHeaderKey(name)
		canonical[name], wired[key] = key, name
	}
	return canonical, wired
}
