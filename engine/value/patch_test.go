package value

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPatchAgainstModel: operations applied one by one, each making a new value, come to what Patch makes of all at
// once.
func TestPatchAgainstModel(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "a", "b", "c", "0", "1", "-", "300", "700", "f9", ""})
	path := rapid.Custom(func(t *rapid.T) string {
		return "/" + strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "steps"), "/")
	})
	var doc func(depth int) *rapid.Generator[Value]
	doc = func(depth int) *rapid.Generator[Value] {
		plain := rapid.SampledFrom([]Value{None, Null, Int(1), Str("x"), Array(), ObjectOf(nil)})
		if depth == 0 {
			return plain
		}
		return rapid.OneOf(plain, rapid.Map(rapid.SliceOfN(doc(depth-1), 0, 3), ArrayOf),
			rapid.Custom(func(t *rapid.T) Value {
				var fields []Field
				for range rapid.IntRange(0, 12).Draw(t, "fields") {
					fields = append(fields, Field{fmt.Sprint("f", rapid.IntRange(0, 30).Draw(t, "n")), Int(1)})
				}
				for _, n := range rapid.SliceOfN(name, 0, 4).Draw(t, "names") {
					fields = append(fields, Field{n, doc(depth-1).Draw(t, "value")})
				}
				return ObjectOf(NewObject(fields...))
			}))
	}
	op := rapid.Custom(func(t *rapid.T) Value {
		return ObjectOf(NewObject(
			Field{"op", Str(rapid.SampledFrom([]string{"add", "add", "add", "replace", "remove", "copy", "move",
				"test"}).Draw(t, "op"))},
			Field{"path", Str(path.Draw(t, "path"))}, Field{"from", Str(path.Draw(t, "from"))},
			Field{"value", doc(2).Draw(t, "value")},
		))
	})
	rapid.Check(t, func(t *rapid.T) {
		v, seen, ops := doc(3).Draw(t, "v"), doc(3).Draw(t, "seen"), ArrayOf(rapid.SliceOfN(op, 0, 30).Draw(t, "ops"))
		if n := rapid.IntRange(-400, 900).Draw(t, "long"); n > 0 && v.Kind() == KindObject {
			long := make([]Value, n)
			for i := range long {
				long[i] = Int(int64(i))
			}
			v = ObjectOf(v.Object().With("a", ArrayOf(long)))
		}
		if rapid.Bool().Draw(t, "stored") && v.Kind() == KindObject {
			raw, err := EncodeRecord(nil, v.Object())
			if err != nil {
				t.Fatal(err)
			}
			o, err := RecordObject(raw)
			if err != nil {
				t.Fatal(err)
			}
			v = ObjectOf(o)
		}
		if rapid.Bool().Draw(t, "all") {
			seen = v
		}
		before := v.Text() + seen.Text()
		got, err := Patch(v, seen, ops, goOn)
		want, failed := modelPatch(v, seen, ops)
		if failed != (err != nil) || got.Text() != want.Text() {
			t.Fatalf("%s seen as %s PATCH %s\ngot  %s %v\nwant %s %v", v, seen, ops, got, err, want, failed)
		}
		if err == nil && Weight(got) != Weight(want) && v.Kind() != KindObject {
			t.Fatalf("%s weighs %d, want %d", got, Weight(got), Weight(want))
		}
		if v.Text()+seen.Text() != before {
			t.Fatalf("%s has changed", v)
		}
	})
}

func modelPatch(v, seen, ops Value) (Value, bool) {
	all := v == seen
	for _, op := range ops.Elems() {
		s, err := parsePatchStep(op)
		if err != nil {
			return None, true
		}
		switch s.op {
		case "copy", "move":
			s.value = modelGet(seen, s.from)
		case "test":
			if !Equal(modelGet(seen, s.path), s.value) {
				return None, true
			}
		}
		hidden := s.op != "remove" && s.op != "test" &&
			modelHides(v, seen, s.path, s.op != "replace" && s.op != "change")
		if s.op == "move" && !all && modelNothing(s.value) {
			s.op = "copy" // what may be hidden stays where it is
		}
		var ok bool
		if seen, ok = modelStep(seen, s); !ok {
			return None, true
		}
		if hidden {
			continue
		}
		if v, ok = modelStep(v, s); !ok {
			return None, true
		}
	}
	return v, false
}

