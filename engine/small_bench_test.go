//go:build unix

package engine_test

import (
	"context"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// BenchmarkSpeedSmall runs queries of few rows as the doors do: their answers are packed. Most of what they cost is
// spent on the query, not on the rows.
func BenchmarkSpeedSmall(b *testing.B) {
	s := stored(b, func(s *engine.Session) {
		fillRows(b, s, speedRows)
		fillTexts(b, s, speedRows)
		run(b, s, "DEFINE TABLE knows TYPE RELATION FROM person TO person")
		run(b, s, "INSERT RELATION INTO knows (SELECT VALUE { id: $this, in: type::record('person', $this % 10000), "+
			"out: type::record('person', ($this * 7919 + 13) % 10000) } FROM <array> 0..100000) RETURN NONE")
		run(b, s, "DEFINE INDEX byCity ON person FIELDS city; DEFINE INDEX byRank ON person FIELDS rank; "+
			"DEFINE ANALYZER words TOKENIZERS blank FILTERS lowercase; "+
			"DEFINE INDEX byWords ON doc FIELDS body FULLTEXT ANALYZER words BM25")
	})
	for _, q := range []struct{ name, text string }{
		{"Point", "SELECT * FROM person:500"},
		{"Equal", "SELECT * FROM person WHERE city = 'city 77'"},
		{"Range", "SELECT * FROM person WHERE rank >= 500 AND rank < 580"},
		{"Rare", "SELECT id, search::score(1) AS s FROM doc WHERE body @1@ 'word15000' ORDER BY s DESC LIMIT 10"},
		{"Mid", "SELECT id, search::score(1) AS s FROM doc WHERE body @1@ 'word700' ORDER BY s DESC LIMIT 10"},
		{"Hops1", "SELECT VALUE ->knows->person FROM ONLY person:500"},
		{"Hops2", "SELECT VALUE ->knows->person->knows->person FROM ONLY person:500"},
		{"Hops3", "SELECT VALUE ->knows->person->knows->person->knows->person FROM ONLY person:500"},
	} {
		b.Run(q.name, func(b *testing.B) {
			var room []byte
			once := func() {
				res, err := s.ExecutePacked(context.Background(), q.text, value.NewObject())
				switch {
				case err != nil:
				case res[0].Err != nil:
					err = res[0].Err
				case res[0].Rows != nil:
					room, err = res[0].Rows.AppendTo(room[:0])
				default:
					room, err = value.AppendCBOR(room[:0], res[0].Value)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			for range 2 { // the first turns read the pages of a new store
				once()
			}
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				once()
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(len(room)), "B/answer")
		})
	}
}
