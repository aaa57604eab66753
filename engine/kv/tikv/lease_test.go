package tikv_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tikv/client-go/v2/oracle"
	"github.com/tikv/client-go/v2/txnkv"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
)

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
