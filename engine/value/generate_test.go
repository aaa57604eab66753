package value_test

import (
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"github.com/nacredb/nacre/engine/value"
)

func TestRandomKey(t *testing.T) {
	seen, letters := map[string]bool{}, map[rune]int{}
	for range 2000 {
		k := value.RandomKey()
		if len(k) != 20 || seen[k] {
			t.Fatalf("key %q", k)
		}
		seen[k] = true
		for _, c := range k {
			letters[c]++
		}
	}
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		// 40 000 letters, 1111 of each expected, standard deviation 33.
		if n := letters[c]; n < 850 || n > 1400 {
			t.Errorf("%c came %d times", c, n)
		}
		delete(letters, c)
	}
	if len(letters) > 0 {
		t.Errorf("other letters: %v", letters)
	}
}

func TestULIDHoldsItsTime(t *testing.T) {
	for _, tc := range []struct {
		at   value.Datetime
		want uint64
	}{
		{value.Datetime{Secs: 1704067200, Nanos: 123456789}, 1704067200123},
		{value.Datetime{Secs: -5}, 0},
	} {
		u, err := ulid.ParseStrict(value.ULID(tc.at))
		if err != nil || u.Time() != tc.want {
			t.Errorf("%s: got %d, %v", tc.at, u.Time(), err)
		}
	}
	first := value.ULID(value.Datetime{Secs: 1})
	if second := value.ULID(value.Datetime{Secs: 1}); first == second {
		t.Error("the same ULID twice")
	}
}

func TestUUIDVersions(t *testing.T) {
	for _, tc := range []struct {
		u       value.UUID
		version byte
		prefix  string
	}{
		{value.UUIDv4(), 4, ""},
		{value.UUIDv7(value.Datetime{Secs: 1704067200, Nanos: 123456789}), 7, "018cc251-f47b-7"},
		{value.UUIDv7(value.Datetime{Secs: -1, Nanos: 999e6}), 7, "ffffffff-ffff-7"},
		{value.UUIDv7(value.Datetime{Secs: -315619200}), 7, "ffb683a1-3400-7"},
	} {
		if tc.u[6]>>4 != tc.version || tc.u[8]>>6 != 2 || !strings.HasPrefix(tc.u.String(), tc.prefix) {
			t.Errorf("version %d: %s", tc.version, tc.u)
		}
	}
	first := value.UUIDv4()
	if second := value.UUIDv4(); first == second {
		t.Error("the same UUID twice")
	}
}

func BenchmarkRandomKey(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		value.RandomKey()
	}
}
