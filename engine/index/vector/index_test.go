package vector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// bench is an index in a store.
type bench struct {
	t     testing.TB
	store kv.Store
	cache *Cache
	tb    *catalog.Table
	ix    *catalog.Index
}

func newBench(t testing.TB, store kv.Store, v ast.VectorIndex) *bench {
	b := &bench{t: t, store: store, cache: NewCache(store, slog.New(slog.NewTextHandler(io.Discard, nil)))}
	b.tb = &catalog.Table{Def: &catalog.Def{Scope: catalog.Scope{NS: 1, DB: 2}, ID: 3, Name: "d"}}
	b.ix = &catalog.Index{Def: &catalog.Def{ID: 4, Name: "v"},
		Define: &ast.DefineIndex{Kind: ast.IndexHNSW, Vector: &v},
		Paths:  [][]catalog.Step{{{Name: "v"}}}}
	return b
}

func hnsw(dimension int, metric, kind string) ast.VectorIndex {
	return ast.VectorIndex{Dimension: int64(dimension), Distance: metric, Type: kind, EFC: 150, M: 12, M0: 24,
		LM: value.Float(1 / math.Log(12)), Order: value.Int(3)}
}

func (b *bench) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) begin(write bool) *Index {
	b.t.Helper()
	tx, err := txn.Begin(context.Background(), b.store, txn.Options{Write: write})
	b.check(err)
	x, err := Open(b.cache, tx, b.tb, b.ix)
	b.check(err)
	return x
}

// write runs f in a transaction.
func (b *bench) write(f func(x *Index)) {
	b.t.Helper()
	x := b.begin(true)
	f(x)
	b.check(x.Tx.Commit(context.Background()))
}

func numbersOf(v []float64) value.Value {
	out := make([]value.Value, len(v))
	for i, f := range v {
		out[i] = value.Float(f)
	}
	return value.ArrayOf(out)
}

func (b *bench) put(x *Index, id int, v []float64) {
	b.t.Helper()
	image := value.NewObject(value.Field{Name: "v", Value: numbersOf(v)})
	b.check(x.Put(value.Int(int64(id)), numbersOf(v), InField(b.ix, value.ObjectOf(image))))
	raw, err := value.EncodeRecord(nil, image)
	b.check(err)
	b.check(x.Tx.Set(key.Record(nil, 1, 2, 3, value.Int(int64(id))), raw))
}

// nearest lists the k nearest in a transaction.
func (b *bench) nearest(x *Index, q []float64, k, ef int) []Hit {
	b.t.Helper()
	w, err := x.Search(context.Background(), numbersOf(q), ef)
	b.check(err)
	var out []Hit
	for len(out) < k {
		h, ok, err := w.Next()
		b.check(err)
		if !ok {
			break
		}
		out = append(out, h)
	}
	return out
}

// settle waits until the graph holds everything, as long as it comes nearer to that.
func (b *bench) settle() {
	b.t.Helper()
	x := b.begin(false)
	defer x.Tx.Cancel()
	var before progress
	for moved := time.Now(); ; {
		if s := b.cache.shared(x); s != nil {
			now := progressOf(s)
			if now.settled {
				return
			}
			if now != before {
				before, moved = now, time.Now()
			}
		}
		if time.Since(moved) > time.Minute {
			b.t.Fatalf("the graph does not settle: %+v", before)
		}
		time.Sleep(time.Millisecond)
	}
}

// progress is how far the worker of an index is.
type progress struct {
	loaded, settled    bool
	queued, live, dead int
}

func progressOf(s *shared) progress {
	settled := s.settled()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return progress{s.loaded, settled, len(s.g.queue), s.g.live, s.g.dead}
}

func idsOf(hits []Hit) []int64 {
	out := []int64{}
	for _, h := range hits {
		out = append(out, h.Record.Int())
	}
	return out
}

// exact lists the k nearest of a model, ties by id.
func exact(m Metric, model map[int][]float64, q []float64, k int) []int64 {
	return exactBy(m.Floats(), model, q, k)
}

