// Package txn is one transaction over a kv.Store: a snapshot, a private buffer of writes that its
// own reads see, and the set of what it has read, validated at commit.
//
// It promises: nothing is visible outside before Commit returns nil, everything is after; a
// transaction that read what another one has changed since is refused with errs.Conflict
// (serializable, on stores that validate); RollbackTo undoes writes and hooks, never reads. A Tx
// belongs to one goroutine at a time. It knows nothing about records, tables or permissions.
package txn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/overlay"
	"github.com/nacredb/nacre/internal/budget"
)

// Errors that mean a wrong use of a transaction, or a limit.
var (
	ErrDone     = errors.New("transaction is finished")
	ErrReadOnly = errors.New("transaction is read-only")
	ErrTooLarge = errors.New("transaction is too large")
)

// Options says what kind of transaction Begin opens.
type Options struct {
	Write  bool // without it, writes fail with ErrReadOnly and reads are not tracked
	Urgent bool // it never takes the turn, see kv.Batch
	// it may lie idle between requests: all of it counts, and Begin may be refused for want of memory
	Lasting  bool
	again    bool         // it repeats one that was refused
	MaxBytes int64        // most bytes that its writes may take in memory; 0 = no limit
	Turn     *kv.Turn     // the store's commit turn, when the caller holds it
	Meter    Meter        // who counts what transactions do; may be nil
	Memory   *budget.Pool // what is buffered counts against it; nil: against nothing
	// Began is a time before Begin, where the caller has looked at the clock already; zero: the transaction looks
	Began time.Time
	// Presume is what the transaction goes by on a store elsewhere, see kv.Presumer: not where it repeats one that was
	// refused. Reads may be kv.ErrMoved then, a Commit that follows writes may be a conflict, and what was read may be
	// told to others only after Settle.
	Presume []kv.Pair
}

// Tx is one transaction. Commit or Cancel must be called once it is open.
type Tx struct {
	store kv.Store
	snap  kv.Snapshot
	opt   Options
	held  budget.Account
	gaps  gaps
	work  Work

	done     bool
	presumes bool // see Presumes
	first    bool // see FirstWins
	*changes
}

// changes holds the uncommitted changes of a transaction. One that only reads has none, unless it registers hooks.
type changes struct {
	buf   overlay.Tree // writes: key → value; nil = deleted
	adds  overlay.Tree // key → what to add to its counter; never a key of buf
	bulk  []kv.Write   // of Append, sorted
	size  int64        // bytes buffered, overwritten ones included
	reads readSet
	keys  arena
	hooks []hook
	room  [1]hook  // of hooks: most transactions have one
	turn  *kv.Turn // taken by TakeTurn; released when the transaction ends
	told  []byte   // of Tell
	ends  []func() // of OnEnd
	past  bool     // see At
}

// hook is a function to run after the commit, with its subject.
type hook struct {
	fn    func(kv.Version)
	note  any
	early bool // it runs in the store's turn, see OnApply
}

// Begin opens a transaction on the newest committed state.
func Begin(ctx context.Context, store kv.Store, opt Options) (*Tx, error) {
	if opt.Began.IsZero() {
		opt.Began = time.Now()
	}
	snap, presumes, err := begin(ctx, store, &opt)
	if err != nil {
		return nil, fmt.Errorf("begin transaction: %w", err)
	}
	var tx *Tx
	if opt.Write {
		w := new(struct { // in one piece
			Tx
			of changes
		})
		tx, w.changes = &w.Tx, &w.of
	} else {
		tx = new(Tx)
	}
	tx.store, tx.snap, tx.opt, tx.held, tx.presumes = store, snap, opt, opt.Memory.Account(), presumes
	if opt.Lasting {
		tx.held = opt.Memory.Lasting()
		if err := tx.held.Charge(lastingCost); err != nil {
			tx.Cancel()
			return nil, err
		}
	}
	return tx, nil
}

