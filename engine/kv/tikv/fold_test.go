package tikv_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/tikv/client-go/v2/txnkv"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
)

// TestCountersFold: a counter is a sum of few parts, however often it is added to.
func TestCountersFold(t *testing.T) {
	c, open := cluster(t)
	st := open(tikv.Options{})
	const writers, rounds = 8, 60
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range rounds {
				if _, err := st.Commit(ctx, &kv.Batch{Deltas: []kv.Delta{{Key: []byte("n"), Add: 3}}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	raw, err := txnkv.NewClient([]string{c.PD})
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	parts := func() (n int) {
		tx, err := raw.Begin()
		if err != nil {
			t.Fatal(err)
		}
		it, err := tx.Iter([]byte("nacre/\x00n"), []byte("nacre/\x00o"))
		if err != nil {
			t.Fatal(err)
		}
		for ; it.Valid(); err = it.Next() {
			n++
		}
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	waitFor(t, func() bool { return parts() < 2*128 })
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	v, _, err := sn.Get([]byte("n"))
	if n, ok := kv.Counter(v); err != nil || !ok || n != 3*writers*rounds {
		t.Errorf("got %d, %v, %v", n, ok, err)
	}
	back := sn.Scan(kv.Range{}, kv.ScanOptions{Reverse: true})
	if !back.Next() || !bytes.Equal(back.Value(), v) || back.Next() || back.Err() != nil {
		t.Errorf("a scan back gives %x, %v", back.Value(), back.Err())
	}
}
