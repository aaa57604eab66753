package tikv_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/txnkv"

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

// TestSnapshotIsolation: without serializability a phantom goes through, and a key that has changed does not.
func TestSnapshotIsolation(t *testing.T) {
	st := open(t, tikv.Options{Isolation: kv.SnapshotIsolation})
	defer st.Close()
	kvtest.Put(t, st, "a", "1")
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	kvtest.Put(t, st, "b", "phantom")
	all := kv.ReadSet{Ranges: []kv.Range{{Start: []byte("a")}}}
	if _, err := st.Commit(ctx, batch(sn, all, "x", "1")); err != nil {
		t.Errorf("a phantom: %v", err)
	}
	if _, err := st.Commit(ctx, batch(sn, keys("a", "b"), "y", "1")); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("a key: %v", err)
	}
}

// TestOwnWritesInReads: a batch that writes within what it has read does not get into its own way.
func TestOwnWritesInReads(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "b", "1", "c", "1")
	for _, rewind := range []bool{false, true} {
		sn := kvtest.Begin(t, st)
		if rewind { // b is written blindly, and has changed: a second attempt validates all at another timestamp
			kvtest.Put(t, st, "d", "2")
		}
		reads := kv.ReadSet{Keys: keys("a", "c").Keys, Ranges: []kv.Range{{Start: []byte("a"), End: []byte("d")}}}
		_, err := st.Commit(ctx, batch(sn, reads, "a", "2", "b", "-", "bb", "2", "d", "2"))
		sn.Release()
		if err != nil {
			t.Errorf("rewind %v: %v", rewind, err)
		}
	}
	if got := kvtest.All(t, st); got != "a=2 bb=2 c=1 d=2" {
		t.Error(got)
	}
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

