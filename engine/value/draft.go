package value

import (
	"slices"
	"strconv"

	"github.com/nacredb/nacre/engine/errs"
)

// draft is a value while operations change it. A change costs as much as its path is long, not as much as the value is
// large: what it touches is kept beside the value, and goes in when all are done.
type draft struct {
	v  Value  // as it was before; of the same kind as it is now. A set has its order again when all is done
	in *parts // nil: it is as v
}

// parts holds the content of an object or array so far.
type parts struct {
	fields []draftField   // of an object: those that were touched. The others are as they were
	at     map[string]int // where a name is in fields, when they are many
	runs   [][]draft      // of an array: all elements, in runs
	weight int64          // about that of Weight
}

type draftField struct {
	name string
	gone bool
	draft
}

// fewTouched is how many fields are looked for one by one.
const fewTouched = 8

// runLength is about how many elements of an array stand in one run, so that an insertion moves no more.
const runLength = 256

func (d *draft) weight() int64 {
	if d.in != nil {
		return d.in.weight
	}
	return int64(d.v.weight())
}

func (f *draftField) weight() int64 {
	if f.gone {
		return 0
	}
	return int64(len(f.name)) + f.draft.weight()
}

// open makes d, an object or an array, ready for changes inside.
func (d *draft) open() *parts {
	if d.in == nil {
		d.in = &parts{weight: d.weight()}
		if d.isList() {
			d.in.runs = slices.Collect(slices.Chunk(drafts(d.v.Elems()), runLength))
		}
	}
	return d.in
}

// isList reports whether d has elements, each at its position.
func (d *draft) isList() bool { return d.v.Kind() == KindArray || d.v.Kind() == KindSet }

func drafts(elems []Value) []draft {
	out := make([]draft, len(elems))
	for i, e := range elems {
		out[i].v = e
	}
	return out
}

// find is a field that was touched.
func (in *parts) find(name string) *draftField {
	if in.at != nil {
		if i, ok := in.at[name]; ok {
			return &in.fields[i]
		}
		return nil
	}
	for i := range in.fields {
		if in.fields[i].name == name {
			return &in.fields[i]
		}
	}
	return nil
}

// field is a field of d, an object, to be changed; it is gone where there is none. It is good until the next one is
// asked for.
func (d *draft) field(name string) *draftField {
	in := d.open()
	if f := in.find(name); f != nil {
		return f
	}
	v, ok := d.v.Object().Get(name)
	if in.fields = append(in.fields, draftField{name: name, gone: !ok, draft: draft{v: v}}); in.at != nil {
		in.at[name] = len(in.fields) - 1
	} else if len(in.fields) > fewTouched {
		in.at = make(map[string]int, 2*len(in.fields))
		for i := range in.fields {
			in.at[in.fields[i].name] = i
		}
	}
	return &in.fields[len(in.fields)-1]
}

// peek is a field of d, an object, to be read; NONE where there is none.
func (d *draft) peek(name string) *draft {
	if d.in != nil {
		if f := d.in.find(name); f != nil {
			return &f.draft
		}
	}
	v, _ := d.v.Object().Get(name)
	return &draft{v: v}
}

// placeIn reads a step of a path over an array of n elements as RFC 6901 does: an index in its shortest decimal form,
// or "-" for the place after the last element. Any other step is the name of a field.
func placeIn(step string, n int) (int, bool) {
	if step == "-" {
		return n, true
	}
	i, err := strconv.ParseUint(step, 10, 31)
	return int(i), err == nil && strconv.FormatUint(i, 10) == step
}

// len is the number of elements of d, an array.
func (d *draft) len() int {
	if d.in == nil {
		return d.v.Len()
	}
	n := 0
	for _, run := range d.in.runs {
		n += len(run)
	}
	return n
}

// elem is the element of d, an array, at the position that a step names, to be read; nil where there is none. The
// step may be a name instead: then it is no position.
func (d *draft) elem(step string) (at *draft, isPosition bool) {
	i, ok := placeIn(step, d.len())
	if !ok || i >= d.len() {
		return nil, ok
	}
	return d.at(i), true
}

// at is the element of d, an array, at i, to be read.
func (d *draft) at(i int) *draft {
	if d.in == nil {
		return &draft{v: d.v.Elems()[i]}
	}
	run, i := d.in.runOf(i)
	return &d.in.runs[run][i]
}

// runOf is where the element at i, which is there, stands: in which run, and where in it.
func (in *parts) runOf(i int) (run, at int) {
	for ; i >= len(in.runs[run]); run++ {
		i -= len(in.runs[run])
	}
	return run, i
}

// get is the value at path; of every element of an array where the path names a field of one; NONE where there is
// nothing.
func (d *draft) get(path []string) Value {
	if len(path) == 0 {
		return d.value()
	}
	switch d.v.Kind() {
	case KindObject:
		return d.peek(path[0]).get(path[1:])
	case KindArray, KindSet:
		if e, ok := d.elem(path[0]); e != nil {
			return e.get(path[1:])
		} else if ok {
			return None
		}
		if d.in == nil {
			return arrayOfAll(d.v.Elems(), func(e Value) Value { return (&draft{v: e}).get(path) })
		}
		return d.in.list(func(e *draft) Value { return e.get(path) })
	}
	return None
}

