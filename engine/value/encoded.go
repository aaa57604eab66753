package value

import (
	"slices"
	"strings"
	"unsafe"
)

// entry is one field of an encoded map, as bytes of it.
type entry struct {
	name  string
	value []byte // starts with the value; ends with it where the end is known
	whole []byte // name and value
}

// nameAt reads the name at p and says where its value starts.
func (e *encoded) nameAt(p int) (name []byte, value int) {
	b := e.rec
	if p < len(b) {
		// Nearly all names are shorter than 24 bytes.
		if n := int(b[p]) - majorText; n >= 0 && n < 24 && p+1+n <= len(b) {
			return b[p+1 : p+1+n], p + 1 + n
		}
	}
	d := decoder{b: b, pos: p}
	major, n, indef, err := d.head()
	if err == nil && (major != majorText || indef) {
		err = recordError(p, "field name is not text")
	}
	if err == nil {
		name, err = d.take(n)
	}
	if err != nil {
		panic(err)
	}
	return name, d.pos
}

// entryAt gives the i-th field of a map with a head.
func (e *encoded) entryAt(i int) entry {
	p, end := e.place(i), e.place(i+1)
	name, v := e.nameAt(p)
	if v > end || end > len(e.rec) {
		panic(recordError(p, "field is not where the head says"))
	}
	return entry{name: aliasText(name), value: e.rec[v:end:end], whole: e.rec[p:end:end]}
}

// place is where the i-th entry of a map with a head starts in rec; the one after the last ends it.
func (e *encoded) place(i int) int {
	if i == int(e.base) {
		return len(e.rec)
	}
	return int(e.head) + offset(e.rec[1+e.width:], e.width, i)
}

// aliasText makes a string of bytes that never change.
func aliasText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// each calls f for every field of the bytes, until it answers false.
func (e *encoded) each(f func(entry) bool) {
	if e.width > 0 {
		for i := range int(e.base) {
			if !f(e.entryAt(i)) {
				return
			}
		}
		return
	}
	p := e.first()
	for range e.base {
		name, v := e.nameAt(p)
		end := mustSkip(e.rec, v)
		if !f(entry{name: aliasText(name), value: e.rec[v:end:end], whole: e.rec[p:end:end]}) {
			return
		}
		p = end
	}
}

// first is where the first name of the map starts.
func (e *encoded) first() int {
	d := decoder{b: e.rec}
	if _, _, _, err := d.head(); err != nil {
		panic(err)
	}
	return d.pos
}

// get is Object.Get.
func (e *encoded) get(name string) (Value, bool) {
	all := e.cached()
	if all == nil && e.width == 0 && e.base > scanLimit {
		all = e.all()
	}
	if all != nil {
		if i, ok := findField(all, name); ok {
			return all[i].Value, true
		}
		return None, false
	}
	if i, ok := e.findEdit(name); ok {
		return e.edits[i].value, !e.edits[i].gone
	}
	return e.lookup(name)
}

// has is get without the value.
func (e *encoded) has(name string) bool {
	if i, ok := e.findEdit(name); ok {
		return !e.edits[i].gone
	}
	_, _, ok := e.find(name)
	return ok
}

// lookup decodes a field out of the bytes.
func (e *encoded) lookup(name string) (Value, bool) {
	start, end, ok := e.find(name)
	if !ok {
		return None, false
	}
	if e.width == 0 && e.rec[start]&0xe0 == majorMap {
		end = mustSkip(e.rec, start)
	}
	return decodeStored(e.rec[start:end:end], e.special), true
}

// find is where the value of a field is in the bytes; for an inner map end may be past it.
func (e *encoded) find(name string) (start, end int, ok bool) {
	if e.width == 0 {
		return e.scan(name)
	}
	i, start := e.slot(name)
	if start == 0 {
		return 0, 0, false
	}
	return start, start + len(e.item(i, start)), true
}

// slot is the entry of a map with a head that has a name, and where its value starts; or the entry that one of this
// name would stand before, and 0.
func (e *encoded) slot(name string) (i, start int) {
	lo, hi := 0, int(e.base)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		got, v := e.nameAt(e.place(mid))
		switch c := strings.Compare(aliasText(got), name); {
		case c < 0:
			lo = mid + 1
		case c > 0:
			hi = mid
		default:
			return mid, v
		}
	}
	return lo, 0
}

// scan searches from the front and stops at the first name beyond.
func (e *encoded) scan(name string) (start, end int, ok bool) {
	p := e.first()
	for range e.base {
		got, v := e.nameAt(p)
		switch c := strings.Compare(aliasText(got), name); {
		case c == 0 && v < len(e.rec):
			return v, len(e.rec), true
		case c >= 0:
			return 0, 0, false
		}
		p = mustSkip(e.rec, v)
	}
	return 0, 0, false
}

// cached gives the decoded fields if there are any.
func (e *encoded) cached() []Field {
	if p := e.cache.Load(); p != nil {
		return unsafe.Slice(p, e.n)
	}
	return nil
}

