package tikv_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/tikv"
	"github.com/nacredb/nacre/engine/kv/tikv/stub"
)

// Of two restores one alone writes, and one that another has followed writes nothing into its work.
func TestRestoresMeet(t *testing.T) {
	c, prefix := stub.Shared(t)
	opt := tikv.Options{PD: []string{c.PD}, Prefix: prefix, Counter: counters}
	begin := func() (*tikv.Builder, error) { return tikv.NewBuilder(t.Context(), opt, 1) }
	put := func(b *tikv.Builder, from, to int) (err error) {
		for i := from; i < to && err == nil; i++ {
			err = b.Put(fmt.Appendf(nil, "k%06d", i), []byte("v"))
		}
		return err
	}
	first, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := put(first, 0, 5000); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("two at once: %v", err)
	}
	if err := put(first, 5000, 9000); err != nil {
		t.Error(err)
	}
	if err := first.Lapse(); err != nil {
		t.Fatal(err)
	}
	second, err := begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := put(second, 0, 10); err != nil {
		t.Error(err)
	}
	if err := put(first, 9000, 20000); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("goes on in the place of another one: %v", err)
	}
	if err := first.Finish(1); !errors.Is(err, kv.ErrLocked) {
		t.Errorf("ends in the place of another one: %v", err)
	}
	if err := second.Finish(1); err != nil {
		t.Error(err)
	}
	if _, err := begin(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over what is there: %v", err)
	}
	if _, err := tikv.NewBuilder(t.Context(), opt, kv.Version(1)<<62); err == nil {
		t.Error("a version of the future is taken")
	}
}
