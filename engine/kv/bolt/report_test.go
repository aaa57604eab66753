package bolt_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/kvtest"
)

// TestReplayIsTold: a start after a crash says what it found in the log, one after a clean stop says nothing.
func TestReplayIsTold(t *testing.T) {
	from, path := filepath.Join(t.TempDir(), "x.db"), filepath.Join(t.TempDir(), "copy")
	st := open(t, bolt.Options{Path: from})
	kvtest.Put(t, st, "a", "1")
	kvtest.Put(t, st, "a", "2")
	if err := os.CopyFS(path, os.DirFS(from)); err != nil { // as after kill -9
		t.Fatal(err)
	}
	closeStore(t, st)
	for _, want := range []string{"commits=2", ""} {
		var told bytes.Buffer
		closeStore(t, open(t, bolt.Options{Path: path, Log: slog.New(slog.NewTextHandler(&told, nil))}))
		if want == "" && told.Len() > 0 || !strings.Contains(told.String(), want) {
			t.Errorf("got %q, want %q", told.String(), want)
		}
	}
}

// TestFullDiskIsToldOnce, however many writes it refuses, and that there is room again too.
func TestFullDiskIsToldOnce(t *testing.T) {
	var told bytes.Buffer
	d := fault.NewDisk()
	st := open(t, bolt.Options{Path: filepath.Join(t.TempDir(), "x.db"), FS: d,
		Log: slog.New(slog.NewTextHandler(&told, nil))})
	refused := 0
	put := func() {
		if _, err := st.Commit(ctx,
			&kv.Batch{Writes: []kv.Write{{Key: []byte("z"), Value: make([]byte, 20000)}}}); errors.Is(err,
			kv.ErrNoSpace) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	put()
	d.SetLimit(d.Used() + 1000)
	for i := range 100 {
		put()
		if i%10 == 0 { // a little goes through where much does not
			if _, err := st.Commit(ctx,
				&kv.Batch{Writes: []kv.Write{{Key: []byte("s"), Value: []byte("small")}}}); err != nil &&
				!errors.Is(err, kv.ErrNoSpace) {
				t.Fatal(err)
			}
		}
	}
	d.SetLimit(0)
	for range 100 {
		put()
	}
	closeStore(t, st)
	if refused < 2 {
		t.Fatalf("%d writes are refused", refused)
	}
	full, again := strings.Count(told.String(), "no space left: writes are refused"),
		strings.Count(told.String(), "there is space again")
	if full != 1 || again != 1 {
		t.Errorf("%d refusals are told %d times, and their end %d times:\n%s", refused, full, again, told.String())
	}
}