// all decodes the fields, once unless two goroutines come at the same time; both get equal ones.
func (e *encoded) all() []Field {
	if e.n == 0 {
		return nil
	}
	if fields := e.cached(); fields != nil {
		return fields
	}
	fields := make([]Field, 0, e.n)
	if len(e.edits) == 0 {
		e.each(func(m entry) bool {
			fields = append(fields, Field{m.name, decodeStored(m.value, e.special)})
			return true
		})
		e.cache.Store(unsafe.SliceData(fields))
		return fields
	}
	e.merged(func(m entry) bool {
		fields = append(fields, Field{m.name, decodeStored(m.value, e.special)})
		return true
	}, func(d edit) bool {
		fields = append(fields, Field{d.name, d.value})
		return true
	})
	e.cache.Store(unsafe.SliceData(fields))
	return fields
}

// walk decodes the fields one by one, until f answers false.
func (e *encoded) walk(f func(string, Value) bool) {
	old := func(m entry) bool { return f(m.name, decodeStored(m.value, e.special)) }
	if len(e.edits) == 0 {
		e.each(old)
		return
	}
	e.merged(old, func(d edit) bool { return f(d.name, d.value) })
}

// merged walks the fields after edits in name order: those of the bytes that stand, by base, and
// those set since, by set. Either stops it by answering false.
func (e *encoded) merged(base func(entry) bool, set func(edit) bool) {
	edits := e.edits
	goOn := true
	before := func(name string, all bool) (replaced bool) {
		for goOn && len(edits) > 0 && (all || edits[0].name <= name) {
			d := edits[0]
			edits = edits[1:]
			if !d.gone {
				goOn = set(d)
			}
			if !all && d.name == name {
				return true
			}
		}
		return false
	}
	e.each(func(m entry) bool {
		if !before(m.name, false) && goOn {
			goOn = base(m)
		}
		return goOn
	})
	before("", true)
}

func (e *encoded) findEdit(name string) (int, bool) {
	for i := range e.edits {
		if e.edits[i].name >= name {
			return i, e.edits[i].name == name
		}
	}
	return len(e.edits), false
}

// edited is the object with one more change.
func (e *encoded) edited(d edit) *Object {
	i, again := e.findEdit(d.name)
	if len(e.edits) == maxEdits && !again {
		plain := ObjectOfSorted(e.all())
		if d.gone {
			return plain.Without(d.name)
		}
		return plain.With(d.name, d.value)
	}
	if len(e.edits) == 0 {
		return new(editedObject).of(e, d)
	}
	l := &lazyObject{}
	if again {
		l.edits = slices.Clone(e.edits)
		l.edits[i] = d
	} else {
		l.edits = slices.Insert(slices.Clip(e.edits), i, d)
	}
	return l.over(e, d)
}

// over is the object of the bytes of e with its own edits, by one more than e: d.
func (l *lazyObject) over(e *encoded, d edit) *Object {
	n := e.n
	switch had := e.has(d.name); {
	case had && d.gone:
		n--
	case !had && !d.gone:
		n++
	}
	l.rec, l.head, l.base, l.n, l.width, l.special = e.rec, e.head, e.base, n, e.width, e.special
	return l.object()
}

// editedObject is a lazyObject with its only edit in one allocation.
type editedObject struct {
	lazyObject
	edit [1]edit
}

// of is the object that e, which has no edits, is with one.
func (o *editedObject) of(e *encoded, d edit) *Object {
	o.edit[0] = d
	o.edits = o.edit[:]
	return o.over(e, d)
}

// EditRoom is room for an object with one field set, one after the other: an object is good until the next one is made.
type EditRoom struct{ room editedObject }

// With is Object.With, in the room where it can be.
func (r *EditRoom) With(o *Object, name string, v Value) *Object {
	if o.enc == nil || len(o.enc.edits) > 0 {
		return o.With(name, v)
	}
	r.room.cache.Store(nil)
	return r.room.of(o.enc, edit{name: name, value: v})
}

// decodeStored reads the value at the front of b, which is trusted storage: the value aliases b.
func decodeStored(b []byte, special bool) Value {
	d := decoder{b: b, depth: storedDepth, alias: true, stored: true, special: special}
	v, err := d.value()
	if err != nil {
		panic(err)
	}
	return v
}

// storedMap makes an object of the map that starts at start, whose head with n has been read.
func (d *decoder) storedMap(start int, n uint64, indef bool) (Value, error) {
	end := len(d.b)
	if n > uint64(end) || indef {
		return None, d.fail("length runs past the end")
	}
	if start > 0 {
		// Inside of an array or a tag the end is unknown.
		if end = skipItem(d.b, start); end < 0 {
			return None, d.fail("cut map")
		}
	}
	d.pos = end
	if n == 0 {
		return ObjectOf(nil), nil
	}
	l := &lazyObject{encoded: encoded{rec: d.b[start:end:end], base: uint32(n), n: uint32(n), special: d.special}}
	return ObjectOf(l.object()), nil
}

func mustSkip(b []byte, p int) int {
	end := skipItem(b, p)
	if end < 0 {
		panic(recordError(p, "cut value"))
	}
	return end
}

