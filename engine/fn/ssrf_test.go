package fn_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

// watched is a server on an address, which counts its connections.
type watched struct {
	*httptest.Server
	seen atomic.Int64
}

// watch starts a server at host:port; it skips the test where the address cannot be had.
func watch(t *testing.T, address string, h http.Handler) *watched {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("no address %s here: %v", address, err)
	}
	w := &watched{Server: httptest.NewUnstartedServer(h)}
	w.Listener.Close()
	w.Listener = l
	w.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			w.seen.Add(1)
		}
	}
	w.Start()
	t.Cleanup(w.Close)
	return w
}

func (w *watched) port() int { return w.Listener.Addr().(*net.TCPAddr).Port }

// get asks for url under a filter.
func get(t *testing.T, filter fn.NetFilter, url string) error {
	l := &library{t, fn.Library(), host{net: filter}}
	_, err := l.try("http::get", value.Str(url))
	return err
}

var everything = fn.NetTargets{All: true}

// insideForms are ways to write 127.0.0.1 and ::1.
var insideForms = []string{
	"127.0.0.1", "127.0.0.1.", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.1", "0x7f.0x0.0x0.0x1",
	"017700000001", "0177.0.0.1", "0177.0.0.01", "00000177.0.0.1",
	"127.000.000.001", "127.0.0.1%00", "localhost", "LOCALHOST", "localhost.", "①②⑦.⓪.⓪.①", "127。0。0。1", "127．0．0．1",
	"0", "0.0.0.0", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]",
	"[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::ffff:127.0.0.1%25lo]", "[::127.0.0.1]",
	"[::7f00:1]", "[::1%25lo]", "[::1%25]", "[fe80::1%25lo]",
	"[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2002:7f00:1::1]",
	"[2001:0:7f00:1::]", "inside.test", "INSIDE.test.", "127.0.0.1.nip.test",
}

// TestRefusedTargetsSeeNoConnection: no request reaches an inner address, in any notation of it, with
// everything else allowed.
func TestRefusedTargetsSeeNoConnection(t *testing.T) {
	dns := startNameServer(t)
	dns.reset([]netip.Addr{netip.MustParseAddr("127.0.0.1")})
	inside := watch(t, "127.0.0.1:0", http.NotFoundHandler())
	port := inside.port()
	watches := []*watched{inside}
	if l, err := net.Listen("tcp", fmt.Sprintf("[::1]:%d", port)); err == nil {
		l.Close()
		watches = append(watches, watch(t, fmt.Sprintf("[::1]:%d", port), http.NotFoundHandler()))
	}
	inner := targets("127.0.0.0/8", "::1", "0.0.0.0", "::")
	filters := map[string]fn.NetFilter{
		"nothing is allowed": {},
		"other names are":    {Allow: targets("allowed.test", "93.184.216.34", "10.0.0.0/8")},
		"the names are, the addresses are not": {
			Allow: targets("localhost", "inside.test", "allowed.test", "2130706433", "0x7f000001", "127.1",
				"0177.0.0.1", "127.0.0.1.nip.test")},
		"everything is but the inner addresses": {Allow: everything, Deny: inner},
		"the port of another is": {
			Allow: targets(fmt.Sprintf("127.0.0.1:%d", port+1), "localhost:1")},
		"everything is allowed, everything denied": {Allow: everything, Deny: everything},
	}
	tricks := []string{
		"http://allowed.test@127.0.0.1:%d/", "http://allowed.test:80@127.0.0.1:%d/",
		"http://127.0.0.1:%d#@allowed.test/", "http://127.0.0.1:%d?@allowed.test/",
		"http://127.0.0.1:%d\\@allowed.test/",
		"http://allowed.test\\@127.0.0.1:%d/", "http:\\\\127.0.0.1:%d/", "http://127.0.0.1:%d/@allowed.test",
		"http:127.0.0.1:%d", "//127.0.0.1:%d/", "HTTP://127.0.0.1:%d/", "http://127.0.0.1:0%d/",
		"http://%%31%%32%%37.0.0.1:%d/", "http://127.0.0.1%%2f@allowed.test:%d/",
		"http://allowed.test%%00@127.0.0.1:%d/", "http://\t127.0.0.1:%d/", "http://127.0.0.1:%d\r\nHost: allowed.test",
		"file://127.0.0.1:%d/",
		"gopher://127.0.0.1:%d/", "ftp://127.0.0.1:%d/", "ws://127.0.0.1:%d/", "unix://127.0.0.1:%d/",
		"http+unix://127.0.0.1:%d/",
	}
	for name, filter := range filters {
		for _, form := range insideForms {
			if err := get(t, filter, fmt.Sprintf("http://%s:%d/", form, port)); err == nil {
				t.Errorf("%s: %s is answered", name, form)
			}
		}
		for _, trick := range tricks {
			if err := get(t, filter, fmt.Sprintf(trick, port)); err == nil {
				t.Errorf("%s: %q is answered", name, trick)
			}
		}
		for _, w := range watches {
			if n := w.seen.Swap(0); n > 0 {
				t.Errorf("%s: %s saw %d connections", name, w.Listener.Addr(), n)
			}
		}
	}
	// The control: what is allowed does knock, so the counting works.
	if err := get(t, fn.NetFilter{Allow: inner}, fmt.Sprintf("http://127.0.0.1:%d/", port)); err == nil ||
		!strings.Contains(err.Error(), "Not Found") || inside.seen.Load() != 1 {
		t.Errorf("the allowed address: %v, %d connections", err, inside.seen.Load())
	}
}

