package textcache

import (
	"fmt"
	"testing"
)

func TestTextsInUseStay(t *testing.T) {
	c := New[int](8, 1<<20)
	c.Put("hot", 7, 1)
	for i := range 100 {
		if v, ok := c.Get("hot"); !ok || v != 7 {
			t.Fatalf("the hot text is gone after %d others", i)
		}
		c.Put(fmt.Sprint(i), i, 1)
	}
	if n := len(c.young) + len(c.old); n > 8 {
		t.Errorf("%d texts are kept", n)
	}
	if _, ok := c.Get("0"); ok {
		t.Error("a cold text is still there")
	}
}

// Few large texts take the place of many small ones, and one that is too large is not kept.
func TestBytesAreBounded(t *testing.T) {
	c := New[int](1024, 1000)
	for i := range 100 {
		c.Put(fmt.Sprint(i), i, 100)
	}
	c.Put("large", 1, 501)
	if _, ok := c.Get("large"); ok {
		t.Error("a text larger than a generation is kept")
	}
	kept := 0
	for _, generation := range []map[string]entry[int]{c.young, c.old} {
		for _, e := range generation {
			kept += e.weight
		}
	}
	if kept > 1000 || kept < 500 {
		t.Errorf("%d bytes are kept", kept)
	}
}
