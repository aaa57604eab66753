package engine_test

import (
	"fmt"
	"runtime"
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

// manyFields defines n fields of one table, each at the top or inside of another.
func manyFields(n int) string {
	var b strings.Builder
	b.WriteString("DEFINE FIELD o ON t TYPE option<object>; DEFINE FIELD list ON t TYPE array<object>;")
	for i := range n / 3 {
		fmt.Fprintf(&b, "DEFINE FIELD f%d ON t TYPE option<int>; DEFINE FIELD o.f%d ON t TYPE int; DEFINE FIELD list.*.f%d ON t TYPE int;", i, i, i)
	}
	return b.String()
}

// TestDefiningManyFields: twice as many definitions on one table take about twice the work, in a transaction or each in its own.
func TestDefiningManyFields(t *testing.T) {
	for form, text := range map[string]string{"one transaction": "BEGIN; %s COMMIT", "each alone": "%s"} {
		work := func(n int) uint64 {
			s := owner(t, openQuiet(t))
			text := fmt.Sprintf(text, manyFields(n))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			run(t, s, text)
			runtime.ReadMemStats(&after)
			if got := run(t, s, "RETURN object::len((INFO FOR TABLE t).fields)")[0].Value.Int(); got != int64(n+3) {
				t.Errorf("%s: %d fields, want %d", form, got, n+3)
			}
			return after.TotalAlloc - before.TotalAlloc
		}
		work(300)
		if a, b := work(1500), work(3000); b > 3*a {
			t.Errorf("%s: %d bytes for 1500 fields, %d for 3000", form, a, b)
		}
	}
}

// BenchmarkDefineManyFields defines thousands of fields of one table: what each costs must not depend on the others.
func BenchmarkDefineManyFields(b *testing.B) {
	for _, n := range []int{1500, 6000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := owner(b, openQuiet(b))
			text := "REMOVE TABLE IF EXISTS t; BEGIN;" + manyFields(n) + "COMMIT"
			for b.Loop() {
				run(b, s, text)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/field")
		})
	}
}
