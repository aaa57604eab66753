package fn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func httpFuncs() []entry {
	read := func(name, doc string) entry {
		return entry{sig: "volatile net http::" + name + "(...url_and_headers: any) -> any",
			impl: httpRequest(strings.ToUpper(name), false), doc: doc}
	}
	write := func(name, doc string) entry {
		return entry{sig: "volatile net http::" + name + "(...url_body_and_headers: any) -> any",
			impl: httpRequest(strings.ToUpper(name), true), doc: doc}
	}
	return []entry{
		read("head", "Sends a HEAD request; NONE when it succeeds."),
		read("get", "Sends a GET request; the decoded body of the answer."),
		read("delete", "Sends a DELETE request; the decoded body of the answer."),
		write("put", "Sends a PUT request; the decoded body of the answer."),
		write("post", "Sends a POST request; the decoded body of the answer."),
		write("patch", "Sends a PATCH request; the decoded body of the answer."),
	}
}

const (
	maxHTTPBody      = 10 << 20 // bytes of an answer, unpacked
	maxHTTPHeader    = 1 << 20  // bytes of its headers
	maxHTTPRedirects = 10
	httpTimeout      = 30 * time.Second
)

// webClient is the one way out to the network. Before a request the target's name is checked against the filter of the
// session, and when a connection is made the address that the name stood for.
type webClient struct{ http *http.Client }

type netFilterKey struct{}

func newWebClient() *webClient {
	dialer := &net.Dialer{Timeout: 10 * time.Second, ControlContext: checkAddress}
	transport := &http.Transport{
		Proxy:                  nil, // a proxy would resolve names out of our sight
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           16,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxHTTPHeader,
		// Connections are not shared: each is checked for the session that makes it.
		DisableKeepAlives: true,
	}
	return &webClient{&http.Client{Transport: transport, Timeout: httpTimeout, CheckRedirect: checkRedirect}}
}

// checkAddress refuses a connection to an address that the session's filter does not allow.
func checkAddress(ctx context.Context, _, address string, _ syscall.RawConn) error {
	filter, _ := ctx.Value(netFilterKey{}).(*targetFilter)
	addr, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address of a connection: %w", err)
	}
	if filter == nil || !filter.allowsAddr(addr) {
		return notAllowedTarget(address)
	}
	return nil
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxHTTPRedirects {
		return errs.Internal("There was an error processing a remote HTTP request: too many redirects")
	}
	filter, _ := req.Context().Value(netFilterKey{}).(*targetFilter)
	if filter == nil {
		return notAllowedTarget(targetOf(req.URL))
	}
	return filter.checkName(req.URL)
}

func notAllowedTarget(target string) error {
	return errs.NotAllowed("Access to network target '%s' is not allowed", target)
}

// targetOf is host:port of a URL.
func targetOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = strconv.Itoa(max(0, defaultPort(strings.ToLower(u.Scheme))))
	}
	return u.Hostname() + ":" + port
}

// targetFilter decides about one request: first by name, then by address.
type targetFilter struct {
	filter NetFilter
	named  bool // the name of the current hop is on the allow list
}

// checkName decides by the host and port as written. A name that is neither allowed nor denied is decided by its
// address.
func (t *targetFilter) checkName(u *url.URL) error {
	host := plainHost(u.Hostname())
	target := host + targetOf(u)[len(u.Hostname()):]
	t.named = t.filter.Allow.has(host) || t.filter.Allow.has(target)
	if t.filter.Deny.has(host) || t.filter.Deny.has(target) {
		return notAllowedTarget(targetOf(u))
	}
	if t.named {
		return nil
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		port, _ := strconv.Atoi(target[strings.LastIndexByte(target, ':')+1:])
		if t.allowsAddr(netip.AddrPortFrom(addr, uint16(port))) {
			return nil
		}
	}
	return notAllowedTarget(targetOf(u))
}

// plainHost is a host name in the one form that filters are matched with: lower case, ASCII, no final dot.
func plainHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// allowsAddr decides by the address. SECURITY: a private or special address needs to be allowed as such, or
// everything; that a name is allowed does not let it lead inside.
func (t *targetFilter) allowsAddr(ap netip.AddrPort) bool {
	addr := ap.Addr().WithZone("").Unmap() // a zone would keep it out of every block
	if v4, ok := inner(addr); holdsAny(t.filter.Deny, ap.Port(), addr) || ok && holdsAny(t.filter.Deny, ap.Port(), v4) {
		return false
	}
	if t.filter.Allow.All || holdsAny(t.filter.Allow, ap.Port(), addr) {
		return true
	}
	return t.named && publicAddr(addr)
}

// holdsAny reports whether a set names addr or, where addr is unspecified (0.0.0.0 and ::), a loopback address: a
// connection to an unspecified address ends at 127.0.0.1 or ::1 of this machine.
func holdsAny(s NetTargets, port uint16, addr netip.Addr) bool {
	if !addr.IsUnspecified() {
		return holdsAddr(s, addr, port)
	}
	return slices.ContainsFunc(localAddrs, func(a netip.Addr) bool { return holdsAddr(s, a, port) })
}

// localAddrs are the addresses that a connection to an unspecified address may end at, in all their names.
var localAddrs = []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified(), netip.AddrFrom4([4]byte{127, 0, 0, 1}),
	netip.IPv6Loopback()}

// holdsAddr reports whether a set names an address: itself, with its port, or a block that it is in.
func holdsAddr(s NetTargets, addr netip.Addr, port uint16) bool {
	if s.All || s.Names[addr.String()] || s.Names[netip.AddrPortFrom(addr, port).String()] {
		return true
	}
	for name := range s.Names {
		if block, err := netip.ParsePrefix(name); err == nil && block.Contains(addr) {
			return true
		}
	}
	return false
}