// TestUnspecifiedAddressesAreLoopback: 0.0.0.0 and :: lead to this machine, so a rule about 127.0.0.1 or ::1 holds for
// them, as the target of a request, of a redirect, of a key set, and as what a name stands for.
func TestUnspecifiedAddressesAreLoopback(t *testing.T) {
	dns := startNameServer(t)
	inside := watch(t, "127.0.0.1:0", http.NotFoundHandler())
	port := inside.port()
	forms := []string{"0.0.0.0", "[::]", "[::ffff:0.0.0.0]", "[::ffff:0:0]", "[0:0:0:0:0:0:0:0]", "[::0.0.0.0]",
		"[::%25lo]", "0", "0.0", "0x0", "00000000", "0.0.0.0.",
		"[64:ff9b::]", "[64:ff9b::0.0.0.0]", "[2002::]", "moving.test"}
	for _, denied := range [][]string{{"127.0.0.0/8"}, {"127.0.0.1"}, {"::1"}, {fmt.Sprintf("127.0.0.1:%d", port)},
		{"0.0.0.0/8"}, {"::/128"}} {
		filter := fn.NetFilter{Allow: everything, Deny: targets(denied...)}
		away := watch(t, "127.0.0.2:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+r.URL.Query().Get("to")+"/", http.StatusFound)
		}))
		for _, form := range forms {
			dns.reset([]netip.Addr{netip.IPv4Unspecified()})
			target := fmt.Sprintf("%s:%d", form, port)
			if err := get(t, filter, "http://"+target+"/"); err == nil || strings.Contains(err.Error(), "Not Found") {
				t.Errorf("%s denied: %s is answered: %v", denied, form, err)
			}
			if denied[0] != "127.0.0.0/8" { // where the redirect itself comes from
				if err := get(t, filter,
					fmt.Sprintf("http://127.0.0.2:%d/?to=%s", away.port(), url.QueryEscape(target))); err == nil ||
					strings.Contains(err.Error(), "Not Found") {
					t.Errorf("%s denied: a redirect to %s is answered: %v", denied, form, err)
				}
			}
			if _, err := fn.Library().Fetch(t.Context(), filter, "http://"+target+"/", 100); err == nil ||
				strings.Contains(err.Error(), "Not Found") {
				t.Errorf("%s denied: a key set at %s is read: %v", denied, form, err)
			}
		}
		if n := inside.seen.Swap(0); n > 0 {
			t.Errorf("%s denied: %d connections", denied, n)
		}
	}
	if err := get(t, fn.NetFilter{Allow: targets("127.0.0.1")}, fmt.Sprintf("http://0.0.0.0:%d/", port)); err == nil ||
		!strings.Contains(err.Error(), "Not Found") {
		t.Errorf("what is allowed for 127.0.0.1 is for 0.0.0.0: %v", err)
	}
}

