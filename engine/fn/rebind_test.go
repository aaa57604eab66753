package fn_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

// nameServer answers every A question with the addresses of answers, the n-th question with the n-th set.
type nameServer struct {
	mu      sync.Mutex // guards the rest
	answers [][]netip.Addr
	asked   int
}

// next is the set of addresses for one more question; the last set is repeated.
func (s *nameServer) next() []netip.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	return set
}

// reset puts new answers in place.
func (s *nameServer) reset(answers ...[]netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers, s.asked = answers, 0
}

// startNameServer serves DNS on loopback and makes it this process's resolver until the test ends.
func startNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply, err := s.reply(buf[:n]); err == nil {
				if _, err := conn.WriteTo(reply, from); err != nil {
					return
				}
			}
		}
	}()
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = old
		conn.Close()
		<-done
	})
	return s
}

func (s *nameServer) reply(question []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil {
		return nil, err
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	for _, q := range m.Questions {
		if q.Type != dnsmessage.TypeA {
			continue
		}
		for _, a := range s.next() {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: a.As4()},
			})
		}
	}
	return m.Pack()
}

// TestNamesThatLeadInsideReachNothing has a name move from an allowed address to a refused one. The refused side must
// not see a connection.
func TestNamesThatLeadInsideReachNothing(t *testing.T) {
	dns := startNameServer(t)
	inside, outside := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	var seen atomic.Int64
	secret, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := secret.Addr().(*net.TCPAddr).Port
	hidden := httptest.NewUnstartedServer(http.NotFoundHandler())
	hidden.Listener.Close()
	hidden.Listener = secret
	hidden.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			seen.Add(1)
		}
	}
	hidden.Start()
	t.Cleanup(hidden.Close)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.2:%d", port))
	if err != nil {
		t.Skipf("no second loopback address here: %v", err)
	}
	open := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, fmt.Sprintf("http://moving.test:%d/", port), http.StatusFound)
			return
		}
		fmt.Fprint(w, "outside")
	}))
	open.Listener.Close()
	open.Listener = l
	open.Start()
	t.Cleanup(open.Close)

	lib := &library{t, fn.Library(), host{net: fn.NetFilter{Allow: targets("moving.test", "still.test", "127.0.0.2")}}}
	get := func(url string) error {
		_, err := lib.try("http::get", value.Str(url))
		return err
	}
	at := func(name, path string) string { return fmt.Sprintf("http://%s:%d%s", name, port, path) }

	dns.reset([]netip.Addr{outside}, []netip.Addr{inside})
	if err := get(at("moving.test", "/")); err != nil {
		t.Errorf("the allowed address: %v", err)
	}
	if err := get(at("moving.test", "/")); err == nil {
		t.Error("the name has moved inside, and is answered")
	}
	dns.reset([]netip.Addr{inside, inside})
	if err := get(at("moving.test", "/")); err == nil {
		t.Error("a name with refused addresses only is answered")
	}
	dns.reset([]netip.Addr{outside}, []netip.Addr{inside})
	if err := get(at("still.test", "/away")); err == nil {
		t.Error("a redirect to a name that leads inside is followed")
	}
	for _, literal := range []string{"2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]", "127.0.0.1"} {
		if err := get(at(literal, "/")); err == nil {
			t.Errorf("%s is answered", literal)
		}
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("the refused address saw %d connections", n)
	}
}
