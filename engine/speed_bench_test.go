//go:build unix

package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// The benchmarks of this file are over one set of data on a store in files: records of 16 fields, documents and vectors as
// cmd/nacretest compares them with other databases. Beside the time they report the processor time of the process, which is
// what to compare where a statement runs on several cores or other programs run beside it.

const (
	speedRows   = 100_000
	speedGroups = 5_000
)

// fillRows makes records of 16 fields.
func fillRows(t testing.TB, s *engine.Session, n int) {
	r := rand.New(rand.NewPCG(7, 7))
	str := value.Str
	for from := 0; from < n; from += 1000 {
		rows := make([]value.Value, 0, 1000)
		for id := from; id < min(n, from+1000); id++ {
			f := func(name string, v value.Value) value.Field { return value.Field{Name: name, Value: v} }
			rows = append(rows, value.ObjectOf(value.NewObject(
				f("id", value.Int(int64(id))), f("name", str(fmt.Sprintf("person number %d", id))),
				f("mail", str(fmt.Sprintf("p%d@example.com", id))), f("age", value.Int(int64(r.IntN(90)))),
				f("city", str(fmt.Sprintf("city %d", r.IntN(speedGroups)))), f("kind", str(fmt.Sprintf("kind %d", r.IntN(9)))),
				f("score", value.Float(r.Float64()*1000)), f("amount", value.Int(int64(r.IntN(1_000_000)))),
				f("active", value.Bool(id%3 == 0)), f("zip", str(fmt.Sprintf("%05d", r.IntN(100_000)))),
				f("at", value.DatetimeOf(value.Datetime{Secs: 1_700_000_000 + int64(r.IntN(10_000_000))})),
				f("tags", value.ArrayOf([]value.Value{str("a"), str("b"), str(fmt.Sprintf("t%d", id%10))})),
				f("address", value.ObjectOf(value.NewObject(f("street", str("a street")), f("number", value.Int(int64(r.IntN(200)))),
					f("floor", value.Int(int64(r.IntN(20))))))),
				f("bio", str("Lorem ipsum dolor sit amet, consectetur adipiscing elit, number "+fmt.Sprint(r.IntN(1000)))),
				f("rank", value.Int(int64(r.IntN(n)))), f("note", value.Null))))
		}
		run(t, s, "INSERT INTO person $rows RETURN NONE", value.Field{Name: "rows", Value: value.ArrayOf(rows)})
	}
}

// processorTime is what the process has used of all processors.
func processorTime(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// speed runs a text again and again. rows is how many it works on: what it takes for each of them is reported too.
func speed(b *testing.B, s *engine.Session, text string, rows int, vars ...value.Field) {
	for range 2 { // the first turns read the pages of a new store
		run(b, s, text, vars...)
	}
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		run(b, s, text, vars...)
	}
	used := float64(processorTime(b)-before) / float64(b.N)
	b.ReportMetric(used, "cpu-ns/op")
	if rows > 0 {
		b.ReportMetric(used/float64(rows), "cpu-ns/row")
	}
}

// stored is a session on a store in files that has been filled, closed and opened again.
func stored(b *testing.B, fill func(*engine.Session)) *engine.Session {
	path := "bolt://" + filepath.Join(b.TempDir(), "data") + "?sync=never"
	open := func() *engine.Engine {
		e, err := engine.Open(context.Background(), path, engine.Options{NoDefaults: true, Capabilities: openCapabilities()})
		if err != nil {
			b.Fatal(err)
		}
		return e
	}
	e := open()
	fill(owner(b, e))
	if err := e.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	e = open()
	b.Cleanup(func() { _ = e.Close(context.Background()) })
	return owner(b, e)
}