// TestDeniedBlocksHoldForEveryForm: a denied block of addresses is denied mapped, compatible, behind NAT64 and 6to4,
// and with a zone. No connection is tried, so that none of these has to be routed here.
func TestDeniedBlocksHoldForEveryForm(t *testing.T) {
	deny := targets("10.0.0.0/8", "fe80::/10", "2001:db8::/32", "192.0.2.1", "192.0.2.2:81")
	for _, form := range []string{"10.1.2.3", "[::ffff:10.1.2.3]", "[::10.1.2.3]", "[64:ff9b::10.1.2.3]",
		"[64:ff9b:1::10.1.2.3]", "[2002:a01:203::1]", "[fe80::1]", "[fe80::1%25eth0]", "[2001:db8::1]",
		"[2001:db8::1%25x]", "192.0.2.1", "[::ffff:192.0.2.1]", "[64:ff9b::192.0.2.1]", "192.0.2.2:81",
		"[::ffff:192.0.2.2]:81"} {
		err := get(t, fn.NetFilter{Allow: everything, Deny: deny}, "http://"+form+"/")
		if err == nil || !strings.HasPrefix(err.Error(), "Access to network target") {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// TestRedirectsAreFollowedOnlyToWhatIsAllowed has an allowed server lead to refused places.
func TestRedirectsAreFollowedOnlyToWhatIsAllowed(t *testing.T) {
	dns := startNameServer(t)
	outside, inner := netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.1")
	inside := watch(t, "127.0.0.1:0", http.NotFoundHandler())
	port := inside.port()
	open := watch(t, fmt.Sprintf("127.0.0.2:%d", port), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		if to == "" {
			fmt.Fprint(w, "there")
			return
		}
		w.Header().Set("Location", to)
		code := http.StatusFound
		if r.Method == http.MethodPost {
			code = http.StatusTemporaryRedirect // the body goes along
		}
		w.WriteHeader(code)
	}))
	filter := fn.NetFilter{Allow: targets("127.0.0.2", "moving.test")}
	lead := func(to string) string { return open.URL + "/?to=" + url.QueryEscape(to) }
	dns.reset([]netip.Addr{inner})
	var places []string
	for _, form := range insideForms {
		places = append(places, fmt.Sprintf("http://%s:%d/", form, port))
	}
	places = append(places, fmt.Sprintf("//127.0.0.1:%d/", port), fmt.Sprintf("http://moving.test:%d/", port),
		"file:///etc/passwd", fmt.Sprintf("gopher://127.0.0.1:%d/_x", port),
		lead(fmt.Sprintf("http://127.0.0.1:%d/", port)), "http://127.0.0.2@127.0.0.1:"+fmt.Sprint(port))
	l := &library{t, fn.Library(), host{net: filter}}
	for _, to := range places {
		for _, method := range []string{"get", "post"} {
			if v, err := l.try("http::"+method, value.Str(lead(to)), value.ObjectOf(nil)); err == nil {
				t.Errorf("%s led to %s: %s", method, to, v)
			}
		}
	}
	if n := inside.seen.Load(); n != 0 {
		t.Errorf("the refused address saw %d connections", n)
	}
	if err := get(t, filter, lead(lead("/"))); err != nil {
		t.Errorf("to itself: %v", err)
	}
	if err := get(t, filter, lead("/?to=/")); err != nil {
		t.Errorf("to a path: %v", err)
	}
	dns.reset([]netip.Addr{outside}, []netip.Addr{inner}) // moves between the first and the second hop
	if err := get(t, filter,
		fmt.Sprintf("http://moving.test:%d/?to=%s", port,
			url.QueryEscape(fmt.Sprintf("http://moving.test:%d/", port)))); err == nil {
		t.Error("a name that moved between two hops is followed")
	}
	if n := inside.seen.Load(); n != 0 {
		t.Errorf("the refused address saw %d connections", n)
	}
}

// TestProxiesOfTheEnvironmentAreIgnored: a proxy would look up names out of our sight, and go anywhere. The variables
// are read once in a process, so the calls are made by one of their own.
func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	if os.Getenv("NACRE_TEST_PROXIED") != "" {
		callFarAway(t)
		return
	}
	proxy := watch(t, "127.0.0.1:0",
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "by proxy") }))
	self := exec.Command(os.Args[0], "-test.run=^TestProxiesOfTheEnvironmentAreIgnored$", "-test.count=1")
	self.Env = append(os.Environ(), "NACRE_TEST_PROXIED=1", "NO_PROXY=", "no_proxy=")
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		self.Env = append(self.Env, name+"="+proxy.URL)
	}
	if out, err := self.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if n := proxy.seen.Load(); n != 0 {
		t.Errorf("the proxy saw %d connections", n)
	}
}

