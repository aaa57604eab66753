package engine_test

import (
	"context"
	"testing"
)

// crowd is 20 000 records with a dozen fields, some of them indexed.
const crowd = "DEFINE INDEX ic ON person FIELDS city; DEFINE INDEX im ON person FIELDS score;" +
	"INSERT INTO city (SELECT VALUE { id: $this, name: 'city ' + <string> $this, zone: $this % 7 } FROM <array> 0..100) RETURN NONE;" +
	"INSERT INTO person (SELECT VALUE { id: $this, name: 'person number ' + <string> $this, age: ($this * 7919) % 90, city: ($this * 31) % 500," +
	" grp: ($this * 17) % 100, score: ($this * 104729) % 1000003, home: type::record('city', $this % 100), active: $this % 3 = 0," +
	" tags: ['a' + <string> ($this % 10), 'b'], bio: 'Lorem ipsum dolor sit amet, consectetur adipiscing elit' } FROM <array> 0..20000) RETURN NONE"

func BenchmarkScanAll(b *testing.B)    { bench(b, crowd, "SELECT * FROM person") }
func BenchmarkScanFilter(b *testing.B) { bench(b, crowd, "SELECT * FROM person WHERE grp = 42") }
func BenchmarkScanProject(b *testing.B) {
	bench(b, crowd, "SELECT name, age FROM person WHERE grp > 10 AND grp < 14 AND active = true")
}
func BenchmarkScanGroup(b *testing.B) {
	bench(b, crowd, "SELECT grp, count() AS c, math::sum(age) AS s, math::mean(score) AS m FROM person GROUP BY grp")
}
func BenchmarkIndexEqual(b *testing.B) { bench(b, crowd, "SELECT * FROM person WHERE city = 42") }
func BenchmarkIndexRange(b *testing.B) {
	bench(b, crowd, "SELECT * FROM person WHERE score > 10000 AND score < 20000")
}
func BenchmarkIndexCount(b *testing.B) {
	bench(b, crowd, "SELECT count() FROM person WHERE score > 10000 AND score < 90000 GROUP ALL")
}
func BenchmarkOrderIndex10(b *testing.B) {
	bench(b, crowd, "SELECT * FROM person ORDER BY score LIMIT 10")
}
func BenchmarkOrderIndexAll(b *testing.B) {
	bench(b, crowd, "RETURN (SELECT * FROM person ORDER BY score).len()")
}
func BenchmarkOrderSortAll(b *testing.B) {
	bench(b, crowd, "RETURN (SELECT * FROM person WITH NOINDEX ORDER BY score).len()")
}
func BenchmarkOrderSortTop(b *testing.B) {
	bench(b, crowd, "SELECT name FROM person ORDER BY name LIMIT 10")
}
func BenchmarkFetchLinks(b *testing.B) { bench(b, crowd, "SELECT * FROM person:1..=1000 FETCH home") }

// benchPacked is bench for answers in the wire form, appended to a message.
func benchPacked(b *testing.B, setup, text string) {
	s := owner(b, openQuiet(b))
	run(b, s, setup)
	var message []byte
	b.ReportAllocs()
	for b.Loop() {
		res, err := s.ExecutePacked(context.Background(), text, nil)
		if err != nil || res[0].Err != nil {
			b.Fatal(err, res[0].Err)
		}
		if message, err = res[0].Rows.AppendTo(message[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(message)))
}

func BenchmarkPackedAll(b *testing.B)     { benchPacked(b, crowd, "SELECT * FROM person") }
func BenchmarkPackedProject(b *testing.B) { benchPacked(b, crowd, "SELECT name, age FROM person") }
func BenchmarkPackedFetch(b *testing.B)   { benchPacked(b, crowd, "SELECT * FROM person FETCH home") }
func BenchmarkPackedRange(b *testing.B) {
	benchPacked(b, crowd, "SELECT * FROM person WHERE score >= 100000 AND score < 600000")
}
