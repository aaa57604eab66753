package overlay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"pgregory.net/rapid"
)

// TestTreeAgreesWithMap drives a tree and its snapshots against plain maps.
func TestTreeAgreesWithMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tree Tree
		truth := map[string]string{}
		type held struct {
			tree  Tree
			truth map[string]string
		}
		var snaps []held
		space := rapid.SampledFrom([]int{10, 100, 3000}).Draw(t, "keys")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		at := 0
		for range rapid.IntRange(1, 3000).Draw(t, "steps") {
			if at += rnd.IntN(4) - 1; at < 0 || at >= space || rnd.IntN(20) == 0 { // keys come in runs
				at = rnd.IntN(space)
			}
			k := fmt.Sprintf("%05d", at)
			switch rnd.IntN(10) {
			case 0, 1, 2, 3:
				v := fmt.Sprint(rnd.Uint32())
				old, replaced := tree.Set([]byte(k), []byte(v))
				if was, ok := truth[k]; ok != replaced || was != string(old) {
					t.Fatalf("set %s: replaced %q %v, want %q %v", k, old, replaced, was, ok)
				}
				truth[k] = v
			case 4, 5, 6:
				old, found := tree.Delete([]byte(k))
				if was, ok := truth[k]; ok != found || was != string(old) {
					t.Fatalf("delete %s: %q %v, want %q %v", k, old, found, was, ok)
				}
				delete(truth, k)
			case 7:
				if len(snaps) < 5 && rnd.IntN(20) == 0 {
					c := map[string]string{}
					for k, v := range truth {
						c[k] = v
					}
					snaps = append(snaps, held{tree.Snapshot(), c})
				}
			default:
				got, ok := tree.Get([]byte(k))
				if want, there := truth[k]; ok != there || want != string(got) {
					t.Fatalf("get %s: %q %v, want %q %v", k, got, ok, want, there)
				}
			}
		}
		snaps = append(snaps, held{tree, truth})
		for _, h := range snaps {
			checkTree(t, rnd, &h.tree, h.truth)
		}
	})
}

