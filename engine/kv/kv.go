// Package kv is the ordered byte store under the database: snapshots to read, batches to commit.
//
// A Store promises: a Snapshot never changes; Commit is atomic and durable (to the degree that the
// store's sync mode says) when it returns nil; a batch whose read set was overwritten since its
// snapshot fails with ErrConflict and leaves no trace. Nothing here knows about records, tables
// or the language. Only engine/txn uses it.
package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Version is the commit counter of a store: each successful Commit has a larger one.
type Version uint64

// Store is an ordered map of byte keys with snapshots and validated atomic commits.
// Implementations are safe for concurrent use.
type Store interface {
	// Begin opens a snapshot of the newest committed state. It never blocks on writers.
	Begin(ctx context.Context) (Snapshot, error)
	// Commit validates b.Reads against everything committed after b.Snapshot and, if nothing
	// overlaps, applies b.Writes and b.Deltas. The snapshot that the reads were made on must stay
	// open until Commit returns. Errors: ErrConflict, ErrReadOnly, ErrNoSpace, ErrClosed, ErrKey, ErrOrder,
	// ErrTooLarge, ErrCounter, ErrUnavailable, ErrTooOld, ErrUndetermined, ctx.Err(): after any of them but
	// ErrUndetermined nothing was applied. When it returns nil the writes are visible to every later Begin. A batch
	// without writes and deltas is only validated, in its turn among the others: it gets no version of its own, and
	// a store that is read-only takes it too.
	Commit(ctx context.Context, b *Batch) (Version, error)
	// Exclusive waits for the commit turn. Until the turn is released only batches that carry it
	// are applied, all others wait: a transaction that began after Exclusive returned and that
	// commits with the turn meets no conflict (from this process). Errors: ErrClosed, ctx.Err().
	Exclusive(ctx context.Context) (*Turn, error)
	// Stats reports sizes and counters; it is cheap.
	Stats() Stats
	// Close waits for running commits, flushes and releases the files. Snapshots must be released before.
	Close() error
}

// Snapshot is a frozen view. Byte slices that it hands out are read-only and stay valid until
// Release. It may be used by one goroutine at a time.
type Snapshot interface {
	Version() Version
	// Get gives the value of key, or nil and false.
	Get(key []byte) ([]byte, bool, error)
	// Scan iterates over r in key order (or reversed).
	Scan(r Range, opt ScanOptions) Cursor
	Release()
}

// Cursor walks a scan: for c.Next() { c.Key(); c.Value() }; err := c.Err(); c.Close().
// Key and Value are read-only and stay valid until the snapshot is released.
type Cursor interface {
	// Move ends the scan, if Close has not, and begins one over r with the same options. It is cheaper than another
	// cursor.
	Move(r Range)
	Next() bool
	Key() []byte
	Value() []byte
	Err() error
	Close()
}

// Pair is a key with its value.
type Pair struct{ Key, Value []byte }

// Filler is a Cursor that gives many pairs together cheaper than one by one.
type Filler interface {
	// Fill moves on by len(dst) pairs, fewer at the end or where Err says why. It puts them into dst and reports how
	// many. They are good as long as those that Key and Value give. What Key and Value give afterwards is open.
	Fill(dst []Pair) int
}

// Fill is Filler.Fill for any cursor.
func Fill(c Cursor, dst []Pair) (n int) {
	if f, ok := c.(Filler); ok {
		return f.Fill(dst)
	}
	for n < len(dst) && c.Next() {
		dst[n] = Pair{Key: c.Key(), Value: c.Value()}
		n++
	}
	return n
}

// Skipper is a Cursor that passes by many keys cheaper than one by one.
type Skipper interface {
	// Skip moves on by n keys, fewer at the end or where Err says why, and reports how many. Their values are not
	// looked at. Key gives the last of n then; what Value gives is open.
	Skip(n int) int
}

