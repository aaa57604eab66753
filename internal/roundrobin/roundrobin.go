// Package roundrobin is a load balancer for tests.
package roundrobin

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// Balancer is a round robin over servers, without affinity.
type Balancer struct {
	net.Listener
	servers []string
	next    atomic.Uint64
	work    sync.WaitGroup
	mu      sync.Mutex // guards open; a leaf lock
	open    map[net.Conn]bool
	http    *http.Server
	handed  chan net.Conn // to http
	done    chan struct{}
}

// Listen listens in front of servers until the test is over. By mode "tcp" each connection goes to the next server; by
// "http" each request of HTTP/1 does, and other connections.
func Listen(t testing.TB, mode string, servers ...string) *Balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &Balancer{Listener: l, servers: servers, open: map[net.Conn]bool{}, handed: make(chan net.Conn),
		done: make(chan struct{})}
	take := b.tunnel
	transport := &http.Transport{DisableCompression: true}
	if mode == "http" {
		take = b.sort
		proxy := &httputil.ReverseProxy{Rewrite: b.rewrite, FlushInterval: -1, Transport: transport,
			ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
		b.http = &http.Server{Handler: proxy}
		b.work.Go(func() { _ = b.http.Serve(listenerOf{b}) }) // it ends with Close
	}
	b.work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.work.Go(func() { take(conn) })
		}
	})
	t.Cleanup(func() {
		close(b.done)
		_ = l.Close()
		if b.http != nil {
			_ = b.http.Close()
		}
		b.mu.Lock()
		for c := range b.open {
			_ = c.Close()
		}
		b.mu.Unlock()
		b.work.Wait()
		transport.CloseIdleConnections()
	})
	return b
}

// listenerOf gives an http.Server the connections that sort hands it.
type listenerOf struct{ *Balancer }

// Accept implements net.Listener.
func (l listenerOf) Accept() (net.Conn, error) {
	select {
	case c := <-l.handed:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener: the balancer closes its own.
func (l listenerOf) Close() error { return nil }

// turn is the server whose turn it is.
func (b *Balancer) turn() string { return b.servers[b.next.Add(1)%uint64(len(b.servers))] }

// rewrite sends a request to the next server as it came.
func (b *Balancer) rewrite(r *httputil.ProxyRequest) {
	r.SetURL(&url.URL{Scheme: "http", Host: b.turn()})
	r.Out.Host = r.In.Host
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "Forwarded"} {
		if v := r.In.Header[name]; v != nil {
			r.Out.Header[name] = v
		}
	}
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	if _, ok := r.In.Header["User-Agent"]; !ok {
		r.Out.Header.Set("User-Agent", "")
	}
}

// peeked is a connection whose first bytes were looked at.
type peeked struct {
	net.Conn
	br *bufio.Reader
}

// Read implements net.Conn.
func (p peeked) Read(b []byte) (int, error) { return p.br.Read(b) }

// CloseWrite ends what is sent.
func (p peeked) CloseWrite() error { return p.Conn.(*net.TCPConn).CloseWrite() }

// sort gives HTTP/1 to the reverse proxy, and takes TLS and HTTP/2 through.
func (b *Balancer) sort(conn net.Conn) {
	forget := b.keep(conn)
	p := peeked{conn, bufio.NewReader(conn)}
	first, err := p.br.Peek(1)
	if err == nil && first[0] == 'P' {
		first, err = p.br.Peek(3)
	}
	forget()
	switch {
	case err != nil && len(first) == 0:
		_ = conn.Close()
	case first[0] == 0x16 || string(first) == "PRI":
		b.tunnel(p)
	default:
		select {
		case b.handed <- p:
		case <-b.done:
			_ = conn.Close()
		}
	}
}

// keep has a connection closed with the balancer, until forget.
func (b *Balancer) keep(c net.Conn) (forget func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[c] = true
	select {
	case <-b.done:
		_ = c.Close()
	default:
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, c)
	}
}

// tunnel takes the bytes of a connection to the next server that listens.
func (b *Balancer) tunnel(client net.Conn) {
	defer func() { _ = client.Close() }()
	var server net.Conn
	for range b.servers {
		c, err := net.Dial("tcp", b.turn())
		if err == nil {
			server = c
			break
		}
	}
	if server == nil {
		return
	}
	defer func() { _ = server.Close() }()
	defer b.keep(client)()
	defer b.keep(server)()
	var both sync.WaitGroup
	both.Go(func() { carry(server, client) })
	both.Go(func() { carry(client, server) })
	both.Wait()
}

// carry copies until the end, and passes that on. A connection that was reset resets the other one.
func carry(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if c, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = c.CloseWrite()
		return
	}
	_, _ = to.Close(), from.Close()
}
