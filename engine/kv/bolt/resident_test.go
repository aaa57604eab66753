package bolt

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/internal/residence"
)

// TestForgottenPagesAreReadAgain: what a reader holds stays what it was when the pages under it are taken out of
// memory, and so does what others read meanwhile.
func TestForgottenPagesAreReadAgain(t *testing.T) {
	const n = 4000
	path := filepath.Join(t.TempDir(), "x.db")
	st, err := Open(Options{Path: path, Sync: kv.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	value := func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, 300) }
	b := &kv.Batch{}
	for i := range n {
		b.Writes = append(b.Writes, kv.Write{Key: fmt.Appendf(nil, "k%05d", i), Value: value(i)})
	}
	if _, err := st.Commit(context.Background(), b); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = Open(Options{Path: path, Sync: kv.SyncNever}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	sn, err := st.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Release()
	held := make([][]byte, n)
	for i := range held {
		if held[i], _, err = sn.Get(fmt.Appendf(nil, "k%05d", i)); err != nil {
			t.Fatal(err)
		}
	}
	var forgetting sync.WaitGroup
	stop := make(chan struct{})
	forgetting.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := residence.Drop(st.db.Info().Data, uintptr(st.count.fileBytes.Load())); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for i := range held {
		if !bytes.Equal(held[i], value(i)) {
			t.Errorf("what was read of key %d has changed", i)
		}
	}
	i := 0
	for c := sn.Scan(kv.Range{}, kv.ScanOptions{}); c.Next(); i++ {
		if !bytes.Equal(c.Value(), value(i)) {
			t.Errorf("key %d has another value", i)
		}
	}
	close(stop)
	forgetting.Wait()
	if i != n {
		t.Errorf("got %d keys, want %d", i, n)
	}
}
