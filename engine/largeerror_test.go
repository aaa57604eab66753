package engine_test

import (
	"runtime"
	"strings"
	"testing"
)

// TestErrorsAboutLargeValuesAreSmall provokes errors that name a value of 32 MB. An error shows a kilobyte of it, so nothing
// of its size may be made on the way: a record user who repeats such a statement would keep the collector busy.
func TestErrorsAboutLargeValuesAreSmall(t *testing.T) {
	_, user := hiddenWorld(t, "record:acc:user:{ tenant: 'mine', uid: 1 }", "DEFINE TABLE f PERMISSIONS FULL; DEFINE FIELD n ON f TYPE option<int>")
	const big = "LET $s = string::repeat('e', 1000000); LET $s = $s + $s; LET $s = $s + $s; LET $s = $s + $s; LET $s = $s + $s; LET $s = $s + $s; LET $a = [$s, $s]; LET $o = { a: [$s], b: 1 };"
	allocated := func(text string) (bytes uint64, msg string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		results, err := user.Execute(t.Context(), big+text, nil)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if last := results[len(results)-1]; last.Err != nil {
			msg = last.Err.Error()
		}
		return after.TotalAlloc - before.TotalAlloc, msg
	}
	base, _ := allocated("RETURN 1")
	for _, text := range []string{
		"RETURN <int> $s", "RETURN <float> $s", "RETURN <number> $s", "RETURN <decimal> $s", "RETURN <bool> $s", "RETURN <uuid> $s",
		"RETURN <datetime> $s", "RETURN <duration> $s", "RETURN <int> $a", "RETURN <int> $o", "RETURN <record> $a", "RETURN <int> <set> $a",
		"RETURN 1 - $s", "RETURN $a - $o", "RETURN -$s", "RETURN -$o", "RETURN math::abs($s)", "RETURN array::len($o)", "RETURN type::int($o)",
		"RETURN 1 + $s", "CREATE f SET n = $s", "CREATE f:1 SET n = $o", "CREATE $o", "UPDATE $s", "INSERT INTO f $s",
		"THROW $s", "THROW $o", "SELECT * FROM f FETCH $o", "CREATE f MERGE $s", "CREATE f CONTENT $a", "FOR $x IN $s {}",
		"SELECT * FROM f LIMIT $s", "SELECT * FROM f TIMEOUT $s", "LET $x: int = $s",
	} {
		bytes, msg := allocated(text)
		if msg == "" {
			t.Errorf("%s: no error", text)
		}
		if len(msg) > 70<<10 {
			t.Errorf("%s: the error has %d bytes", text, len(msg))
		}
		if bytes > base+4<<20 {
			t.Errorf("%s: %d MB are allocated for the error", text, (bytes-base)>>20)
		}
		if strings.Contains(msg, "internal error") {
			t.Errorf("%s: %s", text, msg)
		}
	}
}
