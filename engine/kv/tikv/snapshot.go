package tikv

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"

	"github.com/nacredb/nacre/engine/kv"
)

// snapshot implements kv.Snapshot.
type snapshot struct {
	reader *reader
	began  time.Time
	once   sync.Once
	seen   map[string]uint64 // the digests of what Get gave, by key; see digest
	hand   atHand            // what Prefetch has read
	begun  begun             // scans that PrefetchRanges has begun
	belief belief            // see Presume
	early  bool              // see early.go
	quiet  bool              // it has made no request yet
	used   bool              // a commit has taken its timestamp as its own; guarded by Store.mu
}

// maxSeen is how many answers a snapshot remembers. Beyond it a validation reads them again.
const maxSeen = 4096

func newSnapshot(s *Store, ts uint64) *snapshot {
	return &snapshot{reader: s.reader(ts), began: time.Now(), quiet: true}
}

// seed makes digests, and what collides, secret of this process.
var seed = maphash.MakeSeed()

// digest tells values apart, and from none at all: two of them are the same for different values once in 2⁶⁴.
func digest(v []byte, there bool) uint64 {
	if !there {
		return 0
	}
	return maphash.Bytes(seed, v) | 1
}

// Version implements kv.Snapshot: it is a timestamp of the cluster.
func (sn *snapshot) Version() kv.Version {
	if err := sn.asks(); err != nil {
		sn.belief.moved = true // what goes on with it begins again, and hears why there
	}
	return sn.Base()
}

// Get implements kv.Snapshot.
func (sn *snapshot) Get(key []byte) ([]byte, bool, error) {
	if len(key) == 0 {
		return nil, false, nil
	}
	v, ok, err := sn.get(key)
	if err != nil {
		return nil, false, err
	}
	if sn.belief.moved {
		return nil, false, kv.ErrMoved
	}
	if len(sn.seen) < maxSeen {
		if sn.seen == nil {
			sn.seen = map[string]uint64{}
		}
		sn.seen[string(key)] = digest(v, ok)
	}
	return v, ok, nil
}

func (sn *snapshot) get(key []byte) ([]byte, bool, error) {
	if a, ok := sn.hand.take(key); ok {
		return a.value, a.there, nil
	}
	if a, ok := sn.belief.answer(key); ok {
		return a.value, a.there, nil
	}
	if owed, err := sn.owed(); err != nil {
		return nil, false, err
	} else if len(owed) > 0 && !sn.reader.store.opt.Counter(key) {
		if _, err := sn.prefetch(append(owed, key)); err != nil {
			return nil, false, err
		}
		if a, ok := sn.hand.take(key); ok {
			return a.value, a.there, nil
		}
	}
	var v []byte
	var there bool
	err := sn.beside(func() (err error) {
		v, there, err = sn.reader.value(sn.reader.store.ctx, key)
		return err
	})
	return v, there, err
}

// Prefetch implements kv.Prefetcher. Counters are left to Get, and so is what is damaged.
func (sn *snapshot) Prefetch(keys [][]byte) (next int, err error) {
	owed, err := sn.owed()
	if err != nil {
		return 0, err
	}
	return sn.prefetch(append(owed, keys...))
}

// prefetch is Prefetch of all keys that are owed, and others.
func (sn *snapshot) prefetch(all [][]byte) (next int, err error) {
	s := sn.reader.store
	sn.hand.room(len(all))
	asked := make([][]byte, 0, len(all)+1)
	answers := make([]held, len(all))
	var steady [][]byte
	for i, key := range all {
		if len(key) > 0 && !sn.hand.again(key) && !s.opt.Counter(key) {
			asked = append(asked, s.space.base(key))
			sn.hand.expect(key, &answers[i])
			if s.opt.Steady(key) {
				steady = append(steady, key)
			}
		}
	}
	if len(asked) == 0 {
		return keysPerRequest, sn.compare()
	}
	if err := sn.asks(); err != nil {
		return 0, err
	}
	size, until := 1, uint64(0)
	if len(steady) > 0 {
		asked = append(asked, s.steady.key)
	}
	err = sn.reader.getAll(s.ctx, asked, func(k, stored []byte) {
		size += len(stored)
		key, _, wrong := s.space.decode(k)
		if wrong != nil {
			until = s.steady.announcement(stored)
			return
		}
		if v, wrong := unseal(k, stored); wrong == nil {
			sn.hand.found(key, v)
		} else {
			sn.hand.drop(key)
		}
	})
	if err != nil {
		sn.hand = atHand{}
		return 0, err
	}
	for _, key := range steady {
		if a, read := sn.hand.look(key); read && until <= sn.reader.at {
			s.steady.note(key, digest(a.value, a.there), sn.reader.at)
		}
	}
	if err := sn.compare(); err != nil {
		return 0, err
	}
	return max(1, min(keysPerRequest, len(asked)*batchBytes/size)), nil
}

// Scan implements kv.Snapshot.
func (sn *snapshot) Scan(r kv.Range, opt kv.ScanOptions) kv.Cursor {
	c := &cursor{ctx: sn.reader.store.ctx, reader: sn.reader, of: sn, opt: opt}
	c.Move(r)
	return c
}

// Release implements kv.Snapshot.
func (sn *snapshot) Release() {
	sn.once.Do(func() {
		s := sn.reader.store
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, sn.Base())
	})
}

