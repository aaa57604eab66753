package wal

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestCallsThatAreNotToldOf: those of a disk that is fast, and not of one that was slow a moment ago, nor where there
// is one thread.
func TestCallsThatAreNotToldOf(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var f osFile
	for range 2 * enough {
		f.took(brief, true)
	}
	if !f.told() {
		t.Error("not told of where there is one thread")
	}
	runtime.GOMAXPROCS(2)
	again := func(n int) {
		for range n {
			if !f.told() {
				t.Fatal("not told of too early")
			}
			f.took(brief, true)
			f.took(brief, false)
		}
	}
	again(enough)
	if f.told() {
		t.Errorf("told of after %d that were brief", enough)
	}
	for range 1000 {
		f.took(brief/10, true)
	}
	for _, sync := range []bool{true, false} {
		f.took(brief+1, sync)
		again(penance + enough)
		if f.told() {
			t.Errorf("told of for ever after a long one")
		}
	}
}

// TestFileOfTheSystem: both ways write and sync, and tell of errors.
func TestFileOfTheSystem(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	name := filepath.Join(t.TempDir(), "x")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	f := &osFile{File: file}
	var want []byte
	for i := range 4 * enough {
		if i == 2*enough {
			f.took(time.Hour, true)
		}
		part := bytes.Repeat([]byte{byte(i)}, 1+i*100)
		if n, err := f.WriteAt(part, int64(len(want))); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
		want = append(want, part...)
		if err := f.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes are not the %d that were written: %v", len(got), len(want), err)
	}
	r, w, err := os.Pipe() // has no places, and cannot be synced
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, row := range []int32{0, enough} {
		f := &osFile{File: w}
		f.row.Store(row)
		if n, err := f.WriteAt([]byte("x"), 10); n != 0 || err == nil {
			t.Errorf("row %d: %d bytes were written to a pipe: %v", row, n, err)
		}
		f.row.Store(row)
		if err := f.Sync(); err == nil {
			t.Errorf("row %d: a pipe is synced", row)
		}
	}
}