// spreads reports whether path leads to every element of an array.
func (d *draft) spreads(path []string) bool {
	for ; len(path) > 0; path = path[1:] {
		switch d.v.Kind() {
		case KindObject:
			d = d.peek(path[0])
		case KindArray, KindSet:
			e, ok := d.elem(path[0])
			if e == nil {
				return !ok
			}
			d = e
		default:
			return false
		}
	}
	return false
}

// change lets f change what is at path; in every element of an array where the path names a field of one. Missing
// objects are made; other kinds are left alone. A position without an element is an error.
func (d *draft) change(path []string, f func(*draft) error) error {
	if len(path) == 0 {
		return f(d)
	}
	switch d.v.Kind() {
	case KindNone, KindNull:
		*d = draft{v: ObjectOf(nil)}
		return d.changeField(path, f)
	case KindObject:
		return d.changeField(path, f)
	case KindArray, KindSet:
		n := d.len()
		if i, ok := placeIn(path[0], n); ok {
			if i >= n {
				return errs.Validation("The JSON Patch contains invalid operations. "+
					"There is no element '%s' in an array of %d", path[0], n)
			}
			return d.changeElem(i, func(e *draft) error { return e.change(path[1:], f) })
		}
		return d.changeElems(func(e *draft) error {
			if e.v.IsNullish() {
				return nil
			}
			return e.change(path, f)
		})
	}
	return nil
}

func (d *draft) changeField(path []string, f func(*draft) error) error {
	c := d.field(path[0])
	was := c.weight()
	c.gone = false
	err := c.change(path[1:], f)
	d.in.weight += c.weight() - was
	return err
}

func (d *draft) changeElem(i int, f func(*draft) error) error {
	in := d.open()
	run, i := in.runOf(i)
	e := &in.runs[run][i]
	was := e.weight()
	err := f(e)
	in.weight += e.weight() - was
	return err
}

func (d *draft) changeElems(f func(*draft) error) error {
	in := d.open()
	for _, run := range in.runs {
		for i := range run {
			was := run[i].weight()
			if err := f(&run[i]); err != nil {
				return err
			}
			in.weight += run[i].weight() - was
		}
	}
	return nil
}

// set puts a value at path.
func (d *draft) set(path []string, to Value) error {
	return d.change(path, func(at *draft) error { *at = draft{v: to}; return nil })
}

// remove takes the field or element at path away; the field of every element of an array where the path names one.
func (d *draft) remove(path []string) error {
	switch d.v.Kind() {
	case KindObject:
		c := d.field(path[0])
		was := c.weight()
		switch {
		case c.gone:
		case len(path) == 1:
			c.draft, c.gone = draft{}, true
		default:
			if err := c.remove(path[1:]); err != nil {
				return err
			}
		}
		d.in.weight += c.weight() - was
	case KindArray, KindSet:
		n := d.len()
		i, ok := placeIn(path[0], n)
		switch {
		case !ok:
			return d.changeElems(func(e *draft) error { return e.remove(path) })
		case i >= n:
		case len(path) == 1:
			in := d.open()
			run, i := in.runOf(i)
			in.weight -= in.runs[run][i].weight()
			in.runs[run] = slices.Delete(in.runs[run], i, i+1)
		default:
			return d.changeElem(i, func(e *draft) error { return e.remove(path[1:]) })
		}
	}
	return nil
}

// insert puts elements into d, an array, before the one at i, or at the end where there is none.
func (d *draft) insert(i int, elems ...Value) {
	in, at := d.open(), 0
	if len(in.runs) == 0 {
		in.runs = [][]draft{nil}
	}
	for ; at < len(in.runs)-1 && i > len(in.runs[at]); at++ {
		i -= len(in.runs[at])
	}
	run := in.runs[at]
	run = slices.Insert(run, min(i, len(run)), drafts(elems)...)
	if in.runs[at] = run; len(run) > 2*runLength {
		in.runs = slices.Replace(in.runs, at, at+1, slices.Collect(slices.Chunk(run, runLength))...)
	}
	for _, e := range elems {
		in.weight += int64(e.weight())
	}
}

// list is the array of what f makes of the elements.
func (in *parts) list(f func(*draft) Value) Value {
	n := 0
	for _, run := range in.runs {
		n += len(run)
	}
	out := make([]Value, 0, n)
	for _, run := range in.runs {
		for i := range run {
			out = append(out, f(&run[i]))
		}
	}
	return ArrayOf(out)
}

// value returns d in its present state.
func (d *draft) value() Value {
	if d.in == nil {
		return d.v
	}
	switch d.v.Kind() {
	case KindArray:
		d.v = d.in.list((*draft).value)
	case KindSet:
		d.v = SetOf(d.in.list((*draft).value).Elems())
	default:
		edits := make([]edit, len(d.in.fields))
		for i := range d.in.fields {
			f := &d.in.fields[i]
			edits[i] = edit{name: f.name, value: f.value(), gone: f.gone}
		}
		d.v = ObjectOf(d.v.Object().with(edits))
	}
	d.in = nil
	return d.v
}