func exactBy(f func(a, b []float64) float64, model map[int][]float64, q []float64, k int) []int64 {
	type pair struct {
		id  int64
		far float64
	}
	var all []pair
	for id, v := range model {
		all = append(all, pair{int64(id), f(q, v)})
	}
	slices.SortFunc(all, func(a, b pair) int {
		switch {
		case a.far < b.far:
			return -1
		case a.far > b.far:
			return 1
		}
		return int(a.id - b.id)
	})
	out := []int64{}
	for _, p := range all[:min(k, len(all))] {
		out = append(out, p.id)
	}
	return out
}

// clusters makes vectors in clusters.
type clusters struct {
	r       *rand.Rand
	centres [][]float64
}

func newClusters(seed uint64, count, dimension int) *clusters {
	c := &clusters{r: rand.New(rand.NewPCG(seed, 2))}
	for range count {
		v := make([]float64, dimension)
		for i := range v {
			v[i] = c.r.NormFloat64()
		}
		c.centres = append(c.centres, v)
	}
	return c
}

func (c *clusters) vector() []float64 {
	centre := c.centres[c.r.IntN(len(c.centres))]
	v := make([]float64, len(centre))
	for i := range v {
		v[i] = centre[i] + 0.3*c.r.NormFloat64()
	}
	return v
}

// TestRecall builds a graph, deletes and updates a fifth of it, and compares with the exact answer.
func TestRecall(t *testing.T) {
	n, dimension, queries := 20_000, 128, 100
	if testing.Short() {
		n, dimension, queries = 3000, 32, 50
	}
	b := newBench(t, mem.New(), hnsw(dimension, "EUCLIDEAN", "F32"))
	defer b.cache.Close()
	c := newClusters(1, 50, dimension)
	model := map[int][]float64{}
	for from := 0; from < n; from += 1000 {
		b.write(func(x *Index) {
			for id := from; id < from+1000; id++ {
				model[id] = c.vector()
				b.put(x, id, model[id])
			}
		})
	}
	b.settle()
	b.write(func(x *Index) {
		for id := 0; id < n; id += 5 {
			if id%2 == 0 {
				delete(model, id)
				b.check(x.Remove(value.Int(int64(id))))
				continue
			}
			model[id] = c.vector()
			b.put(x, id, model[id])
		}
	})
	b.settle()
	x := b.begin(false)
	defer x.Tx.Cancel()
	metric, _ := NewMetric("EUCLIDEAN", value.None)
	found := 0
	for range queries {
		q := c.vector()
		want := exact(metric, model, q, 10)
		for _, id := range idsOf(b.nearest(x, q, 10, 40)) {
			if slices.Contains(want, id) {
				found++
			}
		}
	}
	recall := float64(found) / float64(10*queries)
	t.Logf("recall@10 at ef 40: %.4f", recall)
	if recall < 0.95 {
		t.Errorf("recall@10 is %.4f, want at least 0.95", recall)
	}
	if s := b.cache.shared(x); s.g.live != len(model) || s.g.live <= exactLimit {
		t.Errorf("the graph has %d nodes, want %d", s.g.live, len(model))
	}
}

