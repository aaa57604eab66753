package tikv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
)

// listen gives a listener that has heard all that was there.
func listen(t *testing.T, st *tikv.Store) kv.Listener {
	t.Helper()
	l, err := st.Listen(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// newest is the version of a new snapshot.
func newest(t *testing.T, st *tikv.Store) kv.Version {
	t.Helper()
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	return sn.Version()
}

// tell commits a batch that adds one to the number at a key, and tells key and number. It gives the version.
func tell(st *tikv.Store, key string, pad int) (kv.Version, error) {
	for {
		sn, err := st.Begin(ctx)
		if err != nil {
			return 0, err
		}
		v, _, err := sn.Get([]byte(key))
		if err != nil {
			sn.Release()
			return 0, err
		}
		n := uint64(1)
		if len(v) == 8 {
			n = binary.BigEndian.Uint64(v) + 1
		}
		told := append([]byte(fmt.Sprintf("%s=%d ", key, n)), make([]byte, pad)...)
		at, err := st.Commit(ctx, &kv.Batch{Snapshot: sn.Version(), Reads: kv.ReadSet{Keys: [][]byte{[]byte(key)}},
			Writes: []kv.Write{{Key: []byte(key), Value: binary.BigEndian.AppendUint64(nil, n)}}, Told: told})
		sn.Release()
		if !errors.Is(err, kv.ErrConflict) {
			return at, err
		}
	}
}

// history is what a listener has heard: the number of each key so far.
type history struct {
	last map[string]int
	ids  map[uint64]bool
	all  int
}

func (h *history) hear(id uint64, told []byte) error {
	var key string
	var n int
	if _, err := fmt.Sscanf(string(told), "%1s=%d", &key, &n); err != nil {
		return fmt.Errorf("%.40q: %w", told, err)
	}
	if h.ids[id] {
		return fmt.Errorf("%s=%d is told again", key, n)
	}
	if h.last[key]+1 != n {
		return fmt.Errorf("%s=%d comes after %d", key, n, h.last[key])
	}
	h.ids[id], h.last[key] = true, n
	h.all++
	return nil
}

func newHistory() *history { return &history{last: map[string]int{}, ids: map[uint64]bool{}} }

// TestTold: what three processes tell is heard by two listeners, once and in the order of each key, while regions
// split and leaders move.
func TestTold(t *testing.T) {
	c, prefix := stub.Shared(t)
	opt := tikv.Options{PD: []string{c.PD}, Prefix: prefix}
	stores := []*tikv.Store{open(t, opt), open(t, opt), open(t, opt)}
	listeners := []kv.Listener{listen(t, stores[0]), listen(t, stores[1])}
	histories := []*history{newHistory(), newHistory()}
	const each = 60
	var writers, readers sync.WaitGroup
	for i, st := range stores {
		for j := range 2 {
			writers.Go(func() {
				for n := range each {
					pad := 0
					if n%20 == 19 {
						pad = 700 << 10 // in parts
					}
					if _, err := tell(st, string(rune('a'+(i+j+n)%4)), pad); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	done := make(chan struct{})
	for i, l := range listeners {
		readers.Go(func() {
			for last := false; ; {
				sn, err := stores[i].Begin(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				at := sn.Version()
				sn.Release()
				if i == 0 && !last {
					at = l.Calm(at)
				}
				if err := l.Hear(ctx, at, histories[i].hear); err != nil {
					t.Error(err)
					return
				}
				if last {
					return
				}
				select {
				case <-done:
					last = true
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	for i, h := range histories {
		if h.all != 6*each {
			t.Errorf("listener %d has heard %d of %d", i, h.all, 6*each)
		}
	}
}

// TestToldUpTo: a listener that listens up to a commit hears that, and nothing later.
func TestToldUpTo(t *testing.T) {
	c, prefix := stub.Shared(t)
	st := open(t, tikv.Options{PD: []string{c.PD}, Prefix: prefix})
	l := listen(t, st)
	var got []string
	hear := func(_ uint64, told []byte) error {
		got = append(got, string(told))
		return nil
	}
	var at []kv.Version
	for range 3 {
		v, err := tell(st, "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, v)
	}
	for i, want := range []string{"a=1 ", "a=2 ", "a=3 "} {
		if err := l.Hear(ctx, at[i]-1, hear); err != nil || len(got) != i {
			t.Fatalf("before commit %d: %q, %v", i, got, err)
		}
		if err := l.Hear(ctx, at[i], hear); err != nil || len(got) != i+1 || got[i] != want {
			t.Fatalf("up to commit %d: %q, %v", i, got, err)
		}
	}
	// One that begins now hears none of it, and one whose function fails goes on where it was.
	fresh := listen(t, st)
	for range 2 {
		if _, err := tell(st, "a", 0); err != nil {
			t.Fatal(err)
		}
	}
	got = nil
	broken := errors.New("broken")
	now := newest(t, st)
	err := fresh.Hear(ctx, now, func(id uint64, told []byte) error {
		if len(got) == 1 {
			return broken
		}
		return hear(id, told)
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := fresh.Hear(ctx, now, hear); err != nil || !slices.Equal(got, []string{"a=4 ", "a=5 "}) {
		t.Errorf("after a failure: %q, %v", got, err)
	}
}

// TestToldLate: a commit that takes longer than its lane's time is written anew into a later lane, and heard once.
func TestToldLate(t *testing.T) {
	c := stub.Start(t)
	st := open(t, tikv.Options{PD: []string{c.PD}, Prefix: "p"})
	l, h := listen(t, st), newHistory()
	c.Order(t, "/slow", "times", "1", "ms", "700")
	done := make(chan error, 1)
	go func() {
		_, err := tell(st, "a", 0)
		done <- err
	}()
	for finished := false; !finished; {
		select {
		case err := <-done:
			if finished = true; err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Millisecond):
		}
		if err := l.Hear(ctx, newest(t, st), h.hear); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Hear(ctx, newest(t, st), h.hear); err != nil || h.all != 1 {
		t.Errorf("heard %d times, %v", h.all, err)
	}
}

// TestToldNothing: a listener gives up with its context, and a store that is closed does not listen.
func TestToldNothing(t *testing.T) {
	c, prefix := stub.Shared(t)
	st := open(t, tikv.Options{PD: []string{c.PD}, Prefix: prefix})
	l := listen(t, st)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := l.Hear(ended, newest(t, st), newHistory().hear); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if more, err := st.Forget(ctx); more || err != nil {
		t.Errorf("forget: %v, %v", more, err)
	}
}
