package tikv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	tikverr "github.com/tikv/client-go/v2/error"
	client "github.com/tikv/client-go/v2/tikv"
	"github.com/tikv/client-go/v2/tikvrpc"
	"github.com/tikv/client-go/v2/tikvrpc/interceptor"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/nacredb/nacre/engine/kv"
)

// maxTries is how often a batch is written anew, at a later timestamp, after a write to a key that it has not read.
const maxTries = 8

// maxMoves is how often one attempt follows its commit timestamp, which readers push ahead, before it gives up.
const maxMoves = 16

// Commit implements kv.Store.
func (s *Store) Commit(ctx context.Context, b *kv.Batch) (kv.Version, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := s.check(b); err != nil {
		return 0, err
	}
	if s.moved(b.Snapshot) {
		return 0, kv.ErrMoved
	}
	if err := s.gate.enter(ctx, b); err != nil {
		return 0, err
	}
	defer s.gate.leave()
	if !s.lease.held() {
		return 0, fmt.Errorf("the lease of the prefix is over: %w", kv.ErrUnavailable)
	}
	var ts uint64
	var err error
	if b.Empty() {
		ts, err = s.commitNothing(ctx, b)
	} else {
		ts, err = s.commitWrites(ctx, b)
	}
	if errors.Is(err, kv.ErrConflict) {
		s.conflicts.Add(1)
	}
	return kv.Version(ts), err
}

// What a cluster takes as it is set up by default: the size of one value, which goes into one entry of its log, and
// of one batch, for which locks are held.
const (
	maxValue = 6 << 20
	maxBatch = 100 << 20
)

func (s *Store) check(b *kv.Batch) error {
	if err := b.CheckKeys(); err != nil {
		return err
	}
	size := 0
	for i := range b.Writes {
		w := &b.Writes[i]
		if len(w.Value) > maxValue {
			return fmt.Errorf("%w: a value of %d bytes, and a cluster takes %d", kv.ErrTooLarge, len(w.Value), maxValue)
		}
		size += len(w.Key) + len(w.Value)
	}
	if size > maxBatch {
		return fmt.Errorf("%w: %d bytes, and a cluster takes %d", kv.ErrTooLarge, size, maxBatch)
	}
	if size += len(b.Told); size > maxBatch {
		return fmt.Errorf("%w: %d bytes with what it tells, and a cluster takes %d", kv.ErrTooLarge, size, maxBatch)
	}
	for i := range b.Deltas {
		if !s.opt.Counter(b.Deltas[i].Key) {
			return kv.ErrCounter
		}
	}
	return nil
}

// commitNothing validates what a batch has read, at a timestamp of its own.
func (s *Store) commitNothing(ctx context.Context, b *kv.Batch) (uint64, error) {
	f := s.order.enter()
	s.order.stamping(f)
	ts, err := s.now(ctx)
	if err == nil {
		s.order.stamped(f, ts)
		err = (&attempt{store: s, batch: b, parts: s.parts(b)}).validate(ctx, ts)
	}
	if err != nil {
		s.order.failed(f)
		if errors.Is(err, errChanged) {
			err = kv.ErrConflict
		}
		return 0, err
	}
	s.order.applied(f, ts, told(b, ts))
	return ts, nil
}

// moved reports whether a snapshot went by what is not so.
func (s *Store) moved(v kv.Version) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sn := s.open[v]
	return sn != nil && sn.belief.moved
}

// told returns the changes of a batch at its timestamp; nil for nothing.
func told(b *kv.Batch, ts uint64) func() {
	if b.Applied == nil {
		return nil
	}
	return func() { b.Applied(kv.Version(ts)) }
}

// commitWrites writes a batch, with others where it can.
func (s *Store) commitWrites(ctx context.Context, b *kv.Batch) (uint64, error) {
	if m := s.member(ctx, b); m != nil {
		if o := s.groups.commit(s, m); !o.solo {
			return o.ts, o.err
		}
	}
	return s.commitAlone(ctx, b)
}

// commitAlone writes one batch. The first attempt runs at the timestamp of the batch's snapshot: the cluster itself
// then refuses it where a key that it writes has changed since. Keys that it has not read may have changed: for them
// it is tried again at a new timestamp, with all that it has read validated.
func (s *Store) commitAlone(ctx context.Context, b *kv.Batch) (uint64, error) {
	start, taken := s.take(b.Snapshot)
	lane, steady := byte(0), s.changesSteady(b)
	for try := 1; ; try++ {
		until := uint64(0)
		if steady {
			var err error
			if until, err = s.announce(ctx); err != nil {
				return 0, err
			}
		}
		if !taken {
			var err error
			if start, err = s.now(ctx); err != nil {
				return 0, err
			}
		}
		a := &attempt{store: s, batch: b, parts: s.parts(b), start: start, checked: taken, until: until}
		if err := a.lane(ctx, lane); err != nil {
			return 0, err
		}
		taken = false
		ts, err := a.run(ctx)
		switch {
		case errors.Is(err, errLate) && try < maxTries:
			lane = a.tale.lane + 1
		case errors.Is(err, errOver) && try < maxTries:
		case err == nil:
			s.committed(ts, 1)
			return ts, nil
		case !errors.Is(err, kv.ErrConflict) || try == maxTries || !a.blind:
			return 0, err
		case ctx.Err() != nil:
			return 0, ctx.Err()
		}
	}
}

