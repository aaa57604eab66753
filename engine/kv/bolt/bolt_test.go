package bolt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/kvtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

func open(t testing.TB, opt bolt.Options) *bolt.Store {
	t.Helper()
	if opt.Path == "" {
		opt.Path = filepath.Join(t.TempDir(), "x.db")
	}
	st, err := bolt.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func closeStore(t testing.TB, st *bolt.Store) {
	t.Helper()
	if err := st.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func TestStore(t *testing.T) {
	for name, opt := range map[string]bolt.Options{
		"defaults":            {},
		"sync never":          {Sync: kv.SyncNever},
		"sync each interval":  {Sync: kv.Sync(1e6)},
		"checkpoint each key": {CheckpointKeys: 1, Sync: kv.SyncNever},
		"small everything":    {CheckpointKeys: 20, CheckpointBytes: 2000, SegmentSize: 8192, Sync: kv.SyncNever},
	} {
		t.Run(name, func(t *testing.T) {
			kvtest.Run(t, func(t testing.TB) kv.Store { return open(t, opt) })
		})
	}
}

func TestReopen(t *testing.T) {
	opt := bolt.Options{Path: filepath.Join(t.TempDir(), "x.db")}
	for i := range 3 {
		st := open(t, opt)
		v := kvtest.Put(t, st, "a", fmt.Sprint(i), fmt.Sprintf("k%d", i), "x")
		if int(v) != i+1 {
			t.Errorf("round %d: got version %d", i, v)
		}
		closeStore(t, st)
	}
	st := open(t, opt)
	defer closeStore(t, st)
	if got := kvtest.All(t, st); got != "a=2 k0=x k1=x k2=x" {
		t.Errorf("got %q", got)
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	opt := bolt.Options{Path: filepath.Join(t.TempDir(), "x.db")}
	st := open(t, opt)
	if _, err := bolt.Open(opt); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("got %v, want ErrLocked", err)
	}
	closeStore(t, st)
	closeStore(t, open(t, opt))
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	junk := filepath.Join(dir, "junk")
	if err := errors.Join(os.Mkdir(junk, 0o700),
		os.WriteFile(filepath.Join(junk, "data.db"), make([]byte, 20000), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, dir, junk} {
		if _, err := bolt.Open(bolt.Options{Path: path}); !errors.Is(err, kv.ErrFormat) {
			t.Errorf("%s: got %v, want ErrFormat", path, err)
		}
	}
}
