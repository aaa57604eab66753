package tikv

import (
	"bytes"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/nacredb/nacre/engine/kv"
)

// belief is what a snapshot goes by until it has asked. The zero value is none.
type belief struct {
	pairs []kv.Pair // a few; they belong to others as well
	used  []int     // those that Get has answered
	moved bool      // one of them is not so
}

// answer gives what a key is taken to hold.
func (b *belief) answer(key []byte) (answer, bool) {
	i := slices.IndexFunc(b.pairs, func(p kv.Pair) bool { return bytes.Equal(p.Key, key) })
	if i < 0 {
		return answer{}, false
	}
	if !slices.Contains(b.used, i) {
		b.used = append(b.used, i)
	}
	return answer{b.pairs[i].Value, b.pairs[i].Value != nil}, true
}

// asked are the keys that the next request has to ask for. What no Get has asked for until then is dropped.
func (b *belief) asked() [][]byte {
	if len(b.used) == 0 {
		return nil
	}
	keys := make([][]byte, len(b.used), len(b.used)+1)
	for n, i := range b.used {
		keys[n] = b.pairs[i].Key
	}
	return keys
}

// AtHand implements kv.Presuming.
func (sn *snapshot) AtHand(key []byte) (value []byte, there, known bool) {
	a, known := sn.hand.look(key)
	return a.value, a.there, known
}

// presume makes a snapshot go by pairs.
func (sn *snapshot) presume(pairs []kv.Pair) {
	sn.belief = belief{pairs: pairs, used: make([]int, 0, 4)} // so many as a statement needs
}

// Settle implements kv.Presuming.
func (sn *snapshot) Settle() error {
	if sn.belief.moved {
		return kv.ErrMoved
	}
	if len(sn.belief.used) == 0 {
		sn.belief = belief{}
		return nil
	}
	_, err := sn.Prefetch(nil)
	return err
}

// beside makes a request, and beside it the one that asks for what was presumed.
func (sn *snapshot) beside(request func() error) error {
	if sn.belief.moved {
		return kv.ErrMoved
	}
	if err := sn.asks(); err != nil {
		return err
	}
	if len(sn.belief.used) == 0 {
		sn.belief = belief{} // nothing has come of it
		return request()
	}
	sn.reader.store.trips.together.Add(1)
	var group errgroup.Group
	group.Go(request)
	_, err := sn.Prefetch(nil)
	if e := group.Wait(); err == nil {
		err = e
	}
	return err
}

// compare looks whether what was presumed of keys is what Prefetch has read, and ends the presumption.
func (sn *snapshot) compare() error {
	was := sn.belief
	sn.belief = belief{moved: was.moved}
	for _, i := range was.used {
		p := was.pairs[i]
		a, read := sn.hand.look(p.Key) // not where it is damaged
		if !read || a.there != (p.Value != nil) || !bytes.Equal(a.value, p.Value) {
			sn.belief.moved = true
		}
	}
	if sn.belief.moved {
		return kv.ErrMoved
	}
	return nil
}