// modelNothing: NONE, or a list of nothing else.
func modelNothing(v Value) bool {
	if v.Kind() != KindArray {
		return v.Kind() == KindNone
	}
	return !slices.ContainsFunc(v.Elems(), func(e Value) bool { return e.Kind() != KindNone })
}

// modelHides: a position is named in an array that is not seen, but for the last step of an insert.
func modelHides(v, seen Value, path []string, inserts bool) bool {
	if len(path) == 0 {
		return false
	}
	switch v.Kind() {
	case KindObject:
		f, _ := v.Object().Get(path[0])
		var g Value
		if seen.Kind() == KindObject {
			g, _ = seen.Object().Get(path[0])
		}
		return modelHides(f, g, path[1:], inserts)
	case KindArray:
		if seen.Kind() != KindArray || seen.Len() != v.Len() {
			return slices.ContainsFunc(path, isPosition) && !(inserts && len(path) == 1)
		}
		if i, ok := placeIn(path[0], v.Len()); ok {
			return i < v.Len() && modelHides(v.Elems()[i], seen.Elems()[i], path[1:], inserts)
		}
		return slices.ContainsFunc(slices.Collect(indexes(v.Len())), func(i int) bool {
			return modelHides(v.Elems()[i], seen.Elems()[i], path, inserts)
		})
	}
	return false
}