func BenchmarkSpeedRows(b *testing.B) {
	s := stored(b, func(s *engine.Session) { fillRows(b, s, speedRows) })
	for _, q := range []struct{ name, text string }{
		{"CountRange", "SELECT count() FROM person WHERE age > 20 AND age < 40 GROUP ALL"},
		{"CountNested", "SELECT count() FROM person WHERE address.number > 100 GROUP ALL"},
		{"CountContains", "SELECT count() FROM person WHERE bio CONTAINS 'number 77' GROUP ALL"},
		{"CountEqualText", "SELECT count() FROM person WHERE kind = 'kind 3' GROUP ALL"},
		{"Group9", "SELECT kind, count() AS n, math::sum(amount) AS s, math::mean(score) AS m FROM person GROUP BY kind"},
		{"Group5000", "SELECT city, count() AS n, math::sum(amount) AS s, math::mean(score) AS m FROM person GROUP BY city"},
		{"GroupAll", "SELECT count() AS n, math::sum(amount) AS s, math::mean(score) AS m FROM person GROUP ALL"},
		{"OrderTop10", "SELECT * FROM person ORDER BY score LIMIT 10"},
		{"FilterTop10", "SELECT name, score FROM person WHERE age > 20 ORDER BY score DESC LIMIT 10"},
		{"Filter1000", "SELECT * FROM person WHERE amount < 10000"},
	} {
		b.Run(q.name, func(b *testing.B) { speed(b, s, q.text, speedRows) })
	}
	b.Run("Start5000", func(b *testing.B) { speed(b, s, "SELECT * FROM person START 5000 LIMIT 10", 5000) })
	b.Run("Point", func(b *testing.B) { speed(b, s, "SELECT * FROM person:50000", 0) })
	run(b, s, "DEFINE INDEX byCity ON person FIELDS city; DEFINE INDEX byRank ON person FIELDS rank")
	b.Run("IndexEqual", func(b *testing.B) { speed(b, s, "SELECT * FROM person WHERE city = 'city 77'", 0) })
	b.Run("IndexRange", func(b *testing.B) { speed(b, s, "SELECT * FROM person WHERE rank >= 5000 AND rank < 5080", 0) })
	b.Run("IndexBuild", func(b *testing.B) { speed(b, s, "DEFINE INDEX OVERWRITE built ON person FIELDS amount", speedRows) })
}

