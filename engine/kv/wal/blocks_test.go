package wal_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// texts opens a log and gives the texts of its frames.
func texts(t *testing.T, opt wal.Options) (*wal.Log, history) {
	t.Helper()
	var h history
	l, _, err := wal.Open(opt, 0, func(f *wal.Frame) error {
		h = append(h, string(wal.Unseal(f.Sealed[0])))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, h
}

// TestBlocks: small and large groups, synced one by one or several together, are in the files once, and come back.
func TestBlocks(t *testing.T) {
	d := fault.NewDisk()
	d.SetBlocks(true)
	opt := options(d)
	opt.SegmentSize = 4 << 20
	rnd := rand.New(rand.NewPCG(5, 6))
	var want history
	l, _ := texts(t, opt)
	for v := kv.Version(1); v <= 600; {
		var group []*wal.Frame
		for range 1 + rnd.IntN(3) {
			size := []int{0, rnd.IntN(100), rnd.IntN(9000)}[rnd.IntN(3)]
			if rnd.IntN(60) == 0 {
				size = 1<<20 + rnd.IntN(100)
			}
			text := fmt.Sprintf("<%d>%s", v, strings.Repeat("x", size))
			group, want = append(group, frame(t, v, text)), append(want, text)
			v++
		}
		if err := l.Append(group); err != nil {
			t.Fatal(err)
		}
		if rnd.IntN(4) > 0 {
			if err := l.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	var all strings.Builder
	for _, name := range files(d) {
		all.Write(d.Bytes(name))
	}
	for v := range want {
		if n := strings.Count(all.String(), fmt.Sprintf("<%d>", v+1)); n != 1 {
			t.Errorf("version %d is %d times in the files", v+1, n)
		}
	}
	l, h := texts(t, opt)
	defer closeLog(t, l)
	if len(h) != len(want) {
		t.Fatalf("%d of %d frames come back", len(h), len(want))
	}
	for i := range want {
		if h[i] != want[i] {
			t.Fatalf("version %d differs", i+1)
		}
	}
}

// TestBlocksOfTheSystem: a log on the file system of this machine, which may be good at them or not.
func TestBlocksOfTheSystem(t *testing.T) {
	opt := wal.Options{Dir: t.TempDir(), Store: [16]byte{7}, Deferred: true}
	probe, err := wal.OS{}.Open(filepath.Join(t.TempDir(), "probe"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("whole blocks: %v", probe.Blocks())
	if err := probe.Close(); err != nil {
		t.Error(err)
	}
	var want history
	for v := kv.Version(1); v <= 120; {
		l, h := texts(t, opt)
		wantHistory(t, h, want...)
		for range 30 {
			text := strings.Repeat(fmt.Sprintf("%d,", v), int(v*v%700))
			add(t, l, v, text)
			want = append(want, text)
			v++
		}
		closeLog(t, l)
	}
}