// begin begins the snapshot of a transaction.
func begin(ctx context.Context, store kv.Store, opt *Options) (sn kv.Snapshot, presumes bool, err error) {
	if p, ok := store.(kv.Presumer); ok && !opt.again && len(opt.Presume) > 0 {
		sn, err = p.Presume(ctx, opt.Presume)
		return sn, true, err
	}
	sn, err = store.Begin(ctx)
	return sn, false, err
}

// lastingCost is about what a transaction takes that has done nothing yet, with what its session remembers of it.
const lastingCost = 16 << 10

// Holds counts n bytes more that the transaction keeps until its end. Errors: those of budget.Account.Charge.
func (tx *Tx) Holds(n int) error { return tx.held.Charge(n) }

// Began is a time just before the snapshot was taken: what was committed by then is in it.
func (tx *Tx) Began() time.Time { return tx.opt.Began }

// Version is that of the snapshot which the transaction reads.
func (tx *Tx) Version() kv.Version { return tx.snap.Version() }

// Writable reports whether the transaction may write.
func (tx *Tx) Writable() bool { return tx.opt.Write }

// Dirty reports whether there is anything to commit.
func (tx *Tx) Dirty() bool {
	return tx.changes != nil && (tx.buf.Len() > 0 || tx.adds.Len() > 0 || len(tx.bulk) > 0)
}

// Get gives the value of key, or nil when it is absent; a value that is there is never nil. The
// value is read-only and valid until Commit or Cancel. key is not kept.
func (tx *Tx) Get(key []byte) ([]byte, error) {
	if tx.done {
		return nil, ErrDone
	}
	if tx.opt.Write {
		if v, ok := tx.buf.Get(key); ok {
			return v, nil
		}
		if err := tx.held.Charge(tx.reads.addKey(key)); err != nil {
			return nil, err
		}
	}
	return tx.base(key)
}

// Track counts key as read, as Get does, for a caller who knows what the snapshot has there and that the transaction
// has not written it.
func (tx *Tx) Track(key []byte) error {
	if tx.done {
		return ErrDone
	}
	if !tx.opt.Write {
		return nil
	}
	return tx.held.Charge(tx.reads.addKey(key))
}

// GetUntracked is Get without the promise that the value is still the same at commit: for reads
// whose result does not matter to what is written, or that are guarded otherwise.
func (tx *Tx) GetUntracked(key []byte) ([]byte, error) {
	if tx.done {
		return nil, ErrDone
	}
	if tx.opt.Write {
		if v, ok := tx.buf.Get(key); ok {
			return v, nil
		}
	}
	return tx.base(key)
}

// Shared reports whether other processes may have the store open too.
func (tx *Tx) Shared() bool {
	_, ok := tx.store.(kv.Dated)
	return ok
}

// Prefetches reports whether Prefetch makes the reads that follow quicker.
func (tx *Tx) Prefetches() bool {
	_, ok := tx.snap.(kv.Prefetcher)
	return ok
}

// Prefetch reads keys together that Get is about to be asked for, where the store is elsewhere; otherwise it does
// nothing. They count as read when Get is asked. It gives how many keys are good to ask for the next time.
func (tx *Tx) Prefetch(keys [][]byte) (next int, err error) {
	if p, ok := tx.snap.(kv.Prefetcher); ok && !tx.done {
		return p.Prefetch(keys)
	}
	return 0, nil
}

// PrefetchRanges reads the first pairs of ranges at once that Scan is about to be asked for, where the store is
// elsewhere; otherwise it does nothing. They count as read when a Scan passes them. first are those of the snapshot, of
// each range, as Cursor.Peek gives them. It gives how many ranges are good to ask for the next time.
func (tx *Tx) PrefetchRanges(ranges []kv.Range) (first [][]kv.Pair, next int, err error) {
	if p, ok := tx.snap.(kv.Prefetcher); ok && !tx.done {
		return p.PrefetchRanges(ranges)
	}
	return make([][]kv.Pair, len(ranges)), 0, nil
}

