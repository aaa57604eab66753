package bolt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
)

// hurried is what became of one commit.
type hurried struct {
	key string
	err error
}

// hurry commits keys of one writer until it has made n or the store is closed; some callers give up while they wait.
func hurry(st *Store, w, n int, turns bool) (out []hurried) {
	r := rand.New(rand.NewPCG(uint64(w), 7))
	for i := range n {
		h := hurried{key: fmt.Sprintf("w%02d-%04d", w, i)}
		ctx, cancel := context.WithCancel(context.Background())
		if r.IntN(3) == 0 {
			yields := r.IntN(40)
			go func() {
				for range yields {
					runtime.Gosched()
				}
				cancel()
			}()
		}
		b := &kv.Batch{Writes: []kv.Write{{Key: []byte(h.key), Value: []byte(h.key)}},
			Deltas: []kv.Delta{{Key: []byte("count"), Add: 1}}}
		if turns && r.IntN(4) == 0 {
			b.Turn, h.err = st.Exclusive(ctx)
		}
		if h.err == nil {
			_, h.err = st.Commit(ctx, b)
		}
		if b.Turn != nil {
			b.Turn.Release()
		}
		cancel()
		if out = append(out, h); errors.Is(h.err, kv.ErrClosed) {
			return out
		}
	}
	return out
}

// TestCommitsInAHurry: callers that take turns, give up and meet checkpoints and the end of the store are told the
// truth: what was acknowledged is there when it is opened again, and nothing else.
func TestCommitsInAHurry(t *testing.T) {
	for _, tc := range []struct {
		name   string
		sync   kv.Sync
		closes bool // the store is closed in the middle
	}{{"every", kv.SyncEvery, false}, {"every, closed", kv.SyncEvery, true}, {"never, closed", kv.SyncNever, true}} {
		t.Run(tc.name, func(t *testing.T) {
			opt := Options{Path: filepath.Join(t.TempDir(), "x.db"), CheckpointKeys: 60, Sync: tc.sync}
			st, err := Open(opt)
			if err != nil {
				t.Fatal(err)
			}
			const writers, each = 8, 120
			var wg sync.WaitGroup
			outs := make([][]hurried, writers)
			for w := range writers {
				wg.Go(func() { outs[w] = hurry(st, w, each, w < 3) })
			}
			if tc.closes {
				for st.Stats().Commits < writers*each/3 {
					runtime.Gosched()
				}
			} else {
				wg.Wait()
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
			wg.Wait()
			if st, err = Open(opt); err != nil {
				t.Fatal(err)
			}
			told := int64(0)
			sn, err := st.Begin(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range outs {
				for _, h := range list {
					_, there, err := sn.Get([]byte(h.key))
					if err != nil {
						t.Fatal(err)
					}
					if there != (h.err == nil) {
						t.Errorf("%s was answered %v, and is there: %v", h.key, h.err, there)
					}
					switch {
					case h.err == nil:
						told++
					case !errors.Is(h.err, context.Canceled) && !errors.Is(h.err, kv.ErrClosed):
						t.Errorf("%s: %v", h.key, h.err)
					}
				}
			}
			v, _, err := sn.Get([]byte("count"))
			if n, _ := kv.Counter(v); err != nil || n != told || told == 0 {
				t.Errorf("counted %d, acknowledged %d, %v", n, told, err)
			}
			sn.Release()
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