// TestReadOnlyAnomaly: a commit that readers push to a later timestamp is validated at that one. Otherwise somebody
// could see the change of c without that of a, although a comes before c (Fekete, O'Neil, O'Neil: A read-only
// transaction anomaly under snapshot isolation, SIGMOD Record 2004).
func TestReadOnlyAnomaly(t *testing.T) {
	c, open := cluster(t)
	a, b := open(tikv.Options{}), open(tikv.Options{})
	kvtest.Put(t, a, "x", "0", "y", "0")
	sn := kvtest.Begin(t, a)
	defer sn.Release()
	c.Order(t, "/hold")
	done := make(chan error, 1)
	go func() { _, err := a.Commit(ctx, batch(sn, keys("x"), "y", "1")); done <- err }()
	waitFor(t, func() bool { return a.Trips().Commits.Load() == 2 }) // the first was Put's
	if got := kvtest.All(t, b); got != "x=0 y=0" {
		t.Errorf("a reader meanwhile: %s", got)
	}
	wrote := make(chan error, 1)
	go func() { _, err := b.Commit(ctx, &kv.Batch{Writes: kvtest.Writes("x", "1")}); wrote <- err }()
	waitFor(t, func() bool { return b.Trips().Commits.Load() == 1 })
	c.Order(t, "/go")
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	err := <-done
	after := kvtest.All(t, b)
	if err == nil && after != "x=1 y=1" || err != nil && (!errors.Is(err, kv.ErrConflict) || after != "x=1 y=0") {
		t.Errorf("%v, and then %s", err, after)
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

// TestPushed: a commit whose timestamp a reader has pushed goes through at a later one when nothing else has changed.
func TestPushed(t *testing.T) {
	c, open := cluster(t)
	a, b := open(tikv.Options{}), open(tikv.Options{})
	kvtest.Put(t, a, "x", "0", "y", "0")
	sn := kvtest.Begin(t, a)
	defer sn.Release()
	c.Order(t, "/hold")
	done := make(chan error, 1)
	go func() {
		reads := keys("x")
		reads.Ranges = []kv.Range{{Start: []byte("x"), End: []byte("z")}}
		v, err := a.Commit(ctx, batch(sn, reads, "y", "1"))
		if at := a.Stats().Version; err == nil && at != v {
			err = fmt.Errorf("committed at %d, told of %d", at, v)
		}
		done <- err
	}()
	waitFor(t, func() bool { return a.Trips().Commits.Load() == 2 })
	if got := kvtest.All(t, b); got != "x=0 y=0" {
		t.Errorf("meanwhile: %s", got)
	}
	c.Order(t, "/go")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := kvtest.All(t, b); got != "x=0 y=1" || a.Trips().Commits.Load() != 3 {
		t.Errorf("%s after %d commits", got, a.Trips().Commits.Load())
	}
}

// TestUndetermined: an unknown outcome is an error of its own. An answer that was lost once is asked for
// again.
func TestUndetermined(t *testing.T) {
	c, open := cluster(t)
	st, other := open(tikv.Options{Timeout: time.Second}), open(tikv.Options{})
	c.Order(t, "/commits", "lose", "1")
	kvtest.Put(t, st, "a", "1")
	c.Order(t, "/commits", "refuse", "1")
	kvtest.Put(t, st, "a", "2")
	for i, how := range []string{"lose", "refuse"} {
		c.Order(t, "/commits", how, "1000000")
		value := strconv.Itoa(10 + i)
		_, err := st.Commit(ctx, &kv.Batch{Writes: kvtest.Writes("a", value),
			Applied: func(kv.Version) { t.Errorf("%s: a commit with an unknown outcome is reported as applied", how) }})
		c.Order(t, "/commits", how, "0")
		if !errors.Is(err, kv.ErrUndetermined) {
			t.Errorf("%s: %v", how, err)
		}
		switch got := kvtest.All(t, other); { // by then it is known, to those who look
		case how == "lose" && got != "a="+value:
			t.Errorf("a commit that was executed: %s", got)
		case how == "refuse" && got == "a="+value:
			t.Errorf("a commit that never arrived: %s", got)
		}
	}
}

// TestCancel: a commit that is given up before its last step leaves nothing, and one after it is not given up.
func TestCancel(t *testing.T) {
	c, open := cluster(t)
	st := open(tikv.Options{})
	given, cancel := context.WithCancel(ctx)
	c.Order(t, "/hold")
	done := make(chan error, 1)
	go func() { _, err := st.Commit(given, &kv.Batch{Writes: kvtest.Writes("a", "1")}); done <- err }()
	waitFor(t, func() bool { return st.Trips().Commits.Load() == 1 })
	cancel()
	c.Order(t, "/go")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := st.Commit(given, &kv.Batch{Writes: kvtest.Writes("a", "2")}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := kvtest.All(t, st); got != "a=1" {
		t.Error(got)
	}
}

// TestLeftBehind: locks of a killed process delay others no longer than they live.
func TestLeftBehind(t *testing.T) {
	c, open := cluster(t)
	dead, st := open(tikv.Options{}), open(tikv.Options{})
	kvtest.Put(t, st, "a", "1", "b", "1")
	sn := kvtest.Begin(t, dead)
	defer sn.Release()
	c.Order(t, "/hold")
	done := make(chan error, 1)
	go func() { _, err := dead.Commit(ctx, batch(sn, keys("a"), "a", "2", "b", "2")); done <- err }()
	waitFor(t, func() bool { return dead.Trips().Commits.Load() == 1 })
	if got := kvtest.All(t, st); got != "a=1 b=1" {
		t.Errorf("a reader: %s", got)
	}
	wrote := make(chan error, 1)
	go func() { _, err := st.Commit(ctx, &kv.Batch{Writes: kvtest.Writes("b", "3")}); wrote <- err }()
	waitFor(t, func() bool { return st.Trips().Commits.Load() == 2 }) // it has waited for the end of the lock
	c.Order(t, "/go")
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, kv.ErrConflict) {
		t.Errorf("the one that was taken for dead: %v", err)
	}
	if got := kvtest.All(t, st); got != "a=1 b=3" {
		t.Error(got)
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

// TestChecksum: what somebody else wrote is an error with the key, never a value.
func TestChecksum(t *testing.T) {
	c, open := cluster(t)
	st := open(tikv.Options{})
	kvtest.Put(t, st, "a", "1", "b", "1")
	raw, err := txnkv.NewClient([]string{c.PD})
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	tx, err := raw.Begin()
	if err != nil {
		t.Fatal(err)
	}
	key := []byte("nacre/\x00a\x00\x01")
	v, err := tx.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	v[0] ^= 1
	if err := errors.Join(tx.Set(key, v), tx.Commit(ctx)); err != nil {
		t.Fatal(err)
	}
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	_, _, err = sn.Get([]byte("a"))
	if !errors.Is(err, kv.ErrCorrupt) || !strings.Contains(err.Error(), hex.EncodeToString(key)) {
		t.Errorf("get: %v", err)
	}
	cur := sn.Scan(kv.Range{}, kv.ScanOptions{})
	if cur.Next() || !errors.Is(cur.Err(), kv.ErrCorrupt) {
		t.Errorf("scan: %v", cur.Err())
	}
}

// TestUrgent: what says that a process is there does not wait for the turn of others.
func TestUrgent(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	turn, err := st.Exclusive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sn, err := st.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Release()
	urgent := batch(sn, kv.ReadSet{}, "a", "1")
	urgent.Urgent = true
	if _, err := st.Commit(ctx, urgent); err != nil {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := st.Commit(soon, batch(sn, kv.ReadSet{}, "b", "1")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another one passes the turn: %v", err)
	}
	turn.Release()
	if got := kvtest.All(t, st); got != "a=1" {
		t.Error(got)
	}
}

// TestLease: several processes share a prefix. One with other rules keeps them away while it renews its lease, and
// waits for none of them to be gone: it does not get the lease before the last one is.
func TestLease(t *testing.T) {
	c, renew := otherRules(t)
	opt := tikv.Options{PD: []string{c.PD}, Prefix: "p"}
	one, two := open(t, opt), open(t, opt)
	kvtest.Put(t, one, "a", "1")
	if got := kvtest.All(t, two); got != "a=1" {
		t.Errorf("the other one: %s", got)
	}
	elsewhere := open(t, tikv.Options{PD: opt.PD, Prefix: "p2"})
	if got := kvtest.All(t, elsewhere); got != "" {
		t.Errorf("another prefix: %s", got)
	}
	if err := errors.Join(elsewhere.Close(), one.Close()); err != nil {
		t.Error(err)
	}
	kvtest.Put(t, two, "a", "2")
	if err := two.Close(); err != nil {
		t.Error(err)
	}
	stop := make(chan struct{})
	var alive sync.WaitGroup
	renew(time.Minute)
	alive.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
				renew(time.Minute + time.Duration(n)*time.Second)
			}
		}
	})
	if _, err := tikv.Open(ctx, opt); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("beside one with other rules: %v", err)
	}
	close(stop)
	alive.Wait()
}