// AtHand gives what Prefetch has read and Get was not asked for yet; known: it has.
func (tx *Tx) AtHand(key []byte) (value []byte, there, known bool) {
	if p, ok := tx.snap.(kv.Presuming); ok && !tx.done {
		return p.AtHand(key)
	}
	return nil, false, false
}

// Presumes reports whether the transaction goes by Options.Presume, and is not settled by Settle yet.
func (tx *Tx) Presumes() bool { return tx.presumes }

// Settle makes sure of what was presumed. Errors: kv.ErrMoved, those of Get.
func (tx *Tx) Settle() error {
	if !tx.presumes || tx.done {
		return nil
	}
	err := tx.snap.(kv.Presuming).Settle()
	tx.presumes = err != nil
	return err
}

// base reads the snapshot, with the transaction's own delta on top.
func (tx *Tx) base(key []byte) ([]byte, error) {
	tx.work.Gets++
	var v []byte
	ok := false
	if !tx.gaps.hold(key) {
		var err error
		if v, ok, err = tx.snap.Get(key); err != nil {
			return nil, err
		}
		if ok {
			tx.work.found(key, v)
		} else if err := tx.missed(key); err != nil {
			return nil, err
		}
	}
	if tx.opt.Write && tx.adds.Len() > 0 {
		if d, found := tx.adds.Get(key); found {
			return sum(key, v, d)
		}
	}
	if ok && v == nil {
		return []byte{}, nil
	}
	return v, nil
}

// sum adds two counters.
func sum(key, a, b []byte) ([]byte, error) {
	x, ok := kv.Counter(a)
	y, ok2 := kv.Counter(b)
	if !ok || !ok2 {
		return nil, fmt.Errorf("add to key %x: %w", key, kv.ErrCounter)
	}
	return kv.AppendCounter(make([]byte, 0, 8), x+y), nil
}

// Set writes value at key. The key is copied; the value is taken over and must not be changed
// afterwards. A nil value is stored as an empty one.
func (tx *Tx) Set(key, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return tx.put(key, value)
}

// Delete removes key, which may be absent.
func (tx *Tx) Delete(key []byte) error { return tx.put(key, nil) }

func (tx *Tx) put(key, value []byte) error {
	if err := tx.grow(key, len(value)); err != nil {
		return err
	}
	if tx.adds.Len() > 0 {
		tx.adds.Delete(key)
	}
	tx.buf.Set(tx.keys.copy(key), value)
	if value == nil {
		tx.work.Deletes++
	} else {
		tx.work.Sets++
	}
	return nil
}

// grow accounts for a write of n bytes at key, and refuses what may not be written.
func (tx *Tx) grow(key []byte, n int) error {
	if tx.done {
		return ErrDone
	}
	if !tx.opt.Write || tx.past {
		return ErrReadOnly
	}
	if err := kv.CheckKey(key); err != nil {
		return refusal(err)
	}
	took := len(key) + n + entrySize
	tx.size += int64(took)
	if tx.opt.MaxBytes > 0 && tx.size > tx.opt.MaxBytes {
		return refusal(ErrTooLarge)
	}
	return tx.held.Charge(took)
}

// entrySize is about what a buffered write takes beside its key and value.
const entrySize = 96