// inner is the IPv4 address that a gateway would go on to from an IPv6 address that carries one: IPv4-compatible, NAT64
// and 6to4. Teredo is left out: where it leads is up to its relay.
func inner(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return a, false
	}
	b := a.As16()
	switch {
	case inAny(a, "::/96", "64:ff9b::/96", "64:ff9b:1::/48"):
		return netip.AddrFrom4([4]byte(b[12:])), true
	case inAny(a, "2002::/16"):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return a, false
}

func publicAddr(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !inAny(a,
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23",
		"2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10")
}

func inAny(a netip.Addr, blocks ...string) bool {
	for _, b := range blocks {
		if netip.MustParsePrefix(b).Contains(a) {
			return true
		}
	}
	return false
}

// httpCall is the arguments of an http function.
type httpCall struct {
	url     *url.URL
	body    value.Value
	headers *value.Object
}

func (c Call) httpArgs(args []value.Value, hasBody bool) (httpCall, error) {
	var h httpCall
	if len(args) == 0 {
		return h, c.incorrect("Missing URI argument")
	}
	if args[0].Kind() != value.KindString {
		return h, c.incorrect("The first argument should be a string containing a valid URI, got: %s", typeName(args[0]))
	}
	u, err := url.Parse(args[0].Str())
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return h, errs.Internal("The URL `%s` is invalid", args[0].Str())
	}
	h.url = u
	rest := args[1:]
	if hasBody && len(rest) > 0 {
		h.body, rest = rest[0], rest[1:]
	}
	if len(rest) > 0 && !rest[0].IsNone() {
		if rest[0].Kind() != value.KindObject {
			return h, c.incorrect("Options argument should be an object, got: %s", typeName(rest[0]))
		}
		h.headers = rest[0].Object()
	}
	return h, nil
}

func httpRequest(method string, hasBody bool) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		h, err := c.httpArgs(args, hasBody)
		if err != nil {
			return value.None, err
		}
		filter := &targetFilter{}
		if net, ok := c.Host.(NetHost); ok {
			filter.filter = net.NetFilter()
		}
		if err := filter.checkName(h.url); err != nil {
			return value.None, err
		}
		req, err := h.request(context.WithValue(c.Host.Context(), netFilterKey{}, filter), method)
		if err != nil {
			return value.None, err
		}
		if err := c.outside(); err != nil {
			return value.None, err
		}
		resp, err := c.Func.table.web.http.Do(req)
		if err != nil {
			return value.None, remoteError(err)
		}
		defer resp.Body.Close()
		return decodeAnswer(method, resp)
	}
}

// remoteError keeps our own errors and hides what the network library says of addresses.
func remoteError(err error) error {
	if e, ok := errors.AsType[*errs.Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &errs.Error{Kind: errs.KindInternal, Msg: "There was an error processing a remote HTTP request: error sending request", Err: err}
}

func (h *httpCall) request(ctx context.Context, method string) (*http.Request, error) {
	body, contentType := encodeBody(h.body)
	req, err := http.NewRequestWithContext(ctx, method, h.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errs.Internal("The URL `%s` is invalid", h.url.Redacted())
	}
	req.Header.Set("User-Agent", "nacre")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if h.headers == nil {
		return req, nil
	}
	for _, f := range h.headers.Fields() {
		text := value.ToString(f.Value)
		if strings.ContainsAny(f.Name+text, "\r\n\x00") {
			return nil, errs.Internal("There was an error processing a remote HTTP request: invalid header")
		}
		req.Header.Set(f.Name, text)
		if strings.EqualFold(f.Name, "host") {
			req.Host = text
		}
	}
	return req, nil
}

// encodeBody sends bytes and strings as they are and everything else as JSON.
func encodeBody(v value.Value) (body []byte, contentType string) {
	switch v.Kind() {
	case value.KindNone:
		return nil, ""
	case value.KindBytes:
		return v.Bytes(), "application/octet-stream"
	case value.KindString:
		return []byte(v.Str()), "text/plain; charset=utf-8"
	}
	return value.AppendJSON(nil, v), "application/json"
}

func decodeAnswer(method string, resp *http.Response) (value.Value, error) {
	if resp.StatusCode >= 400 {
		return value.None, errs.Internal("There was an error processing a remote HTTP request: %s", http.StatusText(resp.StatusCode))
	}
	if method == http.MethodHead {
		return value.None, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxHTTPBody+1))
	if err != nil {
		return value.None, remoteError(err)
	}
	if len(body) > maxHTTPBody {
		return value.None, errs.Internal("There was an error processing a remote HTTP request: the answer is too large")
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err != nil:
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		v, err := value.DecodeJSONValue(body, value.DecodeLimits{Own: true, MaxValues: value.SaneMaxValues})
		if err != nil {
			return value.None, errs.Internal("There was an error processing a remote HTTP request: the answer is not valid JSON")
		}
		return v, nil
	case media == "application/cbor":
		v, err := value.DecodeCBORValue(body, value.DecodeLimits{Own: true, MaxValues: value.SaneMaxValues})
		if err != nil {
			return value.None, errs.Internal("There was an error processing a remote HTTP request: the answer is not valid CBOR")
		}
		return v, nil
	case media == "application/octet-stream":
		return value.BytesOf(body), nil
	}
	if !utf8.Valid(body) {
		return value.BytesOf(body), nil
	}
	return value.Str(string(body)), nil
}
