package tikv

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/kv"
)

// groups puts small batches that come while others are under way into one transaction of the cluster: it takes the
// same requests and timestamps as one batch does. DESIGN.md says why the group is serializable.
//
// A transaction of small batches holds a place. While one is free, a batch takes it at once and goes alone. Those that
// come while none is free wait, and whichever ends first gives its place to as many of them as go together. The
// goroutine of one of them does the work for all.
type groups struct {
	mu      sync.Mutex // guards all below; a leaf lock
	busy    int        // places that are taken
	waiting []*member
	apart   time.Time // until then each batch goes alone: a group has failed
}

const (
	places      = 2
	placeFor    = 20 * time.Millisecond  // then a transaction that is slow gives its place to others
	apartFor    = 100 * time.Millisecond // after a group that has failed
	youngFor    = 100 * time.Millisecond // the age of a snapshot, beyond which its batch goes alone
	memberKeys  = 64                     // that one batch writes
	memberBytes = 32 << 10
	groupKeys   = 256
	groupBytes  = 256 << 10
)

// member is a batch that may go with others.
type member struct {
	part
	ctx  context.Context
	size int
	done chan outcome // one call of the leader
}

// outcome is what a leader tells a member.
type outcome struct {
	ts   uint64
	err  error
	lead []*member // not empty: the member has a place, and does the work for these; it is the first of them
	solo bool      // nothing was written: the batch goes alone
}

// member gives what may go with others, or nil for a batch that goes alone: for what it asks for, for its size, or
// because its snapshot does not remember all that the batch has read.
func (s *Store) member(ctx context.Context, b *kv.Batch) *member {
	n := len(b.Writes) + len(b.Deltas)
	if b.Told != nil || b.Applied != nil || b.Turn != nil || b.Urgent || len(b.Reads.Ranges) > 0 || n > memberKeys {
		return nil
	}
	m := &member{part: part{batch: b}, ctx: ctx}
	for i := range b.Writes {
		if s.opt.Counter(b.Writes[i].Key) || s.opt.Steady(b.Writes[i].Key) {
			return nil
		}
		m.size += len(b.Writes[i].Key) + len(b.Writes[i].Value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m.snap = s.open[b.Snapshot]
	if m.snap == nil || m.snap.used || m.size > memberBytes || time.Since(m.snap.began) > youngFor {
		return nil
	}
	for _, k := range b.Reads.Keys {
		if _, ok := m.snap.seen[string(k)]; !ok || s.opt.Counter(k) {
			return nil
		}
	}
	m.done = make(chan outcome, 1)
	return m
}

// commit commits a member, alone or with others, unless its batch has to go alone after all.
func (g *groups) commit(s *Store, m *member) outcome {
	if g.enter(m) {
		return g.hold(s, []*member{m})
	}
	var o outcome
	select {
	case o = <-m.done:
	case <-m.ctx.Done():
		if g.leave(m) {
			return outcome{err: m.ctx.Err()}
		}
		o = <-m.done // a leader has it, and hears of m.ctx too
	}
	if len(o.lead) > 0 {
		return g.hold(s, o.lead)
	}
	return o
}

// enter takes a place for a member, or makes it wait for one.
func (g *groups) enter(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy < places || time.Now().Before(g.apart) {
		g.busy++
		return true
	}
	g.waiting = append(g.waiting, m)
	return false
}

// leave takes a member off those that wait. false: it is none of them.
func (g *groups) leave(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, m)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}

// hold commits members on a place that is theirs. The answer is that for the first of them.
func (g *groups) hold(s *Store, of []*member) (o outcome) {
	var once sync.Once
	give := func() { once.Do(g.give) }
	late := time.AfterFunc(placeFor, give)
	defer func() { late.Stop(); give() }()
	if len(of) == 1 {
		o.ts, o.err = s.commitAlone(of[0].ctx, of[0].batch)
		return o
	}
	o.err = kv.ErrUndetermined // where this does not come to its end
	defer func() {
		for _, m := range of[1:] {
			m.done <- o
		}
	}()
	o = g.together(s, of)
	return o
}

// give gives a place to those that wait.
func (g *groups) give() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	for g.busy < places && len(g.waiting) > 0 {
		lead := g.next()
		g.busy++
		lead[0].done <- outcome{lead: lead}
	}
}

