package tikv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tikv/client-go/v2/oracle"
	client "github.com/tikv/client-go/v2/tikv"

	"github.com/nacredb/nacre/engine/kv"
)

// Steady keys (Options.Steady) are read by nearly every transaction and seldom written. Who writes one announces it
// first: one key of the prefix, outside of the data, has the timestamp until which announced changes may commit. None
// of them commits less than steadyFor after the announcement. So what a snapshot has shown of steady keys, while
// nothing was announced, holds for steadyFor: it is neither asked for again nor validated in that time. All of it goes
// by timestamps of the placement driver; clocks of machines have no part in it. DESIGN.md has the proof. (Leases of
// definitions: Rae and others: Online, asynchronous schema change in F1, VLDB 2013.)
const (
	steadyFor    = 20   // milliseconds of the driver, whose clock may move in steps of 50
	announcedFor = 1000 // so long changes may commit after the timestamp that the announcement began with
)

// maxSteady is how many keys are remembered. Beyond it all are forgotten.
const maxSteady = 256

// errOver is a commit timestamp after all that were announced.
var errOver = fmt.Errorf("%w: the time that was announced for a change is over", kv.ErrUnavailable)

// steady is what steady keys surely held, and what this process has announced.
type steady struct {
	key  []byte // of announcements
	span int64  // announcedFor, but in tests

	turn        chan struct{} // held by who announces
	from, until uint64        // when changes of this process may commit; guarded by turn

	mu sync.Mutex // guards of; a leaf lock
	of map[string]shown
}

// shown is what a snapshot has shown of a key.
type shown struct{ at, digest uint64 }

func (st *steady) init(prefix string) {
	st.key = append([]byte("nacre-change/"+prefix), 0)
	st.span, st.turn = announcedFor, make(chan struct{}, 1)
}

// note notes what a snapshot has shown of a key, at which nothing was announced.
func (st *steady) note(key []byte, digest, at uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	old, known := st.of[string(key)]
	if at <= old.at {
		return
	}
	if st.of == nil || !known && len(st.of) >= maxSteady {
		st.of = map[string]shown{}
	}
	st.of[string(key)] = shown{at, digest}
}

// holds reports whether a key surely has a digest at a timestamp.
func (st *steady) holds(key []byte, digest, at uint64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	s, ok := st.of[string(key)]
	return ok && s.digest == digest && s.at <= at &&
		oracle.ExtractPhysical(at)-oracle.ExtractPhysical(s.at) < steadyFor
}

// announcement is what a read has found at the key of announcements: the timestamp until which changes may commit. If
// it is damaged, that is always.
func (st *steady) announcement(stored []byte) uint64 {
	v, err := unseal(st.key, stored)
	if err != nil || len(v) != 8 {
		return math.MaxUint64
	}
	return binary.BigEndian.Uint64(v)
}

// after is a timestamp so many milliseconds after another one.
func after(ts uint64, ms int64) uint64 { return oracle.ComposeTS(oracle.ExtractPhysical(ts)+ms, 0) }

// announce comes before the commit of a batch that writes steady keys: it may commit from now on until the timestamp.
// Changes that follow each other soon are announced once, whichever process they are of.
func (s *Store) announce(ctx context.Context) (until uint64, err error) {
	st := &s.steady
	select {
	case st.turn <- struct{}{}:
		defer func() { <-st.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	now, err := s.now(ctx)
	if err != nil {
		return 0, err
	}
	if st.from <= now && after(now, st.span/4) <= st.until { // the rest is for the commit itself
		return st.until, nil
	}
	for try := 1; ; try++ {
		if until, err = s.announced(ctx, now); err == nil {
			break
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		again := errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrUndetermined)
		if try == maxTries || !again {
			// Nothing of the batch was written: that is no unknown outcome, nor a conflict.
			return 0, fmt.Errorf("announce a change: %w: %v", kv.ErrUnavailable, err)
		}
		if now, err = s.now(ctx); err != nil {
			return 0, err
		}
	}
	if now, err = s.now(ctx); err != nil { // the announcement has committed before that
		return 0, err
	}
	from := after(now, steadyFor)
	for end := time.Now().Add(s.opt.Timeout); now < from; {
		if time.Now().After(end) {
			return 0, fmt.Errorf("the clock of the placement driver stands still: %w", kv.ErrUnavailable)
		}
		early := oracle.ExtractPhysical(from) - oracle.ExtractPhysical(now)
		timer := time.NewTimer(time.Duration(early) * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, ctx.Err()
		}
		if now, err = s.now(ctx); err != nil {
			return 0, err
		}
	}
	st.from, st.until = from, until
	return until, nil
}

// announced gives the timestamp until which changes are announced at start, if there is time enough left, or else
// announces them. Errors: kv.ErrConflict where somebody has announced some since start, those of reads and commits.
func (s *Store) announced(ctx context.Context, start uint64) (until uint64, err error) {
	st := &s.steady
	stored, err := s.reader(start).get(ctx, st.key)
	if err != nil {
		return 0, err
	}
	// What is damaged is replaced: all that it can have announced is over before.
	if until = st.announcement(stored); len(stored) > 0 && until < math.MaxUint64 && after(start, st.span/2) <= until {
		return until, nil
	}
	until = after(start, st.span)
	tx, err := s.client.Begin(client.WithStartTS(start))
	if err != nil {
		return 0, s.failure(ctx, err)
	}
	if err := tx.Set(st.key, seal(st.key, binary.BigEndian.AppendUint64(nil, until))); err != nil {
		return 0, s.commitFailure(err)
	}
	bounded, cancel := s.limited(ctx)
	defer cancel()
	if err := tx.Commit(bounded); err != nil {
		return 0, s.commitFailure(err)
	}
	return until, nil
}

// changesSteady reports whether a batch writes steady keys.
func (s *Store) changesSteady(b *kv.Batch) bool {
	return slices.ContainsFunc(b.Writes, func(w kv.Write) bool { return s.opt.Steady(w.Key) })
}