// Skip is Skipper.Skip for any cursor.
func Skip(c Cursor, n int) (passed int) {
	if s, ok := c.(Skipper); ok {
		return s.Skip(n)
	}
	for passed < n && c.Next() {
		passed++
	}
	return passed
}

// Dated is a Store that several processes may have open, with a clock that they share.
type Dated interface {
	// Time gives the time of that clock at which a version was the newest.
	Time(v Version) time.Time
}

// Holder is a Store that clears away what was after some time, and keeps it longer for one that asks.
type Holder interface {
	// Hold keeps all that a snapshot reads until release, which waits for the end of what keeps it. Errors: ErrTooOld,
	// ErrUnavailable, ErrClosed, ctx.Err().
	Hold(ctx context.Context, sn Snapshot) (release func(), err error)
}

// Teller is a Dated store whose batches may tell something (Batch.Told) to the processes that listen.
type Teller interface {
	Dated
	// Listen begins to listen: what commits from now on is heard. Errors: ErrUnavailable, ErrClosed, ctx.Err().
	Listen(ctx context.Context) (Listener, error)
	// Forget removes some of what was told so long ago that listeners have given it up; more says that some is left.
	Forget(ctx context.Context) (more bool, err error)
}

// Listener hears what batches tell. It belongs to one goroutine at a time.
type Listener interface {
	// At is the version up to which all has been heard.
	At() Version
	// Calm gives a version a little before now, a version of a snapshot. It is good for Hear: commits that are under
	// way at now are rarely disturbed by it.
	Calm(now Version) Version
	// Hear calls f for each batch that was committed after At, up to and including at, and told something. Of two
	// batches that wrote the same key, or where one has read what the other wrote, f is called for the earlier one
	// first. id is unlike that of all others, and grows in the same sense. f must not keep told. Where f fails, or the
	// store does, the next call goes on behind the last batch for which f gave nil; At stays as it is. Errors: those of
	// f, ErrUnavailable, and ErrTooOld where so much time has passed that something may have been forgotten.
	Hear(ctx context.Context, at Version, f func(id uint64, told []byte) error) error
}

// Prefetcher is a Snapshot of a store elsewhere, which reads many keys in the time of one.
type Prefetcher interface {
	// Prefetch reads keys, so that the next Get of each is answered from memory. It may forget what it has read before.
	// next is how many keys it is good to ask for the next time: their values are held together. Errors: those of Get.
	Prefetch(keys [][]byte) (next int, err error)
	// PrefetchRanges reads the first pairs of ranges at once, so that the next forward Scan over just the same range
	// has them at hand. It may forget what it has read before. first are those pairs, of each range, as Peek gives
	// them; a range without any is empty, or begins with something that Peek leaves out. next is how many ranges it is
	// good to ask for the next time. Errors: those of a Cursor.
	PrefetchRanges(ranges []Range) (first [][]Pair, next int, err error)
}

// Presumer is a Store elsewhere, whose snapshots can go by what earlier ones have shown, and ask later.
type Presumer interface {
	// Presume begins a snapshot, a Presuming, whose Get answers pairs without a request; a nil value stands for no
	// key. The pairs must not change from then on. Its next request asks with it whether those that Get has answered
	// are so, unless the store knows. If not, everything fails with ErrMoved from then on. A Commit that comes before
	// validates them, as if they had been read, and is ErrConflict. The state that it reads is that of a moment
	// between the call and its first request. Errors: those of Begin.
	Presume(ctx context.Context, pairs []Pair) (Snapshot, error)
}

// Presuming is a Snapshot of a Presumer, also of its Begin.
type Presuming interface {
	Prefetcher
	// AtHand gives what Prefetch has read, as long as it is kept; known: it has.
	AtHand(key []byte) (value []byte, there, known bool)
	// Settle asks now, if nothing has asked yet. Errors: ErrMoved, those of Get.
	Settle() error
	// Base is what Batch.Snapshot has to be. Version would make the snapshot ask for a version first, if it has none.
	Base() Version
}