// otherRules starts a cluster, and gives what a process with other rules does to the lease of prefix p.
func otherRules(t *testing.T) (*stub.Cluster, func(time.Duration)) {
	c := stub.Start(t)
	raw, err := txnkv.NewClient([]string{c.PD})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = raw.Close() })
	return c, func(d time.Duration) {
		tx, err := raw.Begin()
		if err != nil {
			t.Error(err)
			return
		}
		until := oracle.ExtractPhysical(tx.StartTS()) + d.Milliseconds()
		v := fmt.Appendf(nil, `{"id":"somebody","until":%d}`, until)
		if err := errors.Join(tx.Set([]byte("nacre-lease/p\x00"), v), tx.Commit(ctx)); err != nil {
			t.Error(err)
		}
	}
}

// TestLeaseTaken: a process whose lease somebody with other rules has taken commits nothing more.
func TestLeaseTaken(t *testing.T) {
	c, renew := otherRules(t)
	st := open(t, tikv.Options{PD: []string{c.PD}, Prefix: "p"})
	kvtest.Put(t, st, "a", "1")
	renew(time.Hour)
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		sn, err := st.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.Commit(ctx, batch(sn, kv.ReadSet{}, "a", "2"))
		sn.Release()
		if errors.Is(err, kv.ErrUnavailable) {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("it goes on: %v", err)
		}
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
}

