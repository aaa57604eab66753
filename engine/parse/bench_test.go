package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
)

func benchQuery(b *testing.B, text string) {
	b.Helper()
	benchWith(b, text, Options{})
}

func benchWith(b *testing.B, text string, opt Options) {
	b.Helper()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Query(text, opt); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPointRead(b *testing.B) { benchQuery(b, "SELECT * FROM person:1") }

func BenchmarkUpdate(b *testing.B) {
	benchQuery(b, "UPDATE person:42 SET name = 'Ada', age += 1, tags += ['x'] WHERE age > 18 AND active RETURN AFTER")
}

func BenchmarkParams(b *testing.B) {
	benchQuery(b, "SELECT name, age, ->knows->person.name AS friends FROM type::table($tb) WHERE age > $min AND name = $name ORDER BY age DESC LIMIT 10")
}

func insertRows(n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO person [")
	for i := range n {
		fmt.Fprintf(&b, "{ id: %d, name: 'Person number %d', email: 'p%d@example.com', age: %d, score: %d.5, tags: ['a', 'b', 'c'], address: { city: 'Berlin', zip: '10115' } },\n", i, i, i, i%90, i%100)
	}
	b.WriteString("]")
	return b.String()
}

func BenchmarkInsert1000Rows(b *testing.B) { benchQuery(b, insertRows(1000)) }

// BenchmarkInsert1000Values is the same for a text that is run.
func BenchmarkInsert1000Values(b *testing.B) { benchWith(b, insertRows(1000), Options{Values: true}) }

func BenchmarkScript1MiB(b *testing.B) {
	const line = "LET $x = $x + 1; IF $x > 5 { CREATE log SET at = time::now(), n = $x } ELSE { RETURN fn::f($x, [1, 2, 3]) };\n"
	benchQuery(b, strings.Repeat(line, 1<<20/len(line)))
}

// BenchmarkDeepText is what an attacker sends: it has to fail at once.
func BenchmarkDeepText(b *testing.B) {
	text := "RETURN " + strings.Repeat("(", 1<<20)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Query(text, Options{}); err == nil {
			b.Fatal("parsed")
		}
	}
}

func BenchmarkPrint(b *testing.B) {
	q, err := Query("SELECT name, age + 1 AS next FROM person WHERE age > 18 AND name != 'x' ORDER BY name LIMIT 10", Options{})
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = ast.AppendText(buf[:0], q)
	}
}