// Append writes many keys at once, or deletes those without a value. They must be sorted, none of them twice, and the
// transaction neither reads nor writes them in another way from then on: they show when it is committed. That is
// cheaper than Set and Delete. It takes over writes, the keys and the values; with room for SpareWrites more, the
// commit does not copy the list. A second call in a transaction goes the way of Set and Delete.
func (tx *Tx) Append(writes []kv.Write) error {
	if len(tx.bulk) > 0 {
		for _, w := range writes {
			if err := tx.put(w.Key, w.Value); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range writes {
		if err := tx.grow(writes[i].Key, len(writes[i].Value)); err != nil {
			return err
		}
	}
	tx.bulk = writes
	return nil
}

// SpareWrites is about how many writes go into a transaction beside those of Append.
const SpareWrites = 16

// DeleteRange removes every key of r. It reads r: a key that someone else adds there before the
// commit is a conflict.
func (tx *Tx) DeleteRange(r kv.Range) error {
	c := tx.Scan(r, ScanOptions{KeysOnly: true, Damaged: true})
	defer c.Close()
	for c.Next() {
		if err := tx.put(c.Key(), nil); err != nil {
			return err
		}
	}
	return c.Err()
}

// Add adds delta to the counter at key (kv.AppendCounter form, absent = 0). It reads nothing, so
// transactions that only Add to one counter never conflict. A Get of the key gives the sum.
func (tx *Tx) Add(key []byte, delta int64) error {
	if err := tx.grow(key, 8); err != nil {
		return err
	}
	into := &tx.adds
	old, ok := into.Get(key)
	if !ok { // no key is in both
		if old, ok = tx.buf.Get(key); ok {
			into = &tx.buf
		}
	}
	if old == nil { // else the key that is there stays
		key = tx.keys.copy(key)
	} else {
		n, ok := kv.Counter(old)
		if !ok {
			return fmt.Errorf("add to key %x: %w", key, kv.ErrCounter)
		}
		delta += n
	}
	var room [8]byte
	into.Set(key, tx.keys.copy(kv.AppendCounter(room[:0], delta)))
	tx.work.Sets++
	return nil
}

// Savepoint is a position in a transaction. It stays valid after a RollbackTo it, and is void
// after one to an earlier position.
type Savepoint struct {
	buf, adds overlay.Tree
	bulk      []kv.Write
	size      int64
	held      int64 // but for what was read
	hooks     int
}

// Savepoint marks the present position; it is cheap.
func (tx *Tx) Savepoint() Savepoint {
	if tx.changes == nil {
		return Savepoint{held: tx.held.Mark()}
	}
	return Savepoint{buf: tx.buf.Snapshot(), adds: tx.adds.Snapshot(), bulk: tx.bulk, size: tx.size,
		held: tx.held.Mark() - int64(tx.reads.bytes), hooks: len(tx.hooks)}
}

// RollbackTo undoes all writes and hooks since sp was taken. What was read stays tracked.
func (tx *Tx) RollbackTo(sp Savepoint) {
	if tx.changes == nil {
		tx.held.Rewind(sp.held)
		return
	}
	tx.buf, tx.adds, tx.bulk, tx.size = sp.buf, sp.adds, sp.bulk, sp.size
	tx.held.Rewind(sp.held + int64(tx.reads.bytes))
	clear(tx.hooks[sp.hooks:])
	tx.hooks = tx.hooks[:sp.hooks]
}

// At calls f, to which the transaction shows what it showed when sp was taken; sp must not be void. Writes fail with
// ErrReadOnly until f returns. What f reads counts as read.
func (tx *Tx) At(sp Savepoint, f func() error) error {
	if tx.changes == nil {
		return f()
	}
	buf, adds, hooks, past := tx.buf.Snapshot(), tx.adds.Snapshot(), tx.hooks, tx.past
	tx.buf, tx.adds, tx.hooks, tx.past = sp.buf, sp.adds, hooks[:sp.hooks:sp.hooks], true
	defer func() {
		tx.buf, tx.adds, tx.hooks, tx.past = buf, adds, append(hooks, tx.hooks[sp.hooks:]...), past
	}()
	return f()
}

// OnCommit registers fn to run after a successful commit, in order of registration, in the
// goroutine that commits. It must not use the transaction.
func (tx *Tx) OnCommit(fn func(kv.Version)) { tx.Note(nil, fn) }

// Note is OnCommit with a word on what the transaction has changed, for those who must know before it commits: Notes
// gives it back until it is rolled back.
func (tx *Tx) Note(note any, fn func(kv.Version)) {
	tx.hook(hook{fn: fn, note: note})
}

// OnApply registers fn to run where the store applies the commit: as OnCommit, but after those of all transactions
// that committed before and before those of all that commit later. It holds up all commits, so it must be quick and
// use neither the transaction nor the store; what the transaction has lent out is still good. A transaction with such
// a function goes through the store even when it wrote nothing: what it has read is then still true at its place in
// the order.
func (tx *Tx) OnApply(fn func(kv.Version)) { tx.hook(hook{fn: fn, early: true}) }

// Tell sets what the commit tells the processes that listen, see kv.Teller. It takes b over, and counts it as
// written.
func (tx *Tx) Tell(b []byte) error {
	switch {
	case tx.done:
		return ErrDone
	case !tx.opt.Write:
		return ErrReadOnly
	}
	if tx.size += int64(len(b)); tx.opt.MaxBytes > 0 && tx.size > tx.opt.MaxBytes {
		return refusal(ErrTooLarge)
	}
	tx.told = b
	return tx.held.Charge(len(b))
}

// OnEnd registers fn to run once when the transaction is over: committed, refused or cancelled, after the functions
// of OnCommit. RollbackTo does not undo it.
func (tx *Tx) OnEnd(fn func()) {
	if tx.changes == nil {
		tx.changes = &changes{}
	}
	tx.ends = append(tx.ends, fn)
}

func (tx *Tx) hook(h hook) {
	if tx.changes == nil {
		tx.changes = &changes{}
	}
	if tx.hooks == nil {
		tx.hooks = tx.room[:0]
	}
	tx.hooks = append(tx.hooks, h)
}

// Notes calls f with what was noted, in order.
func (tx *Tx) Notes(f func(note any)) {
	if tx.changes == nil {
		return
	}
	for i := range tx.hooks {
		if tx.hooks[i].note != nil {
			f(tx.hooks[i].note)
		}
	}
}

// FirstWins makes each key that the transaction writes count as read. Where another one writes the same key after the
// snapshot and commits first, this one is refused, even if the key is absent before and after (Berenson and others: A
// critique of ANSI SQL isolation levels, SIGMOD 1995, section 4.2). That guards what it has read untracked, if all that
// could change it write one of the same keys.
func (tx *Tx) FirstWins() {
	tx.first = tx.changes != nil
}

// TakeTurn takes the store's commit turn for the rest of the transaction: no other transaction commits until
// it ends. It may fail to commit all the same, for what was committed before.
func (tx *Tx) TakeTurn(ctx context.Context) error {
	if tx.opt.Turn != nil {
		return nil
	}
	turn, err := tx.store.Exclusive(ctx)
	if err != nil {
		return fmt.Errorf("take the commit turn: %w", err)
	}
	if tx.opt.Turn = turn; tx.changes == nil {
		tx.changes = &changes{}
	}
	tx.turn = turn
	return nil
}

// Turn is the store's commit turn, where the transaction holds it: a commit that the transaction waits for, of
// another one, must have it too. nil: it does not.
func (tx *Tx) Turn() *kv.Turn { return tx.opt.Turn }

// Latest gives the newest committed value of key, or nil, beyond the transaction's snapshot: one
// that holds the turn finds nothing newer until it ends. What the transaction wrote does not show.
func (tx *Tx) Latest(ctx context.Context, key []byte) ([]byte, error) {
	snap, err := tx.store.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the newest state: %w", err)
	}
	defer snap.Release()
	v, ok, err := snap.Get(key)
	if !ok || err != nil {
		return nil, err
	}
	return bytes.Clone(v), nil
}

// Commit makes the writes visible and durable, and runs the hooks. After any error but one that
// wraps kv.ErrUndetermined nothing was written. The transaction is finished either way. Errors:
// errs.Conflict (it wraps kv.ErrConflict), those of kv.Store, ErrDone.
func (tx *Tx) Commit(ctx context.Context) error {
	if tx.done {
		return ErrDone
	}
	applied := tx.applied()
	var v kv.Version
	if tx.changes != nil {
		defer tx.changes.over()
	}
	if tx.Dirty() || applied != nil || tx.changes != nil && tx.told != nil {
		b := tx.batch()
		b.Applied = applied
		tx.work.wrote(b)
		var err error
		if v, err = tx.store.Commit(ctx, b); err != nil {
			tx.drop(err)
			return commitError(err)
		}
	} else if tx.changes != nil && len(tx.hooks) > 0 {
		v = tx.snap.Version()
	}
	tx.finish()
	tx.report(true, nil)
	if tx.changes == nil {
		return nil
	}
	for i := range tx.hooks {
		if !tx.hooks[i].early {
			tx.hooks[i].fn(v)
		}
	}
	return nil
}

// applied is the function of OnApply, or one that runs all of them; nil where there is none.
func (tx *Tx) applied() (fn func(kv.Version)) {
	if tx.changes == nil {
		return nil
	}
	for i := range tx.hooks {
		switch {
		case !tx.hooks[i].early:
		case fn != nil:
			return tx.applyAll
		default:
			fn = tx.hooks[i].fn
		}
	}
	return fn
}

func (tx *Tx) applyAll(v kv.Version) {
	for i := range tx.hooks {
		if tx.hooks[i].early {
			tx.hooks[i].fn(v)
		}
	}
}

// refusals are the errors that a user can do something about, with what to tell them.
var refusals = []struct {
	err  error
	text string
}{
	{kv.ErrUndetermined, "The outcome of the commit is not known: look at the data before trying again"},
	{kv.ErrNoSpace, "The store has no space left and nothing was written: free some and try again"},
	{kv.ErrUnavailable, "The store does not answer and nothing was written: try again"},
	{kv.ErrTooOld, "The transaction has read for longer than the store keeps what was: try again, in smaller parts"},
	{kv.ErrReadOnly, "The store is read-only since a write failed: reads go on, writes need a restart of the server"},
	{kv.ErrTooLarge, "The transaction is too large: write in smaller parts"},
	{ErrTooLarge, "The transaction is too large: write in smaller parts"},
	{kv.ErrKey, "A record id or indexed value is too long to be a key"},
}

// commitError is the error of a commit as callers see it.
func commitError(err error) error {
	if errors.Is(err, kv.ErrConflict) {
		e := errs.Conflict()
		e.Err = kv.ErrConflict
		return e
	}
	if e := refusal(err); e != err {
		return e
	}
	return fmt.Errorf("commit transaction: %w", err)
}

// refusal is an *errs.Error that wraps err, for those that users meet; else err itself.
func refusal(err error) error {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			e := errs.Internal(r.text)
			e.Err = err
			return e
		}
	}
	return err
}