// TestSnapshots changes an index at random and asks every state that is still open what it has: after the graph has
// taken everything in, and before.
func TestSnapshots(t *testing.T) {
	metric, _ := NewMetric("EUCLIDEAN", value.None)
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, mem.New(), hnsw(2, "EUCLIDEAN", "F64"))
		defer b.cache.Close()
		type state struct {
			x     *Index
			model map[int][]float64
		}
		var open []state
		model := map[int][]float64{}
		draw := func() []float64 {
			return []float64{float64(rapid.IntRange(0, 9).Draw(rt, "x")), float64(rapid.IntRange(0, 9).Draw(rt, "y"))}
		}
		ask := func(s state) {
			q, k := draw(), rapid.IntRange(1, 12).Draw(rt, "k")
			if got, want := idsOf(b.nearest(s.x, q, k, 1)), exact(metric, s.model, q, k); !slices.Equal(got, want) {
				rt.Fatalf("%d nearest of %v: got %v, want %v", k, q, got, want)
			}
		}
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			x := b.begin(true)
			next := map[int][]float64{}
			for id, v := range model {
				next[id] = v
			}
			for range rapid.IntRange(0, 6).Draw(rt, "changes") {
				id := rapid.IntRange(0, 12).Draw(rt, "id")
				if rapid.Bool().Draw(rt, "remove") {
					delete(next, id)
					b.check(x.Remove(value.Int(int64(id))))
				} else {
					next[id] = draw()
					b.put(x, id, next[id])
				}
			}
			if rapid.IntRange(0, 9).Draw(rt, "undone") == 0 {
				sp := x.Tx.Savepoint()
				b.put(x, 40, draw())
				x.Tx.RollbackTo(sp)
			}
			ask(state{x, next})
			if rapid.IntRange(0, 4).Draw(rt, "cancel") == 0 {
				x.Tx.Cancel()
				continue
			}
			b.check(x.Tx.Commit(context.Background()))
			model = next
			open = append(open, state{b.begin(false), next})
			if rapid.Bool().Draw(rt, "settle") {
				b.settle()
			}
			for _, s := range open {
				ask(s)
			}
		}
		for _, s := range open {
			s.x.Tx.Cancel()
		}
	})
}

// TestNoCheckpointBeginsOfWhatIsRemoved: a head that is made while the index goes does not stay behind.
func TestNoCheckpointBeginsOfWhatIsRemoved(t *testing.T) {
	b := newBench(t, mem.New(), hnsw(1, "EUCLIDEAN", "F64"))
	defer b.cache.Close()
	b.write(func(x *Index) { b.put(x, 1, []float64{1}) })
	first := b.begin(true)
	defer first.Tx.Cancel()
	if _, err := first.firstHead(); err != nil {
		t.Fatal(err)
	}
	b.write(func(x *Index) {
		for _, part := range []byte{partVector, partChanges, partCheckpoint} {
			b.check(x.Tx.DeleteRange(kv.Prefix(append([]byte(nil), x.part(part)...))))
		}
	})
	if err := first.Tx.Commit(context.Background()); !errors.Is(err, kv.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
	late := b.begin(true)
	defer late.Tx.Cancel()
	if _, err := late.firstHead(); !errors.Is(err, errGone) {
		t.Errorf("got %v, want %v", err, errGone)
	}
}

func TestClearIsSeenAtOnce(t *testing.T) {
	b := newBench(t, mem.New(), hnsw(1, "EUCLIDEAN", "F64"))
	defer b.cache.Close()
	b.write(func(x *Index) { b.put(x, 1, []float64{1}); b.put(x, 2, []float64{2}) })
	b.settle()
	old := b.begin(false)
	defer old.Tx.Cancel()
	b.write(func(x *Index) {
		b.cache.Clear(x.Tx, b.tb.Inner(), x.ix)
		b.check(x.Tx.DeleteRange(kv.Prefix(append([]byte(nil), x.part(partVector)...))))
		b.check(x.Tx.DeleteRange(kv.Prefix(append([]byte(nil), x.part(partChanges)...))))
		b.put(x, 3, []float64{3})
		if got := idsOf(b.nearest(x, []float64{0}, 5, 5)); !slices.Equal(got, []int64{3}) {
			t.Errorf("in the transaction: got %v", got)
		}
	})
	for range 2 {
		now := b.begin(false)
		if got := idsOf(b.nearest(now, []float64{0}, 5, 5)); !slices.Equal(got, []int64{3}) {
			t.Errorf("afterwards: got %v", got)
		}
		now.Tx.Cancel()
		b.settle()
	}
	if got := idsOf(b.nearest(old, []float64{0}, 5, 5)); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("before: got %v", got)
	}
}

