// Package budget bounds the memory that the clients of a process hold together: statements, transactions, requests on
// their way in, sessions, answers on their way out.
//
// A Pool is all that there is. An Account is what one query, transaction, session or connection has of it. An account
// counts for itself and asks the pool for steps; only its first 4 KiB are free. A plain account keeps what it had until
// it is closed, so the pool holds the sum of the most that each needed so far. What does not fit is refused with an
// error that tells the client to try again; nothing waits.
//
// Accounts of anonymous clients share an eighth of the pool: they can take no memory away from
// clients that have signed in.
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

// free is how many bytes an account has without asking the pool, and up to which Hold does not count.
const free = 4 << 10

// Accounts take steps of the pool, in bytes: larger ones as they grow.
const (
	firstStep  = 2 << 10
	secondStep = 16 << 10
	thirdStep  = 64 << 10
	chunk      = 1 << 20
)

// anonymousPart of a pool is for anonymous clients.
const anonymousPart = 8

// unknownMemory is the assumed memory of a machine that does not report it.
const unknownMemory = 4 << 30

// share is the part of its memory that a process has for statements. The rest is for what they are encoded as and
// copied to on the way out, for what is to be collected, about as much again, and for what the store keeps.
const share = 4

// Default is the limit of a pool where none is given, in bytes: a quarter of the memory that the process may use, as
// the machine, its container or GOMEMLIMIT has it.
func Default() int64 {
	all := int64(min(heap.Memory(), math.MaxInt64))
	if all == 0 {
		all = unknownMemory
	}
	return min(all, debug.SetMemoryLimit(-1)) / share
}

// Pool is a number of bytes to share out. It is safe for concurrent use. A nil Pool has no end.
type Pool struct {
	limit     int64
	taken     atomic.Int64
	anonymous atomic.Int64 // of taken, what anonymous clients have
	refused   atomic.Uint64
}

// NewPool makes a pool of limit bytes.
func NewPool(limit int64) *Pool { return &Pool{limit: limit} }

// Stats is the state of a pool.
type Stats struct {
	Limit     int64  // bytes that there are
	Taken     int64  // bytes that accounts have
	Anonymous int64  // of them, what clients without an identity have
	Refused   uint64 // how often one was refused more
}

// Stats is the state of the pool; of a nil Pool it is zero.
func (p *Pool) Stats() Stats {
	if p == nil {
		return Stats{}
	}
	return Stats{Limit: p.limit, Taken: p.taken.Load(), Anonymous: p.anonymous.Load(), Refused: p.refused.Load()}
}

// take takes n bytes, or none.
func (p *Pool) take(n int64, anonymous bool) bool {
	if anonymous && !takeOf(&p.anonymous, n, p.limit/anonymousPart) {
		p.refused.Add(1)
		return false
	}
	if takeOf(&p.taken, n, p.limit) {
		return true
	}
	if anonymous {
		p.anonymous.Add(-n)
	}
	p.refused.Add(1)
	return false
}

// takeOf adds n to taken, unless that makes it more than limit.
func takeOf(taken *atomic.Int64, n, limit int64) bool {
	for {
		was := taken.Load()
		if n > limit-was {
			return false
		}
		if taken.CompareAndSwap(was, was+n) {
			return true
		}
	}
}

// give gives back n bytes.
func (p *Pool) give(n int64, anonymous bool) {
	if n == 0 {
		return
	}
	if anonymous {
		p.anonymous.Add(-n)
	}
	p.taken.Add(-n)
}

// Held is a number of bytes that a pool counts. The zero Held is of none.
type Held struct {
	pool      *Pool
	n         int64
	anonymous bool
}

// Take is Hold for bytes that may be refused. Errors: errs.OutOfMemory.
func (p *Pool) Take(n int, anonymous bool) (Held, error) {
	switch {
	case p == nil || n <= free:
		return Held{}, nil
	case !p.take(int64(n), anonymous):
		return Held{}, errs.OutOfMemory()
	}
	return Held{p, int64(n), anonymous}, nil
}

// Tight reports whether more than half of the pool is taken.
func (p *Pool) Tight() bool { return p != nil && p.taken.Load() > p.limit/2 }

