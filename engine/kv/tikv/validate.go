package tikv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/nacredb/nacre/engine/kv"
)

// validate compares what the batch has read, as of its snapshot, with the state at ts, its own locks looked through.
// Errors: errChanged, kv.ErrCounter for an addition to what is no counter, those of reads.
func (a *attempt) validate(ctx context.Context, ts uint64) error {
	s, b := a.store, a.batch
	if err := a.checkAge(ctx); err != nil {
		return err
	}
	own := []uint64{a.start}
	if a.start == 0 {
		own = nil
	}
	now, then := s.reader(ts, own...), s.reader(uint64(b.Snapshot))
	now.validating, then.validating = true, true
	looks := a.lookAtKeys(now, then)
	for key, n := range a.cleared {
		base := s.space.base([]byte(key))
		looks = append(looks, func(ctx context.Context) error { return onlyDeltas(ctx, now, base, n) })
	}
	if s.opt.Isolation == kv.Serializable {
		for _, r := range b.Reads.Ranges {
			if !r.Empty() {
				looks = append(looks, func(ctx context.Context) error { return sameRange(ctx, now, then, r) })
			}
		}
	}
	if len(looks) == 1 { // as nearly always: nothing goes through another goroutine
		return looks[0](ctx)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(requestsAtOnce)
	for _, look := range looks {
		group.Go(func() error { return look(ctx) })
	}
	return group.Wait()
}

// checkAge refuses a transaction at the timestamp of a snapshot that is too old by now. The cluster may have cleared
// away that a key was removed since, and finds no conflict over it then.
func (a *attempt) checkAge(ctx context.Context) error {
	if !a.checked || !slices.ContainsFunc(a.parts, func(p part) bool { return len(p.batch.Reads.Keys) > 0 }) {
		return nil
	}
	return a.store.failure(ctx, a.store.client.CheckVisibility(a.start))
}

// look compares some of what was read. Errors: those of validate.
type look func(ctx context.Context) error

// lookAtKeys compares single keys, and looks whether what is added to is a counter. What a snapshot remembers is not
// read again: only a batch that goes alone may have read more.
func (a *attempt) lookAtKeys(now, then *reader) (looks []look) {
	s := a.store
	check := sameKeys{now: now, then: then}
	surely := func(key []byte, digest uint64) bool {
		return s.opt.Steady(key) && s.steady.holds(key, digest, now.at)
	}
	for _, p := range a.parts {
		for _, key := range p.batch.Reads.Keys {
			switch seen, ok := p.seen(key); {
			case a.checked && a.writes(key):
			case s.opt.Counter(key):
				looks = append(looks, func(ctx context.Context) error { return sameValue(ctx, now, then, key) })
			case ok && surely(key, seen):
			case ok:
				check.expect(key, seen)
			default:
				check.unseen = append(check.unseen, s.space.base(key))
			}
		}
		if p.snap == nil {
			continue
		}
		for _, i := range p.snap.belief.used { // what it goes by and has not asked for counts as read
			of := p.snap.belief.pairs[i]
			if d := digest(of.Value, of.Value != nil); !surely(of.Key, d) {
				check.expect(of.Key, d)
			}
		}
	}
	for _, d := range a.batch.Deltas {
		if !s.folder.knows(d.Key) {
			check.keys = append(check.keys, expected{k: s.space.base(d.Key), counter: d.Key})
		}
	}
	if len(check.keys)+len(check.unseen) > 0 {
		looks = append(looks, check.run)
	}
	return looks
}

// seen gives the digest of what the snapshot gave for a key, if it remembers that.
func (p part) seen(key []byte) (uint64, bool) {
	if p.snap == nil {
		return 0, false
	}
	d, ok := p.snap.seen[string(key)]
	return d, ok
}

// reads calls f with each key that the batch has read, or goes by.
func (p part) reads(f func(key []byte)) {
	for _, k := range p.batch.Reads.Keys {
		f(k)
	}
	if p.snap != nil {
		for _, i := range p.snap.belief.used {
			f(p.snap.belief.pairs[i].Key)
		}
	}
}

// writes reports whether the batch writes key.
func (a *attempt) writes(key []byte) bool {
	_, ok := slices.BinarySearchFunc(a.batch.Writes, key, func(w kv.Write, k []byte) int {
		return bytes.Compare(w.Key, k)
	})
	return ok
}

// sameKeys compares keys of the cluster.
type sameKeys struct {
	now, then *reader
	keys      []expected
	steady    bool     // some of them are
	unseen    [][]byte // keys, in the cluster, whose digests then has to tell
}

// expected is what a key must have.
type expected struct {
	k       []byte // in the cluster
	want    uint64 // the digest
	counter []byte // nil, or the name of a key that only has to be a counter, or absent
	steady  []byte // nil, or the name of a key that is steady
	have    uint64
}

// expect notes that a key must have a digest.
func (c *sameKeys) expect(key []byte, d uint64) {
	e := expected{k: c.now.store.space.base(key), want: d}
	if c.now.store.opt.Steady(key) {
		e.steady, c.steady = key, true
	}
	c.keys = append(c.keys, e)
}

// find gives what is expected of a key.
func (c *sameKeys) find(k []byte) *expected {
	i, ok := slices.BinarySearchFunc(c.keys, k, func(e expected, k []byte) int { return bytes.Compare(e.k, k) })
	if !ok {
		return nil
	}
	return &c.keys[i]
}

// run reads the keys and compares. Errors: errChanged, kv.ErrCounter, those of reads.
func (c *sameKeys) run(ctx context.Context) error {
	if err := c.ask(ctx); err != nil {
		return err
	}
	if err := c.order(); err != nil {
		return err
	}
	keys := make([][]byte, len(c.keys), len(c.keys)+1)
	for i := range c.keys {
		keys[i] = c.keys[i].k
	}
	st, until := &c.now.store.steady, uint64(0)
	if c.steady {
		keys = append(keys, st.key)
	}
	var bad error
	err := c.now.getAll(ctx, keys, func(k, stored []byte) {
		if bytes.Equal(k, st.key) {
			until = st.announcement(stored)
			return
		}
		v, err := unseal(k, stored)
		if e := c.find(k); e != nil {
			if _, ok := kv.Counter(v); e.counter != nil && err == nil && !ok {
				err = fmt.Errorf("add to key %x: %w", e.counter, kv.ErrCounter)
			}
			e.have = digest(v, true)
		}
		if err != nil {
			bad = err
		}
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	for i := range c.keys {
		e := &c.keys[i]
		if e.steady != nil && until <= c.now.at {
			st.note(e.steady, e.have, c.now.at)
		}
		if e.counter == nil && e.have != e.want {
			return errChanged
		}
	}
	return nil
}

// order sorts the keys, and puts together what is expected of one. Errors: errChanged where different values of it were
// read, or gone by.
func (c *sameKeys) order() error {
	slices.SortFunc(c.keys, func(a, b expected) int { return bytes.Compare(a.k, b.k) })
	for i := 1; i < len(c.keys); i++ {
		a, b := &c.keys[i-1], &c.keys[i]
		if bytes.Equal(a.k, b.k) && a.want != b.want && a.counter == nil && b.counter == nil {
			return errChanged
		}
	}
	c.keys = slices.CompactFunc(c.keys, func(a, b expected) bool { return bytes.Equal(a.k, b.k) })
	return nil
}

// ask looks up what the snapshot gave for the unseen keys.
func (c *sameKeys) ask(ctx context.Context) error {
	if len(c.unseen) == 0 {
		return nil
	}
	was := map[string]uint64{}
	var bad error
	err := c.then.getAll(ctx, c.unseen, func(k, stored []byte) {
		v, err := unseal(k, stored)
		if was[string(k)] = digest(v, true); err != nil {
			bad = err
		}
	})
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	for _, k := range c.unseen {
		c.keys = append(c.keys, expected{k: k, want: was[string(k)]})
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