func indexes(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func modelStep(v Value, s patchStep) (Value, bool) {
	switch s.op {
	case "remove":
		return modelRemove(v, s.path), true
	case "test":
		return v, true
	case "replace":
		return modelSet(v, s.path, s.value)
	case "move":
		v = modelRemove(v, s.from)
	}
	parent, last := s.path[:len(s.path)-1], s.path[len(s.path)-1]
	if _, ok := placeIn(last, 0); ok {
		if modelSpreads(v, parent) {
			return v, false
		}
		switch list := modelGet(v, parent); list.Kind() {
		case KindArray:
			at, _ := placeIn(last, list.Len())
			return modelSet(v, parent, ArrayOf(slices.Insert(slices.Clone(list.Elems()), min(at, list.Len()), s.value)))
		case KindObject:
			return modelSet(v, s.path, s.value)
		}
		return modelSet(v, parent, s.value)
	}
	if list := modelGet(v, s.path); s.op == "add" && list.Kind() == KindArray {
		return modelSet(v, s.path, joinArrays(list, asArray(s.value)))
	}
	return modelSet(v, s.path, s.value)
}

func modelSpreads(v Value, path []string) bool {
	if len(path) == 0 {
		return false
	}
	switch v.Kind() {
	case KindObject:
		f, _ := v.Object().Get(path[0])
		return modelSpreads(f, path[1:])
	case KindArray:
		i, ok := placeIn(path[0], v.Len())
		return !ok || i < v.Len() && modelSpreads(v.Elems()[i], path[1:])
	}
	return false
}

func modelGet(v Value, path []string) Value {
	switch {
	case len(path) == 0:
		return v
	case v.Kind() == KindObject:
		f, _ := v.Object().Get(path[0])
		return modelGet(f, path[1:])
	case v.Kind() == KindArray:
		if i, ok := placeIn(path[0], v.Len()); ok {
			if i >= v.Len() {
				return None
			}
			return modelGet(v.Elems()[i], path[1:])
		}
		return arrayOfAll(v.Elems(), func(e Value) Value { return modelGet(e, path) })
	}
	return None
}

func modelSet(v Value, path []string, to Value) (Value, bool) {
	if len(path) == 0 {
		return to, true
	}
	switch v.Kind() {
	case KindNone, KindNull:
		in, ok := modelSet(None, path[1:], to)
		return ObjectOf(NewObject(Field{path[0], in})), ok
	case KindObject:
		f, _ := v.Object().Get(path[0])
		in, ok := modelSet(f, path[1:], to)
		return ObjectOf(v.Object().With(path[0], in)), ok
	case KindArray:
		elems, all := slices.Clone(v.Elems()), true
		if i, ok := placeIn(path[0], len(elems)); ok {
			if i >= len(elems) {
				return v, false
			}
			elems[i], all = modelSet(elems[i], path[1:], to)
			return ArrayOf(elems), all
		}
		for i, e := range elems {
			if !e.IsNullish() && all {
				elems[i], all = modelSet(e, path, to)
			}
		}
		return ArrayOf(elems), all
	}
	return v, true
}

func modelRemove(v Value, path []string) Value {
	switch v.Kind() {
	case KindObject:
		o := v.Object()
		if len(path) == 1 {
			return ObjectOf(o.Without(path[0]))
		}
		if f, ok := o.Get(path[0]); ok {
			return ObjectOf(o.With(path[0], modelRemove(f, path[1:])))
		}
	case KindArray:
		if i, ok := placeIn(path[0], v.Len()); ok {
			elems := slices.Clone(v.Elems())
			switch {
			case i >= len(elems):
			case len(path) == 1:
				elems = slices.Delete(elems, i, i+1)
			default:
				elems[i] = modelRemove(elems[i], path[1:])
			}
			return ArrayOf(elems)
		}
		return arrayOfAll(v.Elems(), func(e Value) Value { return modelRemove(e, path) })
	}
	return v
}

// patches are documents and n operations on one. Each would take as long as the document is large if it made a
// new one.
func patches(n int) map[string][2]Value {
	var fields, places []Field
	var list []Value
	for i := range n {
		fields = append(fields, Field{fmt.Sprint("f", i), Int(int64(i))})
		list = append(list, Int(int64(i)))
		places = append(places, Field{fmt.Sprint("f", i), ObjectOf(NewObject(Field{"x", Int(1)}))})
	}
	ops := func(text func(i int) string) Value {
		out := make([]Value, n)
		for i := range n {
			v, err := readLiteral(text(i))
			if err != nil {
				panic(err)
			}
			out[i] = v
		}
		return ArrayOf(out)
	}
	in := func(name string, v Value) Value { return ObjectOf(NewObject(Field{name, v})) }
	return map[string][2]Value{
		"set fields": {ObjectOf(NewObject(fields...)),
			ops(func(i int) string { return fmt.Sprintf("{ op: 'replace', path: '/f%d', value: 7 }", i) })},
		"make fields": {ObjectOf(nil),
			ops(func(i int) string { return fmt.Sprintf("{ op: 'add', path: '/g/f%d', value: 7 }", i) })},
		"remove fields": {in("o", ObjectOf(NewObject(fields...))),
			ops(func(i int) string { return fmt.Sprintf("{ op: 'remove', path: '/o/f%d' }", i) })},
		"set inside fields": {ObjectOf(NewObject(places...)),
			ops(func(i int) string { return fmt.Sprintf("{ op: 'add', path: '/f%d/y', value: 7 }", i) })},
		"append": {in("list", ArrayOf(list)),
			ops(func(i int) string { return fmt.Sprintf("{ op: 'add', path: '/list/-', value: %d }", i) })},
		"insert": {in("list", ArrayOf(list)),
			ops(func(i int) string { return fmt.Sprintf("{ op: 'add', path: '/list/0', value: %d }", i) })},
		"copy": {in("a", Int(1)),
			ops(func(i int) string { return fmt.Sprintf("{ op: 'copy', from: '/a', path: '/f%d' }", i) })},
		"move": {in("o", ObjectOf(NewObject(fields...))), ops(func(i int) string {
			return fmt.Sprintf("{ op: 'move', from: '/o/f%d', path: '/p/f%d' }", i, i)
		})},
	}
}

// TestPatchWorkGrowsWithOperations: twice as many operations on a document twice as large take about twice the memory,
// not four times.
func TestPatchWorkGrowsWithOperations(t *testing.T) {
	const n = 2000
	large := patches(2 * n)
	for name, small := range patches(n) {
		measure := func(p [2]Value) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := Patch(p[0], p[0], p[1], goOn); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if a, b := measure(small), measure(large[name]); b > 3*a {
			t.Errorf("%s: %d bytes for %d operations, %d for %d", name, a, n, b, 2*n)
		}
	}
}

func TestPatchEndsWhenTold(t *testing.T) {
	end, turns := errors.New("time is up"), 0
	p := patches(100)["append"]
	_, err := Patch(p[0], p[0], p[1], func() error {
		if turns++; turns > 50 {
			return end
		}
		return nil
	})
	if err != end || turns != 51 {
		t.Errorf("ends with %v after %d operations", err, turns)
	}
}

func BenchmarkPatch(b *testing.B) {
	for name, p := range patches(5000) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Patch(p[0], p[0], p[1], goOn); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
