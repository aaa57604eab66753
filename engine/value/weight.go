package value

import (
	"math"

	"github.com/nacredb/nacre/engine/errs"
)

// overhead is about what a value, a field or an object takes beside its contents.
const overhead = 48

// Heaviest is the weight of everything that weighs as much or more: every limit refuses it.
const Heaviest = math.MaxUint32

// Weight is about how many bytes v would take if nothing in it were shared: lists that hold one another many times over
// take little memory, but comparing, writing or copying them walks all of it. Values carry it from where they
// are made, so it is known at once; what is encoded counts as its bytes. It stops at 4 GiB.
func Weight(v Value) int { return int(v.weight()) }

// Exceeds reports whether v weighs more than limit, or more than can be said.
func Exceeds(v Value, limit int) bool {
	w := v.weight()
	return w > uint64(limit) || w == Heaviest
}

// lightKinds are those of a fixed size.
const lightKinds = 1<<KindNone | 1<<KindNull | 1<<KindBool | 1<<KindInt | 1<<KindFloat | 1<<KindDecimal |
	1<<KindDuration | 1<<KindDatetime | 1<<KindUUID

// Light reports whether v is of a kind with a fixed size, which weighs next to nothing.
func (v Value) Light() bool { return lightKinds>>v.Kind()&1 != 0 }

func (v *Value) weight() uint64 {
	switch v.Kind() {
	case KindString, KindTable, KindBytes:
		return overhead + v.n
	case KindArray, KindSet, KindObject, KindRecord, KindRange, KindGeometry:
		return uint64(v.aux())
	case KindFile:
		f := v.File()
		return overhead + uint64(len(f.Bucket)+len(f.Key))
	case KindRegex:
		return overhead + uint64(len(v.Regex().Source))
	case KindClosure:
		return overhead + uint64(v.Closure().Size())
	}
	return overhead
}

// carried is n as values carry it.
func carried(n uint64) uint32 { return uint32(min(n, Heaviest)) }

// levels is how deep values may nest. A deeper value has the greatest weight: code that walks a value goes as deep
// into the stack. Storage and the wire end near there as well.
const levels = 255

// Deep reports whether v nests too deep to go on with. What is encoded counts as one level: it has an end of its own.
func Deep(v Value) bool { return v.levels() == levels }

// nestingKinds are those that hold other values.
const nestingKinds = 1<<KindArray | 1<<KindSet | 1<<KindObject | 1<<KindRecord | 1<<KindRange

// levels is how deep v nests.
func (v *Value) levels() uint8 {
	if nestingKinds>>v.Kind()&1 == 0 {
		return 0
	}
	return v.flag()
}

// load is the weight and the levels of what is put together.
type load struct {
	weight uint64
	levels uint8
}

func (l *load) add(v *Value) {
	l.weight += v.weight()
	l.levels = max(l.levels, v.levels())
}

// on is v as the container of what was added.
func (l load) on(v Value) Value {
	weight := carried(overhead + l.weight)
	if l.levels >= levels-1 {
		weight, l.levels = Heaviest, levels-1
	}
	v.tag = tagWith(v.Kind(), l.levels+1, weight)
	return v
}

func (v Value) loadedWithElems(elems []Value) Value {
	var l load
	for i := range elems {
		if elems[i].Light() {
			l.weight += overhead
			continue
		}
		l.add(&elems[i])
	}
	return l.on(v)
}

func (v Value) loadedWithFields(o *Object) Value {
	var l load
	if o.enc != nil {
		l.weight = uint64(len(o.enc.rec))
		for i := range o.enc.edits {
			d := &o.enc.edits[i]
			l.weight += uint64(len(d.name))
			l.add(&d.value)
		}
		return l.on(v)
	}
	for i := range o.fields {
		f := &o.fields[i]
		l.weight += uint64(len(f.Name))
		l.add(&f.Value)
	}
	return l.on(v)
}

func (v Value) loadedWithKey(r *RecordID) Value {
	l := load{weight: uint64(len(r.Table))}
	l.add(&r.Key)
	return l.on(v)
}

func (v Value) loadedWithBounds(r *Range) Value {
	var l load
	l.add(&r.Start.Value)
	l.add(&r.End.Value)
	return l.on(v)
}

// pointSize is the memory of a point, in bytes.
const pointSize = 16

func (g *Geometry) weight() uint32 {
	n := uint64(overhead) + g.points()*pointSize
	for _, item := range g.Items { // collections do not nest
		n += overhead + item.points()*pointSize
	}
	return carried(n)
}

// points is how many points a geometry has, less those of a collection's items.
func (g *Geometry) points() uint64 {
	n := 1 + uint64(len(g.Line)) + pointsOf(g.Rings)
	for _, rings := range g.Polys {
		n += pointsOf(rings)
	}
	return n
}

func pointsOf(rings [][]Point) uint64 {
	n := uint64(len(rings))
	for _, line := range rings {
		n += uint64(len(line))
	}
	return n
}

// CheckWeight refuses a value that weighs more than limit, or nests too deep.
func CheckWeight(v Value, limit int) error {
	switch {
	case Deep(v):
		return errs.TooDeep()
	case Exceeds(v, limit):
		return TooHeavy(limit)
	}
	return nil
}

// TooHeavy refuses a value that would weigh more than limit.
func TooHeavy(limit int) *errs.Error {
	return errs.Internal("The value would be larger than %d bytes", limit)
}