// BenchmarkSpeedExport writes records as text.
func BenchmarkSpeedExport(b *testing.B) {
	const rows = 20_000
	s := stored(b, func(s *engine.Session) { fillRows(b, s, rows) })
	b.ReportAllocs()
	before := processorTime(b)
	for b.Loop() {
		if err := s.Export(context.Background(), io.Discard, engine.DefaultExport()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/rows, "cpu-ns/row")
}

// BenchmarkSpeedImport imports what export writes of the records, into new stores.
func BenchmarkSpeedImport(b *testing.B) {
	const rows = 20_000
	from := owner(b, openQuiet(b))
	fillRows(b, from, rows)
	var text bytes.Buffer
	if err := from.Export(context.Background(), &text, engine.DefaultExport()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var used time.Duration
	for b.Loop() {
		b.StopTimer()
		path := "bolt://" + filepath.Join(b.TempDir(), "data") + "?sync=never"
		e, err := engine.Open(context.Background(), path, engine.Options{NoDefaults: true, Capabilities: openCapabilities()})
		if err != nil {
			b.Fatal(err)
		}
		s := owner(b, e)
		b.StartTimer()
		before := processorTime(b)
		res, err := s.Import(context.Background(), bytes.NewReader(text.Bytes()), engine.ImportOptions{})
		if err != nil || res.Failures > 0 {
			b.Fatal(res, err)
		}
		if err := e.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		used += processorTime(b) - before
	}
	b.ReportMetric(float64(used)/float64(b.N)/rows, "cpu-ns/row")
	b.ReportMetric(float64(text.Len())/rows, "B/row")
}

func BenchmarkSpeedVectors(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		s := stored(b, func(s *engine.Session) { fillVectors(b, s, n, 128) })
		q := value.Field{Name: "q", Value: run(b, s, "SELECT VALUE v FROM ONLY pt:77")[0].Value}
		b.Run(fmt.Sprintf("Exact%dk", n/1000), func(b *testing.B) {
			speed(b, s, "SELECT VALUE id FROM pt WHERE v <|10,EUCLIDEAN|> $q", n, q)
		})
		b.Run(fmt.Sprintf("Cosine%dk", n/1000), func(b *testing.B) {
			speed(b, s, "SELECT VALUE id FROM pt WHERE v <|10,COSINE|> $q", n, q)
		})
		b.Run(fmt.Sprintf("ExactFiltered%dk", n/1000), func(b *testing.B) {
			speed(b, s, "SELECT VALUE id FROM pt WHERE v <|10,EUCLIDEAN|> $q AND g = 3", n, q)
		})
	}
}

func BenchmarkSpeedText(b *testing.B) {
	s := stored(b, func(s *engine.Session) {
		fillTexts(b, s, speedRows)
		run(b, s, defineText)
	})
	for _, q := range []struct{ name, text string }{
		{"Rare", "SELECT id FROM doc WHERE body @@ 'word15000'"},
		{"RareScore", "SELECT id, search::score(1) AS s FROM doc WHERE body @1@ 'word15000' ORDER BY s DESC LIMIT 10"},
		{"Mid", "SELECT id, search::score(1) AS s FROM doc WHERE body @1@ 'word700' ORDER BY s DESC LIMIT 10"},
		{"And", "SELECT id, search::score(1) AS s FROM doc WHERE body @1@ 'word20 word50' ORDER BY s DESC LIMIT 10"},
		{"Count", "SELECT count() FROM doc WHERE body @@ 'word50' GROUP ALL"},
	} {
		b.Run(q.name, func(b *testing.B) { speed(b, s, q.text, 0) })
	}
}

// BenchmarkSpeedWords searches for words that are one term each.
func BenchmarkSpeedWords(b *testing.B) {
	s := stored(b, func(s *engine.Session) {
		fillTexts(b, s, speedRows)
		run(b, s, "DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase; DEFINE INDEX ft ON doc FIELDS body FULLTEXT ANALYZER words BM25")
	})
	phrase := run(b, s, "SELECT VALUE body FROM ONLY doc:77")[0].Value.Str()
	phrase = strings.Join(strings.Fields(phrase)[20:22], " ")
	const best = " ORDER BY s DESC LIMIT 10"
	for _, q := range []struct{ name, where string }{
		{"Rare", "body @1@ 'word15000'"}, {"Mid", "body @1@ 'word700'"}, {"And", "body @1@ 'word20 word50'"},
		{"Phrase", "body @1@ '" + phrase + "' AND body CONTAINS '" + phrase + "'"},
	} {
		b.Run(q.name, func(b *testing.B) {
			speed(b, s, "SELECT id, search::score(1) AS s FROM doc WHERE "+q.where+best, 0)
		})
	}
}

// BenchmarkSpeedTexts runs a text of 100 statements that each are a transaction, on a store that syncs.
func BenchmarkSpeedTexts(b *testing.B) {
	e, err := engine.Open(context.Background(), "bolt://"+filepath.Join(b.TempDir(), "data"), engine.Options{Capabilities: openCapabilities()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.Close(context.Background()) })
	s := owner(b, e)
	b.Run("Insert100", func(b *testing.B) {
		speed(b, s, strings.Repeat("INSERT INTO item { a: 1, b: 'two', c: [1, 2, 3] } RETURN NONE;", 100), 100)
	})
	b.Run("Insert1", func(b *testing.B) { speed(b, s, "INSERT INTO item { a: 1, b: 'two', c: [1, 2, 3] } RETURN NONE", 0) })
	var literal strings.Builder
	literal.WriteString("INSERT INTO item [")
	for i := range 1000 {
		fmt.Fprintf(&literal, "{ a: %d, b: 'text number %d', c: [1, 2, %d], d: { e: true, f: %d.5 } },", i, i, i, i)
	}
	literal.WriteString("] RETURN NONE")
	b.Run("Literal1000", func(b *testing.B) { speed(b, s, literal.String(), 1000) })
}

// BenchmarkSpeedTextBuild builds a full-text index anew.
func BenchmarkSpeedTextBuild(b *testing.B) {
	s := stored(b, func(s *engine.Session) { fillTexts(b, s, speedRows) })
	run(b, s, "DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase")
	speed(b, s, "DEFINE INDEX OVERWRITE ft ON doc FIELDS body FULLTEXT ANALYZER words BM25", speedRows)
}
