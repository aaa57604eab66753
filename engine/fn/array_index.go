package fn

import (
	"math"
	"math/rand/v2"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// position turns an index that may count from the end into one from the start; false out of range.
func position(i int64, n int) (int, bool) {
	if i < 0 {
		i += int64(n)
	}
	return int(i), i >= 0 && i < int64(n)
}

func arrayAt(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	if i, ok := position(args[1].Int(), len(items)); ok {
		return items[i], nil
	}
	return value.None, nil
}

func arrayRemove(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	i, ok := position(args[1].Int(), len(items))
	if !ok {
		return args[0], nil
	}
	out := make([]value.Value, 0, len(items)-1)
	return value.ArrayOf(append(append(out, items[:i]...), items[i+1:]...)), nil
}

func arrayInsert(_ Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	i := int64(len(items))
	if len(args) == 3 {
		i = args[2].Int()
	}
	if i < 0 {
		i += int64(len(items))
	}
	if i < 0 || i > int64(len(items)) {
		return args[0], nil
	}
	out := make([]value.Value, 0, len(items)+1)
	out = append(append(out, items[:i]...), args[1])
	return value.ArrayOf(append(out, items[i:]...)), nil
}

func arraySwap(c Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	at := [2]int{}
	for k := range at {
		i, ok := position(args[k+1].Int(), len(items))
		if !ok {
			return value.None, c.incorrect("Argument %d is out of range. Expected a number between %d and %d", k+1, -len(items), len(items))
		}
		at[k] = i
	}
	out := append([]value.Value(nil), items...)
	out[at[0]], out[at[1]] = out[at[1]], out[at[0]]
	return value.ArrayOf(out), nil
}

// window is a span start..end of positions in a list of n that may count from the end: from an int (and an end), or
// from a range.
func window(start value.Value, end []value.Value, n int) (from, to int, bad *misfit) {
	lo, hi := int64(0), int64(n)
	if start.Kind() == value.KindRange && len(end) == 0 {
		r, bad := intRange(start)
		if bad != nil {
			return 0, 0, bad
		}
		lo, hi = r.low(0), r.high(int64(n), n)
	} else {
		i, ok := integral(start)
		if !ok {
			return 0, 0, &misfit{found: start}
		}
		lo = i
		if len(end) > 0 {
			hi = end[0].Int()
		}
	}
	return clip(lo, n), clip(hi, n), nil
}

// clip is position i, from the end when negative, moved into 0..n.
func clip(i int64, n int) int {
	if i < 0 {
		i += int64(n)
	}
	return int(max(0, min(i, int64(n))))
}

// intBounds is a range of ints. A bound that is left out is open.
type intBounds struct {
	start, end         int64
	openStart, openEnd bool
	startExcl, endIncl bool
}

func intRange(v value.Value) (intBounds, *misfit) {
	r := v.Range()
	b := intBounds{openStart: r.Start.Kind == value.Unbounded, openEnd: r.End.Kind == value.Unbounded,
		startExcl: r.Start.Kind == value.Excluded, endIncl: r.End.Kind == value.Included}
	var ok bool
	if !b.openStart {
		if b.start, ok = integral(r.Start.Value); !ok {
			return b, &misfit{found: r.Start.Value, elem: "int"}
		}
	}
	if !b.openEnd {
		if b.end, ok = integral(r.End.Value); !ok {
			return b, &misfit{found: r.End.Value, elem: "int"}
		}
	}
	return b, nil
}

// low is the first position; high the one after the last, where -1 included is the end of a list of n.
func (b intBounds) low(open int64) int64 {
	switch {
	case b.openStart:
		return open
	case b.startExcl && b.start < math.MaxInt64:
		return b.start + 1
	}
	return b.start
}

func (b intBounds) high(open int64, n int) int64 {
	switch {
	case b.openEnd:
		return open
	case b.endIncl && b.end == -1:
		return int64(n)
	case b.endIncl && b.end < math.MaxInt64:
		return b.end + 1
	}
	return b.end
}

// badStart is the error for a start that is no int or range of ints. The reference names another function there.
func (c Call) badStart(path string, bad *misfit) error {
	named := "function " + path
	if c.Method != nil {
		named = "method " + c.Method.Name
	}
	if bad.elem != "" {
		return errs.Internal("Incorrect arguments for %s(). Argument 1 was the wrong type. Expected `int` but found `%s` when coercing an element of `range<int>`",
			named, bad.found.Brief())
	}
	return errs.Internal("Incorrect arguments for %s(). Argument 1 was the wrong type. Expected `int` but found `%s`", named, bad.found.Brief())
}

func arraySlice(c Call, args []value.Value) (value.Value, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	items := args[0].Elems()
	from, to, bad := window(args[1], args[2:], len(items))
	if bad != nil {
		return value.None, c.badStart("array::range", bad)
	}
	if from >= to {
		return value.Array(), nil
	}
	return value.ArrayOf(items[from:to:to]), nil
}

func arrayFill(c Call, args []value.Value) (value.Value, error) {
	items := args[0].Elems()
	from, to := 0, len(items)
	if len(args) > 2 {
		var bad *misfit
		if from, to, bad = window(args[2], args[3:], len(items)); bad != nil {
			return value.None, c.badStart("array::fill", bad)
		}
	}
	out := append([]value.Value(nil), items...)
	for i := from; i < to; i++ {
		out[i] = args[1]
	}
	return value.ArrayOf(out), nil
}

func arrayRange(c Call, args []value.Value) (value.Value, error) {
	b := intBounds{openEnd: true}
	var ok bool
	switch {
	case len(args) == 2:
		b.end, b.openEnd = args[1].Int(), false
		fallthrough
	default:
		if b.start, ok = integral(args[0]); !ok {
			return value.None, c.badStart("array::range", &misfit{found: args[0]})
		}
	case args[0].Kind() == value.KindRange:
		var bad *misfit
		if b, bad = intRange(args[0]); bad != nil {
			return value.None, c.badStart("array::range", bad)
		}
	}
	if b.openStart {
		b.start = math.MinInt64
	}
	if b.openEnd {
		b.end = math.MaxInt64
	}
	first, last := b.start, b.end
	if b.startExcl {
		if first == math.MaxInt64 {
			return value.Array(), nil
		}
		first++
	}
	if first > last || (first == last && !b.endIncl) {
		return value.Array(), nil
	}
	count := uint64(last) - uint64(first)
	if b.endIncl {
		count++
	}
	return c.ints(first, count)
}

// ints are count ints from first on.
func (c Call) ints(first int64, count uint64) (value.Value, error) {
	if count > maxOutput/elemSize {
		return value.None, c.tooLarge()
	}
	out := make([]value.Value, count)
	for i := range out {
		out[i] = value.Int(first + int64(i))
	}
	return value.ArrayOf(out), nil
}

func arraySequence(c Call, args []value.Value) (value.Value, error) {
	first, count := int64(0), args[0].Int()
	if len(args) == 2 {
		first, count = args[0].Int(), args[1].Int()
	}
	if count <= 0 {
		return value.Array(), nil
	}
	// Ints end at the greatest one: the sequence is cut there.
	return c.ints(first, min(uint64(count), uint64(math.MaxInt64-first)+1))
}

func arrayRepeat(c Call, args []value.Value) (value.Value, error) {
	n := args[1].Int()
	if n < 0 {
		return value.None, c.incorrect("Expected argument 2 to be a positive number")
	}
	if n > maxOutput/elemSize {
		return value.None, c.tooLarge()
	}
	out := make([]value.Value, n)
	for i := range out {
		out[i] = args[0]
	}
	return value.ArrayOf(out), nil
}

func (c Call) size(v value.Value) (int, error) {
	if n := v.Int(); n >= 1 {
		return int(n), nil
	}
	return 0, c.incorrect("The second argument must be an integer greater than 0")
}

func arrayClump(c Call, args []value.Value) (value.Value, error) {
	size, err := c.size(args[1])
	if err != nil {
		return value.None, err
	}
	items := args[0].Elems()
	out := make([]value.Value, 0, (len(items)-1)/size+1)
	for len(items) > 0 {
		n := min(size, len(items))
		out = append(out, value.ArrayOf(items[:n:n]))
		items = items[n:]
	}
	return value.ArrayOf(out), nil
}

// leastWeight is the least weight of an element of an array.
var leastWeight = value.Weight(value.None)

func arrayWindows(c Call, args []value.Value) (value.Value, error) {
	size, err := c.size(args[1])
	if err != nil {
		return value.None, err
	}
	items := args[0].Elems()
	n := max(0, len(items)-size+1)
	if n > 0 && size > math.MaxInt/2/leastWeight/n {
		return value.None, c.tooLarge()
	}
	if err := c.Host.Reserve(n * size * leastWeight); err != nil {
		return value.None, err
	}
	out := make([]value.Value, 0, n)
	for i := 0; i+size <= len(items); i++ {
		out = append(out, value.ArrayOf(items[i:i+size:i+size]))
	}
	return value.ArrayOf(out), nil
}

func arrayShuffle(_ Call, args []value.Value) (value.Value, error) {
	out := append([]value.Value(nil), args[0].Elems()...)
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return value.ArrayOf(out), nil
}
