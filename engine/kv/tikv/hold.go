package tikv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nacredb/nacre/engine/kv"
)

// holdPrefix begins the names of the services that hold what backups read.
const holdPrefix = "nacre-backup-"

// holdTime is how long a hold lasts where the process that renews it was killed.
const holdTime = 10 * time.Minute

// Hold implements kv.Holder, by a service of its own at the placement driver, whose timestamp all go by who collect
// garbage. release removes it; where that fails it ends after holdTime.
func (s *Store) Hold(ctx context.Context, sn kv.Snapshot) (release func(), err error) {
	h := &hold{store: s, name: holdPrefix + rand.Text(), at: uint64(sn.Version())}
	if err := h.renew(ctx); err != nil {
		return nil, err
	}
	renewing, end := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.keep(renewing)
	}()
	return func() {
		end()
		<-done
		h.remove(context.WithoutCancel(ctx))
	}, nil
}

// hold is a service that needs what is visible at a timestamp.
type hold struct {
	store *Store
	name  string
	at    uint64
}

// renew holds for holdTime from now on.
func (h *hold) renew(ctx context.Context) error {
	least, err := h.set(ctx, int64(holdTime/time.Second))
	if err != nil {
		return fmt.Errorf("keep what is read: %w", h.store.failure(ctx, err))
	}
	if least > h.at { // it was refused
		return fmt.Errorf("%w: it is of %s, the cluster keeps what is since %s", kv.ErrTooOld, stamp(h.at),
			stamp(least))
	}
	return nil
}

// keep renews the hold until ctx ends. What fails is tried again: what is read is in danger only after holdTime. A hold
// that is over cannot be had again.
func (h *hold) keep(ctx context.Context) {
	next := time.NewTicker(h.store.opt.pace.renew)
	defer next.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		err := h.renew(ctx)
		if ctx.Err() != nil {
			return
		}
		over := errors.Is(err, kv.ErrTooOld)
		if err != nil && (over || !failing) {
			h.store.opt.Log.Warn("what a backup reads may be cleared away before its end", "err", err)
		}
		if failing = err != nil; over {
			return
		}
	}
}

func (h *hold) remove(ctx context.Context) {
	if _, err := h.set(ctx, 0); err != nil {
		h.store.opt.Log.Warn("what a backup has read is kept in the cluster for some minutes more", "err", err)
	}
}

// set asks the placement driver to go by the hold for so many seconds; 0 removes it.
func (h *hold) set(ctx context.Context, seconds int64) (least uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, h.store.opt.Timeout)
	defer cancel()
	return h.store.client.GetPDClient().UpdateServiceGCSafePoint(ctx, h.name, seconds, h.at)
}