// next takes the first that waits, and those behind it that may go with it; g.mu is held. Of two batches in one group
// none writes or adds to what the other one has read or writes. Both may add to one counter.
func (g *groups) next() []*member {
	var lead, left []*member
	t := touched{}
	apart := time.Now().Before(g.apart)
	keys, size := 0, 0
	for _, m := range g.waiting {
		n := len(m.batch.Writes) + len(m.batch.Deltas)
		if len(lead) > 0 && (apart || keys+n > groupKeys || size+m.size > groupBytes || !t.apart(m)) {
			left = append(left, m)
			continue
		}
		t.add(m)
		lead, keys, size = append(lead, m), keys+n, size+m.size
	}
	g.waiting = left
	return lead
}

// touched is what a group does with keys.
type touched map[string]touch

type touch struct{ read, written, added bool }

// apart reports whether a member and those in t leave each other's keys alone.
func (t touched) apart(m *member) bool {
	for i := range m.batch.Writes {
		if t[string(m.batch.Writes[i].Key)] != (touch{}) {
			return false
		}
	}
	for i := range m.batch.Deltas {
		if k := t[string(m.batch.Deltas[i].Key)]; k.read || k.written {
			return false
		}
	}
	ok := true
	m.reads(func(key []byte) {
		if k := t[string(key)]; k.written || k.added {
			ok = false
		}
	})
	return ok
}

// add counts what a member does.
func (t touched) add(m *member) {
	note := func(key []byte, set func(*touch)) {
		k := t[string(key)]
		set(&k)
		t[string(key)] = k
	}
	for i := range m.batch.Writes {
		note(m.batch.Writes[i].Key, func(k *touch) { k.written = true })
	}
	for i := range m.batch.Deltas {
		note(m.batch.Deltas[i].Key, func(k *touch) { k.added = true })
	}
	m.reads(func(key []byte) { note(key, func(k *touch) { k.read = true }) })
}

// together commits several members in one transaction. It starts at the oldest of their snapshots, so what one of them
// has both read and writes is checked by the cluster.
func (g *groups) together(s *Store, of []*member) outcome {
	all := &kv.Batch{Snapshot: of[0].batch.Snapshot}
	a := &attempt{store: s, batch: all, checked: true}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, m := range of {
		if m.ctx.Done() != nil {
			defer context.AfterFunc(m.ctx, cancel)()
		}
		all.Snapshot = min(all.Snapshot, m.batch.Snapshot)
		all.Writes = append(all.Writes, m.batch.Writes...)
		all.Deltas = append(all.Deltas, m.batch.Deltas...)
		a.parts = append(a.parts, m.part)
	}
	slices.SortFunc(all.Writes, func(x, y kv.Write) int { return bytes.Compare(x.Key, y.Key) })
	all.Deltas = added(all.Deltas)
	start, taken := s.take(all.Snapshot)
	if !taken {
		return outcome{solo: true}
	}
	a.start = start
	ts, err := a.run(ctx)
	switch {
	case err == nil:
		s.committed(ts, len(of))
		return outcome{ts: ts}
	case errors.Is(err, kv.ErrUndetermined), errors.Is(err, kv.ErrUnavailable), errors.Is(err, kv.ErrClosed):
		return outcome{err: err}
	default: // one of them may be to blame
		g.mu.Lock()
		defer g.mu.Unlock()
		g.apart = time.Now().Add(apartFor)
		return outcome{solo: true}
	}
}

// added sums up what is added to each counter, in the order of keys.
func added(deltas []kv.Delta) []kv.Delta {
	slices.SortStableFunc(deltas, func(x, y kv.Delta) int { return bytes.Compare(x.Key, y.Key) })
	out := deltas[:0]
	for _, d := range deltas {
		if n := len(out); n > 0 && bytes.Equal(out[n-1].Key, d.Key) {
			out[n-1].Add += d.Add
			continue
		}
		out = append(out, d)
	}
	return out
}
