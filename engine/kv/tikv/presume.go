package tikv

import (
	"golang.org/x/sync/errgroup"

	"github.com/nacredb/nacre/engine/kv"
)

// belief is what a snapshot goes by until it has asked. The zero value is none.
type belief struct {
	pairs map[string]answer
	used  [][]byte // the keys of pairs that Get has answered
	moved bool     // one of them is not so
}

// answer gives what a key is taken to hold.
func (b *belief) answer(key []byte) (answer, bool) {
	a, ok := b.pairs[string(key)]
	if !ok {
		return a, false
	}
	for _, k := range b.used {
		if string(k) == string(key) {
			return a, true
		}
	}
	b.used = append(b.used, append([]byte(nil), key...))
	return a, true
}

// asked are the keys that the next request has to ask for. What no Get has asked for until then is dropped.
func (b *belief) asked() [][]byte { return append([][]byte(nil), b.used...) }

// AtHand implements kv.Presuming.
func (sn *snapshot) AtHand(key []byte) (value []byte, there, known bool) {
	a, known := sn.ahead[string(key)]
	return a.value, a.there, known
}

// presume makes a snapshot go by pairs.
func (sn *snapshot) presume(pairs []kv.Pair) {
	sn.belief = belief{pairs: make(map[string]answer, len(pairs))}
	for _, p := range pairs {
		sn.belief.pairs[string(p.Key)] = answer{p.Value, p.Value != nil}
	}
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
	presumed := sn.belief.asked()
	if len(presumed) == 0 {
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
func (sn *snapshot) compare(presumed [][]byte) error {
	was := sn.belief
	sn.belief = belief{moved: was.moved}
	for _, k := range presumed {
		a, read := sn.ahead[string(k)] // not where it is damaged
		if b := was.pairs[string(k)]; !read || digest(a.value, a.there) != digest(b.value, b.there) {
			sn.belief.moved = true
		}
	}
	if sn.belief.moved {
		return kv.ErrMoved
	}
	return nil
}
