package tikv

import (
	"context"
	"sync"

	"github.com/nacredb/nacre/engine/kv"
)

// gate lets the commits of this process through, all of them or only those that hold the turn.
type gate struct {
	turns chan struct{} // holds one token while the turn is free

	mu      sync.Mutex // guards all below; a leaf lock
	turn    *kv.Turn   // who alone may commit, or nil
	changed chan struct{}
	running int
	closed  bool
}

func (g *gate) init() {
	g.turns, g.changed = make(chan struct{}, 1), make(chan struct{})
	g.turns <- struct{}{}
}

// wake tells all who wait to look again; g.mu is held.
func (g *gate) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// wait waits until ready, which is asked with g.mu held, says so, and returns with g.mu held unless it fails.
func (g *gate) wait(ctx context.Context, ready func() bool) error {
	g.mu.Lock()
	for {
		if g.closed {
			g.mu.Unlock()
			return kv.ErrClosed
		}
		if ready() {
			return nil
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
		g.mu.Lock()
	}
}

// enter begins the commit of a batch; leave ends it.
func (g *gate) enter(ctx context.Context, b *kv.Batch) error {
	if err := g.wait(ctx, func() bool { return g.turn == nil || g.turn == b.Turn || b.Urgent }); err != nil {
		return err
	}
	defer g.mu.Unlock()
	g.running++
	return nil
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running--; g.running == 0 {
		g.wake()
	}
}

// exclusive takes the turn and waits for the commits that are under way.
func (g *gate) exclusive(ctx context.Context) (*kv.Turn, error) {
	g.mu.Lock()
	closed := g.closed
	g.mu.Unlock()
	if closed {
		return nil, kv.ErrClosed
	}
	select {
	case <-g.turns:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	turn := kv.NewTurn(func() {
		g.mu.Lock()
		g.turn = nil
		g.wake()
		g.mu.Unlock()
		g.turns <- struct{}{}
	})
	g.mu.Lock()
	g.turn = turn
	g.mu.Unlock()
	if err := g.wait(ctx, func() bool { return g.running == 0 }); err != nil {
		turn.Release()
		return nil, err
	}
	g.mu.Unlock()
	return turn, nil
}

// close refuses all work from now on and waits for what is running. false: it was closed before.
func (g *gate) close() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.closed = true
	g.wake()
	for g.running > 0 {
		changed := g.changed
		g.mu.Unlock()
		<-changed
		g.mu.Lock()
	}
	return true
}