// batch returns the changes to commit.
func (tx *Tx) batch() *kv.Batch {
	with := new(struct { // in one piece
		kv.Batch
		write [1]kv.Write
		delta [1]kv.Delta
	})
	b := &with.Batch
	*b = kv.Batch{Snapshot: tx.version(), Reads: tx.reads.sorted(), Turn: tx.opt.Turn,
		Urgent: tx.opt.Urgent, Told: tx.told}
	b.Writes, b.Deltas = slices.Grow(with.write[:0], tx.buf.Len()), slices.Grow(with.delta[:0], tx.adds.Len())
	var c overlay.Cursor
	for ok := c.First(&tx.buf, nil); ok; ok = c.Next() {
		b.Writes = append(b.Writes, kv.Write{Key: c.Key(), Value: c.Value()})
	}
	if len(tx.bulk) > 0 {
		b.Writes = mergeWrites(tx.bulk, b.Writes)
	}
	if tx.first {
		b.Reads.Keys = withWritten(b.Reads.Keys, b.Writes)
	}
	for ok := c.First(&tx.adds, nil); ok; ok = c.Next() {
		n, _ := kv.Counter(c.Value())
		b.Deltas = append(b.Deltas, kv.Delta{Key: c.Key(), Add: n})
	}
	return b
}