// skipItem is the end of the item that starts at p, -1 if it is not all there. Lengths are definite.
func skipItem(b []byte, p int) int {
	for todo := 1; todo > 0; todo-- {
		if p >= len(b) {
			return -1
		}
		ib := b[p]
		p++
		n := uint64(ib & 0x1f)
		if n >= 24 {
			size := 1 << (n - 24)
			if n > 27 || len(b)-p < size {
				return -1
			}
			n = 0
			for _, c := range b[p : p+size] {
				n = n<<8 | uint64(c)
			}
			p += size
		}
		if ib < majorBytes || ib >= majorOther {
			continue
		}
		if n > uint64(len(b)) && ib < majorTag {
			return -1
		}
		switch ib & 0xe0 {
		case majorBytes, majorText:
			if p += int(n); p > len(b) {
				return -1
			}
		case majorArray:
			todo += int(n)
		case majorMap:
			todo += 2 * int(n)
		case majorTag:
			todo++
		}
	}
	return p
}

// fits reports whether the bytes of the map nest at most levels deep: what is copied without being read must have an
// end, too.
func (e *encoded) fits(levels int) bool {
	d := decoder{b: e.rec, pos: int(e.head)}
	if len(d.b)-d.pos <= levels {
		return true
	}
	var few [32]uint64
	open := few[:0] // how much is to come of each container
	for {
		major, n, _, err := d.head()
		if err != nil {
			panic(err)
		}
		switch major {
		case majorBytes, majorText:
			d.pos += int(n)
		case majorMap, majorArray:
			if major == majorMap {
				n *= 2
			}
			if len(open) > levels {
				return false
			}
			open = append(open, n+1)
		case majorTag:
			continue
		}
		for len(open) > 0 {
			last := len(open) - 1
			if open[last]--; open[last] > 0 {
				break
			}
			open = open[:last]
		}
		if len(open) == 0 {
			return true
		}
	}
}

// appendMap appends the map in enc's form.
func (e *encoded) appendMap(enc encoder, dst []byte) ([]byte, error) {
	if e.special {
		// Whether there is a regex in this part is seen only by decoding it.
		return enc.fields(dst, e.all())
	}
	if len(e.edits) == 0 {
		return append(dst, e.rec[e.head:]...), nil
	}
	dst, err := putHead(dst, majorMap, uint64(e.n)), error(nil)
	if e.width > 0 {
		dst, _, err = e.spliced(enc, dst, nil)
	} else {
		dst, _, err = enc.merged(dst, e, nil)
	}
	return dst, err
}

// spliced is encoder.merged for a map with a head: what lies between the entries that were edited is copied as a whole.
func (e *encoded) spliced(enc encoder, dst []byte, at []uint32) ([]byte, []uint32, error) {
	from, err := 0, error(nil) // the first entry that is not copied
	for i := range e.edits {
		d := &e.edits[i]
		slot, start := e.slot(d.name)
		if dst, at, err = e.copied(dst, at, from, slot); err != nil {
			return dst, at, err
		}
		if from = slot; start > 0 {
			from++
		}
		if d.gone {
			continue
		}
		at = noted(at, len(dst))
		if dst, err = enc.value(putText(dst, d.name), d.value); err != nil {
			return dst, at, err
		}
	}
	return e.copied(dst, at, from, int(e.base))
}

// copied appends the entries between two of a map with a head.
func (e *encoded) copied(dst []byte, at []uint32, from, to int) ([]byte, []uint32, error) {
	start, end := e.place(from), e.place(to)
	if start > end || end > len(e.rec) {
		return dst, at, recordError(end, "field is not where the head says")
	}
	for i := from; at != nil && i < to; i++ {
		at = append(at, uint32(len(dst)+e.place(i)-start))
	}
	return append(dst, e.rec[start:end]...), at, nil
}

// noted is at with one place more, where places are asked for.
func noted(at []uint32, p int) []uint32 {
	if at == nil {
		return nil
	}
	return append(at, uint32(p))
}

// entries appends the map of o, for storage, and to at where each of its entries starts in dst.
func (e encoder) entries(dst []byte, o *Object, at []uint32) ([]byte, []uint32, error) {
	dst = putHead(dst, majorMap, uint64(o.Len()))
	if m := o.enc; m != nil && !m.special {
		if m.width > 0 {
			return m.spliced(e, dst, at)
		}
		return e.merged(dst, m, at)
	}
	var err error
	for _, f := range o.Fields() {
		at = append(at, uint32(len(dst)))
		dst = putText(dst, f.Name)
		if dst, err = e.value(dst, f.Value); err != nil {
			return dst, at, err
		}
	}
	return dst, at, nil
}

// merged appends the entries of m: copies of those that stand, encodings of those set since. Unless at is nil, it
// appends to it where each of them starts in dst.
func (e encoder) merged(dst []byte, m *encoded, at []uint32) ([]byte, []uint32, error) {
	var err error
	m.merged(func(old entry) bool {
		at = noted(at, len(dst))
		dst = append(dst, old.whole...)
		return true
	}, func(d edit) bool {
		at = noted(at, len(dst))
		dst, err = e.value(putText(dst, d.name), d.value)
		return err == nil
	})
	return dst, at, err
}