// How many pairs a scan asks for at once: few first, for most scans end early, then more as long as they are small.
const (
	firstPairs = 32
	mostPairs  = 1024
	batchBytes = 4 << 20
)

// cursor implements kv.Cursor.
type cursor struct {
	ctx    context.Context
	reader *reader
	of     *snapshot // nil: of a reader alone
	opt    kv.ScanOptions
	rest   stretch
	left   int // keys still to give; negative: no limit
	batch  int // pairs to ask for next
	pairs  []*kvrpcpb.KvPair
	key    []byte
	val    []byte
	err    error
}

// Move implements kv.Cursor.
func (c *cursor) Move(r kv.Range) {
	start, end := c.reader.store.space.bounds(r)
	c.rest = stretch{start: start, end: end, reverse: c.opt.Reverse, keysOnly: c.opt.KeysOnly}
	if c.left = c.opt.Limit; c.left <= 0 {
		c.left = -1
	}
	c.pairs, c.batch, c.key, c.val, c.err = nil, 0, nil, nil, nil
}

// peek makes the next pair the first of c.pairs; false: there is none.
func (c *cursor) peek() bool {
	if len(c.pairs) > 0 {
		return true
	}
	first := c.batch == 0
	if first {
		c.batch = firstPairs
		if c.left > 0 {
			c.batch = min(max(c.left+1, 2), mostPairs)
		}
	}
	if !first || !c.goOn() {
		c.err = c.request()
	}
	if c.err != nil || len(c.pairs) == 0 {
		return false
	}
	c.batch = max(1, min(2*c.batch, mostPairs, len(c.pairs)*batchBytes/weight(c.pairs)))
	return true
}

// weight is about what pairs take, at least 1.
func weight(pairs []*kvrpcpb.KvPair) int {
	bytes := 1
	for _, p := range pairs {
		bytes += len(p.Key) + len(p.Value)
	}
	return bytes
}

// request reads the next pairs.
func (c *cursor) request() error {
	read := func() (err error) {
		c.pairs, err = c.reader.next(c.ctx, &c.rest, c.batch)
		return err
	}
	if c.of == nil {
		return read()
	}
	err := c.of.beside(read)
	if err != nil {
		c.pairs = nil
	}
	return err
}

// Next implements kv.Cursor.
func (c *cursor) Next() bool {
	if c.left == 0 || c.err != nil || !c.peek() {
		return false
	}
	if c.err = c.take(); c.err != nil {
		return false
	}
	if c.left > 0 {
		c.left--
	}
	return true
}

// Peek implements kv.Peeker with what the last request has brought. It leaves out counters.
func (c *cursor) Peek(n int) (out []kv.Pair) {
	if c.left >= 0 {
		n = min(n, c.left)
	}
	return c.reader.store.shown(c.pairs[:min(max(n, 0), len(c.pairs))], c.opt.KeysOnly)
}

// shown is what Peek gives of pairs.
func (s *Store) shown(pairs []*kvrpcpb.KvPair, keysOnly bool) (out []kv.Pair) {
	for _, p := range pairs {
		key, isDelta, err := s.space.decode(p.Key)
		if err != nil || isDelta || s.opt.Counter(key) {
			break
		}
		pair := kv.Pair{Key: key}
		if !keysOnly {
			if pair.Value, err = unseal(p.Key, p.Value); err != nil {
				break // Next says so
			}
		}
		out = append(out, pair)
	}
	return out
}

// take makes the next key, with all that was added to it, the present one.
func (c *cursor) take() error {
	s := c.reader.store
	p := c.pairs[0]
	key, isDelta, err := s.space.decode(p.Key)
	if err != nil {
		return err
	}
	c.key, c.val = key, nil
	if !isDelta && (c.opt.Reverse || !s.opt.Counter(key)) { // nothing follows that belongs to it
		c.pairs = c.pairs[1:]
		if !c.opt.KeysOnly {
			c.val, err = unseal(p.Key, p.Value)
		}
		return err
	}
	return c.takeCounter(key)
}

// takeCounter takes the pairs of one key: its base and its deltas.
func (c *cursor) takeCounter(key []byte) error {
	s := c.reader.store
	var base []byte
	var deltas [][]byte
	for c.peek() {
		p := c.pairs[0]
		of, isDelta, err := s.space.decode(p.Key)
		if err != nil {
			return err
		}
		if !slices.Equal(of, key) {
			break
		}
		c.pairs = c.pairs[1:]
		if c.opt.KeysOnly {
			continue
		}
		v, err := unseal(p.Key, p.Value)
		if err != nil {
			return err
		}
		if isDelta {
			deltas = append(deltas, v)
		} else {
			base = v
		}
	}
	if c.err != nil || c.opt.KeysOnly {
		return c.err
	}
	if len(deltas) == 0 {
		c.val = base
		return nil
	}
	s.folder.seen(key, len(deltas))
	var err error
	c.val, err = sum(key, base, deltas)
	return err
}

// Key implements kv.Cursor.
func (c *cursor) Key() []byte { return c.key }

// Value implements kv.Cursor.
func (c *cursor) Value() []byte { return c.val }

// Err implements kv.Cursor.
func (c *cursor) Err() error { return c.err }

// Close implements kv.Cursor.
func (c *cursor) Close() { c.pairs, c.rest = nil, stretch{} }
