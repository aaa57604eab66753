package tikv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tikv/client-go/v2/oracle"
	client "github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/txnkv/transaction"
	"golang.org/x/sync/errgroup"

	"github.com/nacredb/nacre/engine/kv"
)

// What batches tell lies in a space of its own, outside of that of the data:
//
//	"nacre-told/" prefix 00 lane1 stamp8 part4 → bytes crc4
//
// stamp8 is a timestamp that no other batch has: that at which the transaction starts, or a later one, from before its
// first lock. So of two batches that write the same key the earlier one has the smaller stamp: the cluster lets the
// later one commit only if it starts after the commit of the earlier one.
//
// A commit may be hidden below stamps that listeners have passed, for its own timestamp is taken later. The lanes bound
// by how much: no batch commits later than its lane's time after its stamp, by the clock of the cluster; the request
// that commits does not leave then. So who has heard all up to a version, and listens up to another one, looks at the
// stamps from the first version on, less the lane's time, and leaves out those that it knows. The first lane is for
// what commits at once; a batch that is too late for a lane is written anew into the next.
const (
	lanes        = 3
	toldPart     = 256 << 10       // bytes of one part
	toldKept     = 3 * time.Minute // for how long it is kept
	toldHeard    = time.Minute     // listeners that are further behind have to begin anew
	toldAtOnce   = 1024            // keys that one transaction of Forget removes
	calm         = 50 * time.Millisecond
	largeBatch   = 2048 // writes of a batch that goes into the last lane at once
	slowFor      = 10 * time.Second
	toldInMemory = 64 // keys whose values are asked for together
)

// laneTimes are for how long after its stamp a batch may commit. The longest, with toldHeard, is well below toldKept.
var laneTimes = [lanes]time.Duration{500 * time.Millisecond, 5 * time.Second, 90 * time.Second}

// errLate is an attempt whose lane's time is over.
var errLate = errors.New("the commit took too long for what it tells")

// since is for how long a timestamp is after another one.
func since(from, to uint64) time.Duration {
	return time.Duration(oracle.ExtractPhysical(to)-oracle.ExtractPhysical(from)) * time.Millisecond
}

// before is the timestamp that is earlier by d.
func before(ts uint64, d time.Duration) uint64 {
	if back := uint64(d.Milliseconds()) << 18; back < ts {
		return ts - back
	}
	return 0
}

// tale is where an attempt puts what its batch tells.
type tale struct {
	stamp uint64 // 0: it tells nothing
	lane  byte
}

// late reports whether a commit at ts would be too late for the lane.
func (t tale) late(ts uint64) bool {
	return t.stamp != 0 && since(t.stamp, ts) > laneTimes[t.lane]-time.Millisecond
}

// lane chooses the lane, which is least or a later one, and the stamp of an attempt, if its batch tells something.
func (a *attempt) lane(ctx context.Context, least byte) error {
	if a.batch.Told == nil {
		return nil
	}
	s := a.store
	if len(a.batch.Writes) > largeBatch {
		least = lanes - 1
	}
	a.tale = tale{stamp: a.start, lane: s.tales.lane(least)}
	if s.old(a.batch.Snapshot, a.start) {
		now, err := s.now(ctx)
		if err != nil {
			return err
		}
		a.tale.stamp = now
	}
	return nil
}

// old reports whether start is that of a snapshot which is open for a while, or from before what it goes by was so.
func (s *Store) old(v kv.Version, start uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sn := s.open[v]
	return uint64(v) == start && (sn == nil || sn.early || time.Since(sn.began) > laneTimes[0]/5)
}

// tell puts what the batch tells into a transaction of the client.
func (a *attempt) tell(tx *transaction.KVTxn) error {
	if a.tale.stamp == 0 {
		return nil
	}
	prefix := a.store.told(a.tale.lane, a.tale.stamp)
	for i, part := range slices.Collect(slices.Chunk(a.batch.Told, toldPart)) {
		k := binary.BigEndian.AppendUint32(bytes.Clone(prefix), uint32(i))
		if err := tx.Set(k, seal(k, part)); err != nil {
			return a.store.commitFailure(err)
		}
	}
	return nil
}

