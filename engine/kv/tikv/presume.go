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

// owed are the keys that the next request has to ask for: those that Get has answered, but for steady ones that surely
// are so. The snapshot has a timestamp afterwards, if it had to look. What no Get has asked for until then is dropped.
func (sn *snapshot) owed() ([][]byte, error) {
	b := &sn.belief
	if len(b.used) == 0 {
		return nil, nil
	}
	if err := sn.asks(); err != nil {
		return nil, err
	}
	s := sn.reader.store
	keys, used := make([][]byte, 0, len(b.used)+1), b.used[:0]
	for _, i := range b.used {
		p := b.pairs[i]
		a := answer{p.Value, p.Value != nil}
		if s.opt.Steady(p.Key) && s.steady.holds(p.Key, digest(a.value, a.there), sn.reader.at) {
			sn.hand.keep(p.Key, a)
			continue
		}
		keys, used = append(keys, p.Key), append(used, i)
	}
	b.used = used
	return keys, nil
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
	owed, err := sn.owed()
	if err != nil {
		return err
	}
	if len(owed) == 0 {
		sn.belief = belief{} // nothing is left of it
		return request()
	}
	sn.reader.store.trips.together.Add(1)
	var group errgroup.Group
	group.Go(request)
	_, err = sn.prefetch(owed)
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