// Peeker is a Cursor that may know what comes next.
type Peeker interface {
	// Peek gives up to n of the pairs that follow the current one, as far as they are at hand. The cursor stays where
	// it is.
	Peek(n int) []Pair
}

// Range is the keys k with Start <= k < End. A nil End means no upper bound.
type Range struct{ Start, End []byte }

// Contains reports whether key lies in r.
func (r Range) Contains(key []byte) bool {
	return bytes.Compare(key, r.Start) >= 0 && (r.End == nil || bytes.Compare(key, r.End) < 0)
}

// Empty reports whether no key lies in r.
func (r Range) Empty() bool { return r.End != nil && bytes.Compare(r.Start, r.End) >= 0 }

// Prefix is the range of the keys that begin with p.
func Prefix(p []byte) Range {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] != 0xff {
			end := bytes.Clone(p[:i+1])
			end[i]++
			return Range{Start: p, End: end}
		}
	}
	return Range{Start: p}
}

// ScanOptions tunes a scan.
type ScanOptions struct {
	Reverse  bool
	KeysOnly bool // Value may answer nil
	Damaged  bool // with KeysOnly: keys that the store knows to be damaged come too, for those who remove them
	Limit    int  // 0 = no limit
}

// MaxKeySize is the greatest length of a key in bytes.
const MaxKeySize = 32000

// CheckKey gives ErrKey for a key that no store takes.
func CheckKey(key []byte) error {
	if len(key) == 0 || len(key) > MaxKeySize {
		return fmt.Errorf("key of %d bytes: %w", len(key), ErrKey)
	}
	return nil
}

// CheckKeys gives ErrKey for a key that no store takes, and ErrOrder where keys do not ascend.
func (b *Batch) CheckKeys() error {
	var last []byte
	next := func(key []byte) error {
		if err := CheckKey(key); err != nil {
			return err
		}
		if bytes.Compare(last, key) >= 0 {
			return fmt.Errorf("key %x after %x: %w", key, last, ErrOrder)
		}
		last = key
		return nil
	}
	deltas := b.Deltas
	for i := range b.Writes {
		for len(deltas) > 0 && bytes.Compare(deltas[0].Key, b.Writes[i].Key) < 0 {
			if err := next(deltas[0].Key); err != nil {
				return err
			}
			deltas = deltas[1:]
		}
		if err := next(b.Writes[i].Key); err != nil {
			return err
		}
	}
	for i := range deltas {
		if err := next(deltas[i].Key); err != nil {
			return err
		}
	}
	return nil
}

// Write is one change; a nil Value deletes the key.
type Write struct{ Key, Value []byte }

// Batch is the set of changes that a transaction commits. Writes and Deltas are sorted by key, and no key
// occurs twice in the two together. The store owns the slices from then on.
type Batch struct {
	Snapshot Version // the version that the reads were made at
	Reads    ReadSet
	Writes   []Write
	Deltas   []Delta
	Turn     *Turn // the turn that the caller holds, or nil
	// Urgent batches say that a process is there. Stores that several processes share let them past the turn of another
	// one: who waits for long seems to be gone. Others take no notice.
	Urgent bool
	// Told is what the batch tells the processes that share the store, see Teller; others leave it out. nil: nothing.
	Told []byte
	// Applied, where it is not nil, is called once if the batch goes through: before Commit returns, after snapshots
	// see the batch, and for one batch after the other in the order in which they were applied. It holds up all
	// commits, so it must be quick, and must not use the store.
	Applied func(Version)
}

// Empty reports whether there is nothing to apply.
func (b *Batch) Empty() bool { return len(b.Writes)+len(b.Deltas)+len(b.Told) == 0 }

// Delta adds to a counter. Deltas commute: two batches that only add to one key never conflict.
// The store reads and writes the counter at commit, in its AppendCounter form (absent = 0).
type Delta struct {
	Key []byte
	Add int64
}

// AppendCounter appends the stored form of a counter: 8 bytes, big endian, two's complement.
func AppendCounter(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n))
}