// TestReopen closes a store with a checkpoint, changes it further without one, and opens it again.
func TestReopen(t *testing.T) {
	const n, dimension = 3000, 16
	path := filepath.Join(t.TempDir(), "store")
	openStore := func() kv.Store {
		store, err := bolt.Open(bolt.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	c := newClusters(3, 20, dimension)
	model := map[int][]float64{}
	b := newBench(t, openStore(), hnsw(dimension, "COSINE", "F32"))
	b.write(func(x *Index) {
		for id := range n {
			model[id] = c.vector()
			b.put(x, id, model[id])
		}
	})
	b.settle()
	b.cache.Close()
	b.check(b.store.Close())

	// Without a search, changes are in no graph: only the vectors are stored.
	b = newBench(t, openStore(), hnsw(dimension, "COSINE", "F32"))
	b.write(func(x *Index) {
		for id := 0; id < n; id += 7 {
			model[id] = c.vector()
			b.put(x, id, model[id])
		}
		for id := 1; id < n; id += 7 {
			delete(model, id)
			b.check(x.Remove(value.Int(int64(id))))
		}
		for id := n; id < n+100; id++ {
			model[id] = c.vector()
			b.put(x, id, model[id])
		}
	})
	b.cache.Close()
	b.check(b.store.Close())

	b = newBench(t, openStore(), hnsw(dimension, "COSINE", "F32"))
	x := b.begin(false)
	nodes, err := x.checkpoint()
	b.check(err)
	if len(nodes) != n {
		t.Errorf("the checkpoint has %d nodes, want %d", len(nodes), n)
	}
	b.settle()
	metric, _ := NewMetric("COSINE", value.None)
	found := 0
	for range 100 {
		q := c.vector()
		want := exact(metric, model, q, 10)
		for _, id := range idsOf(b.nearest(x, q, 10, 40)) {
			if slices.Contains(want, id) {
				found++
			}
		}
	}
	if found < 950 {
		t.Errorf("recall@10 is %.3f, want at least 0.95", float64(found)/1000)
	}
	if s := b.cache.shared(x); s.g.live != len(model) {
		t.Errorf("the graph has %d nodes, want %d", s.g.live, len(model))
	}
	x.Tx.Cancel()
	b.cache.Close()
	b.check(b.store.Close())
}

// TestReadersAndWriters searches while others write: every answer must be that of its snapshot.
func TestReadersAndWriters(t *testing.T) {
	b := newBench(t, mem.New(), hnsw(1, "EUCLIDEAN", "F64"))
	defer b.cache.Close()
	b.write(func(x *Index) { b.put(x, 0, []float64{0}) })
	b.settle()
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				// All vectors of a snapshot are one number, and none is missing.
				x := b.begin(false)
				hits := b.nearest(x, []float64{0}, 100, 5)
				raw, err := x.Tx.Get(x.vectorKey(value.Int(0)))
				b.check(err)
				one := newArena(&x.Spec)
				one.set(0, raw[8:])
				zero, err := x.Spec.Encode(nil, numbersOf([]float64{0}))
				b.check(err)
				want := one.to(zero).one(0, unbounded)
				for _, h := range hits {
					if h.Distance != want {
						t.Errorf("got %v at %v, want all at %v", h.Record, h.Distance, want)
					}
				}
				if len(hits) != 4 && want != 0 {
					t.Errorf("got %d records, want 4", len(hits))
				}
				x.Tx.Cancel()
			}
		})
	}
	writers.Go(func() {
		for i := 1; i < 400; i++ {
			b.write(func(x *Index) {
				for id := range 4 {
					b.put(x, id, []float64{float64(i)})
				}
			})
		}
	})
	writers.Wait()
	close(stop)
	readers.Wait()
}

