package daemon

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestOneAddressHasSoManyConnections: one over the limit is told so and closed; when another ends there is room again.
func TestOneAddressHasSoManyConnections(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := crowded(inner, 2, true, nil)
	defer l.Close()
	accepted := make(chan net.Conn, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	dial()
	dial()
	first, second := <-accepted, <-accepted
	b, err := io.ReadAll(dial())
	head, text, _ := strings.Cut(string(b), "\r\n\r\n")
	if err != nil || !strings.HasPrefix(head, "HTTP/1.1 503 ") || !strings.Contains(head, "Retry-After: 1") || len(text) != 62 {
		t.Errorf("the third: %q, %v", b, err)
	}
	if err := second.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
	_ = first.Close()
	_ = first.Close() // counts once
	dial()
	third := <-accepted
	_, _ = second.Close(), third.Close()
	if c := l.(*crowd); len(c.open) != 0 {
		t.Errorf("still open: %v", c.open)
	}
}

func TestAddressesOfOneSiteCountTogether(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7:80": "192.0.2.7/32", "[::ffff:192.0.2.7]:80": "192.0.2.7/32",
		"[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64", "[fe80::1%eth0]:80": "fe80::/64",
	} {
		if got := origin(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))); got.String() != want {
			t.Errorf("%s counts for %s, want %s", text, got, want)
		}
	}
}
