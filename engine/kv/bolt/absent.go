package bolt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/kv/bloom"
)

// absence answers look-ups of keys that a large data.db does not have, which are what each INSERT of a new record asks.
// Without it each is a way down the tree, to a leaf that nothing else wants, read from the disk or at least mapped.
//
// It is made on demand: when so many look-ups were in vain as data.db has pages, it has cost about as much to find
// nothing as it costs to read all keys once and put them into a filter. From then on checkpoints add what they write.
// Look-ups that the filter could have spared, were it larger or without the keys that are gone, count again: each costs
// more than a page of the next filter, so that is made after a quarter as many.
type absence struct {
	filter atomic.Pointer[bloom.Filter] // of all keys of what data.db is now; nil: none
	making atomic.Pointer[bloom.Filter] // of all keys written since it was begun, and some of those before; nil: none
	vain   atomic.Int64                 // look-ups since the last one was made
	busy   atomic.Bool                  // one is being made, or none can be: data.db is damaged, or too large
}

const (
	absenceFrom = 32 << 20 // bytes of data.db that are worth a filter; smaller ones are in the caches
	bitsOfKey   = 20       // of the filter, when it is new: twice as many keys do well with it
	mostRoom    = 1 << 28  // bits of a filter: 32 MiB
	mostKeys    = 1 << 25  // of data.db: with 8 bits for each, a filter is wrong about one in 30
)

// add adds keys that a checkpoint is about to write.
func (a *absence) add(keys [][]byte) {
	for _, f := range []*bloom.Filter{a.filter.Load(), a.making.Load()} {
		if f != nil {
			f.AddAll(keys)
		}
	}
}

// learnAbsent has a filter made if that is worthwhile for a data.db of so many pages.
func (s *Store) learnAbsent(pages uint64) {
	a := &s.absent
	due := int64(pages)
	if a.filter.Load() != nil {
		due /= 4
	}
	if int64(pages)*int64(s.db.Info().PageSize) >= s.opt.absenceFrom && a.vain.Load() >= due &&
		a.busy.CompareAndSwap(false, true) {
		s.background.Go(s.makeAbsence)
	}
}

// makeAbsence makes the filter of what data.db is now and will be.
func (s *Store) makeAbsence() {
	b, f, err := s.beginAbsent()
	if err == nil {
		err = s.gatherKeys(b.pages, f)
	}
	if b != nil {
		err = errors.Join(err, s.dropBase(b))
	}
	s.pager.writing.Lock()
	defer s.pager.writing.Unlock()
	s.absent.making.Store(nil)
	s.absent.vain.Store(0)
	switch {
	case err == nil:
		s.absent.filter.Store(f)
		s.absent.busy.Store(false)
	case !errors.Is(err, errStopped): // it stays busy: none is made until the store is opened again
		s.opt.Log.Warn("look-ups of keys that are not there stay slow", "err", err)
	}
}

// beginAbsent gives a state of data.db, and an empty filter that all keys are added to that are written after it.
func (s *Store) beginAbsent() (*base, *bloom.Filter, error) {
	s.pager.writing.Lock()
	defer s.pager.writing.Unlock()
	b, err := s.openBase()
	if err != nil {
		return nil, nil, err
	}
	b.refs.Store(1)
	keys, err := b.pages.estimate()
	if err == nil && keys > mostKeys {
		err = fmt.Errorf("%s has about %d keys: a filter of more than %d would seldom deny one", dataFile, keys, mostKeys)
	}
	if err != nil {
		return b, nil, err
	}
	f := bloom.New(min(bitsOfKey*keys, mostRoom))
	s.absent.making.Store(f)
	return b, f, nil
}

var errStopped = errors.New("the store is being closed")

// somePaths is how many ways down the tree estimate goes.
const somePaths = 64

// estimate is about how many keys the tree has: the mean, over random ways down, of the product of how many elements
// their pages have (Knuth: Estimating the Efficiency of Backtrack Programs, Math. Comp. 29, 1975).
func (p *pages) estimate() (keys int, err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	for range somePaths {
		s, product := p.root, p.root.n
		for depth := p.depth; depth > 1; depth-- {
			if !s.branch {
				return 0, damagedPage(s.id, "is at a wrong depth")
			}
			if s, err = p.sheet(s.child(rand.IntN(s.n))); err != nil {
				return 0, err
			}
			product *= s.n
		}
		keys += product
	}
	return keys / somePaths, nil
}

// eachOfLeaves is after how many leaves gatherKeys looks whether it is to stop.
const eachOfLeaves = 1024

// gatherKeys adds all keys to a filter. Checksums have to vouch for them, for a damaged key stands for another one,
// which the filter would deny.
func (s *Store) gatherKeys(p *pages, f *bloom.Filter) (err error) {
	defer asCorrupt(&err, debug.SetPanicOnFault(true))
	c := boltCursor{pages: p, proves: true}
	defer c.tell()
	k, _, err := c.find(nil)
	var keys [][]byte
	for n := 1; k != nil && err == nil; n++ {
		leaf := &c.stack[len(c.stack)-1]
		p.prove(&leaf.sheet)
		keys = keys[:0]
		for i := range leaf.n {
			if !leaf.sound {
				if err := leaf.verify(i); err != nil {
					return err
				}
			}
			keys = append(keys, leaf.key(i))
		}
		f.AddAll(keys)
		if n%eachOfLeaves == 1 {
			select {
			case <-s.stop:
				return errStopped
			default:
			}
		}
		leaf.at = leaf.n - 1
		k, _, err = c.step(true)
	}
	return err
}