// TestChangesThatComeInLate: a change that the load has found stored is not counted again, or a snapshot which knows of
// newer ones would be answered without them.
func TestChangesThatComeInLate(t *testing.T) {
	b := newBench(t, mem.New(), hnsw(1, "EUCLIDEAN", "F64"))
	defer b.cache.Close()
	b.write(func(x *Index) { b.put(x, 0, []float64{0}) })
	b.settle()
	x := b.begin(false)
	defer x.Tx.Cancel()
	s := b.cache.shared(x)
	late := change{index: x.place, record: "late", raw: make([]byte, 8)}
	b.cache.committed(late, s.from)
	b.settle()
	if _, there := s.places["late"]; there || len(s.versions) != 0 {
		t.Errorf("it is counted: %d versions behind the load", len(s.versions))
	}
	b.cache.committed(late, s.from+1)
	b.settle()
	if _, there := s.places["late"]; !there || len(s.versions) != 1 {
		t.Errorf("a change after the load is not counted: %d versions", len(s.versions))
	}
}

func TestMetricsOfAllTypes(t *testing.T) {
	model := map[int][]float64{1: {1, 2, 1}, 2: {4, 2, 3}, 3: {-7, 0, 5}, 4: {1, 2, 7}}
	for _, kind := range []string{"F64", "F32", "F16", "I64", "I32", "I16", "I8"} {
		for _, name := range []string{"EUCLIDEAN", "COSINE", "CHEBYSHEV", "MANHATTAN", "HAMMING", "JACCARD", "PEARSON",
			"MINKOWSKI"} {
			b := newBench(t, mem.New(), hnsw(3, name, kind))
			b.write(func(x *Index) {
				for id, v := range model {
					b.put(x, id, v)
				}
			})
			x := b.begin(false)
			metric, ok := NewMetric(name, value.Int(3))
			if !ok {
				t.Fatal(name)
			}
			q := []float64{1, 2, 6}
			far := metric.Floats()
			if name == "JACCARD" && kind != "F64" {
				far = jaccard[float64] // only F64 takes the complement
			}
			for range 2 {
				hits := b.nearest(x, q, 4, 4)
				if got, want := idsOf(hits), exactBy(far, model, q, 4); !slices.Equal(got, want) {
					t.Errorf("%s %s: got %v, want %v", kind, name, got, want)
				}
				for _, h := range hits {
					if want := far(q, model[int(h.Record.Int())]); math.Abs(h.Distance-want) > 1e-6 {
						t.Errorf("%s %s of %v: got %v, want %v", kind, name, h.Record.Int(), h.Distance, want)
					}
				}
				b.settle()
			}
			x.Tx.Cancel()
			b.cache.Close()
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	spec := func(kind string) *Spec {
		v := hnsw(2, "EUCLIDEAN", kind)
		s, _ := NewSpec(&ast.DefineIndex{Kind: ast.IndexHNSW, Vector: &v})
		return &s
	}
	array := value.Array
	for _, tc := range []struct {
		kind string
		v    value.Value
		want string
	}{
		{"F32", array(value.Int(1), value.Float(2)), ""},
		{"F32", array(array(value.Int(1)), value.Float(2)), ""},
		{"F32", array(value.Int(1)), "Incorrect vector dimension (1). Expected a vector of 2 dimension."},
		{"F32", array(), "Incorrect vector dimension (0). Expected a vector of 2 dimension."},
		{"F32", array(value.Str("a"), value.Str("b")), "The value cannot be converted to a vector: a"},
		{"F32", value.Str("x"), "The value cannot be converted to a vector: x"},
		{"I16", array(value.Int(40000), value.Int(2)), "Cannot convert from '40000' to 'i16'"},
		{"I16", array(value.Float(1.7), value.Float(-1.7)), ""},
		{"U8", array(value.Int(-1), value.Int(2)), "Cannot convert from '-1' to 'u8'"},
		{"I64", array(value.Float(math.NaN()), value.Int(2)), "Cannot convert from 'NaN' to 'i64'"},
	} {
		_, err := spec(tc.kind).Encode(nil, tc.v)
		if got := fmt.Sprint(err); tc.want == "" && err != nil || tc.want != "" && got != tc.want {
			t.Errorf("%s %s: got %v, want %q", tc.kind, tc.v.Text(), got, tc.want)
		}
	}
}

func TestDiskANNIsServedByTheGraph(t *testing.T) {
	d := &ast.DefineIndex{Kind: ast.IndexDiskANN,
		Vector: &ast.VectorIndex{Dimension: 2, Type: "U8", Degree: 40, LBuild: 70}}
	s, ok := NewSpec(d)
	if !ok || s.Links != 20 || s.LowestLinks != 40 || s.Construction != 70 || s.Metric.name != "EUCLIDEAN" {
		t.Errorf("got %+v %v", s, ok)
	}
}

func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		f := halfFloat(uint16(h))
		if f != f {
			continue
		}
		if back := halfBits(f); back != uint16(h) {
			t.Fatalf("%#04x is %v, which is %#04x again", h, f, back)
		}
	}
	for f, want := range map[float32]float32{1.0001: 1, 65519: 65504, 65520: float32(math.Inf(1)), 1e-9: 0,
		0.1: 0.099975586} {
		if got := halfFloat(halfBits(f)); got != want {
			t.Errorf("half of %v: got %v, want %v", f, got, want)
		}
	}
}

