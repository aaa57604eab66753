package world_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// BenchmarkShortestPath searches for shortest paths between random nodes, in ISO GQL: over the borders between the
// countries of two random cities, and over roads, which lead from each city to the three nearest ones. It reports the
// middle and the 95th of a hundred, in CPU time and on the clock, and what the process holds.
func BenchmarkShortestPath(b *testing.B) {
	if _, err := os.Stat("node_modules"); err != nil {
		b.Fatal("the npm packages are not installed: run scripts/test, or npm ci in examples/world")
	}
	w := readWorld(b)
	b.Run("borders", func(b *testing.B) {
		s := openWorld(b)
		w.countriesInto(b, s)
		benchPaths(b, s, "MATCH p = ANY SHORTEST (a:country {id: $a})-[:borders]-+(b:country {id: $b}) RETURN PATH_LENGTH(p) AS n",
			func(r *rand.Rand) value.Value {
				return value.Record("country", value.Str(w.cities[r.IntN(len(w.cities))].Country))
			})
	})
	for _, people := range []int64{500_000, 100_000, 15_000} {
		large := slices.DeleteFunc(slices.Clone(w.cities), func(c city) bool { return c.Population < people })
		b.Run(fmt.Sprintf("roads between %d cities", len(large)), func(b *testing.B) {
			s := openWorld(b)
			roadsInto(b, s, large)
			benchPaths(b, s, "MATCH p = ANY SHORTEST (a:city {id: $a})-[:road]-+(b:city {id: $b}) RETURN PATH_LENGTH(p) AS n",
				func(r *rand.Rand) value.Value {
					return value.Record("city", value.Int(large[r.IntN(len(large))].ID))
				})
		})
	}
}

func openWorld(b *testing.B) *engine.Session {
	e, err := engine.Open(context.Background(), "memory", engine.Options{NoDefaults: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { e.Close(context.Background()) })
	s := e.RootSession()
	b.Cleanup(s.Close)
	execute(b, s, "DEFINE NAMESPACE world; USE NS world; DEFINE DATABASE world; USE NS world DB world")
	return s
}

func execute(b *testing.B, s *engine.Session, text string) {
	b.Helper()
	res, err := s.Execute(context.Background(), text, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range res {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
	}
}

func (w *world) countriesInto(b *testing.B, s *engine.Session) {
	rows, edges := []string{}, []string{}
	for _, c := range w.countries {
		rows = append(rows, fmt.Sprintf("{ id: '%s' }", c.CCA2))
		for _, to := range c.Borders {
			edges = append(edges, fmt.Sprintf("{ id: ['%s', '%s'], in: country:%[1]s, out: country:%[2]s }", c.CCA2, w.cca2[to]))
		}
	}
	execute(b, s, "DEFINE TABLE country; DEFINE TABLE borders TYPE RELATION; INSERT INTO country ["+strings.Join(rows, ", ")+
		"] RETURN NONE; INSERT RELATION INTO borders ["+strings.Join(edges, ", ")+"] RETURN NONE")
}

// roadsInto writes cities and a road from each to the three nearest.
func roadsInto(b *testing.B, s *engine.Session, cities []city) {
	execute(b, s, "DEFINE TABLE city; DEFINE TABLE road TYPE RELATION")
	cells := map[[2]int][]city{} // of one degree
	cell := func(c city) (x, y int) {
		return int(math.Floor(c.Loc.Coordinates[0])), int(math.Floor(c.Loc.Coordinates[1]))
	}
	for _, c := range cities {
		x, y := cell(c)
		cells[[2]int{x, y}] = append(cells[[2]int{x, y}], c)
	}
	rows, edges := []string{}, []string{}
	for _, c := range cities {
		rows = append(rows, fmt.Sprintf("{ id: %d }", c.ID))
		var near []city
		x, y := cell(c)
		for ring := 1; len(near) < 4 && ring < 60; ring *= 2 {
			near = near[:0]
			for i := -ring; i <= ring; i++ {
				for j := -ring; j <= ring; j++ {
					near = append(near, cells[[2]int{x + i, y + j}]...)
				}
			}
		}
		far := func(o city) float64 {
			dx := (o.Loc.Coordinates[0] - c.Loc.Coordinates[0]) * math.Cos(c.Loc.Coordinates[1]*math.Pi/180)
			return math.Hypot(dx, o.Loc.Coordinates[1]-c.Loc.Coordinates[1])
		}
		slices.SortFunc(near, func(p, q city) int {
			if far(p) < far(q) {
				return -1
			}
			return 1
		})
		for _, o := range near[min(1, len(near)):min(4, len(near))] {
			edges = append(edges, fmt.Sprintf("{ in: city:%d, out: city:%d }", c.ID, o.ID))
		}
	}
	for part := range slices.Chunk(rows, 2000) {
		execute(b, s, "INSERT INTO city ["+strings.Join(part, ", ")+"] RETURN NONE")
	}
	for part := range slices.Chunk(edges, 2000) {
		execute(b, s, "INSERT RELATION INTO road ["+strings.Join(part, ", ")+"] RETURN NONE")
	}
}

// benchPaths runs a program for pairs of random nodes.
func benchPaths(b *testing.B, s *engine.Session, text string, pick func(*rand.Rand) value.Value) {
	r := rand.New(rand.NewPCG(1, 2))
	var clock, cpu []time.Duration
	paths := 0
	ask := func() {
		vars := value.NewObject(value.Field{Name: "a", Value: pick(r)}, value.Field{Name: "b", Value: pick(r)})
		used, began := used(b), time.Now()
		res, err := s.GQL(context.Background(), text, vars)
		if err != nil || res[0].Err != nil {
			b.Fatal(err, res[0].Err)
		}
		clock, cpu = append(clock, time.Since(began)), append(cpu, usedSince(b, used))
		paths += res[0].Value.Len()
	}
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
	for len(clock) < 100 {
		ask()
	}
	slices.Sort(clock)
	slices.Sort(cpu)
	of := func(ds []time.Duration, part float64) float64 {
		return float64(ds[int(float64(len(ds)-1)*part)].Microseconds())
	}
	b.ReportMetric(of(clock, 0.5), "p50-µs")
	b.ReportMetric(of(clock, 0.95), "p95-µs")
	b.ReportMetric(of(cpu, 0.5), "p50-cpu-µs")
	b.ReportMetric(of(cpu, 0.95), "p95-cpu-µs")
	b.ReportMetric(float64(paths)/float64(len(clock)), "found")
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "MiB")
}

// used is the CPU time that the process has used.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func usedSince(b *testing.B, was time.Duration) time.Duration { return used(b) - was }