// mergeWrites puts few writes into many, in their room where they have some. Both are sorted, and share no key.
func mergeWrites(many, few []kv.Write) []kv.Write {
	left := len(many)
	many = slices.Grow(many, len(few))[:left+len(few)]
	for i := len(few) - 1; i >= 0; i-- {
		at, _ := slices.BinarySearchFunc(many[:left], few[i].Key,
			func(w kv.Write, key []byte) int { return bytes.Compare(w.Key, key) })
		copy(many[at+i+1:], many[at:left])
		many[at+i], left = few[i], at
	}
	return many
}

// version is what a batch says that the transaction has read.
func (tx *Tx) version() kv.Version {
	if p, ok := tx.snap.(kv.Presuming); ok {
		return p.Base()
	}
	return tx.snap.Version()
}

// withWritten merges the keys of writes into keys; both are sorted.
func withWritten(keys [][]byte, writes []kv.Write) [][]byte {
	out := make([][]byte, 0, len(keys)+len(writes))
	for i := range writes {
		n := 0
		for n < len(keys) && bytes.Compare(keys[n], writes[i].Key) < 0 {
			n++
		}
		out, keys = append(out, keys[:n]...), keys[n:]
		if len(keys) > 0 && bytes.Equal(keys[0], writes[i].Key) {
			keys = keys[1:]
		}
		out = append(out, writes[i].Key)
	}
	return append(out, keys...)
}