// told is the prefix of the parts of what a batch tells.
func (s *Store) told(lane byte, stamp uint64) []byte {
	k := append(append([]byte("nacre-told/"+s.opt.Prefix), 0), lane)
	return binary.BigEndian.AppendUint64(k, stamp)
}

// stampOf is the stamp in a key of a part.
func stampOf(k []byte) (uint64, error) {
	if len(k) < 12 {
		return 0, fmt.Errorf("key %x: %w", k, kv.ErrCorrupt)
	}
	return binary.BigEndian.Uint64(k[len(k)-12:]), nil
}

// tales is what a process knows of what it and others tell.
type tales struct {
	mu      sync.Mutex // guards all below; a leaf lock
	delayed time.Time  // when a batch was last too late for the first lane
	cleared [lanes]uint64
}

// lane is the lane of an attempt: least, but not the first for a while after a batch was too late for it.
func (t *tales) lane(least byte) byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if least > 0 {
		t.delayed = time.Now()
	} else if time.Since(t.delayed) < slowFor {
		return 1
	}
	return least
}

var _ kv.Teller = (*Store)(nil)

// listener implements kv.Listener.
type listener struct {
	store *Store
	at    uint64
	heard [lanes]map[uint64]bool // stamps that are known, of those that the next Hear looks at again
}

// Listen implements kv.Teller.
func (s *Store) Listen(ctx context.Context) (kv.Listener, error) {
	l := &listener{store: s}
	ts, err := s.now(ctx)
	if err != nil {
		return nil, err
	}
	l.at = ts
	found, err := l.find(ctx, ts)
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		l.note(one)
	}
	return l, nil
}

// At implements kv.Listener.
func (l *listener) At() kv.Version { return kv.Version(l.at) }

// Calm implements kv.Listener. A lock of a transaction that starts later is not met at all, and one that takes its
// commit timestamp later need not take another one.
func (l *listener) Calm(now kv.Version) kv.Version { return kv.Version(before(uint64(now), calm)) }

// toldBatch is where what one batch tells lies.
type toldBatch struct {
	lane  byte
	stamp uint64
	keys  [][]byte
}

// Hear implements kv.Listener.
func (l *listener) Hear(ctx context.Context, at kv.Version, f func(id uint64, told []byte) error) error {
	if uint64(at) <= l.at {
		return nil
	}
	if d := since(l.at, uint64(at)); d > toldHeard {
		return fmt.Errorf("%w: nothing was heard for %v", kv.ErrTooOld, d)
	}
	found, err := l.find(ctx, uint64(at))
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b toldBatch) int {
		if a.stamp < b.stamp {
			return -1
		}
		return 1
	})
	r := l.store.reader(uint64(at))
	for len(found) > 0 {
		n, keys := 0, [][]byte(nil)
		for n < len(found) && (n == 0 || len(keys)+len(found[n].keys) <= toldInMemory) {
			keys = append(keys, found[n].keys...)
			n++
		}
		if err := l.pass(ctx, r, found[:n], keys, f); err != nil {
			return err
		}
		found = found[n:]
	}
	l.at = uint64(at)
	l.forget()
	return nil
}

// find lists the batches that are there at a version and not known, in the order of stamps in each lane.
func (l *listener) find(ctx context.Context, at uint64) (found []toldBatch, err error) {
	var in [lanes][]toldBatch
	group, ctx := errgroup.WithContext(ctx)
	for lane := range byte(lanes) {
		group.Go(func() (err error) {
			in[lane], err = l.findIn(ctx, lane, at)
			return err
		})
	}
	err = group.Wait()
	return slices.Concat(in[:]...), err
}

