// Package h2 serves HTTP/2 connections with handlers of net/http.
//
// It exists for calls that are short: the server of net/http hands each request through four goroutines and writes
// its head, body and trailer one by one, which costs more than a point read. Here the reader of a connection hands a
// request to a worker together with the part of its body that has arrived, and the worker writes its whole answer at
// once. Frames and header blocks are read by golang.org/x/net/http2.
//
// What a client may take is bounded: requests at once, also those that it has given up while their handlers run; bytes
// of heads, and of bodies that wait; frames that only cost work; answers that it does not read. Nothing is pushed, and
// priorities are ignored.
//
// Differences from net/http: a deadline for writes counts only while a write waits. Headers that a handler changes
// after WriteHeader are sent as long as the head has not left. Trailers have the prefix http.TrailerPrefix.
package h2

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits bounds what clients may take. Zero fields mean the defaults.
type Limits struct {
	Streams     int           // requests at once on one connection; 256
	Head        int           // bytes of the head of a request, unpacked; 64 KiB
	Window      int           // bytes of bodies that wait to be read, of a request and of a connection; 1 MiB
	SendTimeout time.Duration // how long a client may take no bytes; 30 s
	Idle        time.Duration // how long a connection may have no request; 2 min
	Greeting    time.Duration // in which the preface and the settings of a client come; 10 s
}

func (l Limits) withDefaults() Limits {
	set(&l.Streams, 256)
	set(&l.Head, 64<<10)
	set(&l.Window, 1<<20)
	l.Window = max(l.Window, leastWindow)
	set(&l.SendTimeout, 30*time.Second)
	set(&l.Idle, 2*time.Minute)
	set(&l.Greeting, 10*time.Second)
	return l
}

func set[T int | time.Duration](p *T, v T) {
	if *p <= 0 {
		*p = v
	}
}

// leastWindow is the window that every client has at first.
const leastWindow = 65535

// Server serves connections.
type Server struct {
	limits Limits
	log    *slog.Logger
	work   workers

	mu       sync.Mutex // guards the rest; a leaf lock
	conns    map[*conn]struct{}
	draining bool
}

// New makes a Server.
func New(limits Limits, log *slog.Logger) *Server {
	return &Server{limits: limits.withDefaults(), log: log, conns: map[*conn]struct{}{},
		work: workers{jobs: make(chan *stream), done: make(chan struct{})}}
}

// Install makes s serve the HTTP/2 connections of a server that has not begun: those found by ALPN, and plain ones
// found by their preface.
func (s *Server) Install(hs *http.Server) {
	if hs.TLSNextProto == nil {
		hs.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	hs.TLSNextProto["h2"] = func(_ *http.Server, c *tls.Conn, h http.Handler) {
		s.Serve(baseOf(h), c, h, false)
	}
	// net/http hands over a plain connection behind its preface, wrapped in a tls.Conn that is none.
	hs.TLSNextProto["unencrypted_http2"] = func(_ *http.Server, c *tls.Conn, h http.Handler) {
		if plain, ok := c.NetConn().(interface{ UnencryptedNetConn() net.Conn }); ok {
			s.Serve(baseOf(h), plain.UnencryptedNetConn(), h, true)
		}
	}
	hs.RegisterOnShutdown(s.Drain)
}

// baseOf is the context of the connection that a handler of TLSNextProto belongs to.
func baseOf(h http.Handler) context.Context {
	if b, ok := h.(interface{ BaseContext() context.Context }); ok {
		return b.BaseContext()
	}
	return context.Background()
}

// Serve serves a connection until it ends, and closes it. greeted: its preface has been read.
func (s *Server) Serve(ctx context.Context, nc net.Conn, h http.Handler, greeted bool) {
	c := newConn(ctx, s, nc, h)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	draining := s.draining
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	if draining {
		c.drain()
	}
	c.serve(greeted)
}

// Drain takes no more requests. Connections end when those under way are answered.
func (s *Server) Drain() {
	s.mu.Lock()
	s.draining = true
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.drain()
	}
}

// Close ends the goroutines that wait for requests. Connections should have ended.
func (s *Server) Close() { s.work.close() }
