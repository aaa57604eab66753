package daemon

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/nacredb/nacre/daemon/telemetry"
)

// crowd is a listener that lets each address have so many connections open at once. One over the limit is told so,
// where connections are plain, and closed.
type crowd struct {
	net.Listener
	most    int
	plain   bool // connections speak HTTP without TLS
	metrics *telemetry.Metrics

	mu   sync.Mutex // guards open; a leaf lock
	open map[netip.Prefix]int
}

// crowded bounds l; with most 0 there is no limit.
func crowded(l net.Listener, most int, plain bool, metrics *telemetry.Metrics) net.Listener {
	if most == 0 {
		return l
	}
	return &crowd{Listener: l, most: most, plain: plain, metrics: metrics, open: map[netip.Prefix]int{}}
}

// Accept implements net.Listener.
func (c *crowd) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := origin(conn.RemoteAddr())
		if c.enter(from) {
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { c.leave(from) })}, nil
		}
		c.metrics.Limited("address")
		c.refuse(conn)
	}
}

// ipv6Site is the part of an IPv6 address that one site has: it may use all addresses below.
const ipv6Site = 64

// origin is the address that a connection counts for.
func origin(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = ipv6Site
	}
	p, err := ip.Prefix(bits)
	if err != nil { // no address has fewer bits
		return netip.Prefix{}
	}
	return p
}

func (c *crowd) enter(from netip.Prefix) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[from] >= c.most {
		return false
	}
	c.open[from]++
	return true
}

func (c *crowd) leave(from netip.Prefix) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[from]--; c.open[from] == 0 {
		delete(c.open, from)
	}
}

const tooManyConnections = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n" +
	"Content-Type: text/plain; charset=utf-8\r\nContent-Length: 62\r\n\r\n" +
	"Too many connections from this address. Close some, try again."

// refuse closes a connection that is one too many. The text fits the buffer of a new connection, so nothing waits.
func (c *crowd) refuse(conn net.Conn) {
	if c.plain {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte(tooManyConnections)) // the client may be gone
	}
	_ = conn.Close()
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}

// CloseWrite ends what is sent and lets the client read it. net/http asks for it before it closes a connection whose
// request it has not read to the end: the answer would be lost otherwise.
func (c *counted) CloseWrite() error {
	if tcp, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return tcp.CloseWrite()
	}
	return nil
}
