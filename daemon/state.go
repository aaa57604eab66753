package daemon

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/daemon/http"
)

// state is how far the daemon is: what /ready and the start gate ask.
type state struct {
	started    atomic.Bool
	stopping   atomic.Bool
	beat       atomic.Int64 // time of the last heartbeat in nanoseconds since start of the epoch; 0: none yet
	staleAfter time.Duration
}

// Started implements http.Readiness.
func (s *state) Started() bool { return s.started.Load() && !s.stopping.Load() }

// Ready implements http.Readiness.
func (s *state) Ready(context.Context) error {
	last := s.beat.Load()
	switch {
	case !s.Started(), last == 0, time.Since(time.Unix(0, last)) > s.staleAfter:
		return http.ErrNotReady
	}
	return nil
}

// beat proves that the store answers and notes the time.
func (d *Daemon) beat(ctx context.Context) error {
	if err := d.engine.Ping(ctx); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	d.state.beat.Store(time.Now().UnixNano())
	return nil
}

// heartbeat beats until ctx ends. A store that does not answer makes the node stale, not dead.
func (d *Daemon) heartbeat(ctx context.Context) {
	tick := time.NewTicker(max(d.cfg.HeartbeatInterval, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := d.beat(ctx); err != nil && ctx.Err() == nil {
				d.log.Error("heartbeat failed", "component", "server", "err", err)
			}
		}
	}
}