func FuzzCheckpoint(f *testing.F) {
	f.Add(appendNode(nil, &saved{number: 7, links: [][]uint32{{1, 2}, {3}}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		nodes, ok := readNodes(nil, raw)
		if !ok {
			return
		}
		var again []byte
		for i := range nodes {
			again = appendNode(again, &nodes[i])
		}
		if _, ok := readNodes(nil, again); !ok {
			t.Error("what was read cannot be read again")
		}
	})
}

func benchmarkIndex(b *testing.B, n int) *bench {
	ix := newBench(b, mem.New(), hnsw(128, "EUCLIDEAN", "F32"))
	c := newClusters(1, 50, 128)
	ix.write(func(x *Index) {
		for id := range n {
			ix.put(x, id, c.vector())
		}
	})
	return ix
}

func BenchmarkSearch(b *testing.B) {
	ix := benchmarkIndex(b, 5000)
	defer ix.cache.Close()
	ix.settle()
	c := newClusters(1, 50, 128)
	x := ix.begin(false)
	defer x.Tx.Cancel()
	q := c.vector()
	b.ReportAllocs()
	for b.Loop() {
		ix.nearest(x, q, 10, 40)
	}
}

func BenchmarkScan(b *testing.B) {
	ix := benchmarkIndex(b, 10_000)
	defer ix.cache.Close()
	c := newClusters(1, 50, 128)
	x := ix.begin(false)
	defer x.Tx.Cancel()
	raw, err := x.Spec.Encode(nil, numbersOf(c.vector()))
	ix.check(err)
	b.ReportAllocs()
	for b.Loop() {
		_, err := x.scan(context.Background(), raw, nil, 0)
		ix.check(err)
	}
}

func BenchmarkAdd(b *testing.B) {
	spec, _ := NewSpec(&ast.DefineIndex{Kind: ast.IndexHNSW,
		Vector: func() *ast.VectorIndex { v := hnsw(128, "EUCLIDEAN", "F32"); return &v }()})
	g := newGraph(&spec, 1)
	c := newClusters(1, 50, 128)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		raw, err := spec.Encode(nil, numbersOf(c.vector()))
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		place := g.put(node{gone: alive}, raw)
		g.join(place, g.plan(place))
	}
}

func BenchmarkDistance(b *testing.B) {
	x, y := make([]float32, 128), make([]float32, 128)
	for i := range x {
		x[i], y[i] = float32(i), float32(2*i)
	}
	b.ReportAllocs()
	sum := 0.0
	for b.Loop() {
		sum += euclidean(x, y)
	}
	if sum == 0 {
		b.Fatal(sum)
	}
}
