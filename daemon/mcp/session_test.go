package mcp_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nacredb/nacre/daemon/mcp"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
)

// TestIdleSessionsEnd holds that a session ends when nothing is asked of it for a while, and not while it is at work.
func TestIdleSessionsEnd(t *testing.T) {
	e, err := engine.Open(t.Context(), "memory", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close(context.Background()) }()
	log := slog.New(slog.DiscardHandler)
	s := mcp.New(mcp.Options{RPC: &rpc.Server{Engine: e, Log: log}, Log: log, Transport: "http",
		Limits: mcp.Limits{Idle: 20 * time.Millisecond}})
	defer s.Sessions.Shut()
	peer := &mcp.Peer{Engine: e.RootSession()}
	defer peer.Engine.Close()
	idle, err := s.Sessions.Begin(peer, "2025-11-25")
	if err != nil {
		t.Fatal(err)
	}
	busy, err := s.Sessions.Begin(peer, "2025-11-25")
	if err != nil {
		t.Fatal(err)
	}
	stream, ends := make(chan bool, 1), make(chan struct{})
	go func() {
		stream <- busy.Stream(t.Context(), time.Millisecond, func() error {
			select {
			case <-ends:
				return mcp.ErrFull // the client has gone
			default:
				return nil
			}
		})
	}()
	for limit := time.Now().Add(time.Minute); s.Sessions.Find(idle.ID) != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the idle session lives")
		}
	}
	time.Sleep(60 * time.Millisecond) // longer than a session may be idle
	if s.Sessions.Find(busy.ID) == nil {
		t.Fatal("a session with a stream has ended")
	}
	close(ends)
	if <-stream {
		t.Error("the stream was taken")
	}
	for limit := time.Now().Add(time.Minute); s.Sessions.Len() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the session lives on without its stream")
		}
	}
}
