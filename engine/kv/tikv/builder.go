package tikv

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	tikverr "github.com/tikv/client-go/v2/error"
	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/txnkv/transaction"

	"github.com/nacredb/nacre/engine/kv"
)

// Builder makes a store under an empty prefix of a cluster from keys in ascending order, for restore. It holds the
// lease of the prefix under a name of its own, which has no end: no server serves the prefix before Finish, also when
// the program of the builder is killed. Another builder then takes its place, and begins anew. Each transaction looks
// at the name and writes it, so one that was delayed writes nothing into the work of the next. It belongs to one
// goroutine.
type Builder struct {
	store *Store
	ctx   context.Context
	name  string
	noted time.Time // when the lease was written last

	pairs []kv.Pair // to be written, as they are in the cluster
	bytes int
	total tally
}

// tally is a count of keys, with a checksum of them and their values.
type tally struct {
	keys uint64
	sum  uint32
}

func (t *tally) add(key, value []byte) {
	var size [16]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(key)))
	binary.BigEndian.PutUint64(size[8:], uint64(len(value)))
	t.keys++
	for _, p := range [][]byte{size[:], key, value} {
		t.sum = crc32.Update(t.sum, castagnoli, p)
	}
}

// The bounds of one transaction of a Builder, and how often one is tried that the cluster did not answer.
const (
	buildBytes = 4 << 20
	buildKeys  = 4096
	buildTries = 6
)

// How a builder holds the lease: for ever for servers, and for other builders as long as it is renewed.
const (
	buildName  = "restore "
	forEver    = 1 << 60 // milliseconds
	buildAlive = time.Minute
	buildRenew = 10 * time.Second
)

// restores reports whether the lease is that of a builder.
func (h holder) restores() bool { return strings.HasPrefix(h.ID, buildName) }