func callFarAway(t *testing.T) {
	dns := startNameServer(t)
	dns.reset([]netip.Addr{netip.MustParseAddr("203.0.113.7")}) // of documentation: refused before it is dialled
	for _, u := range []string{"http://far.test/", "https://far.test/"} {
		if err := get(t, fn.NetFilter{Allow: targets("far.test", "127.0.0.1")}, u); err == nil ||
			!strings.Contains(err.Error(), "203.0.113.7") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// timed is a host whose statement ends.
type timed struct {
	host
	ctx context.Context
}

func (h timed) Context() context.Context { return h.ctx }

// TestAnswersAreBounded: in size, packed or not, in headers, in redirects and in time.
func TestAnswersAreBounded(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := io.CopyN(z, zeros{}, 200<<20); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var hops atomic.Int64
	srv := watch(t, "127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		case "/endless":
			for r.Context().Err() == nil {
				w.Write(make([]byte, 64<<10))
			}
		case "/headers":
			for i := range 40_000 {
				w.Header().Add("X", fmt.Sprintf("%060d", i))
			}
		case "/silent":
			<-r.Context().Done()
		case "/trickle":
			for r.Context().Err() == nil {
				w.Write([]byte("x"))
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		case "/hop":
			hops.Add(1)
			http.Redirect(w, r, fmt.Sprintf("/hop?%d", hops.Load()), http.StatusFound)
		}
	}))
	const failed = "There was an error processing a remote HTTP request: "
	table := fn.Library()
	for path, want := range map[string]string{"/bomb": failed + "the answer is too large",
		"/endless": failed + "the answer is too large", "/headers": failed + "error sending request",
		"/hop": failed + "too many redirects"} {
		l := &library{t, table, host{net: fn.NetFilter{Allow: targets("127.0.0.1")}}}
		if v, err := l.try("http::get", value.Str(srv.URL+path)); err == nil || err.Error() != want {
			t.Errorf("%s: %.40s, %v", path, v, err)
		}
	}
	if n := hops.Load(); n != 10 {
		t.Errorf("%d redirects were followed", n)
	}
	for _, path := range []string{"/silent", "/trickle"} {
		ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
		l := &library{t, table, timed{host{net: fn.NetFilter{Allow: targets("127.0.0.1")}}, ctx}}
		if v, err := l.try("http::get", value.Str(srv.URL+path)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %s, %v", path, v, err)
		}
		stop()
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
