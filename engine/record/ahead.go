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
	if a.passes() || len(next) < 2 || g.At != 0 || next[0].Kind() != value.KindRecord {
		return nil
	}
	next = next[:min(len(next), a.count)]
	most, err := g.Prefetch(next)
	a.Read(len(next), most)
	return err
}

// Due is for lists of something else, in the place of Reach: it must be called at each element, with how many there are
// from that one on. It gives how many to read ahead now, and Read follows; 0: the element was read, or that is no use.
func (a *Ahead) Due(g *Gate, n int) int {
	if a.passes() || n < 2 || g.At != 0 || !g.Tx.Prefetches() {
		return 0
	}
	return min(n, a.count)
}

// passes reports whether the element that is reached was read. If not, count says how many to read.
func (a *Ahead) passes() bool {
	if a.left > 0 {
		a.left--
		return true
	}
	if a.count == 0 {
		a.count = firstAhead
	}
	return false
}

// Read notes that n elements are read, the one that is reached among them; most are good to ask for the next time.
func (a *Ahead) Read(n, most int) { a.left, a.count = n-1, min(4*n, most) }

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