// Counter reads what AppendCounter wrote; nil is 0. ok is false for a value of another size.
func Counter(v []byte) (n int64, ok bool) {
	if v == nil {
		return 0, true
	}
	if len(v) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(v)), true
}

// Turn is the right to commit alone. The holder must Release it, committed or not.
type Turn struct {
	once    sync.Once
	release func()
}

// NewTurn is for implementations of Store: release is called at the first Release.
func NewTurn(release func()) *Turn { return &Turn{release: release} }

// Release gives the turn back; calls after the first do nothing.
func (t *Turn) Release() { t.once.Do(t.release) }

// ReadSet is the set of keys that a transaction has read: single keys, sorted, and key ranges, sorted and
// disjoint.
type ReadSet struct {
	Keys   [][]byte
	Ranges []Range
}

// Stats are a store's counters.
type Stats struct {
	Kind       string // "memory", "bolt", …
	Version    Version
	Keys       int64 // live keys, where known
	Bytes      int64 // approximate live bytes in memory
	FileBytes  int64
	Snapshots  int64 // open snapshots
	Commits    uint64
	Conflicts  uint64
	Syncs      uint64
	Checkpoint uint64
	ReadOnly   bool // a write failed in a way that only a restart mends

	Begun       uint64        // snapshots so far
	Lag         uint64        // versions between the oldest open snapshot and the newest state
	Oldest      time.Duration // for how long the oldest state that an open snapshot reads has been in use
	Groups      uint64        // batches that were made durable together
	SyncTime    time.Duration // spent in syncs
	FreePages   int64         // of the data file, to be used again
	PinnedPages int64         // of the data file, free but for open snapshots
	SafePoint   time.Time     // the store has cleared away what was before; zero where it does not say
}

// The errors of a store. Anything else is an I/O error.
var (
	ErrConflict = errors.New("transaction conflict")
	ErrReadOnly = errors.New("store is read-only after a failed write")
	ErrNoSpace  = errors.New("no space left on the device")
	ErrClosed   = errors.New("store is closed")
	ErrLocked   = errors.New("store is in use by another process")
	// ErrUnfinished: a restore into the store was interrupted, or is under way.
	ErrUnfinished = errors.New("a restore into the store has not come to its end")
	ErrFormat     = errors.New("not a nacre store")
	ErrCorrupt    = errors.New("stored data fails its checksum")
	// ErrNewer is an ErrFormat: a store of ours, in a format that only later versions know.
	ErrNewer error = newerFormat{}
	// ErrUndetermined is a commit that may or may not have happened: never retried.
	ErrUndetermined = errors.New("the outcome of the commit is not known")
	// ErrOrder is a batch whose keys do not ascend: a fault of the program.
	ErrOrder = errors.New("the keys of a batch are not in order")
	// ErrKey is a key that is empty or longer than MaxKeySize.
	ErrKey = errors.New("key is empty or too long")
	// ErrTooLarge is a batch that no store takes.
	ErrTooLarge = errors.New("batch is too large")
	// ErrUnavailable is a store elsewhere that does not answer in time. Nothing was written.
	ErrUnavailable = errors.New("the store does not answer")
	// ErrTooOld is a read of a snapshot whose data the store has cleared away.
	ErrTooOld = errors.New("the snapshot is older than what the store keeps")
	// ErrMoved is a read of a snapshot that went by what is not so any more (Presumer). It is an ErrConflict.
	ErrMoved error = movedError{}
	// ErrCounter is a Delta on a key whose value is not a counter.
	ErrCounter = errors.New("value is not a counter")
)

type newerFormat struct{}

// Error implements error.
func (newerFormat) Error() string { return "made by a newer version of nacre" }

// Is makes it an ErrFormat.
func (newerFormat) Is(target error) bool { return target == ErrFormat }

type movedError struct{}

// Error implements error.
func (movedError) Error() string { return "what an earlier snapshot has shown is not so any more" }

// Is makes it an ErrConflict.
func (movedError) Is(target error) bool { return target == ErrConflict }
