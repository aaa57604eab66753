package history

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
)

// How much of the history one snapshot looks at, and one commit removes.
const (
	sweepKeys    = 20_000
	sweepRemoves = 4_000
)

// The bounds of the time between two sweeps, which is otherwise an eighth of the retention.
const (
	minSweepPause = time.Second
	maxSweepPause = time.Hour
)

// Sweeper removes versions that no query can read any more. It runs in a goroutine of its own, until Stop.
type Sweeper struct {
	stop context.CancelFunc
	done chan struct{}
}

// StartSweeper removes what is older than retention from the history of store, now and then.
func StartSweeper(store kv.Store, retention time.Duration, log *slog.Logger) *Sweeper {
	ctx, stop := context.WithCancel(context.Background())
	s := &Sweeper{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		pause := time.NewTicker(min(max(retention/8, minSweepPause), maxSweepPause))
		defer pause.Stop()
		for {
			if _, err := Sweep(ctx, store, Version(time.Now().Add(-retention))); err != nil && ctx.Err() == nil {
				log.Error("sweep the history", "err", err)
			}
			select {
			case <-pause.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

// Stop ends the sweeper and waits for it. On a nil Sweeper it does nothing.
func (s *Sweeper) Stop() {
	if s != nil {
		s.stop()
		<-s.done
	}
}

// Sweep removes from store the versions that no read at oldest or later sees, and answers how many those were.
func Sweep(ctx context.Context, store kv.Store, oldest uint64) (removed int, err error) {
	for _, class := range [...]key.Class{key.ClassPastDef, key.ClassHistory} {
		start, end := key.PrefixRange([]byte{byte(class)})
		for r := (kv.Range{Start: start, End: end}); r.Start != nil; {
			p := pass{oldest: oldest}
			if err := p.read(ctx, store, r); err != nil {
				return removed, fmt.Errorf("sweep the history: %w", err)
			}
			if len(p.remove) > 0 {
				if _, err := store.Commit(ctx, &kv.Batch{Writes: p.remove}); err != nil {
					return removed, fmt.Errorf("sweep the history: %w", err)
				}
			}
			removed += len(p.remove)
			r.Start = p.next
		}
	}
	return removed, nil
}

// pass is one look at a part of the history.
type pass struct {
	oldest  uint64
	remove  []kv.Write
	next    []byte // where the next pass begins; nil at the end
	prefix  []byte // of the versions of one key
	covered bool   // a version of them was met that stands at oldest
}

// read finds what to remove from the start of r on.
func (p *pass) read(ctx context.Context, store kv.Store, r kv.Range) error {
	snap, err := store.Begin(ctx)
	if err != nil {
		return err
	}
	defer snap.Release()
	cur := snap.Scan(r, kv.ScanOptions{})
	defer cur.Close()
	for n := 1; cur.Next(); n++ {
		k := cur.Key()
		prefix, version := key.CutVersion(k)
		if !bytes.Equal(prefix, p.prefix) {
			if n > sweepKeys || len(p.remove) >= sweepRemoves {
				p.next = bytes.Clone(k)
				break
			}
			p.prefix, p.covered = prefix, false
		}
		if n&255 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if version > p.oldest {
			continue
		}
		if p.covered || len(cur.Value()) == 0 { // that a key is gone needs no saying where nothing is older
			p.remove = append(p.remove, kv.Write{Key: bytes.Clone(k)})
		}
		p.covered = true
	}
	return cur.Err()
}