// TestLeaseLeftOver: who was killed is waited for until its lease ends, also when its last renewal arrives late.
func TestLeaseLeftOver(t *testing.T) {
	c, renew := otherRules(t)
	renew(time.Second)
	done := make(chan error, 1)
	go func() {
		st, err := tikv.Open(ctx, tikv.Options{PD: []string{c.PD}, Prefix: "p"})
		if err == nil {
			err = st.Close()
		}
		done <- err
	}()
	time.Sleep(500 * time.Millisecond)
	renew(2 * time.Second)
	if err := <-done; err != nil {
		t.Error(err)
	}
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

// TestTooLarge: what no cluster takes is refused with that word, and the store goes on.
func TestTooLarge(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	_, err := st.Commit(ctx, &kv.Batch{Writes: []kv.Write{{Key: []byte("a"), Value: make([]byte, 6<<20+1)}}})
	if !errors.Is(err, kv.ErrTooLarge) {
		t.Errorf("a large value: %v", err)
	}
	b := &kv.Batch{}
	value := make([]byte, 4<<20)
	for i := range 26 {
		b.Writes = append(b.Writes, kv.Write{Key: fmt.Appendf(nil, "k%02d", i), Value: value}) // 104 MiB
	}
	if _, err := st.Commit(ctx, b); !errors.Is(err, kv.ErrTooLarge) {
		t.Errorf("a large batch: %v", err)
	}
	largest := &kv.Batch{Writes: []kv.Write{{Key: []byte("a"), Value: make([]byte, 6<<20)}}}
	if _, err := st.Commit(ctx, largest); err != nil {
		t.Errorf("the largest value: %v", err)
	}
	if got := len(kvtest.All(t, st)); got != len("a=")+6<<20 {
		t.Errorf("%d bytes are there", got)
	}
}

// TestTooOld: a snapshot that the cluster does not keep any more answers nothing, and says why.
func TestTooOld(t *testing.T) {
	if testing.Short() {
		t.Skip("the client looks for the safe point every ten seconds")
	}
	c, open := cluster(t)
	st := open(tikv.Options{})
	kvtest.Put(t, st, "a", "1")
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	c.Order(t, "/safepoint", "ts", fmt.Sprint(oracle.GoTimeToTS(time.Now().Add(time.Hour))))
	waitFor(t, func() bool { _, _, err := sn.Get([]byte("a")); return errors.Is(err, kv.ErrTooOld) })
	cur := sn.Scan(kv.Range{Start: []byte("b")}, kv.ScanOptions{})
	if cur.Next() || !errors.Is(cur.Err(), kv.ErrTooOld) {
		t.Errorf("a scan that finds nothing: %v", cur.Err())
	}
}

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

// TestTrips holds the number of requests to stores.
func TestTrips(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "b", "1", "c", "1")
	for _, tc := range []struct {
		name                             string
		do                               func()
		reads, prewrites, valid, commits uint64
	}{
		{"a point read", func() {
			sn := kvtest.Begin(t, st)
			defer sn.Release()
			_, _, _ = sn.Get([]byte("a"))
		}, 1, 0, 0, 0},
		{"a scan", func() { kvtest.All(t, st) }, 4, 0, 0, 0}, // All makes four of them
		{"an update of what was read", func() {
			sn := kvtest.Begin(t, st)
			defer sn.Release()
			_, _, _ = sn.Get([]byte("a"))
			if _, err := st.Commit(ctx, batch(sn, keys("a"), "a", "2")); err != nil {
				t.Error(err)
			}
		}, 1, 1, 0, 1},
		{"a write after reads of others", func() {
			sn := kvtest.Begin(t, st)
			defer sn.Release()
			_, _, _ = sn.Get([]byte("b"))
			_, _, _ = sn.Get([]byte("c"))
			if _, err := st.Commit(ctx, batch(sn, keys("b", "c"), "a", "3")); err != nil {
				t.Error(err)
			}
		}, 2, 1, 1, 1},
	} {
		n := st.Trips()
		r, p, v, c := n.Reads.Load(), n.Prewrites.Load(), n.Validations.Load(), n.Commits.Load()
		tc.do()
		r, p, v, c = n.Reads.Load()-r, n.Prewrites.Load()-p, n.Validations.Load()-v, n.Commits.Load()-c
		if r != tc.reads || p != tc.prewrites || v != tc.valid || c != tc.commits {
			t.Errorf("%s: %d reads, %d prewrites, %d validations, %d commits", tc.name, r, p, v, c)
		}
	}
}

