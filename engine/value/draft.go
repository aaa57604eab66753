package value

import "slices"

// draft is a value while operations change it. A change costs as much as its path is long, not as much as the value is
// large: what it touches is kept beside the value, and goes in when all are done.
type draft struct {
	v  Value  // as it was before; of the same kind as it is now
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
		if d.v.kind == KindArray {
			d.in.runs = slices.Collect(slices.Chunk(drafts(d.v.Elems()), runLength))
		}
	}
	return d.in
}

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

// get is the value at path, of every element of an array; NONE where there is nothing.
func (d *draft) get(path []string) Value {
	if len(path) == 0 {
		return d.value()
	}
	switch d.v.kind {
	case KindObject:
		return d.peek(path[0]).get(path[1:])
	case KindArray:
		if d.in == nil {
			return arrayOfAll(d.v.Elems(), func(e Value) Value { return (&draft{v: e}).get(path) })
		}
		return d.in.list(func(e *draft) Value { return e.get(path) })
	}
	return None
}

// spreads reports whether path leads to every element of an array.
func (d *draft) spreads(path []string) bool {
	for ; len(path) > 0 && d.v.kind == KindObject; path = path[1:] {
		d = d.peek(path[0])
	}
	return len(path) > 0 && d.v.kind == KindArray
}

// change lets f change what is at path, in every element of an array. Missing objects are made; other kinds are left
// alone.
func (d *draft) change(path []string, f func(*draft)) {
	if len(path) == 0 {
		f(d)
		return
	}
	switch d.v.kind {
	case KindNone, KindNull:
		*d = draft{v: ObjectOf(nil)}
		d.changeField(path, f)
	case KindObject:
		d.changeField(path, f)
	case KindArray:
		d.changeElems(func(e *draft) {
			if !e.v.IsNullish() {
				e.change(path, f)
			}
		})
	}
}

func (d *draft) changeField(path []string, f func(*draft)) {
	c := d.field(path[0])
	was := c.weight()
	c.gone = false
	c.change(path[1:], f)
	d.in.weight += c.weight() - was
}

func (d *draft) changeElems(f func(*draft)) {
	in := d.open()
	for _, run := range in.runs {
		for i := range run {
			was := run[i].weight()
			f(&run[i])
			in.weight += run[i].weight() - was
		}
	}
}

// set puts a value at path.
func (d *draft) set(path []string, to Value) {
	d.change(path, func(at *draft) { *at = draft{v: to} })
}

// remove takes the field at path away, in every element of an array.
func (d *draft) remove(path []string) {
	switch d.v.kind {
	case KindObject:
		c := d.field(path[0])
		was := c.weight()
		switch {
		case c.gone:
		case len(path) == 1:
			c.draft, c.gone = draft{}, true
		default:
			c.remove(path[1:])
		}
		d.in.weight += c.weight() - was
	case KindArray:
		d.changeElems(func(e *draft) { e.remove(path) })
	}
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
	if d.v.kind == KindArray {
		d.v = d.in.list((*draft).value)
	} else {
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
