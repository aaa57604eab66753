package engine_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// society is 10 000 people who know ten others each: 100 000 edges.
const society = "DEFINE TABLE person; DEFINE TABLE knows TYPE RELATION FROM person TO person;" +
	"INSERT INTO person (SELECT VALUE { id: $this, name: 'name ' + <string> $this, age: $this % 90 } FROM <array> 0..10000) RETURN NONE;" +
	"INSERT RELATION INTO knows (SELECT VALUE { id: $this, in: type::record('person', $this % 10000)," +
	" out: type::record('person', (($this * 7919) + ($this / 10000) * 104729) % 10000), w: $this % 10 } FROM <array> 0..100000) RETURN NONE"

var fortyTwo = value.NewObject(value.Field{Name: "a", Value: value.Record("person", value.Int(42))},
	value.Field{Name: "b", Value: value.Record("person", value.Int(4711))})

// benchGQL runs a program on the records of setup.
func benchGQL(b *testing.B, setup, text string) {
	s := openedGQL(b, engine.Options{})
	runGQLSetup(b, s, setup)
	v, err := runGQL(s, text, fortyTwo)
	if err != nil {
		b.Fatal(err)
	}
	b.Log(v.Text()[:min(len(v.Text()), 200)])
	b.ReportAllocs()
	cpu, n := cpuTime(b), 0
	for b.Loop() {
		if _, err := runGQL(s, text, fortyTwo); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/float64(n), "cpu-µs/op")
}

// cpuTime is what the process has used: it bends less than the time on the clock where others use the machine.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkGQLPoint(b *testing.B) {
	benchGQL(b, society, "MATCH (a:person {id: $a}) RETURN a.name AS n")
}

// BenchmarkGQLBesideArrows asks the same in both languages on one engine by turns, and tells the CPU time of each. ratio
// below 1 means that GQL is the faster one.
func BenchmarkGQLBesideArrows(b *testing.B) {
	s := openedGQL(b, engine.Options{})
	runGQLSetup(b, s, society)
	for _, c := range []struct{ name, gql, arrows string }{
		{"point", "MATCH (a:person {id: $a}) RETURN a.name AS n", "SELECT name AS n FROM $a"},
		{"hops1", "MATCH (a:person {id: $a})-[:knows]->(b) RETURN b.name AS n", "SELECT VALUE ->knows->person.name FROM $a"},
		{"hops2", "MATCH (a:person {id: $a})-[:knows]->()-[:knows]->(b) RETURN b.name AS n",
			"SELECT VALUE ->knows->person->knows->person.name FROM $a"},
		{"hops3", "MATCH (a:person {id: $a})-[:knows]->()-[:knows]->()-[:knows]->(b) RETURN b.name AS n",
			"SELECT VALUE ->knows->person->knows->person->knows->person.name FROM $a"},
		{"rows3", "MATCH (a:person {id: $a})-[:knows]->()-[:knows]->()-[:knows]->(b) RETURN b.name AS n",
			"SELECT name AS n FROM $a->knows->person->knows->person->knows->person"},
		{"count3", "MATCH (a:person {id: $a})-[:knows]->()-[:knows]->()-[:knows]->() RETURN count(*) AS n",
			"RETURN count($a->knows->person->knows->person->knows->person)"},
	} {
		b.Run(c.name, func(b *testing.B) {
			gql := func() {
				if _, err := runGQL(s, c.gql, fortyTwo); err != nil {
					b.Fatal(err)
				}
			}
			arrows := func() { run(b, s, c.arrows, fortyTwo.Fields()...) }
			byTurns(b, gql, arrows)
		})
	}
}

// byTurns runs both a and b, some times each, until b.N of each have run.
func byTurns(b *testing.B, first, second func()) {
	const turn = 20
	var cpu [2]time.Duration
	for done := 0; done < b.N; done += turn {
		for i, f := range [...]func(){first, second} {
			start := cpuTime(b)
			for range min(turn, b.N-done) {
				f()
			}
			cpu[i] += cpuTime(b) - start
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(cpu[0].Nanoseconds())/float64(b.N)/1000, "gql-µs/op")
	b.ReportMetric(float64(cpu[1].Nanoseconds())/float64(b.N)/1000, "arrows-µs/op")
	b.ReportMetric(float64(cpu[0])/float64(cpu[1]), "ratio")
}

func BenchmarkGQLShortest(b *testing.B) {
	benchGQL(b, society, "MATCH p = ANY SHORTEST (a:person {id: $a})-[:knows]->+(b:person {id: $b}) RETURN PATH_LENGTH(p) AS n")
}

func BenchmarkGQLShortestEither(b *testing.B) {
	benchGQL(b, society, "MATCH p = ANY SHORTEST (a:person {id: $a})-[:knows]-+(b:person {id: $b}) RETURN PATH_LENGTH(p) AS n")
}

func BenchmarkGQLShortest3(b *testing.B) {
	benchGQL(b, society, "MATCH p = SHORTEST 3 (a:person {id: $a})-[:knows]->{1,4}(b:person {id: $b}) RETURN PATH_LENGTH(p) AS n")
}

func BenchmarkGQLTriangles(b *testing.B) {
	benchGQL(b, society, "MATCH (a:person)-[:knows]->(b)-[:knows]->(c)-[:knows]->(a) RETURN count(*) AS n")
}

func BenchmarkGQLCountEdges(b *testing.B) {
	benchGQL(b, society, "MATCH (a:person)-[k:knows]->(b) WHERE k.w > 5 RETURN count(*) AS n")
}
