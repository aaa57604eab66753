package engine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// fillTexts makes records with texts whose words are as common as those of a language.
func fillTexts(t testing.TB, s *engine.Session, n int) {
	r := rand.New(rand.NewPCG(1, 1))
	words := rand.NewZipf(r, 1.2, 4, 20000)
	for from := 0; from < n; from += 500 {
		rows := make([]value.Value, 0, 500)
		for id := from; id < min(n, from+500); id++ {
			var b strings.Builder
			for range 50 {
				fmt.Fprintf(&b, "word%d ", words.Uint64())
			}
			rows = append(rows, value.ObjectOf(value.NewObject(value.Field{Name: "id", Value: value.Int(int64(id))},
				value.Field{Name: "body", Value: value.Str(b.String())})))
		}
		run(t, s, "INSERT INTO doc $rows RETURN NONE", value.Field{Name: "rows", Value: value.ArrayOf(rows)})
	}
}

const defineText = "DEFINE ANALYZER OVERWRITE en TOKENIZERS blank, class FILTERS lowercase, snowball(english);" +
	"DEFINE INDEX OVERWRITE ft ON doc FIELDS body FULLTEXT ANALYZER en BM25 HIGHLIGHTS;"

func BenchmarkFullTextBuild(b *testing.B) {
	s := owner(b, openQuiet(b))
	fillTexts(b, s, 2000)
	b.ReportAllocs()
	for b.Loop() {
		run(b, s, defineText)
	}
	b.ReportMetric(2000*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

func benchmarkFullText(b *testing.B, text string) {
	s := owner(b, openQuiet(b))
	fillTexts(b, s, 5000)
	run(b, s, defineText)
	if strings.Contains(text, "title") {
		run(b, s, "UPDATE doc SET title = body RETURN NONE; DEFINE INDEX gt ON doc FIELDS title FULLTEXT ANALYZER en BM25;")
	}
	b.ReportAllocs()
	for b.Loop() {
		run(b, s, text)
	}
}

func BenchmarkFullTextTop10(b *testing.B) {
	benchmarkFullText(b, "SELECT id, search::score(1) AS s FROM doc WHERE body @1,OR@ 'word20 word50 word700' ORDER BY s DESC LIMIT 10")
}

func BenchmarkFullTextAnd(b *testing.B) {
	benchmarkFullText(b, "SELECT VALUE id FROM doc WHERE body @@ 'word20 word50'")
}

// Two conditions: of one index, and of two.
func BenchmarkFullTextBoth(b *testing.B) {
	benchmarkFullText(b, "SELECT VALUE id FROM doc WHERE body @@ 'word2' AND body @@ 'word3'")
}

func BenchmarkFullTextBeside(b *testing.B) {
	benchmarkFullText(b, "SELECT VALUE id FROM doc WHERE body @@ 'word2' AND title @@ 'word3'")
}

func BenchmarkFullTextHighlight(b *testing.B) {
	benchmarkFullText(b, "SELECT VALUE search::highlight('<b>', '</b>', 1) FROM doc WHERE body @1@ 'word700' LIMIT 10")
}

// fillVectors makes records with vectors.
func fillVectors(t testing.TB, s *engine.Session, n, dimension int) {
	r := rand.New(rand.NewPCG(1, 1))
	for from := 0; from < n; from += 500 {
		rows := make([]value.Value, 0, 500)
		for id := from; id < min(n, from+500); id++ {
			v := make([]value.Value, dimension)
			for i := range v {
				v[i] = value.Float(r.NormFloat64())
			}
			rows = append(rows, value.ObjectOf(value.NewObject(value.Field{Name: "id", Value: value.Int(int64(id))},
				value.Field{Name: "v", Value: value.ArrayOf(v)}, value.Field{Name: "g", Value: value.Int(int64(id % 10))})))
		}
		run(t, s, "INSERT INTO pt $rows RETURN NONE", value.Field{Name: "rows", Value: value.ArrayOf(rows)})
	}
}

func benchmarkKNN(b *testing.B, define, text string) {
	s := owner(b, openQuiet(b))
	fillVectors(b, s, 10_000, 128)
	if define != "" {
		run(b, s, define)
	}
	q := value.Field{Name: "q", Value: run(b, s, "SELECT VALUE v FROM ONLY pt:77")[0].Value}
	run(b, s, text, q)
	b.ReportAllocs()
	for b.Loop() {
		run(b, s, text, q)
	}
}

func BenchmarkKNNExact(b *testing.B) {
	benchmarkKNN(b, "", "SELECT VALUE id FROM pt WHERE v <|10,EUCLIDEAN|> $q")
}

func BenchmarkKNNIndex(b *testing.B) {
	benchmarkKNN(b, "DEFINE INDEX h ON pt FIELDS v HNSW DIMENSION 128 DIST EUCLIDEAN", "SELECT VALUE id FROM pt WHERE v <|10,40|> $q")
}

func BenchmarkKNNFiltered(b *testing.B) {
	benchmarkKNN(b, "DEFINE INDEX h ON pt FIELDS v HNSW DIMENSION 128 DIST EUCLIDEAN", "SELECT VALUE id FROM pt WHERE v <|10,40|> $q AND g = 3")
}

// BenchmarkFullTextWrite writes 500 records a turn into an indexed table.
func BenchmarkFullTextWrite(b *testing.B) {
	s := owner(b, openQuiet(b))
	run(b, s, defineText)
	b.ReportAllocs()
	for b.Loop() {
		fillTexts(b, s, 500)
		b.StopTimer()
		run(b, s, "DELETE doc")
		b.StartTimer()
	}
}

// BenchmarkKNNWrite writes 500 vectors a turn into an indexed table. They are linked in the background.
func BenchmarkKNNWrite(b *testing.B) {
	s := owner(b, openQuiet(b))
	run(b, s, "DEFINE INDEX h ON pt FIELDS v HNSW DIMENSION 128")
	b.ReportAllocs()
	for b.Loop() {
		fillVectors(b, s, 500, 128)
		b.StopTimer()
		run(b, s, "DELETE pt")
		b.StartTimer()
	}
}