// TestPrefetch: what was read ahead is what Get gives, is read with one request, and counts as read.
func TestPrefetch(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "b", "2", "c", "")
	if _, err := st.Commit(ctx, &kv.Batch{Deltas: []kv.Delta{{Key: []byte("n"), Add: 3}}}); err != nil {
		t.Fatal(err)
	}
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	kvtest.Put(t, st, "b", "later")
	before := st.Trips().Reads.Load()
	some := [][]byte{[]byte("a"), []byte("b"), []byte("c"), []byte("gone"), []byte("n"), nil}
	next, err := sn.(kv.Prefetcher).Prefetch(some)
	if err != nil || next < 1 {
		t.Fatal(next, err)
	}
	for range 2 { // the second time from the cluster
		for key, want := range map[string]string{"a": "1", "b": "2", "c": "", "gone": "-"} {
			v, there, err := sn.Get([]byte(key))
			if !there {
				v = []byte("-")
			}
			if err != nil || string(v) != want {
				t.Errorf("%s: %q, %v", key, v, err)
			}
		}
		if n := st.Trips().Reads.Load() - before; n != 1 && n != 5 {
			t.Errorf("%d requests", n)
		}
	}
	if v, _, err := sn.Get([]byte("n")); err != nil || !bytes.Equal(v, kv.AppendCounter(nil, 3)) {
		t.Errorf("a counter: %x, %v", v, err)
	}
	if _, err := st.Commit(ctx, batch(sn, keys("b"), "x", "1")); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("a commit after a change of what was read ahead: %v", err)
	}
	if next, err = sn.(kv.Prefetcher).Prefetch(nil); err != nil || next < 1 {
		t.Error(next, err)
	}
}

// TestPrefetchFar: what is far too large to be held many times over is asked for in smaller parts.
func TestPrefetchFar(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	large := strings.Repeat("x", 3<<20)
	kvtest.Put(t, st, "a", large, "b", large)
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	if next, err := sn.(kv.Prefetcher).Prefetch([][]byte{[]byte("a"), []byte("b")}); err != nil || next != 1 {
		t.Error(next, err)
	}
}

// TestPeek: a cursor shows what has come in, in its own order, and stays where it is.
func TestPeek(t *testing.T) {
	st := open(t, tikv.Options{})
	defer st.Close()
	kvtest.Put(t, st, "a", "1", "b", "2", "c", "3")
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	for _, tc := range []struct {
		opt  kv.ScanOptions
		n    int
		want string
	}{{kv.ScanOptions{}, 9, "b=2 c=3 "}, {kv.ScanOptions{}, 1, "b=2 "}, {kv.ScanOptions{}, 0, ""},
		{kv.ScanOptions{}, -1, ""}, {kv.ScanOptions{Reverse: true}, 9, "b=2 a=1 "},
		{kv.ScanOptions{Limit: 2}, 9, "b=2 "}, {kv.ScanOptions{KeysOnly: true}, 9, "b= c= "}} {
		c := sn.Scan(kv.Range{}, tc.opt)
		if len(c.(kv.Peeker).Peek(3)) > 0 || !c.Next() {
			t.Fatal(c.Err())
		}
		got := ""
		for _, p := range c.(kv.Peeker).Peek(tc.n) {
			got += fmt.Sprintf("%s=%s ", p.Key, p.Value)
		}
		if got != tc.want {
			t.Errorf("%+v: got %q", tc, got)
		}
		if !c.Next() || string(c.Key()) != "b" {
			t.Errorf("%+v: it has moved to %q", tc, c.Key())
		}
		c.Close()
	}
}
