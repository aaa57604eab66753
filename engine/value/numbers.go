package value

// Numbers reads the numbers in some fields of many objects. It remembers where each field was in the last object that
// is a stored record: the records of a table mostly have the same fields. It belongs to one goroutine.
type Numbers struct {
	fields []numberField
}

// numberField is a field that Numbers reads.
type numberField struct {
	name string
	slot int // of its entry in the last record
}

// NumbersOf makes a reader of the named fields.
func NumbersOf(names []string) *Numbers {
	n := &Numbers{fields: make([]numberField, len(names))}
	for i, name := range names {
		n.fields[i].name = name
	}
	return n
}

// Append appends the fields of o to dst, each as the float32 nearest to it as a float. It reports false, and gives dst
// as it was, where a field is missing or is no number. It makes no values of what is encoded.
func (n *Numbers) Append(dst []float32, o *Object) ([]float32, bool) {
	before, e := len(dst), o.enc
	plain := e != nil && e.width > 0 && len(e.edits) == 0
	for i := range n.fields {
		var f float64
		var ok bool
		if plain {
			f, ok = e.number(&n.fields[i])
		} else {
			v, _ := o.Get(n.fields[i].name)
			f, ok = v.AsFloat(), v.Kind().IsNumber()
		}
		if !ok {
			return dst[:before], false
		}
		dst = append(dst, float32(f))
	}
	return dst, true
}

// number is a field of a map with a head as a float; false where it is missing or is no number.
func (e *encoded) number(f *numberField) (float64, bool) {
	start := e.named(f.slot, f.name)
	if start == 0 {
		if f.slot, start = e.slot(f.name); start == 0 {
			return 0, false
		}
		if start >= len(e.rec) {
			panic(recordError(start, "field is not where the head says"))
		}
	}
	v := storedValue(e.rec[start:], e.special)
	return v.AsFloat(), v.Kind().IsNumber()
}

// named is where the value of entry i starts if the entry has the name; else 0.
func (e *encoded) named(i int, name string) int {
	if i >= int(e.base) {
		return 0
	}
	p := e.place(i)
	v := p + 1 + len(name)
	if len(name) < 24 && v < len(e.rec) && int(e.rec[p]) == majorText|len(name) && string(e.rec[p+1:v]) == name {
		return v
	}
	return 0
}
