package kvtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
)

const writers = 8

// retry runs fn on new snapshots until it commits, and gives the number of conflicts.
func retry(t *testing.T, st kv.Store, fn func(kv.Snapshot, *kv.Batch)) (conflicts int) {
	for {
		sn, err := st.Begin(ctx)
		if err != nil {
			t.Errorf("begin: %v", err)
			return conflicts
		}
		b := &kv.Batch{Snapshot: sn.Version()}
		fn(sn, b)
		_, err = st.Commit(ctx, b)
		sn.Release()
		if err == nil {
			return conflicts
		}
		if !errors.Is(err, kv.ErrConflict) {
			t.Errorf("commit: %v", err)
			return conflicts
		}
		conflicts++
	}
}

func count(t *testing.T, sn kv.Snapshot, key []byte) int64 {
	v, _, err := sn.Get(key)
	n, ok := kv.Counter(v)
	if err != nil || !ok {
		t.Errorf("get %s: %x, %v", key, v, err)
	}
	return n
}

func (s suite) testLostUpdate(t *testing.T, st kv.Store) {
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range s.rounds {
				retry(t, st, func(sn kv.Snapshot, b *kv.Batch) {
					key := []byte("n")
					b.Reads.Keys = [][]byte{key}
					b.Writes = []kv.Write{{Key: key, Value: kv.AppendCounter(nil, count(t, sn, key)+1)}}
					b.Deltas = []kv.Delta{{Key: []byte("sum"), Add: 2}}
				})
			}
		})
	}
	wg.Wait()
	sn := Begin(t, st)
	defer sn.Release()
	if got := count(t, sn, []byte("n")); got != int64(writers*s.rounds) {
		t.Errorf("read-modify-write: got %d, want %d", got, writers*s.rounds)
	}
	if got := count(t, sn, []byte("sum")); got != int64(2*writers*s.rounds) {
		t.Errorf("deltas: got %d, want %d", got, 2*writers*s.rounds)
	}
}

// testWriteSkew: two that each read both keys and write one of them cannot both commit.
func testWriteSkew(t *testing.T, st kv.Store) {
	Put(t, st, "a", "on", "b", "on")
	for _, reads := range []kv.ReadSet{{Keys: keys("a", "b")}, {Ranges: []kv.Range{rng("a", "c")}}} {
		one, two := Begin(t, st), Begin(t, st)
		_, err1 := st.Commit(ctx, &kv.Batch{Snapshot: one.Version(), Reads: reads, Writes: Writes("a", "off")})
		_, err2 := st.Commit(ctx, &kv.Batch{Snapshot: two.Version(), Reads: reads, Writes: Writes("b", "off")})
		one.Release()
		two.Release()
		if err1 != nil {
			t.Errorf("first: %v", err1)
		}
		wantErr(t, "second", err2, kv.ErrConflict)
		want(t, "state", All(t, st), "a=off b=on")
		Put(t, st, "a", "on")
	}
}

// testBank moves money at random while readers add it up.
func (s suite) testBank(t *testing.T, st kv.Store) {
	const accounts, total = 10, 1000
	account := func(i int) []byte { return fmt.Appendf(nil, "acc%02d", i) }
	for i := range accounts {
		if _, err := st.Commit(ctx,
			&kv.Batch{Writes: []kv.Write{
				{Key: account(i), Value: kv.AppendCounter(nil, total/accounts)}}}); err != nil {
			t.Fatal(err)
		}
	}
	var movers, readers sync.WaitGroup
	stop := make(chan struct{})
	for seed := range writers {
		movers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(seed), 1))
			for range s.rounds {
				from, to := rnd.IntN(accounts), rnd.IntN(accounts-1)
				if to >= from {
					to++
				}
				retry(t, st, func(sn kv.Snapshot, b *kv.Batch) {
					lo, hi := account(min(from, to)), account(max(from, to))
					b.Reads.Keys = [][]byte{lo, hi}
					b.Writes = []kv.Write{{Key: lo, Value: kv.AppendCounter(nil, count(t, sn, lo)-1)},
						{Key: hi, Value: kv.AppendCounter(nil, count(t, sn, hi)+1)}}
				})
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				sn := Begin(t, st)
				sum := int64(0)
				c := sn.Scan(kv.Prefix([]byte("acc")), kv.ScanOptions{})
				for c.Next() {
					n, _ := kv.Counter(c.Value())
					sum += n
				}
				c.Close()
				sn.Release()
				if sum != total || c.Err() != nil {
					t.Errorf("total: got %d (%v), want %d", sum, c.Err(), total)
					return
				}
			}
		})
	}
	movers.Wait()
	close(stop)
	readers.Wait()
}

// model is the plain truth that a store is compared with.
type model map[string]string

func (m model) dump(start, end string, opt kv.ScanOptions) string {
	var ks []string
	for k := range m {
		if k >= start && (end == "" || k < end) {
			ks = append(ks, k)
		}
	}
	slices.Sort(ks)
	if opt.Reverse {
		slices.Reverse(ks)
	}
	if opt.Limit > 0 && len(ks) > opt.Limit {
		ks = ks[:opt.Limit]
	}
	for i, k := range ks {
		ks[i] = k + "=" + m[k]
	}
	return strings.Join(ks, " ")
}

