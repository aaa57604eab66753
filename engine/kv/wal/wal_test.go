package wal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// history is what a log was told: the text of each version.
type history []string

func options(d *fault.Disk) wal.Options {
	return wal.Options{Dir: "/log", Store: [16]byte{1, 2, 3}, FS: d, SegmentSize: 16 << 10, Deferred: d.Blocks()}
}

// eachWay runs a test with frames that are written when they are appended, and with those that wait for a sync and are
// written in whole blocks.
func eachWay(t *testing.T, f func(t *testing.T, d *fault.Disk)) {
	for _, blocks := range []bool{false, true} {
		t.Run(fmt.Sprintf("blocks %v", blocks), func(t *testing.T) {
			d := fault.NewDisk()
			d.SetBlocks(blocks)
			f(t, d)
		})
	}
}

// frame is version v with some text.
func frame(t testing.TB, v kv.Version, text string) *wal.Frame {
	t.Helper()
	f, err := wal.Encode(&kv.Batch{Writes: []kv.Write{{Key: []byte("k"), Value: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	f.Version = v
	return f
}

// reopen replays the log of d on top of applied.
func reopen(d *fault.Disk, applied kv.Version) (*wal.Log, history, wal.Recovery, error) {
	var h history
	l, rec, err := wal.Open(options(d), applied, func(f *wal.Frame) error {
		h = append(h, fmt.Sprintf("%d:%s", f.Version, wal.Unseal(f.Sealed[0])))
		return nil
	})
	return l, h, rec, err
}

func start(t testing.TB, d *fault.Disk) *wal.Log {
	t.Helper()
	l, _, _, err := reopen(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// add appends one group of frames, version from on, and syncs.
func add(t testing.TB, l *wal.Log, from kv.Version, texts ...string) {
	t.Helper()
	fs := make([]*wal.Frame, len(texts))
	for i, s := range texts {
		fs[i] = frame(t, from+kv.Version(i), s)
	}
	if err := l.Append(fs); err != nil {
		t.Fatal(err)
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
}

func closeLog(t testing.TB, l *wal.Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantHistory(t testing.TB, got history, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReplay(t *testing.T) {
	eachWay(t, func(t *testing.T, d *fault.Disk) {
		l := start(t, d)
		add(t, l, 1, "a", "b")
		add(t, l, 3, "")
		closeLog(t, l)
		l, h, rec, err := reopen(d, 0)
		if err != nil {
			t.Fatal(err)
		}
		wantHistory(t, h, "1:a", "2:b", "3:")
		if rec.Frames != 3 || rec.Last != 3 || rec.Dropped != 0 {
			t.Errorf("recovery: %+v", rec)
		}
		add(t, l, 4, "d")
		closeLog(t, l)
		l, h, _, err = reopen(d, 2)
		if err != nil {
			t.Fatal(err)
		}
		wantHistory(t, h, "3:", "4:d")
		closeLog(t, l)
	})
}

func TestEncodeKeepsOrderAndCounters(t *testing.T) {
	b := &kv.Batch{
		Writes: []kv.Write{{Key: []byte("b"), Value: []byte{}}, {Key: []byte("d")}},
		Deltas: []kv.Delta{{Key: []byte("a"), Add: 1}, {Key: []byte("c"), Add: -2}, {Key: []byte("e"), Add: 3}},
	}
	f, err := wal.Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	err = f.SetCounters(func(key []byte) ([]byte, error) {
		if string(key) == "c" {
			return kv.AppendCounter(nil, 40), nil
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, k := range f.Keys {
		if f.Sealed[i] == nil {
			got = append(got, string(k)+" deleted")
			continue
		}
		if !wal.Verify(k, f.Sealed[i]) {
			t.Errorf("%s: the checksum does not hold", k)
		}
		n, ok := kv.Counter(wal.Unseal(f.Sealed[i]))
		got = append(got, fmt.Sprintf("%s %d %v", k, n, ok))
	}
	if want := "a 1 true,b 0 false,c 38 true,d deleted,e 3 true"; strings.Join(got, ",") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestSegmentsAreUsedAgain: with releases, the files do not grow with the history, and what was
// not released is there.
func TestSegmentsAreUsedAgain(t *testing.T) {
	const kept = 40
	d := fault.NewDisk()
	l := start(t, d)
	text := strings.Repeat("x", 1000)
	for v := kv.Version(1); v <= 2000; v++ {
		add(t, l, v, text)
		if v > kept && v%20 == 0 {
			if err := l.Release(v - kept); err != nil {
				t.Fatal(err)
			}
		}
		if v%100 == 0 { // also gives the preparer a chance: the disk is faster than it
			closeLog(t, l)
			var h history
			var err error
			if l, h, _, err = reopen(d, v-kept); err != nil {
				t.Fatal(err)
			}
			if len(h) != kept {
				t.Fatalf("at version %d: got %d frames, want %d", v, len(h), kept)
			}
		}
	}
	closeLog(t, l)
	if used := d.Used(); used > 1<<20 {
		t.Errorf("2 MB of frames, released in time, take %d bytes", used)
	}
}

// TestCloseLeavesOneSegment: a log that was released whole is one segment of the usual size after Close, also
// when a large frame had made it grow.
func TestCloseLeavesOneSegment(t *testing.T) {
	eachWay(t, func(t *testing.T, d *fault.Disk) {
		l := start(t, d)
		for v := kv.Version(1); v <= 200; v++ {
			add(t, l, v, strings.Repeat("x", 1000))
		}
		add(t, l, 201, strings.Repeat("x", 100_000))
		if err := l.Release(201); err != nil {
			t.Fatal(err)
		}
		closeLog(t, l)
		if used, want := d.Used(), options(d).SegmentSize; used > want {
			t.Errorf("%d bytes are left, want %d at most", used, want)
		}
		l, h, _, err := reopen(d, 201)
		if err != nil || len(h) != 0 {
			t.Fatalf("%d frames come back: %v", len(h), err)
		}
		add(t, l, 202, "next")
		closeLog(t, l)
		l, h, _, err = reopen(d, 201)
		if err != nil {
			t.Fatal(err)
		}
		wantHistory(t, h, "202:next")
		closeLog(t, l)
	})
}

func TestLargeFrames(t *testing.T) {
	eachWay(t, func(t *testing.T, d *fault.Disk) {
		l := start(t, d)
		var want history
		for v := kv.Version(1); v <= 30; v++ {
			text := strings.Repeat(fmt.Sprint(v%10), int(v)*3000)
			add(t, l, v, text)
			want = append(want, fmt.Sprintf("%d:%s", v, text))
		}
		closeLog(t, l)
		l, h, _, err := reopen(d, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer closeLog(t, l)
		if !slices.Equal(h, want) {
			t.Errorf("got %d frames that differ", len(h))
		}
	})
}

// TestTornGroupNeverComesBack: frames of a group that a crash tore are gone for good, even when
// the versions are given again in frames of the same size.
func TestTornGroupNeverComesBack(t *testing.T) {
	eachWay(t, func(t *testing.T, d *fault.Disk) {
		l := start(t, d)
		add(t, l, 1, "aaaa")
		add(t, l, 2, "bbbb", "cccc", "dddd")
		closeLog(t, l)
		torn := false
		for _, name := range files(d) {
			p := d.Bytes(name)
			if i := strings.Index(string(p), "bbbb"); i >= 0 {
				p[i]++ // version 2 did not reach the disk, 3 and 4 did
				torn = true
			}
		}
		if !torn {
			t.Fatal("the frame was not found")
		}
		for round, want := range []history{{"1:aaaa"}, {"1:aaaa", "2:BBBB"}, {"1:aaaa", "2:BBBB", "3:CCCC"}} {
			l, h, _, err := reopen(d, 0)
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			wantHistory(t, h, want...)
			next := []string{"BBBB", "CCCC", "DDDD"}[round]
			add(t, l, kv.Version(round)+2, next)
			closeLog(t, l)
		}
		// With the versions before them applied, leftovers would be the next in the chain.
		l, h, _, err := reopen(d, 3)
		if err != nil {
			t.Fatal(err)
		}
		wantHistory(t, h, "4:DDDD")
		closeLog(t, l)
	})
}

func files(d *fault.Disk) []string {
	names, _ := d.List("/log") // never fails
	return names
}

// TestDamageIsFound: a synced frame that rots is an error when anything later vouches for it.
func TestDamageIsFound(t *testing.T) {
	for _, text := range []string{"aaaa", "bbbb", "cccc"} {
		d := fault.NewDisk()
		l := start(t, d)
		add(t, l, 1, "aaaa")
		add(t, l, 2, "bbbb")
		add(t, l, 3, "cccc")
		add(t, l, 4, "dddd")
		closeLog(t, l)
		for _, name := range files(d) {
			if i := strings.Index(string(d.Bytes(name)), text); i >= 0 {
				d.Bytes(name)[i] ^= 1
			}
		}
		_, h, _, err := reopen(d, 0)
		if !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("%s damaged: got %v, %v; want ErrCorrupt", text, h, err)
		}
		// What bbolt has already is not needed.
		l, _, _, err = reopen(d, 3)
		if err != nil {
			t.Fatalf("%s damaged but applied: %v", text, err)
		}
		closeLog(t, l)
	}
}

func TestForeignSegments(t *testing.T) {
	eachWay(t, func(t *testing.T, d *fault.Disk) {
		l := start(t, d)
		add(t, l, 1, "a")
		closeLog(t, l)
		other := options(d)
		other.Store[0]++
		if _, _, err := wal.Open(other, 0, nil); !errors.Is(err, kv.ErrFormat) {
			t.Errorf("another store's log: got %v, want ErrFormat", err)
		}
		name := files(d)[0]
		d.Bytes(name)[20]++ // the first copy of the header
		l, h, _, err := reopen(d, 0)
		if err != nil {
			t.Fatal(err)
		}
		wantHistory(t, h, "1:a")
		closeLog(t, l)
		d.Bytes(name)[2048+20]++
		if _, _, _, err := reopen(d, 0); !errors.Is(err, kv.ErrCorrupt) {
			t.Errorf("both headers damaged: got %v, want ErrCorrupt", err)
		}
	})
}

// TestFullDisk: a refused group leaves nothing behind, and the log goes on when there is room.
func TestFullDisk(t *testing.T) {
	eachWay(t, func(t *testing.T, d *fault.Disk) {
		l := start(t, d)
		var want history
		refused, limited := 0, kv.Version(0)
		rnd := rand.New(rand.NewPCG(1, 1))
		for v := kv.Version(1); v <= 400; {
			if v%40 == 11 && v != limited {
				limited = v
				d.SetLimit(d.Used() + int64(rnd.IntN(9000)))
			}
			text := strings.Repeat("x", rnd.IntN(3000))
			group := []*wal.Frame{frame(t, v, text), frame(t, v+1, text)}
			err := l.Append(group)
			if wal.IsNoSpace(err) {
				refused++
				if refused%3 == 0 {
					d.SetLimit(0)
				}
				closedHere, h, _, err := reopen(d.Kill(), 0)
				if err != nil {
					t.Fatal(err)
				}
				closeLog(t, closedHere)
				if !slices.Equal(h, want) {
					t.Fatalf("after a refusal: got %d frames, want %d", len(h), len(want))
				}
				openFull(t, d.Kill(), want, v)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("%d:%s", v, text), fmt.Sprintf("%d:%s", v+1, text))
			v += 2
			if err := l.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		if refused == 0 {
			t.Error("the disk was never full")
		}
		closeLog(t, l)
	})
}

// openFull opens the log on a disk that is full now: it has all that it should have, and what it takes or refuses then
// is found or not by those who open it later.
func openFull(t *testing.T, d *fault.Disk, want history, next kv.Version) {
	t.Helper()
	d.SetLimit(d.Used())
	l, h, _, err := reopen(d, 0)
	if err != nil {
		t.Fatalf("on a full disk: %v", err)
	}
	if !slices.Equal(h, want) {
		t.Fatalf("on a full disk: got %d frames, want %d", len(h), len(want))
	}
	want = slices.Clone(want)
	for _, text := range []string{"small", strings.Repeat("y", 40<<10), "again"} {
		err := l.Append([]*wal.Frame{frame(t, next, text)})
		if wal.IsNoSpace(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("%d:%s", next, text))
		next++
	}
	d.SetLimit(0)
	add(t, l, next, "room")
	want = append(want, fmt.Sprintf("%d:room", next))
	closeLog(t, l)
	l, h, _, err = reopen(d, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(h, want) {
		t.Fatalf("after a start on a full disk: got %d frames, want %d", len(h), len(want))
	}
	closeLog(t, l)
}

// TestFullDiskWithoutLog: a log that has no file at all, as that of a store that was restored, is opened on a full disk
// too.
func TestFullDiskWithoutLog(t *testing.T) {
	eachWay(t, func(t *testing.T, d *fault.Disk) {
		d.SetLimit(1)
		l := start(t, d)
		for range 2 {
			if err := l.Append([]*wal.Frame{frame(t, 1, "a")}); !wal.IsNoSpace(err) {
				t.Fatalf("got %v, want a full disk", err)
			}
		}
		if err := l.Sync(); err != nil {
			t.Error(err)
		}
		if n := l.Size(); n != 0 {
			t.Errorf("got %d bytes of files, want none", n)
		}
		if err := l.Release(0); err != nil {
			t.Error(err)
		}
		closeLog(t, l)
		l = start(t, d)
		d.SetLimit(0)
		add(t, l, 1, "a")
		closeLog(t, l)
		l, h, _, err := reopen(d, 0)
		if err != nil {
			t.Fatal(err)
		}
		wantHistory(t, h, "1:a")
		closeLog(t, l)
	})
}

// TestCrashes cuts the power at every operation of a run, in several ways, and again after the
// recovery: what was synced must be there, and nothing that was not appended.
func TestCrashes(t *testing.T) { eachWay(t, testCrashes) }

func testCrashes(t *testing.T, d *fault.Disk) {
	rnd := rand.New(rand.NewPCG(42, 0))
	type progress struct{ applied, synced, appended kv.Version }
	type image struct {
		progress
		disk *fault.Disk
		op   int64
	}
	var mu sync.Mutex // guards images, now and rnd: the log prepares segments on its own
	var images []image
	var now progress
	update := func(fn func()) {
		mu.Lock()
		defer mu.Unlock()
		fn()
	}
	d.SetPlan(func(op fault.Op, n int64) fault.Outcome {
		update(func() {
			for range 3 {
				images = append(images, image{now, d.Crash(rnd), n})
			}
		})
		return fault.Outcome{}
	})
	text := func(v kv.Version) string { return strings.Repeat(fmt.Sprintf("%d,", v), int(v*v%700)) }
	l := start(t, d)
	steps := rand.New(rand.NewPCG(43, 0))
	for v := kv.Version(1); v <= 300; {
		n := kv.Version(1 + steps.IntN(4))
		var fs []*wal.Frame
		for i := range n {
			fs = append(fs, frame(t, v+i, text(v+i)))
		}
		update(func() { now.appended = v + n - 1 })
		if err := l.Append(fs); err != nil {
			t.Fatal(err)
		}
		if steps.IntN(3) > 0 {
			if err := l.Sync(); err != nil {
				t.Fatal(err)
			}
			update(func() { now.synced = now.appended })
		}
		v += n
		if steps.IntN(12) == 0 {
			if d.Blocks() { // or what waits for it is gone
				if err := l.Sync(); err != nil {
					t.Fatal(err)
				}
			}
			closeLog(t, l)
			update(func() { now.applied = max(now.applied, now.synced-min(now.synced, 3)) })
			var err error
			if l, _, _, err = reopen(d, now.applied); err != nil {
				t.Fatal(err)
			}
			update(func() { now.synced = now.appended })
		}
	}
	closeLog(t, l)
	if len(images) < 500 {
		t.Fatalf("only %d images", len(images))
	}
	for i, im := range images {
		d := im.disk
		for life := range 3 {
			l, h, rec, err := reopen(d, im.applied)
			if err != nil {
				t.Fatalf("image %d (operation %d), life %d: %v", i, im.op, life, err)
			}
			if rec.Last < im.synced || rec.Last > im.appended {
				t.Fatalf("image %d (operation %d), life %d: got version %d, want %d to %d", i, im.op, life, rec.Last, im.synced, im.appended)
			}
			for j, s := range h {
				v := im.applied + kv.Version(j) + 1
				if want := fmt.Sprintf("%d:%s", v, text(v)); s != want {
					t.Fatalf("image %d, life %d: version %d differs", i, life, v)
				}
			}
			add(t, l, rec.Last+1, text(rec.Last+1))
			im.synced, im.appended = rec.Last+1, rec.Last+1
			if rnd.IntN(2) == 0 {
				d = d.Crash(rnd)
			}
			closeLog(t, l)
		}
	}
}

// FuzzOpen feeds Open a damaged log: it must neither panic nor replay anything out of order.
func FuzzOpen(f *testing.F) {
	d := fault.NewDisk()
	l := start(f, d)
	add(f, l, 1, "a", "b")
	add(f, l, 3, "ccc")
	closeLog(f, l)
	good := slices.Clone(d.Bytes(files(d)[0])[:8192])
	f.Add(good, 4100, []byte{1})
	f.Add(good[:5000], 0, []byte("nacre"))
	f.Fuzz(func(t *testing.T, p []byte, at int, patch []byte) {
		d := fault.NewDisk()
		h, err := d.Open("/log/wal-0001.log")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.WriteAt(p, 0); err != nil {
			t.Fatal(err)
		}
		if at >= 0 && at < 1<<20 {
			if _, err := h.WriteAt(patch, int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		last := kv.Version(0)
		l, _, err := wal.Open(options(d), 0, func(f *wal.Frame) error {
			if f.Version != last+1 || len(f.Keys) != len(f.Sealed) {
				t.Fatalf("version %d after %d, %d keys, %d values", f.Version, last, len(f.Keys), len(f.Sealed))
			}
			last = f.Version
			return nil
		})
		if err == nil {
			closeLog(t, l)
		}
	})
}

func TestWriteErrorIsNotTakenForAFullDisk(t *testing.T) {
	eachWay(t, func(t *testing.T, d *fault.Disk) {
		l := start(t, d)
		d.SetPlan(fault.Nth(1, fault.Outcome{Err: syscall.EIO}, fault.Write))
		err := l.Append([]*wal.Frame{frame(t, 1, "a")})
		if err == nil {
			err = l.Sync()
		}
		if !errors.Is(err, syscall.EIO) || wal.IsNoSpace(err) {
			t.Errorf("got %v", err)
		}
		closeLog(t, l)
	})
}
