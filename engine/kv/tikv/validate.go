package tikv

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/nacredb/nacre/engine/kv"
)

// validate compares what the batch has read, as of its snapshot, with the state at ts, its own locks looked through.
// Errors: errChanged, kv.ErrCounter for an addition to what is no counter, those of reads.
func (a *attempt) validate(ctx context.Context, ts uint64) error {
	s, b := a.store, a.batch
	now := s.reader(ts)
	if a.start != 0 {
		now = s.reader(ts, a.start)
	}
	then := s.reader(uint64(b.Snapshot))
	now.validating, then.validating = true, true
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(requestsAtOnce)
	a.validateKeys(ctx, group, now, then)
	for base, n := range a.cleared {
		group.Go(func() error { return onlyDeltas(ctx, now, []byte(base), n) })
	}
	if s.opt.Isolation == kv.Serializable {
		for _, r := range b.Reads.Ranges {
			if !r.Empty() {
				group.Go(func() error { return sameRange(ctx, now, then, r) })
			}
		}
	}
	return group.Wait()
}

// validateKeys compares single keys, and looks whether what is added to is a counter. What the snapshot remembers is
// not read again.
func (a *attempt) validateKeys(ctx context.Context, group *errgroup.Group, now, then *reader) {
	s := a.store
	s.mu.Lock()
	sn := s.open[a.batch.Snapshot]
	s.mu.Unlock()
	var plain, unseen [][]byte // in the cluster
	want := map[string]uint64{}
	for _, key := range a.batch.Reads.Keys {
		if a.checked && a.writes(key) {
			continue
		}
		if s.opt.Counter(key) {
			group.Go(func() error { return sameValue(ctx, now, then, key) })
			continue
		}
		k := s.space.base(key)
		plain = append(plain, k)
		if sn != nil {
			if d, ok := sn.seen[string(key)]; ok {
				want[string(k)] = d
				continue
			}
		}
		unseen = append(unseen, k)
	}
	if sn != nil { // what the transaction goes by and has not asked for counts as read
		for _, key := range sn.belief.used {
			k, b := s.space.base(key), sn.belief.pairs[string(key)]
			plain = append(plain, k)
			want[string(k)] = digest(b.value, b.there)
		}
	}
	counters := map[string][]byte{}
	for _, d := range a.batch.Deltas {
		k := s.space.base(d.Key)
		plain = append(plain, k)
		counters[string(k)] = d.Key
	}
	if len(plain) > 0 {
		group.Go(func() error { return sameKeys(ctx, now, then, plain, unseen, want, counters) })
	}
}

// writes reports whether the batch writes key.
func (a *attempt) writes(key []byte) bool {
	_, ok := slices.BinarySearchFunc(a.batch.Writes, key, func(w kv.Write, k []byte) int {
		return bytes.Compare(w.Key, k)
	})
	return ok
}

// sameKeys compares keys now with the digests in want, which lacks those of unseen. Of those in counters it only wants
// that a counter is there, or nothing.
func sameKeys(ctx context.Context, now, then *reader, keys, unseen [][]byte, want map[string]uint64,
	counters map[string][]byte) error {
	have := make(map[string]uint64, len(keys))
	var mu sync.Mutex
	note := func(to map[string]uint64, fail *error) func(k, stored []byte) {
		return func(k, stored []byte) {
			v, err := unseal(k, stored)
			mu.Lock()
			defer mu.Unlock()
			if of, ok := counters[string(k)]; ok && err == nil {
				if _, ok := kv.Counter(v); !ok {
					err = fmt.Errorf("add to key %x: %w", of, kv.ErrCounter)
				}
			}
			if to[string(k)] = digest(v, true); err != nil {
				*fail = err
			}
		}
	}
	var bad error
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return now.getAll(ctx, keys, note(have, &bad)) })
	if len(unseen) > 0 {
		group.Go(func() error { return then.getAll(ctx, unseen, note(want, &bad)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if bad != nil {
		return bad
	}
	for _, k := range keys {
		if _, ok := counters[string(k)]; !ok && have[string(k)] != want[string(k)] {
			return errChanged
		}
	}
	return nil
}

// sameValue compares one key that may be a counter.
func sameValue(ctx context.Context, now, then *reader, key []byte) error {
	return sameRange(ctx, now, then, kv.Range{Start: key, End: append(bytes.Clone(key), 0)})
}

// sameRange compares all keys and values of a range.
func sameRange(ctx context.Context, now, then *reader, r kv.Range) error {
	pair := [2]*cursor{{ctx: ctx, reader: now}, {ctx: ctx, reader: then}}
	var more [2]bool
	for _, c := range pair {
		c.Move(r)
	}
	for {
		var group errgroup.Group
		group.Go(func() error { more[0] = pair[0].Next(); return pair[0].err })
		group.Go(func() error { more[1] = pair[1].Next(); return pair[1].err })
		if err := group.Wait(); err != nil {
			return err
		}
		switch {
		case more[0] != more[1]:
			return errChanged
		case !more[0]:
			return nil
		case !bytes.Equal(pair[0].key, pair[1].key) || !bytes.Equal(pair[0].val, pair[1].val):
			return errChanged
		}
	}
}

// onlyDeltas refuses a counter that more was added to than n times.
func onlyDeltas(ctx context.Context, now *reader, base []byte, n int) error {
	start, end := entry(base)
	st := stretch{start: append(bytes.Clone(start), 0), end: end, keysOnly: true}
	for {
		pairs, err := now.next(ctx, &st, mostPairs)
		if err != nil {
			return err
		}
		if n -= len(pairs); n < 0 {
			return errChanged
		}
		if len(pairs) == 0 {
			if n > 0 {
				return errChanged
			}
			return nil
		}
	}
}