// Cancel drops the transaction. After Commit or Cancel it does nothing.
func (tx *Tx) Cancel() {
	if !tx.done {
		tx.drop(nil)
	}
}

// drop ends the transaction without a commit; err is why, where the store refused one.
func (tx *Tx) drop(err error) {
	tx.finish()
	if tx.changes != nil {
		tx.hooks = nil
		defer tx.changes.over()
	}
	tx.report(false, err)
}

// over runs the functions of OnEnd.
func (c *changes) over() {
	ends := c.ends
	c.ends = nil
	for _, fn := range ends {
		fn()
	}
}

// finish lets go of all but the hooks.
func (tx *Tx) finish() {
	tx.done = true
	if c := tx.changes; c != nil {
		if c.turn != nil {
			c.turn.Release()
		}
		*c = changes{hooks: c.hooks, room: c.room, ends: c.ends}
	}
	tx.snap.Release()
	tx.held.Close()
	tx.gaps = gaps{}
}

// arena copies keys into larger blocks.
type arena struct{ block []byte }

// Blocks double from the first one, which does for a small transaction, to the largest.
const (
	firstArenaBlock = 128
	arenaBlock      = 2048
)

func (a *arena) copy(key []byte) []byte {
	if len(key) > cap(a.block)-len(a.block) {
		if len(key) > arenaBlock/4 {
			return append(make([]byte, 0, len(key)), key...)
		}
		a.block = make([]byte, 0, max(len(key), min(max(2*cap(a.block), firstArenaBlock), arenaBlock)))
	}
	at := len(a.block) // the capacity of what is given out ends with it
	a.block = append(a.block, key...)
	return a.block[at:len(a.block):len(a.block)]
}

// undo takes back what the last copy gave out, unless that has an allocation of its own.
func (a *arena) undo(key []byte) {
	if at := len(a.block) - len(key); at >= 0 && len(key) > 0 && &a.block[at] == &key[0] {
		a.block = a.block[:at]
	}
}