// Hold counts n bytes until they are released. They are there already, so they are not refused, even if they are more
// than is left: what comes later is. A few bytes are not counted.
func (p *Pool) Hold(n int) Held {
	if p == nil || n <= free {
		return Held{}
	}
	p.taken.Add(int64(n))
	return Held{pool: p, n: int64(n)}
}

// Release ends the counting. It is called once.
func (h Held) Release() {
	if h.pool != nil {
		h.pool.give(h.n, h.anonymous)
	}
}

// Account counts the memory that one query, transaction or connection holds. It belongs to one goroutine at a time. The
// zero Account, and a nil one, counts against nothing; others come from Pool.Account and Pool.Lasting and must be
// closed.
type Account struct {
	pool      *Pool
	used      int64
	room      int64 // used may be that much without asking the pool
	taken     int64 // of the pool; set by took, as others may read it
	anonymous bool
}

// Account opens an account, for what is over soon.
func (p *Pool) Account() Account { return Account{pool: p, room: free} }

// Lasting opens an account without free bytes, for what may lie idle for long: there may be many of them.
func (p *Pool) Lasting() Account { return Account{pool: p} }

// OfAnonymous makes an account that was just opened that of a client without an identity.
func (a Account) OfAnonymous() Account {
	a.anonymous = true
	return a
}

// Charge counts n more bytes that are held. Errors: those of Reach; the bytes are counted by the account all the same,
// and asked for again by the next call.
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

// Take is Charge, but what is refused is not counted.
func (a *Account) Take(n int) error {
	err := a.Charge(n)
	if err != nil {
		a.used -= int64(n)
	}
	return err
}

// Hold is Charge for bytes that are there already: the pool counts them even if they are more than is left.
func (a *Account) Hold(n int) {
	if a == nil || a.Charge(n) == nil {
		return
	}
	n64 := a.used - a.room
	a.pool.taken.Add(n64)
	if a.anonymous {
		a.pool.anonymous.Add(n64)
	}
	a.took(n64)
	a.room += n64
}

// Release takes back n bytes of what was charged.
func (a *Account) Release(n int) {
	if a != nil {
		a.used -= int64(n)
	}
}

// Shrink gives back to the pool what is not charged any more.
func (a *Account) Shrink() {
	if a == nil || a.pool == nil {
		return
	}
	base := a.room - a.taken
	n := min(a.room-max(a.used, base), a.taken)
	a.pool.give(n, a.anonymous)
	a.took(-n)
	a.room -= n
}

// Known makes the account that of a client with an identity.
func (a *Account) Known() {
	if a == nil || !a.anonymous {
		return
	}
	a.anonymous = false
	if a.pool != nil {
		a.pool.anonymous.Add(-a.taken)
	}
}

// Reach asks for room for n bytes more than are charged, without charging them: for what is made and dropped again.
// Errors: errs.OutOfMemory where others have too much of the pool at the moment, an Internal one where it is more than
// there is in all.
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
	limit, base := a.pool.limit, a.room-a.taken
	if need-base > limit {
		a.pool.refused.Add(1)
		return errs.Internal("The query would hold more than %d bytes, which is all that there is for queries", limit)
	}
	by := int64(firstStep)
	switch {
	case need > chunk:
		by = chunk
	case need > thirdStep:
		by = thirdStep
	case need > secondStep:
		by = secondStep
	}
	n := (need - a.room + by - 1) / by * by
	if rest := limit - a.taken; n > rest {
		n = rest // the last step may be a smaller one
	}
	if !a.pool.take(n, a.anonymous) {
		return errs.OutOfMemory()
	}
	a.took(n)
	a.room += n
	return nil
}

// Taken returns the bytes that the account holds of the pool. Unlike the other methods it may be called by any
// goroutine.
func (a *Account) Taken() int64 {
	if a == nil {
		return 0
	}
	return atomic.LoadInt64(&a.taken)
}

// took adds n to what the account has of the pool.
func (a *Account) took(n int64) { atomic.StoreInt64(&a.taken, a.taken+n) }

// Mark returns the present charge, for Rewind.
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
	a.pool.give(a.taken, a.anonymous)
	a.used, a.room = 0, a.room-a.taken
	a.took(-a.taken)
}
