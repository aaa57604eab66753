// Package budget bounds the memory that the statements of a process hold together.
//
// A Pool is what there is for all of them, an Account what one query or transaction has of it. An account counts for
// itself and asks the pool for whole chunks; the first chunk it has for nothing, so small queries never touch what all
// share. What an account once had it keeps until it is closed: the pool holds the sum of the most that each needed so
// far. What does not fit is refused with an error that tells the client to try again; nobody waits.
//
// The figures are those of value.Weight and lengths of keys: about what memory is taken, not what the collector says.
package budget

import (
	"math"
	"runtime/debug"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/internal/heap"
)

// chunk is what accounts take of the pool at a time, in bytes.
const chunk = 1 << 20

// unknownMemory is what a machine is taken for that does not tell how much memory it has.
const unknownMemory = 4 << 30

// share is the part of its memory that a process has for statements. The rest is for what they are encoded as and copied
// to on the way out, for what is to be collected, about as much again, and for what the store keeps.
const share = 4

// Default is the limit of a pool where none is given, in bytes: a quarter of the memory that the process may use, as the
// machine, its container or GOMEMLIMIT has it.
func Default() int64 {
	all := int64(min(heap.Memory(), math.MaxInt64))
	if all == 0 {
		all = unknownMemory
	}
	return min(all, debug.SetMemoryLimit(-1)) / share
}

// Pool is a number of bytes to share out. It is safe for concurrent use. A nil Pool has no end.
type Pool struct {
	limit   int64
	taken   atomic.Int64
	refused atomic.Uint64
}

// NewPool makes a pool of limit bytes.
func NewPool(limit int64) *Pool { return &Pool{limit: limit} }

// Stats is the state of a pool.
type Stats struct {
	Limit   int64  // bytes that there are
	Taken   int64  // bytes that accounts have
	Refused uint64 // how often one was refused more
}

// Stats is the state of the pool; of a nil Pool it is zero.
func (p *Pool) Stats() Stats {
	if p == nil {
		return Stats{}
	}
	return Stats{Limit: p.limit, Taken: p.taken.Load(), Refused: p.refused.Load()}
}

// take takes n bytes, or none.
func (p *Pool) take(n int64) bool {
	for {
		taken := p.taken.Load()
		if n > p.limit-taken {
			p.refused.Add(1)
			return false
		}
		if p.taken.CompareAndSwap(taken, taken+n) {
			return true
		}
	}
}

// Hold counts n bytes until release is called. They are there already, so they are not refused, even where they are more
// than is left: others wait until they are gone. A few bytes are not counted.
func (p *Pool) Hold(n int) (release func()) {
	if p == nil || n <= chunk {
		return nothing
	}
	p.taken.Add(int64(n))
	return func() { p.taken.Add(-int64(n)) }
}

func nothing() {}

// Account is what one query or transaction holds. It belongs to one goroutine at a time. The zero Account, and a nil one,
// counts against nothing; others come from Pool.Account and must be closed.
type Account struct {
	pool  *Pool
	used  int64
	room  int64 // used may be that much without asking the pool
	taken int64 // of the pool
}

// Account opens an account.
func (p *Pool) Account() Account { return Account{pool: p, room: chunk} }

// Charge counts n more bytes that are held. Errors: those of Reach; the bytes are counted all the same.
func (a *Account) Charge(n int) error {
	if a == nil {
		return nil
	}
	a.used += int64(n)
	if a.used <= a.room {
		return nil
	}
	return a.grow(a.used)
}

// Release takes back n bytes of what was charged.
func (a *Account) Release(n int) {
	if a != nil {
		a.used -= int64(n)
	}
}

// Reach asks for room for n bytes more than are charged, without charging them: for what is made and dropped again. Errors:
// errs.OutOfMemory where others have too much of the pool at the moment, an Internal one where it is more than there is
// in all.
func (a *Account) Reach(n int) error {
	if a == nil || a.used+int64(n) <= a.room {
		return nil
	}
	return a.grow(a.used + int64(n))
}

func (a *Account) grow(need int64) error {
	if a.pool == nil {
		a.room = math.MaxInt64
		return nil
	}
	if need-chunk > a.pool.limit {
		a.pool.refused.Add(1)
		return errs.Internal("The query would hold more than %d bytes, which is all that there is for queries", a.pool.limit)
	}
	n := (need - a.room + chunk - 1) / chunk * chunk
	if rest := a.pool.limit - a.taken; n > rest {
		n = rest // the last chunk may be a smaller one
	}
	if !a.pool.take(n) {
		return errs.OutOfMemory()
	}
	a.taken += n
	a.room += n
	return nil
}

// Mark is what is charged at present, for Rewind.
func (a *Account) Mark() int64 {
	if a == nil {
		return 0
	}
	return a.used
}

// Rewind takes back all that was charged since Mark gave mark.
func (a *Account) Rewind(mark int64) {
	if a != nil {
		a.used = mark
	}
}

// Close gives everything back to the pool. The account is then as it was when it was opened.
func (a *Account) Close() {
	if a == nil || a.pool == nil {
		return
	}
	a.pool.taken.Add(-a.taken)
	*a = a.pool.Account()
}
