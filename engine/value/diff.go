package value

import (
	"strconv"

	"github.com/nacredb/nacre/engine/textpatch"
)

// Diff returns the changes from before to after, as an array of JSON-patch operations: add, remove, replace,
// and change with a text patch for strings. Objects and arrays are followed inwards, everything else
// is replaced whole. Paths are not escaped. Nothing changed gives an empty array. goOn is asked from time to time; an
// error ends all.
func Diff(before, after Value, goOn func() error) (Value, error) {
	d := differ{goOn: goOn}
	d.diff(before, after)
	return ArrayOf(d.ops), d.err
}

// differ collects operations; path is where it stands.
type differ struct {
	ops  []Value
	path []byte
	goOn func() error
	err  error // what goOn said: nothing more is collected
}

func (d *differ) diff(a, b Value) {
	switch {
	case d.err != nil:
	case Equal(a, b):
	case a.Kind() == KindObject && b.Kind() == KindObject:
		d.objects(a.Object(), b.Object())
	case a.Kind() == KindArray && b.Kind() == KindArray:
		d.arrays(a.Elems(), b.Elems())
	case a.Kind() == KindString && b.Kind() == KindString:
		text, err := textpatch.Diff(a.Str(), b.Str(), d.goOn)
		d.err = err
		d.add("change", Str(text))
	default:
		d.add("replace", b)
	}
}

func (d *differ) objects(a, b *Object) {
	for _, f := range a.Fields() {
		if _, ok := b.Get(f.Name); !ok {
			d.at(f.Name, func() { d.remove() })
		}
	}
	for _, f := range b.Fields() {
		d.at(f.Name, func() {
			if old, ok := a.Get(f.Name); ok {
				d.diff(old, f.Value)
			} else {
				d.add("add", f.Value)
			}
		})
	}
}

func (d *differ) arrays(a, b []Value) {
	for i := range max(len(a), len(b)) {
		d.at(strconv.Itoa(i), func() {
			switch {
			case i >= len(b):
				d.remove()
			case i >= len(a):
				d.add("add", b[i])
			default:
				d.diff(a[i], b[i])
			}
		})
	}
}

// at runs f one step further down.
func (d *differ) at(name string, f func()) {
	n := len(d.path)
	d.path = append(append(d.path, '/'), name...)
	f()
	d.path = d.path[:n]
}

func (d *differ) add(op string, v Value) {
	d.ops = append(d.ops,
		ObjectOf(ObjectOfSorted([]Field{{"op", Str(op)}, {"path", Str(string(d.path))}, {"value", v}})))
}

func (d *differ) remove() {
	d.ops = append(d.ops, ObjectOf(ObjectOfSorted([]Field{{"op", Str("remove")}, {"path", Str(string(d.path))}})))
}