func (m model) clone() model {
	c := make(model, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func testModel(t *testing.T, st kv.Store) {
	rnd := rand.New(rand.NewPCG(7, 7))
	now := model{}
	type held struct {
		sn kv.Snapshot
		m  model
	}
	var open []held
	key := func() string { return fmt.Sprintf("k%03d", rnd.IntN(400)) }
	for step := range 1500 {
		switch rnd.IntN(8) {
		case 0:
			if len(open) < 6 {
				open = append(open, held{Begin(t, st), now.clone()})
			}
		case 1:
			if len(open) > 0 {
				i := rnd.IntN(len(open))
				open[i].sn.Release()
				open = slices.Delete(open, i, i+1)
			}
		case 2:
			if len(open) > 0 {
				h := open[rnd.IntN(len(open))]
				start, end := key(), key()
				opt := kv.ScanOptions{Reverse: rnd.IntN(2) == 0, Limit: rnd.IntN(20)}
				want(t, fmt.Sprintf("step %d: %s..%s %+v", step, start, end, opt), Dump(t, h.sn, rng(start, end), opt),
					h.m.dump(start, end, opt))
			}
		default:
			b := &kv.Batch{}
			for k, del := range pickKeys(rnd, key) {
				w := kv.Write{Key: []byte(k)}
				if delete(now, k); !del {
					now[k] = fmt.Sprintf("%d-%s", step, k)
					w.Value = []byte(now[k])
				}
				b.Writes = append(b.Writes, w)
			}
			slices.SortFunc(b.Writes, func(a, b kv.Write) int { return strings.Compare(string(a.Key), string(b.Key)) })
			if _, err := st.Commit(ctx, b); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
		}
	}
	want(t, "in the end", All(t, st), now.dump("", "", kv.ScanOptions{}))
	for _, h := range open {
		want(t, "old snapshot", Dump(t, h.sn, kv.Range{}, kv.ScanOptions{}), h.m.dump("", "", kv.ScanOptions{}))
		h.sn.Release()
	}
}

// pickKeys chooses keys to write; true means delete.
func pickKeys(rnd *rand.Rand, key func() string) map[string]bool {
	n := 1 + rnd.IntN(4)
	if rnd.IntN(20) == 0 {
		n = 150
	}
	picked := make(map[string]bool, n)
	for range n {
		picked[key()] = rnd.IntN(3) == 0
	}
	return picked
}

// testApplied: Applied runs once for each batch that goes through, never for another, in the order of versions, and
// with the batch visible.
func (s suite) testApplied(t *testing.T, st kv.Store) {
	var versions []kv.Version // written one after the other, as the store promises: the race detector looks on
	Put(t, st, "taken", "1")
	old := Begin(t, st)
	Put(t, st, "taken", "2")
	refused := &kv.Batch{Snapshot: old.Version(), Writes: Writes("x", "1"),
		Applied: func(kv.Version) { t.Error("a refused batch was applied") }}
	refused.Reads.Keys = [][]byte{[]byte("taken")}
	if _, err := st.Commit(ctx, refused); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("got %v", err)
	}
	old.Release()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range s.rounds {
				told := kv.Version(0)
				b := &kv.Batch{Writes: Writes(fmt.Sprint("k", w), fmt.Sprint(i)), Applied: func(v kv.Version) {
					told = v
					versions = append(versions, v)
					sn := Begin(t, st)
					defer sn.Release()
					if sn.Version() < v {
						t.Errorf("version %d is told while %d is visible", v, sn.Version())
					}
				}}
				if v, err := st.Commit(ctx, b); err != nil || v != told {
					t.Errorf("commit: version %d, told of %d, %v", v, told, err)
				}
			}
		})
	}
	wg.Wait()
	if len(versions) != writers*s.rounds || !slices.IsSorted(versions) {
		t.Errorf("%d batches were told of, in order: %v", len(versions), slices.IsSorted(versions))
	}
}

// testEmptyBatch: a batch that writes nothing is refused when what it read has changed, and goes through otherwise.
func (s suite) testEmptyBatch(t *testing.T, st kv.Store) {
	v := Put(t, st, "a", "1")
	b := &kv.Batch{Snapshot: v, Reads: kv.ReadSet{Keys: [][]byte{[]byte("a")}}}
	told := kv.Version(0)
	b.Applied = func(v kv.Version) { told = v }
	if got, err := st.Commit(ctx, b); err != nil || got < v || told != got || s.counts && got != v {
		t.Errorf("version %d, told of %d, %v: want %d", got, told, err, v)
	}
	sn := Begin(t, st)
	defer sn.Release()
	if sn.Version() < v || s.counts && sn.Version() != v {
		t.Errorf("the store is at version %d, want %d", sn.Version(), v)
	}
	Put(t, st, "a", "2")
	if _, err := st.Commit(ctx, &kv.Batch{Snapshot: v, Reads: kv.ReadSet{Keys: [][]byte{[]byte("a")}}}); !errors.Is(err,
		kv.ErrConflict) {
		t.Errorf("after a change: %v", err)
	}
}
