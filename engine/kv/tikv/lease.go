package tikv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/oracle"

	"github.com/nacredb/nacre/engine/kv"
)

// lease keeps other processes away from a prefix: all, or of a store that is shared all that do not share it, as
// those of earlier versions. They would not tell what they change, nor hear of what others have changed.
//
// It is one key outside of the space of the data, with the holder and the time of the cluster until which it holds.
// The holder renews it; processes that share the store hold it together, under one name, and each may renew it. It
// stops committing by its own clock before the lease is over: leaseTime is counted from before the request that got
// it, and clocks may run apart by leaseSlack.
type lease struct {
	store *Store
	key   []byte
	id    string
	until atomic.Int64 // nanoseconds since began: no commit begins later
	began time.Time
	quit  chan struct{}
	done  sync.WaitGroup
}

// sharedHolder is the holder where processes share the store. The number is that of the rules by which they do.
const sharedHolder = "shared 1"

const (
	leaseTime  = 10 * time.Second
	leaseSlack = 2 * time.Second
	leaseBeat  = leaseTime / 5
)

// holder is the value at the key of a lease.
type holder struct {
	ID    string `json:"id"`
	Until int64  `json:"until"` // milliseconds since 1970, by the clock of the cluster
}

// take takes the lease, and keeps it until drop. Where a process is left over that does not renew it any more, it
// waits for the end of its lease; a renewal that was on its way when that process was killed may still arrive.
// Errors: kv.ErrLocked for one that is alive.
func (l *lease) take(ctx context.Context, s *Store) error {
	l.store, l.id, l.began, l.quit = s, uuid.NewString(), time.Now(), make(chan struct{})
	if s.opt.Shared {
		l.id = sharedHolder
	}
	l.key = append([]byte("nacre-lease/"+s.opt.Prefix), 0)
	var last holder
	for renewals := -1; ; {
		other, err := l.renew(ctx, leaseTime)
		switch {
		case err == nil:
			l.done.Go(l.keep)
			return nil
		case errors.Is(err, kv.ErrConflict): // somebody was quicker: the next look says who
		case !errors.Is(err, kv.ErrLocked):
			return err
		case other != last:
			if renewals++; renewals > 1 {
				return err
			}
			last = other
		}
		select {
		case <-time.After(leaseTime / 20):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renew holds the lease for so long from now on; 0 gives it back. kv.ErrLocked: somebody else has it, the answer is
// who.
func (l *lease) renew(ctx context.Context, d time.Duration) (other holder, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTime)
	defer cancel()
	asked := time.Since(l.began)
	tx, err := l.store.client.Begin()
	if err != nil {
		return other, l.store.failure(ctx, err)
	}
	raw, err := tx.Get(ctx, l.key)
	if err != nil && !tikverr.IsErrNotFound(err) {
		return other, l.store.failure(ctx, err)
	}
	if err == nil {
		if err := json.Unmarshal(raw, &other); err != nil {
			return other, fmt.Errorf("lease of the prefix: %w: %w", kv.ErrCorrupt, err)
		}
	}
	now := oracle.ExtractPhysical(tx.StartTS())
	if other.ID != l.id && other.Until > now {
		return other, fmt.Errorf("the prefix is served by another process: %w", kv.ErrLocked)
	}
	if left := time.Duration(other.Until-now) * time.Millisecond; l.store.opt.Shared && other.ID == l.id &&
		left > leaseTime*3/4 { // another process has renewed it just now
		l.until.Store(int64(asked + left - leaseSlack))
		return other, nil
	}
	if err := l.put(tx, now, d); err != nil {
		return other, err
	}
	if err := tx.Commit(ctx); err != nil {
		return other, l.store.commitFailure(err)
	}
	if d > 0 {
		l.until.Store(int64(asked + d - leaseSlack))
	}
	return other, nil
}

func (l *lease) put(tx interface {
	Set(k, v []byte) error
	Delete(k []byte) error
}, now int64, d time.Duration) error {
	if d == 0 {
		return tx.Delete(l.key)
	}
	raw, err := json.Marshal(holder{ID: l.id, Until: now + d.Milliseconds()})
	if err != nil {
		return err
	}
	return tx.Set(l.key, raw)
}

// keep renews the lease until drop.
func (l *lease) keep() {
	tick := time.NewTicker(leaseBeat)
	defer tick.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-tick.C:
			_, err := l.renew(l.store.ctx, leaseTime)
			if errors.Is(err, kv.ErrConflict) { // another process has renewed it at the same time
				_, err = l.renew(l.store.ctx, leaseTime)
			}
			if err != nil && l.store.ctx.Err() == nil {
				l.store.opt.Log.Warn("the lease of the prefix could not be renewed", "err", err)
			}
		}
	}
}

// held reports whether the lease is still ours; a store without one always has it.
func (l *lease) held() bool { return l.store == nil || int64(time.Since(l.began)) < l.until.Load() }

// drop gives the lease back.
func (l *lease) drop() error {
	if l.store == nil {
		return nil
	}
	close(l.quit)
	l.done.Wait()
	if !l.held() || l.store.opt.Shared { // it ends by itself, unless others are there
		return nil
	}
	_, err := l.renew(l.store.ctx, 0)
	return err
}
