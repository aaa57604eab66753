package fault_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/kvtest"
	"github.com/nacredb/nacre/engine/kv/mem"
)

func TestStoreWithoutFaults(t *testing.T) {
	kvtest.Run(t, func(testing.TB) kv.Store { return fault.New(mem.New()) })
}

func TestSpoilingStoreKeepsItsPromises(t *testing.T) {
	kvtest.Run(t, func(testing.TB) kv.Store { return fault.NewSpoiling(mem.New()) })
}

func TestSpoilingStoreSpoils(t *testing.T) {
	st := fault.NewSpoiling(mem.New())
	kvtest.Put(t, st, "a", "1")
	sn := kvtest.Begin(t, st)
	v, _, err := sn.Get([]byte("a"))
	if err != nil || string(v) != "1" {
		t.Fatalf("got %q, %v", v, err)
	}
	sn.Release()
	if string(v) == "1" {
		t.Error("the value outlived its snapshot")
	}
	if got := kvtest.All(t, st); got != "a=1" {
		t.Errorf("the store itself was spoiled: %q", got)
	}
}

func TestPlannedFaults(t *testing.T) {
	ctx := context.Background()
	st := fault.New(mem.New())
	kvtest.Put(t, st, "a", "1")
	boom := errors.New("boom")
	st.SetPlan(fault.Nth(2, fault.Outcome{Err: boom}, fault.Get))
	sn := kvtest.Begin(t, st)
	for i, want := range []error{nil, boom, nil} {
		if _, _, err := sn.Get([]byte("a")); !errors.Is(err, want) {
			t.Errorf("get %d: got %v, want %v", i, err, want)
		}
	}
	st.SetPlan(fault.Nth(1, fault.Outcome{Err: boom}, fault.Next))
	if c := sn.Scan(kv.Range{}, kv.ScanOptions{}); c.Next() || !errors.Is(c.Err(), boom) {
		t.Errorf("scan: got %v", c.Err())
	}
	sn.Release()
	for _, after := range []bool{false, true} {
		st.SetPlan(fault.Nth(1, fault.Outcome{Err: boom, After: after}, fault.Commit))
		_, err := st.Commit(ctx, &kv.Batch{Writes: kvtest.Writes("b", "2")})
		if !errors.Is(err, boom) {
			t.Errorf("commit: got %v", err)
		}
		want := map[bool]string{false: "a=1", true: "a=1 b=2"}[after]
		if got := kvtest.All(t, st); got != want {
			t.Errorf("after a commit that failed (after: %v): got %q, want %q", after, got, want)
		}
	}
}

func TestDiskCrash(t *testing.T) {
	d := fault.NewDisk()
	f, err := d.Open("/d/f")
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string, at int64) {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	write("synced", 0)
	if err := errors.Join(f.Sync(), d.SyncDir("/d")); err != nil {
		t.Fatal(err)
	}
	write("SYNCED", 0)
	write("second sector", 512)
	seen := map[string]bool{}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		p := d.Crash(rnd).Bytes("/d/f")
		state := string(p[:6])
		if len(p) > 512 {
			state += "+"
		}
		seen[state] = true
	}
	for _, want := range []string{"synced", "SYNCED", "synced+", "SYNCED+"} {
		if !seen[want] {
			t.Errorf("no crash left %s", want)
		}
	}
	if len(seen) != 4 {
		t.Errorf("got %v", seen)
	}
	d.SetLimit(d.Used() + 3)
	if n, err := f.WriteAt([]byte("abcdef"), d.Used()); n != 3 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write on a full disk: %d, %v", n, err)
	}
}
