package bolt_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/kvtest"
)

func TestBuilder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	b, err := bolt.NewBuilder(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 60_000 { // more than one transaction
		k, v := fmt.Sprintf("%06d", i), strings.Repeat("v", i%7)
		if err := b.Put([]byte(k), []byte(v)); err != nil {
			t.Fatal(err)
		}
		want = append(want, k+"="+v)
	}
	for _, k := range []string{"059999", "000001", ""} {
		if err := b.Put([]byte(k), nil); err == nil {
			t.Errorf("key %q is taken after 059999", k)
		}
	}
	if finished, err := bolt.Finished(path); !errors.Is(err, kv.ErrLocked) || finished {
		t.Errorf("while it is built: %v, %v", finished, err)
	}
	if err := b.Finish(42); err != nil {
		t.Fatal(err)
	}
	if finished, err := bolt.Finished(path); err != nil || !finished {
		t.Errorf("afterwards: %v, %v", finished, err)
	}
	st := open(t, bolt.Options{Path: path})
	if got := kvtest.All(t, st); got != strings.Join(want, " ") || st.Stats().Version != 42 {
		t.Errorf("at version %d it has other keys", st.Stats().Version)
	}
	if err := bolt.Unused(path); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("while it is open: %v", err)
	}
	closeStore(t, st)
	if err := bolt.Unused(path); err != nil {
		t.Errorf("while it is closed: %v", err)
	}
	if _, err := bolt.NewBuilder(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("onto a store: %v", err)
	}
}

func TestAbortedBuilderLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	b, err := bolt.NewBuilder(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Abort(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
}

// TestHalfMadeStore: a power cut while a store was made the first time is of no consequence.
func TestHalfMadeStore(t *testing.T) {
	for name, left := range map[string][]byte{"nothing": nil, "zeros": make([]byte, 16384),
		"rubbish": []byte(strings.Repeat("rubbish", 3000))} {
		path := filepath.Join(t.TempDir(), "x.db")
		fresh := filepath.Join(path, ".data.db.new")
		if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(fresh, left, 0o600)); err != nil {
			t.Fatal(err)
		}
		st, err := bolt.Open(bolt.Options{Path: path})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		kvtest.Put(t, st, "a", "1")
		closeStore(t, st)
		if _, err := os.Lstat(fresh); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
}

// TestTwoMakersOfOneStore: the second process does not wait while the first makes the file.
func TestTwoMakersOfOneStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	first, err := bbolt.Open(filepath.Join(path, ".data.db.new"), 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bolt.Open(bolt.Options{Path: path}); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	closeStore(t, open(t, bolt.Options{Path: path}))
}

// TestUnfinishedStore: nothing opens a store whose Builder was stopped in the midst, not even before its first key.
func TestUnfinishedStore(t *testing.T) {
	for _, keys := range []int{0, 1, 30_000} {
		path, left := filepath.Join(t.TempDir(), "x.db"), filepath.Join(t.TempDir(), "left.db")
		b, err := bolt.NewBuilder(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range keys {
			if err := b.Put(fmt.Appendf(nil, "%06d", i), []byte("value")); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.CopyFS(left, os.DirFS(path)); err != nil { // what a kill leaves
			t.Fatal(err)
		}
		if err := b.Abort(); err != nil {
			t.Fatal(err)
		}
		if finished, err := bolt.Finished(left); err != nil || finished {
			t.Errorf("%d keys: finished %v, %v", keys, finished, err)
		}
		if st, err := bolt.Open(bolt.Options{Path: left}); !errors.Is(err, kv.ErrFormat) {
			t.Errorf("%d keys: opened with %v, want ErrFormat", keys, err)
			if err == nil {
				closeStore(t, st)
			}
		}
	}
}
