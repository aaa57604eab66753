package ws

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
)

// full is an outbox without room.
func full() *outbox {
	o := &outbox{}
	o.init(10, new(engine.Engine))
	m := make([]byte, 10)
	o.add(message{buf: &m})
	return o
}

func (o *outbox) awaited(ctx context.Context, patience time.Duration) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.await(ctx, patience)
}

// A frame of a stream waits for room no longer than the client is given, and not beyond the end of its stream.
func TestFrameWaitsForRoom(t *testing.T) {
	if err := full().awaited(t.Context(), time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a client that takes nothing: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := full()
	done := make(chan error)
	go func() { done <- o.awaited(ctx, time.Hour) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled stream: %v", err)
	}
	if err := o.awaited(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled stream with room: %v", err)
	}
	o = full()
	go func() { done <- o.awaited(t.Context(), time.Hour) }()
	o.close()
	if err := <-done; !errors.Is(err, errClosed) {
		t.Errorf("a closed connection: %v", err)
	}
	o = full()
	go func() { done <- o.awaited(t.Context(), time.Hour) }()
	o.mu.Lock()
	o.bytes = 0
	o.room.Broadcast()
	o.mu.Unlock()
	if err := <-done; err != nil {
		t.Errorf("room: %v", err)
	}
}

// Notifications are counted apart from answers.
func TestNotificationsHaveTheirOwnRoom(t *testing.T) {
	o := full()
	m := make([]byte, 3)
	if o.add(message{buf: &m, note: true}) {
		t.Error("there are two writers")
	}
	if o.bytes != 10 || o.notes != 3 || o.waiting() != 13 {
		t.Errorf("answers %d, notifications %d, together %d", o.bytes, o.notes, o.waiting())
	}
}