// take makes the timestamp of an open snapshot that of a transaction, once: the cluster knows transactions by it.
func (s *Store) take(v kv.Version) (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sn := s.open[v]
	if sn == nil || sn.used {
		return 0, false
	}
	sn.used = true
	return uint64(v), true
}

func (s *Store) committed(ts uint64, batches int) {
	s.commits.Add(uint64(batches))
	s.transactions.Add(1)
	for {
		old := s.newest.Load()
		if ts <= old || s.newest.CompareAndSwap(old, ts) {
			return
		}
	}
}

// part is a batch, with the snapshot that it has read, or nil where that is not open any more.
type part struct {
	batch *kv.Batch
	snap  *snapshot
}

// parts are what a batch by itself consists of.
func (s *Store) parts(b *kv.Batch) []part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []part{{b, s.open[b.Snapshot]}}
}

// attempt is one try to commit a batch, or a group of them.
type attempt struct {
	store   *Store
	batch   *kv.Batch // of a group: what all its parts write
	parts   []part    // who has read what
	start   uint64
	checked bool // start is that of the snapshot: what is both read and written needs no other check
	blind   bool // it failed over a key that the batch has not read
	tale    tale // where it puts what the batch tells
	flight  *flight
	ctx     context.Context

	cleared map[string]int // deltas that go with a counter that is written, by its key
	until   uint64         // it writes steady keys, and that is announced until then; 0: it writes none

	mu    sync.Mutex // guards all below
	valid uint64     // the commit timestamp at which all that was read is as it was
	moves int
	err   error // why the last word was no
}

// run is the whole of the attempt. Errors: those of kv.Store.Commit.
func (a *attempt) run(ctx context.Context) (uint64, error) {
	s := a.store
	tx, err := s.client.Begin(client.WithStartTS(a.start))
	if err != nil {
		return 0, s.failure(ctx, err)
	}
	if err := a.fill(ctx, tx); err != nil {
		return 0, err
	}
	a.ctx, a.flight = ctx, s.order.enter()
	tx.SetRPCInterceptor(a.intercept)
	// The client must not lose interest between the request that commits and its answer: ctx ends the attempt in
	// intercept, before that request.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*s.opt.Timeout)
	defer cancel()
	err = tx.Commit(bounded)
	for key := range a.cleared {
		s.folder.forget(key)
	}
	a.mu.Lock()
	valid, reason := a.valid, a.err
	a.mu.Unlock()
	if err == nil {
		s.order.applied(a.flight, valid, told(a.batch, valid))
		s.folder.added(a.batch.Deltas)
		return valid, nil
	}
	s.order.failed(a.flight)
	if reason != nil && !tikverr.IsErrorUndetermined(err) {
		if errors.Is(reason, errChanged) {
			return 0, kv.ErrConflict
		}
		if errors.Is(reason, errLate) && a.tale.lane == lanes-1 {
			return 0, fmt.Errorf("%w: %v", kv.ErrUnavailable, errLate)
		}
		return 0, reason
	}
	a.blind = a.unread(err)
	return 0, s.commitFailure(err)
}

// unread reports whether err is a conflict over a key that the batch has not read.
func (a *attempt) unread(err error) bool {
	var latched *tikverr.ErrWriteConflictInLatch
	if errors.As(err, &latched) { // it names no key
		return slices.ContainsFunc(a.batch.Writes, func(w kv.Write) bool { return !a.reads(w.Key) })
	}
	var c *tikverr.ErrWriteConflict
	if !errors.As(err, &c) {
		return false
	}
	key, _, err := a.store.space.decode(c.Key)
	return err == nil && !a.reads(key)
}

// reads reports whether the batch has read key.
func (a *attempt) reads(key []byte) bool {
	if _, read := slices.BinarySearchFunc(a.batch.Reads.Keys, key, bytes.Compare); read {
		return true
	}
	return slices.ContainsFunc(a.batch.Reads.Ranges, func(r kv.Range) bool { return r.Contains(key) })
}

