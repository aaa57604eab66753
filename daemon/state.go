package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/daemon/http"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/residence"
)

// state is how far the daemon is: what /ready and the start gate ask.
type state struct {
	started    atomic.Bool
	stopping   atomic.Bool
	beat       atomic.Int64 // time of the last heartbeat in nanoseconds since start of the epoch; 0: none yet
	staleAfter time.Duration
	node       atomic.Pointer[value.UUID] // of the membership record; nil: none yet
	engine     *engine.Engine
}

// Started implements http.Readiness.
func (s *state) Started() bool { return s.started.Load() && !s.stopping.Load() }

// Ready implements http.Readiness. A store that takes no writes until a restart makes the server one that traffic is to
// be kept from at once, not only when the heartbeat is stale.
func (s *state) Ready(ctx context.Context) error {
	last, node := s.beat.Load(), s.node.Load()
	switch {
	case !s.Started(), last == 0, node == nil, time.Since(time.Unix(0, last)) > s.staleAfter, s.engine.Stats().ReadOnly:
		return http.ErrNotReady
	}
	member, err := s.engine.Member(ctx, *node)
	if err == nil && !member {
		err = http.ErrNotReady
	}
	return err
}

// join enters the node among those that serve the store.
func (d *Daemon) join(ctx context.Context) error {
	id, err := d.engine.Join(ctx, d.about())
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	if old := d.state.node.Swap(&id); old != nil {
		d.log.Warn("joined again: others took the node for gone", "component", "server", "node", id.String())
		return nil
	}
	d.log.Info("ready", "component", "server")
	d.supervisor.tell("STATUS=ready")
	return nil
}

// about is what the node says of itself: where it listens, with the name of the machine where that is everywhere.
func (d *Daemon) about() engine.NodeInfo {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	at := d.listener.Addr().String()
	host, port, err := net.SplitHostPort(at)
	if err == nil && net.ParseIP(host).IsUnspecified() {
		at = net.JoinHostPort(name, port)
	}
	return engine.NodeInfo{Name: name, Address: at, Version: d.metrics.Release}
}

// present beats for the node. One that is not there yet joins, and one that others have taken for gone joins again;
// the record of a store that one process has open is removed by none but an operator, and stays so.
func (d *Daemon) present(ctx context.Context) error {
	id := d.state.node.Load()
	if id == nil {
		return d.join(ctx)
	}
	err := d.engine.Beat(ctx, *id)
	if !errors.Is(err, engine.ErrNodeGone) {
		return err
	}
	if !d.engine.Shared() {
		return nil // Ready says no
	}
	return d.join(ctx)
}

// leave takes the node out again. A store that takes no writes any more keeps the record; the next node drops it.
func (d *Daemon) leave(ctx context.Context) {
	if id := d.state.node.Load(); id != nil {
		if err := d.engine.Leave(ctx, *id); err != nil {
			d.log.Warn("the membership record stays", "component", "server", "err", err)
		}
	}
}

// beat proves that the store answers, tells the other nodes, and notes the time. A node that cannot join for want of
// space tries again with the next beat.
func (d *Daemon) beat(ctx context.Context) error {
	if err := d.engine.Ping(ctx); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	if err := d.present(ctx); err != nil && !errors.Is(err, engine.ErrNoSpace) {
		return fmt.Errorf("heartbeat: %w", err)
	}
	d.state.beat.Store(time.Now().UnixNano())
	return nil
}

// dropProgram gives up the pages of the program that only the start has needed. Without it a server that has nothing to
// do is as large as the program.
func (d *Daemon) dropProgram() {
	if err := residence.DropProgram(); err != nil {
		d.log.Debug("the pages of the program stay resident", "component", "server", "err", err)
	}
}

// heartbeat beats until ctx ends. A store that does not answer makes the node stale, not dead.
func (d *Daemon) heartbeat(ctx context.Context) {
	every := d.cfg.HeartbeatInterval
	if d.engine.Shared() {
		every = min(every, engine.NodeBeat)
	}
	tick := time.NewTicker(max(every, time.Millisecond))
	defer tick.Stop()
	for first := true; ; first = false {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if first {
				d.dropProgram()
			}
			if err := d.beat(ctx); err != nil && ctx.Err() == nil {
				d.log.Error("heartbeat failed", "component", "server", "err", err)
			}
		}
	}
}
