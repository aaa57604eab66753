package engine_test

import (
	"context"
	"fmt"
	"math"
	"strings"
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

// parks is 20 000 records on a grid of 200 by 100, each with a point and a polygon of 33 corners around it.
func parks() string {
	var b strings.Builder
	for i := range 20_000 {
		x, y := float64(i%200), float64(i/200)
		if i%1000 == 0 {
			b.WriteString("INSERT INTO park [")
		}
		fmt.Fprintf(&b, "{ id: %d, at: (%f, %f), area: { type: 'Polygon', coordinates: [[", i, x+0.25, y+0.5)
		for k := range 33 {
			angle := float64(k%32) * math.Pi / 16
			fmt.Fprintf(&b, "[%f, %f],", x+math.Cos(angle)/3, y+math.Sin(angle)/3)
		}
		if b.WriteString("]] } },"); i%1000 == 999 {
			b.WriteString("] RETURN NONE;")
		}
	}
	return b.String()
}

// blocks is a part of the grid of parks.
const blocks = "{ type: 'Polygon', coordinates: [[[10, 10], [14, 10], [14, 14], [10, 14], [10, 10]]] }"

func BenchmarkPointsInside(b *testing.B) {
	bench(b, parks(), "SELECT count() FROM park WHERE at INSIDE "+blocks+" GROUP ALL")
}
func BenchmarkAreasInside(b *testing.B) {
	bench(b, parks(), "SELECT count() FROM park WHERE area INSIDE "+blocks+" GROUP ALL")
}
func BenchmarkAreasIntersect(b *testing.B) {
	bench(b, parks(), "SELECT count() FROM park WHERE area INTERSECTS "+blocks+" GROUP ALL")
}
func BenchmarkAreasContain(b *testing.B) {
	bench(b, parks(), "SELECT count() FROM park WHERE area CONTAINS (11.1, 12.2) GROUP ALL")
}

func BenchmarkOrderAreas(b *testing.B) {
	bench(b, parks(), "RETURN (SELECT id, area FROM park ORDER BY area).len()")
}

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
