package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// runWith executes a text with variables; it must succeed.
func runWith(b testing.TB, s *engine.Session, text string, vars *value.Object) []engine.Result {
	res, err := s.Execute(context.Background(), text, vars)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range res {
		if r.Err != nil {
			b.Fatalf("%s: %v", text, r.Err)
		}
	}
	return res
}

// benchWrite runs a text again and again on a fresh store. perOp is how many rows one run writes.
func benchWrite(b *testing.B, setup, text string, vars *value.Object, perOp int) {
	s := owner(b, openQuiet(b))
	if setup != "" {
		run(b, s, setup)
	}
	runWith(b, s, text, vars)
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		runWith(b, s, text, vars)
	}
	b.ReportMetric(float64(b.N*perOp)/b.Elapsed().Seconds(), "rows/s")
}

// rows is n small objects without ids.
func rows(n int) *value.Object {
	out := make([]value.Value, n)
	for i := range out {
		out[i] = value.ObjectOf(value.NewObject(
			value.Field{Name: "name", Value: value.Str("a name of some length")},
			value.Field{Name: "age", Value: value.Int(int64(i))},
			value.Field{Name: "tags", Value: value.Array(value.Str("x"), value.Str("y"))},
		))
	}
	return value.NewObject(value.Field{Name: "rows", Value: value.ArrayOf(out)})
}

const typedTable = `DEFINE TABLE t SCHEMAFULL; DEFINE FIELD name ON t TYPE string; DEFINE FIELD age ON t TYPE int ASSERT $value >= 0;
	DEFINE FIELD tags ON t TYPE array<string>; DEFINE FIELD at ON t TYPE datetime DEFAULT time::now()`

func BenchmarkCreate(b *testing.B) {
	benchWrite(b, "", "CREATE t SET name = 'a name of some length', age = 5 RETURN NONE", nil, 1)
}

func BenchmarkCreateTyped(b *testing.B) {
	benchWrite(b, typedTable, "CREATE t SET name = 'a name of some length', age = 5, tags = ['x'] RETURN NONE", nil, 1)
}

func BenchmarkInsert1000(b *testing.B) {
	benchWrite(b, "", "INSERT INTO t $rows RETURN NONE", rows(1000), 1000)
}

// BenchmarkInsert1000Literals parses the rows, too.
func BenchmarkInsert1000Literals(b *testing.B) {
	var text strings.Builder
	text.WriteString("INSERT INTO t [")
	for i := range 1000 {
		fmt.Fprintf(&text, "{ a: %d, b: 'text number %d', c: [1, 2, %d], d: { e: true, f: %d.5 } },", i, i, i, i)
	}
	text.WriteString("] RETURN NONE")
	benchWrite(b, "", text.String(), nil, 1000)
}

func BenchmarkInsert1000Typed(b *testing.B) {
	benchWrite(b, typedTable, "INSERT INTO t $rows RETURN NONE", rows(1000), 1000)
}

func BenchmarkInsert1000Indexed(b *testing.B) {
	benchWrite(b, "DEFINE INDEX age ON t FIELDS age; DEFINE INDEX name ON t FIELDS name, age", "INSERT INTO t $rows RETURN NONE", rows(1000), 1000)
}

func BenchmarkUpdatePoint(b *testing.B) {
	benchWrite(b, people, "UPDATE person:5000 SET n += 1 RETURN NONE", nil, 1)
}

func BenchmarkUpdate1000(b *testing.B) {
	benchWrite(b, people, "UPDATE person:1000..2000 SET n += 1 RETURN NONE", nil, 1000)
}

func BenchmarkRelate(b *testing.B) {
	benchWrite(b, "CREATE a:1, b:1", "RELATE a:1->e->b:1 RETURN NONE", nil, 1)
}

func BenchmarkInsertUnique(b *testing.B) {
	benchWrite(b, "DEFINE INDEX u ON t FIELDS x UNIQUE", "INSERT INTO t {x: rand::uuid()} RETURN NONE", nil, 1)
}

func BenchmarkDelete1000(b *testing.B) {
	benchWrite(b, "DEFINE INDEX age ON t FIELDS age", "INSERT INTO t $rows RETURN NONE; DELETE t", rows(1000), 1000)
}