// fill puts the batch into a transaction of the client.
func (a *attempt) fill(ctx context.Context, tx *transaction.KVTxn) error {
	s := a.store
	for i := range a.batch.Writes {
		w := &a.batch.Writes[i]
		k := s.space.base(w.Key)
		var err error
		if w.Value == nil {
			err = tx.Delete(k)
		} else {
			err = tx.Set(k, seal(k, w.Value))
		}
		if err == nil && s.opt.Counter(w.Key) {
			err = a.clearCounter(ctx, tx, w.Key, k)
		}
		if err != nil {
			return s.commitFailure(err)
		}
	}
	for i := range a.batch.Deltas {
		d := &a.batch.Deltas[i]
		k := s.space.delta(d.Key, a.start, 0)
		if err := tx.Set(k, seal(k, kv.AppendCounter(nil, d.Add))); err != nil {
			return s.commitFailure(err)
		}
	}
	return a.tell(tx)
}

// clearCounter removes what was added to a counter that is overwritten. What is added until the commit is a conflict.
func (a *attempt) clearCounter(ctx context.Context, tx *transaction.KVTxn, key, base []byte) error {
	start, end := entry(base)
	st := stretch{start: append(bytes.Clone(start), 0), end: end, keysOnly: true}
	r := a.store.reader(a.start)
	n := 0
	for {
		pairs, err := r.next(ctx, &st, mostPairs)
		if err != nil {
			return err
		}
		if len(pairs) == 0 {
			break
		}
		for _, p := range pairs {
			n++
			if err := tx.Delete(p.Key); err != nil {
				return err
			}
		}
	}
	if a.cleared == nil {
		a.cleared = map[string]int{}
	}
	a.cleared[string(key)] = n
	return nil
}

// intercept stands between the client and the cluster while the attempt commits. It lets the request that commits go
// only when everything that was read is unchanged at the very timestamp in that request, which may move.
func (a *attempt) intercept(next interceptor.RPCInterceptorFunc) interceptor.RPCInterceptorFunc {
	return func(target string, req *tikvrpc.Request) (*tikvrpc.Response, error) {
		a.store.trips.count(req.Type, false)
		switch req.Type {
		case tikvrpc.CmdPrewrite:
			if err := a.ctx.Err(); err != nil {
				a.refuse(err)
				return &tikvrpc.Response{Resp: &kvrpcpb.PrewriteResponse{Errors: []*kvrpcpb.KeyError{stop(err)}}}, nil
			}
			resp, err := a.lock(next, target, req)
			a.store.order.stamping(a.flight)
			return resp, err
		case tikvrpc.CmdCommit:
			if err := a.allow(req.Commit().CommitVersion); err != nil {
				a.refuse(err)
				return &tikvrpc.Response{Resp: &kvrpcpb.CommitResponse{Error: stop(err)}}, nil
			}
		}
		return next(target, req)
	}
}

// How a request that locks keys looks again at those that somebody else has locked.
const (
	firstLook = 4 * time.Millisecond
	lastLook  = 64 * time.Millisecond
	lookFor   = 400 * time.Millisecond
)

// lock sends a request that locks keys, and again and again for a while where it meets locks. The client would wait
// for them too, but for up to three seconds between two looks, and with what it has locked already: all who want that
// wait as long, and so does this whole process for the keys that it has in common with it. What stays locked is left
// to the client, which ends transactions that were left behind.
func (a *attempt) lock(next interceptor.RPCInterceptorFunc, target string,
	req *tikvrpc.Request) (*tikvrpc.Response, error) {
	resp, err := next(target, req)
	waited := time.Duration(0)
	for pause := firstLook; err == nil && locked(resp) && waited < lookFor; pause = min(2*pause, lastLook) {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-a.ctx.Done():
			timer.Stop()
			return resp, err
		}
		waited += pause
		resp, err = next(target, req)
	}
	return resp, err
}

// locked reports whether a request was refused for locks of others alone.
func locked(resp *tikvrpc.Response) bool {
	answer, ok := resp.Resp.(*kvrpcpb.PrewriteResponse)
	if !ok || answer.RegionError != nil || len(answer.Errors) == 0 {
		return false
	}
	return !slices.ContainsFunc(answer.Errors, func(e *kvrpcpb.KeyError) bool { return e.Locked == nil })
}

// stop is the answer to the client after which it undoes its transaction.
func stop(err error) *kvrpcpb.KeyError { return &kvrpcpb.KeyError{Retryable: err.Error()} }

func (a *attempt) refuse(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// allow says whether the batch may commit at ts.
func (a *attempt) allow(ts uint64) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.valid == ts {
		return nil
	}
	a.store.order.stamped(a.flight, ts)
	if a.tale.late(ts) {
		return errLate
	}
	if a.until > 0 && ts >= a.until {
		return errOver
	}
	if a.moves++; a.moves > maxMoves {
		return errChanged
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if err := a.validate(a.ctx, ts); err != nil {
		return err
	}
	if a.moves == 1 { // while the request that commits is on its way
		a.store.spare(a.parts)
	}
	a.valid = ts
	return nil
}
