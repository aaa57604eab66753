package record

import (
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/value"
)

// Ahead reads the records behind links that are about to be followed, many together, where the store is elsewhere and
// each read is a request over the network. It changes no answer: what it has read is only nearer when it is asked for.
// The zero value is ready for one list.
type Ahead struct {
	left  int // links that are read and not reached
	count int // how many to read next
}

// firstAhead is how many are read first; it grows fourfold, for who follows links often stops early.
const firstAhead = 32

// Reach must be called at each element of a list, with the elements from that one on. Errors: those of reads.
func (a *Ahead) Reach(g *Gate, next []value.Value) error {
	if a.left > 0 {
		a.left--
		return nil
	}
	if len(next) < 2 || g.At != 0 || next[0].Kind() != value.KindRecord {
		return nil
	}
	next = next[:min(len(next), max(a.count, firstAhead))]
	most, err := g.Prefetch(next)
	a.left, a.count = len(next)-1, min(4*len(next), most)
	return err
}

// Prefetch reads the records of those of links that are record ids, together. It gives how many are good to ask for the
// next time. On a store that is here it does nothing.
func (g *Gate) Prefetch(links []value.Value) (next int, err error) {
	if !g.Tx.Prefetches() || g.At != 0 {
		return 0, nil
	}
	keys := make([][]byte, 0, len(links))
	for _, v := range links {
		if v.Kind() != value.KindRecord || v.Record().Key.Kind() == value.KindRange {
			continue
		}
		id := v.Record()
		tb, err := g.Cat.Table(g.DB, id.Table)
		if err != nil {
			return 0, err
		}
		if tb != nil {
			keys = append(keys, key.Record(nil, tb.Scope.NS, tb.Scope.DB, tb.ID, id.Key))
		}
	}
	if len(keys) < 2 {
		return 0, nil
	}
	return g.Tx.Prefetch(keys)
}
