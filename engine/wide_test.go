package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestManyFieldsAtOnce: what a statement writes in one pass because it is much is what it writes field by field.
func TestManyFieldsAtOnce(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, "DEFINE TABLE t")
	place := rapid.SampledFrom([]string{"a", "b", "c", "d", "a.x", "b[0]", "c.x.y", "d[*]", "e"})
	op := rapid.SampledFrom([]string{"=", "=", "+=", "-=", "+?="})
	val := rapid.SampledFrom([]string{"1", "2", "NONE", "[1, 2]", "{ x: 1 }", "'s'", "NULL", "[]", "1.5"})
	rapid.Check(t, func(rt *rapid.T) {
		run(t, s, "DELETE t; CREATE t:1, t:2 SET a = 1, b = [1, 2], z = 5")
		n := rapid.IntRange(17, 30).Draw(rt, "n")
		var all []string
		for i := range n {
			a := place.Draw(rt, "place") + " " + op.Draw(rt, "op") + " " + val.Draw(rt, "value")
			if i%5 == 4 {
				a = fmt.Sprintf("f%d = %d", i, i)
			}
			all = append(all, a)
		}
		many := run(t, s, "UPDATE t:1 SET "+strings.Join(all, ", "), allowErrors)[0]
		failed := false
		for _, a := range all {
			failed = failed || run(t, s, "UPDATE t:2 SET "+a, allowErrors)[0].Err != nil
		}
		if failed || many.Err != nil {
			if failed != (many.Err != nil) {
				rt.Fatalf("SET %s: %v, one by one failed: %v", strings.Join(all, ", "), many.Err, failed)
			}
			return
		}
		if got, want := run(t, s, "SELECT * OMIT id FROM t:1")[0].Value.Text(), run(t, s, "SELECT * OMIT id FROM t:2")[0].Value.Text(); got != want {
			rt.Fatalf("SET %s\ngot  %s\nwant %s", strings.Join(all, ", "), got, want)
		}
	})
}

// TestWideRecords: records of tens of thousands of fields, and as many parameters, are read and written in no time.
func TestWideRecords(t *testing.T) {
	s := owner(t, openQuiet(t))
	const n = 30000
	var set, merge, unset, lets strings.Builder
	for i := range n {
		fmt.Fprintf(&set, ", f%d = %d", i, i)
		fmt.Fprintf(&merge, ", f%d: { a: %d }", i, i)
		if i < n/2 {
			fmt.Fprintf(&unset, ", f%d", i)
		}
		if i < n/10 {
			fmt.Fprintf(&lets, "LET $v%d = %d;", i, i)
		}
	}
	run(t, s, "CREATE t:1 SET "+set.String()[2:]+" RETURN NONE")
	run(t, s, "UPDATE t:1 SET "+set.String()[2:]+" RETURN NONE")
	run(t, s, "UPDATE t:1 MERGE {"+merge.String()[2:]+"} RETURN NONE; UPDATE t:1 UNSET "+unset.String()[2:]+" RETURN NONE")
	if got := run(t, s, "RETURN [object::len(t:1.*), t:1.f29999, t:1.f1]")[0].Value.Text(); got != "[15001, { a: 29999 }, NONE]" {
		t.Errorf("got %s", got)
	}
	res := run(t, s, lets.String()+"LET $v7 = 'x'; RETURN [$v0, $v7, $v2999, $none]")
	if got := res[len(res)-1].Value.Text(); got != "[0, 'x', 2999, NONE]" {
		t.Errorf("got %s", got)
	}
}

// BenchmarkDefineAmongTables defines fields in one transaction of a database with thousands of tables: what it costs must not
// depend on them.
func BenchmarkDefineAmongTables(b *testing.B) {
	s := owner(b, openQuiet(b))
	var tables, fields strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&tables, "DEFINE TABLE t%d;", i)
	}
	for i := range 20 {
		fmt.Fprintf(&fields, "DEFINE FIELD OVERWRITE f%d ON t7 TYPE option<int>;", i)
	}
	run(b, s, tables.String())
	text := "BEGIN;" + fields.String() + "COMMIT"
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		run(b, s, text)
	}
}
