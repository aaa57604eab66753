package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// allowErrors makes run accept statements that fail.
var allowErrors = value.Field{}

// run executes a text that must succeed, with parameters.
func run(b testing.TB, s *engine.Session, text string, vars ...value.Field) []engine.Result {
	b.Helper()
	lenient := len(vars) == 1 && vars[0] == allowErrors
	res, err := s.Execute(context.Background(), text, value.NewObject(vars...))
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range res {
		if r.Err != nil && !lenient {
			b.Fatalf("%s: %v", text, r.Err)
		}
	}
	return res
}

func bench(b *testing.B, setup, text string) {
	s := owner(b, openQuiet(b))
	if setup != "" {
		run(b, s, setup)
	}
	run(b, s, text)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		run(b, s, text)
	}
}

// The loop has four operators a turn; the figure is for 1000 turns.
func BenchmarkForLoop(b *testing.B) {
	bench(b, "", "FOR $i IN 0..1000 { LET $x = $i * 2 + 1; IF $x > 5000 AND $i = 3 { BREAK } }")
}

func BenchmarkClosureMap(b *testing.B) {
	bench(b, "", "RETURN (<array> 0..1000).map(|$x| $x * 2 + 1).len()")
}

func BenchmarkReturn(b *testing.B) { bench(b, "", "RETURN 1 + 1") }

const people = "INSERT INTO person (SELECT VALUE { id: $this, name: 'name ' + <string> $this, age: $this % 100, city: 'city', mail: 'a@b.c'," +
	" tags: ['a', 'b'], address: { street: 'x', number: 5 }, score: 1.5 } FROM <array> 0..10000) RETURN NONE"

func BenchmarkPointRead(b *testing.B) { bench(b, people, "SELECT * FROM person:5000") }

func BenchmarkSelectAll10k(b *testing.B) { bench(b, people, "SELECT * FROM person") }

func BenchmarkFilteredCount10k(b *testing.B) {
	bench(b, people, "SELECT count() FROM person WHERE age > 50 GROUP ALL")
}

func BenchmarkProject10k(b *testing.B) {
	bench(b, people, "SELECT name, age FROM person WHERE age < 50")
}

// A COMPUTED field costs what it costs only where it is asked for: the first is to be as fast as without the field.
const computedPeople = people + "; DEFINE FIELD c ON person COMPUTED array::range(0, 100).map(|$i| $i * 2).len()"

func BenchmarkComputedNotAsked10k(b *testing.B) { bench(b, computedPeople, "SELECT name FROM person") }

func BenchmarkComputedAsked10k(b *testing.B) { bench(b, computedPeople, "SELECT name, c FROM person") }

func BenchmarkComputedNotThere10k(b *testing.B) { bench(b, people, "SELECT name FROM person") }

func BenchmarkGroup10k(b *testing.B) {
	bench(b, people, "SELECT age, count(), math::sum(score) FROM person GROUP BY age")
}

func BenchmarkTop10of10k(b *testing.B) {
	bench(b, people, "SELECT * FROM person ORDER BY age DESC LIMIT 10")
}

// The figure is for 10 000 records in single CREATE statements.
func BenchmarkImport10k(b *testing.B) {
	var text strings.Builder
	text.WriteString("OPTION IMPORT;\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "CREATE person:%d SET name = 'name %d', age = %d;\n", i, i, i%100)
	}
	b.ReportAllocs()
	for b.Loop() {
		s := owner(b, openQuiet(b))
		res, err := s.Import(context.Background(), strings.NewReader(text.String()), engine.ImportOptions{})
		if err != nil || res.Failures != 0 {
			b.Fatal(res, err)
		}
	}
}

// Lists and objects made and passed on, without a table: the figures are for 20 000 elements.
func BenchmarkMapFilter20k(b *testing.B) {
	bench(b, "", "RETURN (<array> 0..20000).map(|$x| [$x, $x + 1]).filter(|$x| $x[0] > 10).len()")
}

func BenchmarkMapObjects20k(b *testing.B) {
	bench(b, "", "RETURN (<array> 0..20000).map(|$x| { a: $x, b: 'b', c: [$x] }).map(|$o| $o.c).flatten().len()")
}

// The figure is for 10 000 rows with every field decoded.
func BenchmarkDecodeRows10k(b *testing.B) {
	bench(b, people, "RETURN (SELECT VALUE [tags, address.*, name] FROM person).len()")
}