func checkTree(t *rapid.T, rnd *rand.Rand, tree *Tree, truth map[string]string) {
	if tree.Len() != len(truth) {
		t.Fatalf("len: got %d, want %d", tree.Len(), len(truth))
	}
	keys := make([]string, 0, len(truth))
	for k := range truth {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	start, end := fmt.Sprintf("%05d", rnd.IntN(3000)), fmt.Sprintf("%05d", rnd.IntN(3000))
	for _, r := range []kv.Range{{}, {Start: []byte(start)}, {End: []byte(end)},
		{Start: []byte(start), End: []byte(end)}} {
		var want []string
		for _, k := range keys {
			if r.Contains([]byte(k)) {
				want = append(want, k)
			}
		}
		for _, reverse := range []bool{false, true} {
			var s Scan
			s.Begin(tree, r, reverse)
			var got []string
			for s.Next() {
				got = append(got, string(s.Key()))
				if string(s.Value()) != truth[string(s.Key())] {
					t.Fatalf("value of %s: %q", s.Key(), s.Value())
				}
			}
			if reverse {
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("scan %q..%q reverse %v: got %v, want %v", r.Start, r.End, reverse, got, want)
			}
		}
	}
}

// TestSequentialInsertFillsNodes: keys in order must not leave half-empty leaves.
func TestSequentialInsertFillsNodes(t *testing.T) {
	var tree Tree
	for i := range 10000 {
		tree.Set(fmt.Appendf(nil, "%06d", i), nil)
	}
	leaves := 0
	var count func(*node)
	count = func(n *node) {
		if n.branch == nil {
			leaves++
			return
		}
		for i := range n.bounds {
			count(n.kids[i])
		}
	}
	count(tree.root)
	if most := 10000/fanout + 1; leaves > most {
		t.Errorf("got %d leaves, want at most %d", leaves, most)
	}
}

// TestLater: what a walk comes to some steps on is told beforehand, but for the ends of nodes.
func TestLater(t *testing.T) {
	const keys = 1000
	var tree Tree
	for n := range keys {
		tree.Set(fmt.Appendf(nil, "%04d", n), fmt.Appendf(nil, "value %d", n))
	}
	for _, reverse := range []bool{false, true} {
		var s Scan
		told := 0
		s.Begin(&tree, kv.Range{}, reverse)
		for at := 0; s.Next(); at++ {
			for _, n := range []int{1, 4} {
				key, val, ok := s.Later(n)
				if !ok {
					continue
				}
				told++
				then := at + n
				if reverse {
					then = keys - 1 - then
				}
				if want := fmt.Sprintf("%04d", then); string(key) != want || string(val) != fmt.Sprint("value ", then) {
					t.Fatalf("reverse %v, %d after %s: got %s %s, want %s", reverse, n, s.Key(), key, val, want)
				}
			}
		}
		if told < keys {
			t.Errorf("reverse %v: only %d of %d questions had answers", reverse, told, 2*keys)
		}
	}
}

func TestWindow(t *testing.T) {
	var w Window
	add := func(v kv.Version, oldest kv.Version, keys ...string) {
		f := Footprint{Version: v}
		for _, k := range keys {
			f.Keys = append(f.Keys, []byte(k))
		}
		w.Add(f, oldest)
	}
	point := func(keys ...string) *kv.ReadSet {
		rs := &kv.ReadSet{}
		for _, k := range keys {
			rs.Keys = append(rs.Keys, []byte(k))
		}
		return rs
	}
	add(1, 0, "a", "b")
	add(2, 0, "c")
	add(3, 0, "d")
	for _, tc := range []struct {
		reads *kv.ReadSet
		since kv.Version
		ok    bool
	}{
		{point("a"), 0, false}, {point("a"), 1, true}, {point("c"), 1, false}, {point("c"), 2, true},
		{point("e"), 0, true}, {point(), 0, true}, {point("d"), 3, true},
		{&kv.ReadSet{Ranges: []kv.Range{{Start: []byte("c")}}}, 2, false},
		{&kv.ReadSet{Ranges: []kv.Range{{Start: []byte("e")}}}, 0, true},
		{&kv.ReadSet{Ranges: []kv.Range{{End: []byte("c")}}}, 1, true},
	} {
		upTo, ok := w.Check(tc.reads, tc.since)
		if ok != tc.ok || upTo != 3 {
			t.Errorf("%q %q since %d: got %v up to %d, want %v", tc.reads.Keys, tc.reads.Ranges, tc.since, ok, upTo,
				tc.ok)
		}
	}
	add(4, 2, "e") // forgets 1 and 2
	after := &kv.ReadSet{Ranges: []kv.Range{{Start: []byte("z")}}}
	if _, ok := w.Check(after, 1); ok {
		t.Error("a snapshot from before the window passed")
	}
	if _, ok := w.Check(after, 2); !ok {
		t.Error("a snapshot at the window's edge was refused")
	}
	if _, ok := w.Check(point("b"), 0); ok {
		t.Error("a key that was changed since passed, from before the window")
	}
	if _, ok := w.Check(point(), 0); !ok {
		t.Error("a transaction that has read nothing was refused")
	}
	if upTo, ok := w.Check(point("b"), 1); !ok || upTo != 4 {
		t.Errorf("a key that was not changed since: got %v up to %d, from before the window", ok, upTo)
	}
}

func TestWindowIsBounded(t *testing.T) {
	var w Window
	for v := range kv.Version(40) {
		w.Add(Footprint{Version: v + 1, Keys: [][]byte{{1}}, Bytes: maxWindowBytes / 10}, 0)
	}
	if w.bytes > maxWindowBytes || len(w.recent) > 10 {
		t.Errorf("got %d bytes in %d commits", w.bytes, len(w.recent))
	}
}

// TestWindowAgreesWithHistory: a check finds just the commits that changed what was read, whether the keys are few or
// many, and whether all commits are in the window or some were only announced.
func TestWindowAgreesWithHistory(t *testing.T) {
	key := func(n int) []byte { return []byte(fmt.Sprintf("key %05d", n)) }
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, most int) [][]byte {
			n := rapid.SliceOfNDistinct(rapid.IntRange(0, 3000), 0, most, rapid.ID[int]).Draw(t, label)
			slices.Sort(n)
			out := make([][]byte, len(n))
			for i := range n {
				out[i] = key(n[i])
			}
			return out
		}
		var w Window
		var commits [][][]byte
		for range rapid.IntRange(0, 12).Draw(t, "commits") {
			keys := draw("writes", 6)
			if rapid.IntRange(0, 9).Draw(t, "large") == 0 {
				for n := range mostTouched + 1 {
					keys = append(keys, []byte(fmt.Sprintf("large %05d", n))) // after the others
				}
			}
			commits = append(commits, keys)
			w.Add(Footprint{Version: kv.Version(len(commits)), Keys: keys}, 0)
		}
		in := kv.Version(len(commits))
		announced := draw("announced", 6)
		w.Announce(announced, in+1)
		reads := kv.ReadSet{Keys: draw("reads", rapid.SampledFrom([]int{3, mostAsked + 40}).Draw(t, "most"))}
		if rapid.Bool().Draw(t, "range") {
			reads.Ranges = []kv.Range{{Start: key(100), End: key(140)}}
		}
		since := kv.Version(rapid.IntRange(0, len(commits)).Draw(t, "since"))
		want := true
		for _, keys := range commits[since:] {
			want = want && !Overlaps(&reads, keys)
		}
		if upTo, ok := w.Check(&reads, since); ok != want || upTo != in {
			t.Fatalf("got %v up to %d, want %v up to %d", ok, upTo, want, in)
		}
		if w.Untouched(&reads, since) && (!want || Overlaps(&reads, announced)) {
			t.Fatal("what was changed counts as untouched")
		}
	})
}

