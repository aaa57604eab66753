package isolation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// fleetTarget is several server processes over one cluster of stubs.
type fleetTarget struct {
	f     *harness.Fleet
	asked atomic.Int64 // connections
	kills atomic.Int64
}

// connect goes to each server in turn, and past those that are gone.
func (t *fleetTarget) connect(ctx context.Context) (conn, error) {
	for {
		cl, err := t.f.Connect(ctx, int(t.asked.Add(1))%t.f.Size(), "ws", "test", "test", nil)
		if err == nil {
			return &sqlConn{run: func(ctx context.Context, stmts []string) ([]client.Result, error) {
				answers, err := cl.Query(ctx, inTransaction(stmts), nil)
				if errors.Is(err, client.ErrUnreachable) {
					return nil, fmt.Errorf("%w: %w", errClosed, err)
				}
				return answers, err
			}, framed: true, end: cl.Close}, nil
		}
		if outcome, err := harness.OutcomeOf(err); outcome == harness.Unsure && err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// kill ends one of the processes, each in its turn, while the others go on, and starts another one in its place.
func (t *fleetTarget) kill(ctx context.Context) (bool, error) {
	i := int(t.kills.Add(1)) % t.f.Size()
	if err := t.f.At(i).Kill(); err != nil {
		return true, err
	}
	return true, t.f.Start(ctx, i)
}

func (t *fleetTarget) backup(ctx context.Context, w io.Writer) error {
	return backupOf(ctx, t.f.At(0).Addr, w)
}

func (t *fleetTarget) reopen(ctx context.Context, path string) (target, error) {
	return reopenEngine(ctx, path)
}

func (t *fleetTarget) close() error { return t.f.Close() }