func (l *listener) findIn(ctx context.Context, lane byte, at uint64) (found []toldBatch, err error) {
	st := stretch{start: l.store.told(lane, before(l.at, laneTimes[lane])), end: l.store.told(lane, at), keysOnly: true}
	r := l.store.reader(at)
	for {
		pairs, err := r.next(ctx, &st, mostPairs)
		if len(pairs) == 0 || err != nil {
			return found, err
		}
		for _, p := range pairs {
			stamp, err := stampOf(p.Key)
			if err != nil {
				return nil, err
			}
			if l.heard[lane][stamp] {
				continue
			}
			if n := len(found); n == 0 || found[n-1].stamp != stamp {
				found = append(found, toldBatch{lane: lane, stamp: stamp})
			}
			last := &found[len(found)-1]
			last.keys = append(last.keys, p.Key)
		}
	}
}

// pass calls f with batches.
func (l *listener) pass(ctx context.Context, r *reader, of []toldBatch, keys [][]byte,
	f func(id uint64, told []byte) error) error {
	parts := make(map[string][]byte, len(keys))
	var bad error
	err := r.getAll(ctx, keys, func(k, stored []byte) {
		v, err := unseal(k, stored)
		if err != nil {
			bad = err
		}
		parts[string(k)] = v
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	for _, one := range of {
		var told []byte
		for i, k := range one.keys {
			if binary.BigEndian.Uint32(k[len(k)-4:]) != uint32(i) {
				return fmt.Errorf("a part of what was told is missing before key %x: %w", k, kv.ErrCorrupt)
			}
			if part := parts[string(k)]; len(one.keys) == 1 {
				told = part
			} else {
				told = append(told, part...)
			}
		}
		if err := f(one.stamp, told); err != nil {
			return err
		}
		l.note(one)
	}
	return nil
}

func (l *listener) note(one toldBatch) {
	if l.heard[one.lane] == nil {
		l.heard[one.lane] = map[uint64]bool{}
	}
	l.heard[one.lane][one.stamp] = true
}

// forget drops the stamps that are not looked at again.
func (l *listener) forget() {
	for lane, known := range l.heard {
		first := before(l.at, laneTimes[lane])
		for stamp := range known {
			if stamp < first {
				delete(known, stamp)
			}
		}
	}
}

// Forget implements kv.Teller.
func (s *Store) Forget(ctx context.Context) (more bool, err error) {
	for lane := range byte(lanes) {
		left, err := s.forgetLane(ctx, lane)
		if err != nil {
			return false, err
		}
		more = more || left
	}
	return more, nil
}

func (s *Store) forgetLane(ctx context.Context, lane byte) (more bool, err error) {
	start, err := s.now(ctx)
	if err != nil {
		return false, err
	}
	old := before(start, toldKept)
	s.tales.mu.Lock()
	from := s.tales.cleared[lane]
	s.tales.mu.Unlock()
	st := stretch{start: s.told(lane, from), end: s.told(lane, old), keysOnly: true}
	pairs, err := s.reader(start).next(ctx, &st, toldAtOnce)
	if err != nil {
		return false, err
	}
	if len(pairs) > 0 {
		tx, err := s.client.Begin(client.WithStartTS(start))
		if err != nil {
			return false, s.failure(ctx, err)
		}
		for _, p := range pairs {
			if err := tx.Delete(p.Key); err != nil {
				return false, s.commitFailure(err)
			}
		}
		if err := tx.Commit(ctx); err != nil {
			return false, s.commitFailure(err)
		}
		if old, err = stampOf(pairs[len(pairs)-1].Key); err != nil {
			return false, err
		}
	}
	s.tales.mu.Lock()
	defer s.tales.mu.Unlock()
	s.tales.cleared[lane] = max(s.tales.cleared[lane], old)
	return len(pairs) == toldAtOnce, nil
}
