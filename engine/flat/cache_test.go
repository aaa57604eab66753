package flat

import (
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/budget"
)

// copyOf asks for the copy of a table until one is due, and hands one of so many bytes in.
func copyOf(t *testing.T, c *Cache, table uint32, bytes int64) (kept bool) {
	t.Helper()
	p := placeOf(t, table)
	for range copyAt - 1 {
		if have, missing := c.ask(p, 1); have != nil || missing {
			t.Fatalf("table %d: a search before that which copies got %v, %v", table, have, missing)
		}
	}
	if _, missing := c.ask(p, 1); !missing {
		return false
	}
	made := &vectors{bytes: bytes, held: c.pool.Lasting()}
	if err := made.held.Charge(int(bytes)); err != nil {
		t.Fatal(err)
	}
	if kept = c.keep(p, 1, made); !kept {
		made.held.Close()
	}
	return kept
}

func placeOf(t *testing.T, table uint32) Place {
	t.Helper()
	m, ok := vector.NewMetric("COSINE", value.None)
	if !ok {
		t.Fatal("no COSINE")
	}
	return Place{Table: table, Field: "v", Metric: m, Dimension: 4}
}

// TestCopiesMakePlace: copies that were asked for longest ago make place for others, and so do places without one.
func TestCopiesMakePlace(t *testing.T) {
	pool := budget.NewPool(poolPart * 100_000)
	c := NewCache(pool)
	defer c.Close()
	for table := range uint32(2) {
		if !copyOf(t, c, table, 40_000) {
			t.Fatalf("copy %d is not kept", table)
		}
		c.byPlace[placeOf(t, table)].used = time.Now().Add(-time.Second)
	}
	if have, _ := c.ask(placeOf(t, 0), 1); have == nil {
		t.Fatal("the first copy is gone")
	}
	if !copyOf(t, c, 2, 40_000) {
		t.Fatal("the third copy is not kept")
	}
	for table, want := range []bool{true, false, true} {
		if e := c.byPlace[placeOf(t, uint32(table))]; (e != nil && e.copy != nil) != want {
			t.Errorf("copy %d is there: %v, want %v", table, !want, want)
		}
	}
	if taken := pool.Stats().Taken; c.bytes != 80_000 || taken < 80_000 || taken > 100_000 {
		t.Errorf("two copies are %d bytes, and hold %d", c.bytes, taken)
	}
	for table := range uint32(2 * mostPlaces) {
		c.ask(placeOf(t, 100+table), 1)
	}
	if len(c.byPlace) != mostPlaces || c.bytes != 0 || pool.Stats().Taken != 0 {
		t.Errorf("%d places hold %d bytes", len(c.byPlace), pool.Stats().Taken)
	}
}

// TestCopiesEnd: copies that are not asked for are dropped, those are not kept that come in late, and a closed cache
// keeps none.
func TestCopiesEnd(t *testing.T) {
	pool := budget.NewPool(poolPart * 100_000)
	c := NewCache(pool)
	for table := range uint32(2) {
		if !copyOf(t, c, table, 40_000) {
			t.Fatalf("copy %d is not kept", table)
		}
	}
	c.byPlace[placeOf(t, 0)].used = time.Now().Add(-2 * idle)
	c.tidy()
	if len(c.byPlace) != 1 || c.bytes != 40_000 || c.timer == nil {
		t.Errorf("%d places are left, with %d bytes", len(c.byPlace), c.bytes)
	}
	c.ask(placeOf(t, 1), 2)
	if c.keep(placeOf(t, 1), 1, &vectors{bytes: 1}) {
		t.Error("a copy of an earlier version is kept")
	}
	if c.keep(placeOf(t, 7), 1, &vectors{bytes: 1}) {
		t.Error("a copy is kept whose place is forgotten")
	}
	if copyOf(t, c, 3, 40_000); pool.Stats().Taken < 40_000 {
		t.Error("a copy holds nothing")
	}
	c.Close()
	if copyOf(t, c, 4, 40_000) || pool.Stats().Taken != 0 || c.timer != nil {
		t.Errorf("a closed cache holds %d bytes", pool.Stats().Taken)
	}
}
