package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// TestWorkStopsWithItsContext: what is not done row by row stops as well: recursion, operators and functions over large
// values, the parser.
func TestWorkStopsWithItsContext(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, "DEFINE FUNCTION fn::fib($n: int) { IF $n < 2 { RETURN $n }; RETURN fn::fib($n - 1) + fn::fib($n - 2) };"+
		"DEFINE FUNCTION fn::double($n: int) { IF $n = 0 { RETURN 1 }; fn::double($n - 1); fn::double($n - 1) };"+
		"INSERT INTO t (SELECT VALUE { id: $this, n: $this } FROM <array> 0..300) RETURN NONE; CREATE big:1 SET text = $text, m = $m",
		value.Field{Name: "text", Value: value.Str(strings.Repeat("a", 1<<20))}, value.Field{Name: "m", Value: squares(20_000)})
	vars := value.NewObject(
		value.Field{Name: "text", Value: value.Str(strings.Repeat("a", 1<<20))},
		value.Field{Name: "other", Value: value.Str("b" + strings.Repeat("a", 1<<20))},
		value.Field{Name: "patch", Value: value.Str(strings.Repeat("@@ -1,3 +1,3 @@\n aaa\n+b\n", 20_000))},
		value.Field{Name: "m", Value: squares(30_000)},
		value.Field{Name: "z", Value: value.Str(strings.Repeat("z", 1<<19))},
	)
	for _, text := range []string{
		"RETURN fn::fib(60)",
		"RETURN fn::double(60)",
		"LET $f = |$n: int, $f: any| { IF $n < 1 { 1 } ELSE { $f($n - 1, $f) + $f($n - 1, $f) } }; RETURN $f(60, $f)",
		"FOR $i IN 0..100000 { [" + strings.Repeat("$i+1,", 100_000) + "] }",
		"FOR $i IN 0..100000 { " + strings.Repeat("$i+1;", 100_000) + " }",
		"FOR $i IN 0..100000 { { " + strings.Repeat("a: $i,", 100_000) + " } }",
		"FOR $i IN 0..100000000 { $text + $text + $text + $text }",
		"FOR $i IN 0..100000000 { string::len($text.uppercase()) + string::len($text.reverse()) }",
		"FOR $i IN 0..100000000 { <array> $text.split('') }",
		"RETURN value::patch({ a: $text }, [{ op: 'change', path: '/a', value: $patch }])",
		"RETURN value::diff($text, $other + $text + 'c')",
		"UPDATE big:1 PATCH [{ op: 'change', path: '/text', value: $patch }]",
		"RETURN $m CONTAINS $m", "RETURN $m INTERSECTS [$m, $m]", "RETURN [$m, $m] ALLINSIDE $m",
		"SELECT * FROM big WHERE m CONTAINS $m",
		"RETURN $z = /(?:x?y?){300}$/", "RETURN ['a', $z] ?= /(?:x?y?){300}$/", "RETURN [/(?:x?y?){300}$/] CONTAINS $z",
		"RETURN string::matches($z, /(?:x?y?){300}$/)",
		"SELECT * FROM t WHERE [$z, $z, $z] CONTAINSALL [/(?:x?y?){300}$/]",
	} {
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		begin := time.Now()
		res, err := s.Execute(ctx, text, vars)
		spent := time.Since(begin)
		stop()
		if err == nil && res[len(res)-1].Err == nil {
			t.Logf("%.60s: it came to its end in %v", text, spent) // a fast machine, or a cheap answer
		}
		if spent > 8*time.Second { // generous: the machine may be busy
			t.Errorf("%.60s: it took %v to stop", text, spent)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.Execute(ctx, "RETURN ["+strings.Repeat("1,", 100_000)+"]", nil); err == nil {
		t.Error("a long text is parsed for a client that is gone")
	}
}

// squares is a MultiPolygon of n squares that lie over one another.
func squares(n int) value.Value {
	g := &value.Geometry{Kind: value.GeometryMultiPolygon}
	for i := range n {
		x := float64(i) / 1000
		g.Polys = append(g.Polys, [][]value.Point{{{X: x, Y: 0}, {X: x + 9, Y: 0}, {X: x + 9, Y: 9 + x}, {X: x, Y: 9}, {X: x, Y: 0}}})
	}
	return value.GeometryOf(g)
}
