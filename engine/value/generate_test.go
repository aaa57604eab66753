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

func TestRandomKeysOfOneStatement(t *testing.T) {
	const many = 1<<14 + 3
	alike := func(keys []string) int { // letters that all keys begin with
		n := 20
		for _, k := range keys {
			for n > 0 && k[:n] != keys[0][:n] {
				n--
			}
		}
		return n
	}
	seen, letters := map[string]bool{}, map[rune]int{}
	var firsts []string
	for range 3 {
		var keys value.RandomKeys
		made := make([]string, many)
		for i := range made {
			k := keys.Next()
			if len(k) != 20 || seen[k] {
				t.Fatalf("key %q", k)
			}
			made[i], seen[k] = k, true
			for _, c := range k[7:] {
				letters[c]++
			}
		}
		// The eighth letters of thousands of keys are not all the same.
		if n := alike(made[:1<<14]); n != 7 {
			t.Errorf("keys share %d letters", n)
		}
		if made[0][:7] == made[many-1][:7] || alike(made[1<<14:]) != 7 {
			t.Errorf("keys after %s: %s", made[0], made[1<<14:])
		}
		firsts = append(firsts, made[0], made[many-1])
	}
	for i, k := range firsts {
		for _, other := range firsts[:i] {
			if k[:7] == other[:7] {
				t.Errorf("statements share letters: %s, %s", k, other)
			}
		}
	}
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		// 639 000 letters, 17 750 of each expected, standard deviation 131.
		if n := letters[c]; n < 16_900 || n > 18_600 {
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

func BenchmarkRandomKeys(b *testing.B) {
	b.ReportAllocs()
	var keys value.RandomKeys
	for b.Loop() {
		keys.Next()
	}
}
