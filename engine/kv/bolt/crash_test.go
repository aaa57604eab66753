package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/kvtest"
)

// step is the batch with number n: it changes three keys, and one of them is its number.
func step(n int) []kv.Write {
	rnd := rand.New(rand.NewPCG(uint64(n), 5))
	a, b := rnd.IntN(50), 50+rnd.IntN(50)
	ws := kvtest.Writes(fmt.Sprintf("k%02d", a), strings.Repeat(fmt.Sprint(n, ";"), rnd.IntN(60)),
		fmt.Sprintf("k%02d", b), fmt.Sprint(n), "n", fmt.Sprint(n))
	if rnd.IntN(3) == 0 {
		ws[0].Value = nil
	}
	return ws
}

// after is the state after batches 1 to n.
func after(n int) string {
	m := map[string]string{}
	for i := 1; i <= n; i++ {
		for _, w := range step(i) {
			if delete(m, string(w.Key)); w.Value != nil {
				m[string(w.Key)] = string(w.Value)
			}
		}
	}
	out := make([]string, 0, len(m))
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// number reads which batch was the last.
func number(t *testing.T, st kv.Store) int {
	t.Helper()
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	v, _, err := sn.Get([]byte("n"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	fmt.Sscan(string(v), &n)
	return n
}

func small(path string, d *fault.Disk) bolt.Options {
	return bolt.Options{Path: path, FS: d, CheckpointKeys: 40, SegmentSize: 16 << 10}
}

// eachWay runs a test on disks that are written and synced, and on disks that take whole blocks.
func eachWay(t *testing.T, f func(t *testing.T, blocks bool)) {
	for _, blocks := range []bool{false, true} {
		t.Run(fmt.Sprintf("blocks %v", blocks), func(t *testing.T) { f(t, blocks) })
	}
}

// TestCrashes cuts the power at each operation on the log of a run with checkpoints and clean
// stops: acknowledged batches survive whole, others are there whole or not at all.
func TestCrashes(t *testing.T) { eachWay(t, testCrashes) }

func testCrashes(t *testing.T, blocks bool) {
	type image struct {
		disk             *fault.Disk
		data             []byte
		acked, attempted int
	}
	path := filepath.Join(t.TempDir(), "x.db")
	d := fault.NewDisk()
	d.SetBlocks(blocks)
	var mu sync.Mutex // guards rnd, images, acked, attempted: checkpoints free log segments meanwhile
	rnd := rand.New(rand.NewPCG(11, 0))
	var images []image
	acked, attempted := 0, 0
	d.SetPlan(func(fault.Op, int64) fault.Outcome {
		mu.Lock()
		defer mu.Unlock()
		if len(images) > 30 && rnd.IntN(3) > 0 {
			return fault.Outcome{}
		}
		im := image{disk: d.Crash(rnd), acked: acked, attempted: attempted}
		im.data, _ = os.ReadFile(filepath.Join(path, "data.db")) // absent at the very start
		images = append(images, im)
		return fault.Outcome{}
	})
	const batches = 260
	for attempted < batches {
		st := open(t, small(path, d))
		for range 65 {
			mu.Lock()
			attempted++
			mu.Unlock()
			if _, err := st.Commit(ctx, &kv.Batch{Writes: step(attempted)}); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			acked = attempted
			mu.Unlock()
		}
		closeStore(t, st)
	}
	d.SetPlan(nil)
	t.Logf("%d images", len(images))
	for i, im := range images {
		dir := filepath.Join(t.TempDir(), "x.db")
		if err := errors.Join(os.Mkdir(dir, 0o700),
			os.WriteFile(filepath.Join(dir, "data.db"), im.data, 0o600)); err != nil {
			t.Fatal(err)
		}
		st, err := bolt.Open(small(dir, im.disk.Moved(path, dir)))
		if err != nil {
			t.Fatalf("image %d: %v", i, err)
		}
		n := number(t, st)
		if n < im.acked || n > max(im.attempted, im.acked) {
			t.Errorf("image %d: got batch %d, want %d to %d", i, n, im.acked, im.attempted)
		}
		if got := kvtest.All(t, st); got != after(n) {
			t.Errorf("image %d: the state is not that after batch %d", i, n)
		}
		if _, err := st.Commit(ctx, &kv.Batch{Writes: step(n + 1)}); err != nil {
			t.Errorf("image %d: commit after recovery: %v", i, err)
		}
		closeStore(t, st)
	}
}

// TestEachFailure lets each write and sync of the log fail in turn: the store turns read-only,
// still reads, and after a restart has all that was acknowledged.
func TestEachFailure(t *testing.T) { eachWay(t, testEachFailure) }

func testEachFailure(t *testing.T, blocks bool) {
	for _, op := range []fault.Op{fault.Write, fault.Sync} {
		for n := int64(1); ; n++ {
			path, d := filepath.Join(t.TempDir(), "x.db"), fault.NewDisk()
			d.SetBlocks(blocks)
			failed := false
			nth := fault.Nth(n, fault.Outcome{Err: syscall.EIO}, op)
			d.SetPlan(func(op fault.Op, i int64) fault.Outcome {
				out := nth(op, i)
				failed = failed || out.Err != nil
				return out
			})
			acked, attempted := 0, 0
			st, err := bolt.Open(bolt.Options{Path: path, FS: d})
			for err == nil && attempted < 30 {
				attempted++
				if _, err = st.Commit(ctx, &kv.Batch{Writes: step(attempted)}); err == nil {
					acked = attempted
				}
			}
			if st != nil {
				if err != nil {
					checkReadOnly(t, st, err, acked)
				}
				st.Close()
			}
			d.SetPlan(nil)
			st = open(t, bolt.Options{Path: path, FS: d.Kill()})
			if got := number(t, st); got < acked || got > attempted || kvtest.All(t, st) != after(got) {
				t.Errorf("%s %d: got batch %d, want %d to %d", op, n, got, acked, attempted)
			}
			closeStore(t, st)
			if !failed {
				break
			}
		}
	}
}

// checkReadOnly: err was the answer to a commit after acked good ones.
func checkReadOnly(t *testing.T, st *bolt.Store, err error, acked int) {
	t.Helper()
	if !errors.Is(err, kv.ErrUndetermined) {
		t.Errorf("the commit that failed: got %v, want ErrUndetermined", err)
	}
	if _, err := st.Commit(ctx, &kv.Batch{Writes: step(99)}); !errors.Is(err, kv.ErrReadOnly) {
		t.Errorf("the next commit: got %v, want ErrReadOnly", err)
	}
	if got := kvtest.All(t, st); got != after(acked) {
		t.Errorf("reads: got %q, want the state after batch %d", got, acked)
	}
	if !st.Stats().ReadOnly {
		t.Error("the statistics do not say that the store is read-only")
	}
}

// TestFullDiskRefusesAndRecovers: refused batches never appear, and room makes all good.
func TestFullDiskRefusesAndRecovers(t *testing.T) { eachWay(t, testFullDiskRefusesAndRecovers) }

func testFullDiskRefusesAndRecovers(t *testing.T, blocks bool) {
	path, d := filepath.Join(t.TempDir(), "x.db"), fault.NewDisk()
	d.SetBlocks(blocks)
	st := open(t, bolt.Options{Path: path, FS: d, SegmentSize: 64 << 10}) // a prepared one does not last for long
	refused := 0
	commit := func(n int) {
		_, err := st.Commit(ctx,
			&kv.Batch{Writes: append(step(n), kv.Write{Key: []byte("z"), Value: make([]byte, 20000)})})
		if errors.Is(err, kv.ErrNoSpace) {
			refused++
			if got := number(t, st); got >= n {
				t.Fatalf("refused batch %d is visible", got)
			}
			if refused%5 == 0 {
				d.SetLimit(0)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := number(t, st); got != n {
			t.Fatalf("got batch %d, want %d", got, n)
		}
	}
	for n := 1; n <= 60; n++ {
		if n%20 == 0 {
			d.SetLimit(d.Used() + 1000)
		}
		commit(n)
	}
	if refused == 0 || st.Stats().ReadOnly {
		t.Errorf("refused %d, read-only %v", refused, st.Stats().ReadOnly)
	}
	closeStore(t, st)
}

// TestFullDataFile: when bbolt cannot take a checkpoint, commits go on until the overlay is full.
func TestFullDataFile(t *testing.T) {
	opt := bolt.Options{Path: filepath.Join(t.TempDir(), "x.db"), MapSize: 16 << 20, CheckpointBytes: 1 << 20,
		Sync: kv.SyncNever}
	st := open(t, opt)
	n := 0
	var err error
	for ; err == nil && n < 10000; n++ {
		_, err = st.Commit(ctx,
			&kv.Batch{Writes: []kv.Write{{Key: fmt.Appendf(nil, "%08d", n), Value: make([]byte, 1000)}}})
	}
	if !errors.Is(err, kv.ErrNoSpace) {
		t.Fatalf("after %d commits: got %v, want ErrNoSpace", n, err)
	}
	count := func(st kv.Store) (keys int) {
		sn := kvtest.Begin(t, st)
		defer sn.Release()
		c := sn.Scan(kv.Range{}, kv.ScanOptions{KeysOnly: true})
		for c.Next() {
			keys++
		}
		return keys
	}
	if got := count(st); got != n-1 || st.Stats().ReadOnly {
		t.Errorf("got %d keys, want %d", got, n-1)
	}
	if err := st.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	opt.MapSize = 0
	st = open(t, opt)
	if got := count(st); got != n-1 {
		t.Errorf("after a restart with room: got %d keys, want %d", got, n-1)
	}
	closeStore(t, st)
}

// TestDamagedValue: a value that rots in data.db is an error that names its key, and no other
// key suffers.
func TestDamagedValue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	st := open(t, bolt.Options{Path: path})
	kvtest.Put(t, st, "a", "good", "b", "to be damaged", "c", "good too")
	closeStore(t, st)
	file := filepath.Join(path, "data.db")
	p, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.LastIndex(p, []byte("to be damaged"))
	for i := 0; i <= at; i++ { // all copies of the page
		if bytes.HasPrefix(p[i:], []byte("to be damaged")) {
			p[i] ^= 0x20
		}
	}
	if err := os.WriteFile(file, p, 0o600); err != nil || at < 0 {
		t.Fatal(err, at)
	}
	st = open(t, bolt.Options{Path: path})
	defer closeStore(t, st)
	sn := kvtest.Begin(t, st)
	defer sn.Release()
	if _, _, err := sn.Get([]byte("b")); !errors.Is(err, kv.ErrCorrupt) || !strings.Contains(err.Error(), "62") {
		t.Errorf("get: got %v, want ErrCorrupt that names key 62", err)
	}
	if v, ok, err := sn.Get([]byte("c")); string(v) != "good too" || !ok || err != nil {
		t.Errorf("its neighbour: %q, %v, %v", v, ok, err)
	}
	c := sn.Scan(kv.Range{}, kv.ScanOptions{})
	n := 0
	for c.Next() {
		n++
	}
	if n != 1 || !errors.Is(c.Err(), kv.ErrCorrupt) {
		t.Errorf("scan: got %d keys and %v, want 1 and ErrCorrupt", n, c.Err())
	}
}

// TestShortDataFile: a file that was cut must be refused, as reading on would stop the process.
func TestShortDataFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	st := open(t, bolt.Options{Path: path})
	for n := range 200 {
		kvtest.Put(t, st, fmt.Sprint("k", n), strings.Repeat("x", 1000))
	}
	closeStore(t, st)
	if err := os.Truncate(filepath.Join(path, "data.db"), 40<<10); err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(bolt.Options{Path: path}); !errors.Is(err, kv.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

// TestOpenSnapshotAtClose: the snapshot stays readable, and its release frees the file.
func TestOpenSnapshotAtClose(t *testing.T) {
	opt := bolt.Options{Path: filepath.Join(t.TempDir(), "x.db")}
	st := open(t, opt)
	kvtest.Put(t, st, "a", "1")
	old := kvtest.Begin(t, st)
	kvtest.Put(t, st, "a", "2")
	newest := kvtest.Begin(t, st)
	if err := st.Close(); err == nil || !strings.Contains(err.Error(), "2 snapshots") {
		t.Errorf("close: got %v", err)
	}
	for sn, want := range map[kv.Snapshot]string{old: "a=1", newest: "a=2"} {
		if got := kvtest.Dump(t, sn, kv.Range{}, kv.ScanOptions{}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		sn.Release()
	}
	closeStore(t, open(t, opt))
}

// TestLongSnapshotDoesNotStopCheckpoints: the store goes on around it, and it stays as it was.
func TestLongSnapshotDoesNotStopCheckpoints(t *testing.T) {
	st := open(t, bolt.Options{CheckpointKeys: 100, Sync: kv.SyncNever})
	defer closeStore(t, st)
	kvtest.Put(t, st, "a", "first")
	old := kvtest.Begin(t, st)
	defer old.Release()
	for n := range 3000 {
		kvtest.Put(t, st, "a", fmt.Sprint(n), fmt.Sprintf("k%d", n), strings.Repeat("x", 2000))
	}
	if got := st.Stats().Checkpoint; got < 2 {
		t.Errorf("got %d checkpoints", got)
	}
	if got := kvtest.Dump(t, old, kv.Range{}, kv.ScanOptions{}); got != "a=first" {
		t.Errorf("the old snapshot has %q", got)
	}
}
