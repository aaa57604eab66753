package tikv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/oracle"

	"github.com/nacredb/nacre/engine/kv"
)

// lease keeps processes with other rules away from a prefix: those of earlier versions, which would not tell what
// they change, nor hear of what others have changed.
//
// It is one key outside of the space of the data, with the holder and the time of the cluster until which it holds.
// All processes with the same rules hold it together, under one name, and each may renew it. A process stops
// committing by its own clock before the lease is over: leaseTime is counted from before the request that got it, and
// clocks may run apart by leaseSlack.
type lease struct {
	store *Store
	key   []byte
	until atomic.Int64 // nanoseconds since began: no commit begins later
	began time.Time
	quit  chan struct{}
	done  sync.WaitGroup
}

// together is the name of the holder. The number is that of the rules by which processes share a store.
const together = "shared 2"

const (
	leaseTime  = time.Minute // a slow store must not end it, and only processes with other rules wait for that
	leaseSlack = 2 * time.Second
	leaseLook  = 5 * time.Second        // how often a process looks at it
	leaseAgain = 500 * time.Millisecond // how soon it looks again after somebody else was quicker
)

// holder is the value at the key of a lease.
type holder struct {
	ID    string `json:"id"`
	Until int64  `json:"until"`           // milliseconds since 1970, by the clock of the cluster
	Alive int64  `json:"alive,omitempty"` // of a Builder: until when no other one takes its place
}

// leaseKey is the key of the lease of a prefix.
func leaseKey(prefix string) []byte { return append([]byte("nacre-lease/"+prefix), 0) }

// take takes the lease, or a part in it, and keeps it until drop. It waits for the end of that of a process with
// other rules which does not renew it any more; a renewal that was on its way when that process was killed may still
// arrive. Errors: kv.ErrLocked for one that is alive, kv.ErrUnfinished for a restore, alive or not.
func (l *lease) take(ctx context.Context, s *Store) error {
	l.store, l.began, l.quit = s, time.Now(), make(chan struct{})
	l.key = leaseKey(s.opt.Prefix)
	var last holder
	for renewals := -1; ; {
		other, err := l.renew(ctx)
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
		case <-time.After(leaseAgain):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renew holds the lease from now on for leaseTime. kv.ErrLocked: somebody with other rules has it, the answer is who.
func (l *lease) renew(ctx context.Context) (other holder, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*leaseLook)
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
	if other.restores() {
		return other, kv.ErrUnfinished
	}
	if other.ID != together && other.Until > now {
		return other, fmt.Errorf("the prefix is served by another version: %w", kv.ErrLocked)
	}
	left := time.Duration(other.Until-now) * time.Millisecond
	if other.ID == together && left > leaseTime*3/4 { // another process has renewed it just now
		l.until.Store(int64(asked + left - leaseSlack))
		return other, nil
	}
	if raw, err = json.Marshal(holder{ID: together, Until: now + leaseTime.Milliseconds()}); err != nil {
		return other, err
	}
	if err := tx.Set(l.key, raw); err != nil {
		return other, err
	}
	if err := tx.Commit(ctx); err != nil {
		return other, l.store.commitFailure(err)
	}
	l.until.Store(int64(asked + leaseTime - leaseSlack))
	return other, nil
}

// keep renews the lease until drop. Who finds it taken by a process with other rules commits nothing more.
func (l *lease) keep() {
	next := time.NewTimer(leaseLook)
	defer next.Stop()
	for {
		select {
		case <-l.quit:
			return
		case <-next.C:
		}
		pause := leaseLook
		switch _, err := l.renew(l.store.ctx); {
		case err == nil, l.store.ctx.Err() != nil:
		case errors.Is(err, kv.ErrConflict): // another process has renewed it at the same time
			pause = leaseAgain
		case errors.Is(err, kv.ErrLocked), errors.Is(err, kv.ErrUnfinished):
			l.until.Store(0)
			l.store.opt.Log.Error("another program has taken the prefix: this server commits nothing", "err", err)
		default:
			pause = leaseAgain
			l.store.opt.Log.Warn("the lease of the prefix could not be renewed", "err", err)
		}
		next.Reset(pause)
	}
}

// held reports whether the lease still holds.
func (l *lease) held() bool { return int64(time.Since(l.began)) < l.until.Load() }

// drop ends what keeps the lease; it ends by itself, unless others keep it.
func (l *lease) drop() {
	close(l.quit)
	l.done.Wait()
}