// BenchmarkCheck checks what an insert has read against commits that came since its snapshot.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{1, 30, 500} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			key := func(i int) []byte { return []byte(fmt.Sprintf("/*test\x00*test\x00*made\x00*%08d", i)) }
			var w Window
			for v := range n {
				w.Add(Footprint{Version: kv.Version(v + 1), Keys: [][]byte{key(v), key(v + n)}}, 0)
			}
			reads := &kv.ReadSet{Keys: [][]byte{key(3 * n), key(3*n + 1)}}
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := w.Check(reads, 0); !ok {
					b.Fatal("a conflict")
				}
			}
		})
	}
}

// TestOverlapsAgreesWithLinearSearch compares the two search orders with the definition.
func TestOverlapsAgreesWithLinearSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sorted := func(label string, max int) [][]byte {
			raw := rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 0, max, rapid.ID[int]).Draw(t, label)
			slices.Sort(raw)
			out := make([][]byte, len(raw))
			for i, n := range raw {
				out[i] = []byte{byte(n)}
			}
			return out
		}
		keys, points, edges := sorted("keys", 20), sorted("points", 20), sorted("edges", 20)
		reads := kv.ReadSet{Keys: points}
		for i := 0; i+1 < len(edges); i += 2 {
			reads.Ranges = append(reads.Ranges, kv.Range{Start: edges[i], End: edges[i+1]})
		}
		want := false
		for _, k := range keys {
			for _, p := range points {
				want = want || bytes.Equal(k, p)
			}
			for _, r := range reads.Ranges {
				want = want || r.Contains(k)
			}
		}
		if got := Overlaps(&reads, keys); got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestMergeKeys(t *testing.T) {
	got := MergeKeys([][]byte{{1}, {4}, {6}}, []kv.Delta{{Key: []byte{0}}, {Key: []byte{5}}, {Key: []byte{9}}})
	if want := [][]byte{{0}, {1}, {4}, {5}, {6}, {9}}; !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func BenchmarkTreeSet(b *testing.B) {
	for _, n := range []int{1000, 1000000} {
		keys := make([][]byte, n)
		for i := range keys {
			keys[i] = fmt.Appendf(nil, "record:%016x", rand.Uint64())
		}
		b.Run(fmt.Sprintf("in place/%d", n), func(b *testing.B) {
			var tree Tree
			for _, k := range keys {
				tree.Set(k, k)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				tree.Set(keys[i%n], keys[i%n])
			}
		})
		b.Run(fmt.Sprintf("snapshot each/%d", n), func(b *testing.B) {
			var tree Tree
			for _, k := range keys {
				tree.Set(k, k)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				tree.Set(keys[i%n], keys[i%n])
				tree.Snapshot()
			}
		})
		b.Run(fmt.Sprintf("get/%d", n), func(b *testing.B) {
			var tree Tree
			for _, k := range keys {
				tree.Set(k, k)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				tree.Get(keys[i%n])
			}
		})
	}
}