// NewBuilder begins to build. version is that of the store to come, and must not be in the future of the cluster.
// What a builder left behind that was killed or aborted is removed. Errors: kv.ErrLocked where servers serve the
// prefix or another builder is at work, fs.ErrExist where there is data under it, kv.ErrUnavailable.
func NewBuilder(ctx context.Context, opt Options, version kv.Version) (*Builder, error) {
	if opt.Log == nil {
		opt.Log = slog.Default()
	}
	if opt.Timeout <= 0 {
		opt.Timeout = defaultTimeout
	}
	if err := opt.TLS.check(); err != nil {
		return nil, err
	}
	bridge(opt.Log)
	s := &Store{opt: opt, space: newSpace(opt.Prefix), open: map[kv.Version]*snapshot{}}
	if s.opt.Counter == nil {
		s.opt.Counter = func([]byte) bool { return false }
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.lease.key = leaseKey(opt.Prefix)
	if err := s.connect(ctx); err != nil {
		s.cancel()
		return nil, err
	}
	b := &Builder{store: s, ctx: ctx, name: buildName + rand.Text()}
	if err := b.begin(version); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *Builder) close() error {
	b.store.cancel()
	return b.store.client.Close()
}

// begin takes the lease, and makes sure that there is nothing under the prefix.
func (b *Builder) begin(version kv.Version) error {
	if now := kv.Version(b.store.newest.Load()); version > now {
		return fmt.Errorf("the backup is of %s by the clock of another cluster, and here it is %s: wait until then",
			b.store.Time(version).UTC().Format(time.RFC3339), b.store.Time(now).UTC().Format(time.RFC3339))
	}
	left := false
	err := b.try(func(tx *transaction.KVTxn, was holder) error {
		now := oracle.ExtractPhysical(tx.StartTS())
		left = was.restores()
		switch {
		case was.ID == b.name: // an attempt whose answer was lost
		case left && was.Alive > now:
			return fmt.Errorf("another restore writes into the prefix, or did a minute ago: %w", kv.ErrLocked)
		case !left && was.Until > now:
			return fmt.Errorf("servers serve the prefix, or did a minute ago: %w", kv.ErrLocked)
		case !left:
			if err := b.empty(tx.StartTS()); err != nil {
				return err
			}
		}
		return b.note(tx, buildAlive)
	})
	if err != nil {
		return err
	}
	if left {
		return b.wipe()
	}
	ts, err := b.store.now(b.ctx) // a server that was about to start may have written before the lease was taken
	if err == nil {
		err = b.empty(ts)
	}
	if err != nil {
		return errors.Join(err, b.free())
	}
	return nil
}

// empty refuses a prefix with data. Errors: fs.ErrExist.
func (b *Builder) empty(ts uint64) error {
	start, end := b.store.space.bounds(kv.Range{})
	pairs, err := b.store.reader(ts).next(b.ctx, &stretch{start: start, end: end, keysOnly: true}, 1)
	if err == nil && len(pairs) > 0 {
		err = fmt.Errorf("there is data under the prefix, and a restore needs an empty one: %w", fs.ErrExist)
	}
	return err
}

// wipe removes all data under the prefix.
func (b *Builder) wipe() error {
	start, end := b.store.space.bounds(kv.Range{})
	for {
		ts, err := b.store.now(b.ctx)
		if err != nil {
			return err
		}
		st := stretch{start: start, end: end, keysOnly: true}
		pairs, err := b.store.reader(ts).next(b.ctx, &st, mostPairs)
		if err != nil || len(pairs) == 0 {
			return err
		}
		if err := b.write(func(tx *transaction.KVTxn) error {
			for _, p := range pairs {
				if err := tx.Delete(p.Key); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
}

// note writes the lease in the name of the builder. Others may take it after a time without another note.
func (b *Builder) note(tx *transaction.KVTxn, alive time.Duration) error {
	b.noted = time.Now()
	raw, err := json.Marshal(holder{ID: b.name, Until: forEver,
		Alive: oracle.ExtractPhysical(tx.StartTS()) + alive.Milliseconds()})
	if err != nil {
		return err
	}
	return tx.Set(b.store.lease.key, raw)
}

// errTaken is the end of a builder whose place another one has taken.
var errTaken = fmt.Errorf("another restore has begun in the place of this one: %w", kv.ErrLocked)

// write runs a transaction, as long as the lease is that of this builder.
func (b *Builder) write(f func(*transaction.KVTxn) error) error {
	return b.try(func(tx *transaction.KVTxn, was holder) error {
		if was.ID != b.name {
			return errTaken
		}
		if err := b.note(tx, buildAlive); err != nil {
			return err
		}
		return f(tx)
	})
}

// try runs a transaction with what the lease says. It is tried again where the cluster does not answer, or says
// nothing of the outcome: all that is written may be written twice.
func (b *Builder) try(f func(*transaction.KVTxn, holder) error) (err error) {
	for n := range buildTries {
		if n > 0 {
			select {
			case <-time.After(100 * time.Millisecond << n):
			case <-b.ctx.Done():
				return errors.Join(err, b.ctx.Err())
			}
		}
		if err = b.once(f); err == nil || !errors.Is(err, kv.ErrUnavailable) && !errors.Is(err, kv.ErrUndetermined) &&
			!errors.Is(err, kv.ErrConflict) {
			return err
		}
	}
	return err
}

func (b *Builder) once(f func(*transaction.KVTxn, holder) error) error {
	ctx, cancel := context.WithTimeout(b.ctx, 2*b.store.opt.Timeout)
	defer cancel()
	tx, err := b.store.client.Begin()
	if err != nil {
		return b.store.failure(ctx, err)
	}
	var was holder
	raw, err := tx.Get(ctx, b.store.lease.key)
	switch {
	case tikverr.IsErrNotFound(err):
	case err != nil:
		return b.store.failure(ctx, err)
	default:
		if err := json.Unmarshal(raw, &was); err != nil {
			return fmt.Errorf("lease of the prefix: %w: %w", kv.ErrCorrupt, err)
		}
	}
	if err := f(tx, was); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return b.store.commitFailure(err)
	}
	return nil
}

// Put adds a key, which must be greater than the one before. It copies both.
func (b *Builder) Put(key, value []byte) error {
	if err := kv.CheckKey(key); err != nil {
		return err
	}
	if len(value) > maxValue {
		return fmt.Errorf("%w: a value of %d bytes, and a cluster takes %d", kv.ErrTooLarge, len(value), maxValue)
	}
	k := b.store.space.base(key)
	b.total.add(key, value)
	b.pairs = append(b.pairs, kv.Pair{Key: k, Value: seal(k, value)})
	if b.bytes += len(k) + len(value); b.bytes < buildBytes && len(b.pairs) < buildKeys {
		return nil
	}
	return b.flush()
}

func (b *Builder) flush() error {
	err := b.write(func(tx *transaction.KVTxn) error {
		for _, p := range b.pairs {
			if err := tx.Set(p.Key, p.Value); err != nil {
				return err
			}
		}
		return nil
	})
	b.pairs, b.bytes = b.pairs[:0], 0
	return err
}

// Finish writes the rest, reads all again, and lets servers serve the prefix. Versions of a cluster are its own: that
// of the backup is not kept. Errors: kv.ErrCorrupt for what is not there as it was written.
func (b *Builder) Finish(kv.Version) error {
	err := b.flush()
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return errors.Join(err, b.Abort())
	}
	return errors.Join(b.free(), b.close())
}

// check reads the whole store.
func (b *Builder) check() error {
	ts, err := b.store.now(b.ctx)
	if err != nil {
		return err
	}
	var found tally
	c := newSnapshot(b.store, ts).Scan(kv.Range{}, kv.ScanOptions{})
	defer c.Close()
	for c.Next() {
		if found.add(c.Key(), c.Value()); found.keys%1024 != 0 {
			continue
		}
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if time.Since(b.noted) > buildRenew {
			if err := b.write(func(*transaction.KVTxn) error { return nil }); err != nil {
				return err
			}
		}
	}
	if err := c.Err(); err != nil {
		return fmt.Errorf("read what was restored: %w", err)
	}
	if found != b.total {
		return fmt.Errorf("%d keys were written, and %d others are there: %w", b.total.keys, found.keys, kv.ErrCorrupt)
	}
	return nil
}

// free gives the lease up.
func (b *Builder) free() error {
	tried := false
	return b.try(func(tx *transaction.KVTxn, was holder) error {
		if was.ID == "" && tried {
			return nil // the answer was lost
		}
		if was.ID != b.name {
			return errTaken
		}
		tried = true
		return tx.Delete(b.store.lease.key)
	})
}

// Abort leaves what is there to the next builder, which may begin at once. No server serves it.
func (b *Builder) Abort() error {
	b.ctx = context.WithoutCancel(b.ctx)
	err := b.try(func(tx *transaction.KVTxn, was holder) error {
		if was.ID != b.name {
			return errTaken
		}
		return b.note(tx, 0)
	})
	if errors.Is(err, errTaken) {
		err = nil
	}
	return errors.Join(err, b.close())
}
