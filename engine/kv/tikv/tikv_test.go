package tikv_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
)

var ctx = context.Background()

// counters are the keys that the suite adds to.
func counters(key []byte) bool { return key[0] == 'n' || key[0] == 's' }

// open opens a store, which the test closes. Without an address it is on a prefix of its own in a cluster that all
// tests share.
func open(t testing.TB, opt tikv.Options) *tikv.Store {
	t.Helper()
	if opt.PD == nil {
		c, prefix := stub.Shared(t)
		opt.PD, opt.Prefix = []string{c.PD}, prefix
	}
	opt.Counter = counters
	st, err := tikv.Open(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// cluster starts a cluster for one test, and gives a function that opens stores on it, all on the same prefix.
func cluster(t *testing.T, args ...string) (*stub.Cluster, func(tikv.Options) *tikv.Store) {
	c := stub.Start(t, args...)
	return c, func(opt tikv.Options) *tikv.Store {
		opt.PD = []string{c.PD}
		st := open(t, opt)
		t.Cleanup(func() {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		})
		return st
	}
}

func TestStore(t *testing.T) {
	kvtest.RunCluster(t, func(t testing.TB) kv.Store { return open(t, tikv.Options{}) })
}

// batch is one that has read keys and ranges at sn.
func batch(sn kv.Snapshot, reads kv.ReadSet, pairs ...string) *kv.Batch {
	return &kv.Batch{Snapshot: sn.(kv.Presuming).Base(), Reads: reads, Writes: kvtest.Writes(pairs...)}
}

func keys(ks ...string) kv.ReadSet {
	var r kv.ReadSet
	for _, k := range ks {
		r.Keys = append(r.Keys, []byte(k))
	}
	return r
}

// TestProcesses: two processes see each other's commits at once, lose no update and skew no write.
func TestProcesses(t *testing.T) {
	_, open := cluster(t)
	one, two := open(tikv.Options{}), open(tikv.Options{})
	kvtest.Put(t, one, "a", "on", "b", "on")
	if got := kvtest.All(t, two); got != "a=on b=on" {
		t.Fatal(got)
	}
	for i, reads := range []kv.ReadSet{keys("a", "b"), {Ranges: []kv.Range{{Start: []byte("a"), End: []byte("c")}}}} {
		x, y := kvtest.Begin(t, one), kvtest.Begin(t, two)
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = one.Commit(ctx, batch(x, reads, "a", fmt.Sprint("off", i))) })
		wg.Go(func() { _, errs[1] = two.Commit(ctx, batch(y, reads, "b", fmt.Sprint("off", i))) })
		wg.Wait()
		if errs[0] == nil && errs[1] == nil {
			t.Errorf("write skew over %+v", reads)
		}
	}
	var wg sync.WaitGroup
	var won atomic.Int64
	const rounds = 15
	for i := range rounds { // who is first with a name has it
		for _, st := range []*tikv.Store{one, two, one, two} {
			wg.Go(func() {
				sn := kvtest.Begin(t, st)
				defer sn.Release()
				key := fmt.Sprint("unique", i)
				if _, there, err := sn.Get([]byte(key)); there || err != nil {
					return
				}
				if _, err := st.Commit(ctx, batch(sn, keys(key), key, "mine")); err == nil {
					won.Add(1)
				} else if !errors.Is(err, kv.ErrConflict) {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if won.Load() != rounds {
		t.Errorf("%d names of %d were given", won.Load(), rounds)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// TestRegions: totals stay constant and scans whole while regions split, leaders move and a store stops.
func TestRegions(t *testing.T) {
	c, open := cluster(t)
	stores := []*tikv.Store{open(tikv.Options{}), open(tikv.Options{})}
	const accounts, total = 40, 4000
	account := func(i int) []byte { return fmt.Appendf(nil, "acc%02d", i) }
	var ws []kv.Write
	for i := range accounts {
		ws = append(ws, kv.Write{Key: account(i), Value: []byte(strconv.Itoa(total / accounts))})
	}
	if _, err := stores[0].Commit(ctx, &kv.Batch{Writes: ws}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var moved, read atomic.Int64
	running := func() bool {
		select {
		case <-stop:
			return false
		default:
			return true
		}
	}
	for w := range 4 {
		wg.Go(func() {
			for i := w; running(); i += 7 {
				st := stores[w%2]
				from, to := account(i%accounts), account((i*3+1)%accounts)
				if bytes.Equal(from, to) {
					continue
				}
				if transfer(t, st, from, to) {
					moved.Add(1)
				}
			}
		})
		wg.Go(func() {
			for running() {
				sn := kvtest.Begin(t, stores[w%2])
				sum, n := 0, 0
				cur := sn.Scan(kv.Prefix([]byte("acc")), kv.ScanOptions{Reverse: w%2 == 0})
				for cur.Next() {
					v, _ := strconv.Atoi(string(cur.Value()))
					sum, n = sum+v, n+1
				}
				if cur.Err() != nil || sum != total || n != accounts {
					t.Errorf("%d accounts with %d: %v", n, sum, cur.Err())
				}
				sn.Release()
				read.Add(1)
			}
		})
	}
	for i := range 20 {
		key := append([]byte("nacre/\x00"), account(i*2)...)
		c.Order(t, "/split", "key", hex.EncodeToString(key))
		c.Order(t, "/leaders")
		if i == 10 {
			c.Order(t, "/stop", "store", "1")
		}
		if before := moved.Load(); i != 10 {
			waitFor(t, func() bool { return moved.Load() > before })
		}
		if i == 10 {
			c.Order(t, "/start", "store", "1")
		}
	}
	close(stop)
	wg.Wait()
	if regions := c.Order(t, "/regions"); regions != "21" {
		t.Errorf("%s regions", regions)
	}
	t.Logf("%d transfers, %d sums", moved.Load(), read.Load())
}

// transfer moves one from an account to another one, and reports whether it did.
func transfer(t *testing.T, st *tikv.Store, from, to []byte) bool {
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	b := &kv.Batch{Snapshot: sn.Version()}
	for i, k := range [][]byte{from, to} {
		v, _, err := sn.Get(k)
		if err != nil {
			t.Error(err)
			return false
		}
		n, _ := strconv.Atoi(string(v))
		b.Reads.Keys = append(b.Reads.Keys, k)
		b.Writes = append(b.Writes, kv.Write{Key: k, Value: []byte(strconv.Itoa(n + 2*i - 1))})
	}
	if bytes.Compare(from, to) > 0 {
		b.Reads.Keys[0], b.Reads.Keys[1] = b.Reads.Keys[1], b.Reads.Keys[0]
		b.Writes[0], b.Writes[1] = b.Writes[1], b.Writes[0]
	}
	_, err := st.Commit(ctx, b)
	if err != nil && !errors.Is(err, kv.ErrConflict) {
		t.Error(err)
	}
	return err == nil
}

// TestNobodyThere: an address where nothing answers is an error within the time-out.
func TestNobodyThere(t *testing.T) {
	_, err := tikv.Open(ctx, tikv.Options{PD: []string{"127.0.0.1:1"}, Timeout: 500 * time.Millisecond})
	if !errors.Is(err, kv.ErrUnavailable) {
		t.Error(err)
	}
	given, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := tikv.Open(given, tikv.Options{PD: []string{"127.0.0.1:1"}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
