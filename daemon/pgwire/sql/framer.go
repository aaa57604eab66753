package sql

import "github.com/nacredb/nacre/engine/value"

// span are the rows from start up to end, which is not among them.
type span struct{ start, end int }

func (s span) len() int { return max(0, s.end-s.start) }

// within is what s and t have in common.
func (s span) within(t span) span {
	s.start = max(s.start, t.start)
	s.end = max(s.start, min(s.end, t.end))
	return s
}

// framer finds the frames of the rows of a partition. They come one by one from the first on: neither end of a frame
// goes back.
type framer struct {
	f    *boundFrame
	o    offsets
	p    *partition
	key  *boundKey // the only one of the order; nil: there are none or several
	last span      // the frame of the row before
}

// next is the frame of row j, before what it excludes.
func (x *framer) next(j int) (s span, err error) {
	if s.start, err = x.edge(j, x.f.from, x.o.from, x.o.fromRange, false); err != nil {
		return s, err
	}
	if s.end, err = x.edge(j, x.f.to, x.o.to, x.o.toRange, true); err != nil {
		return s, err
	}
	s.end = max(s.end, s.start)
	x.last = s
	return s, nil
}

// edge is where the frame of row j begins, or where it ends.
func (x *framer) edge(j int, e boundEnd, n int64, by value.Value, end bool) (int, error) {
	rows := len(x.p.rows)
	switch e.kind {
	case unboundedPreceding:
		return 0, nil
	case unboundedFollowing:
		return rows, nil
	}
	extra := 0
	if end {
		extra = 1
	}
	step := int(min(n, int64(rows)))
	switch {
	case e.kind == currentRow:
		step = 0
	case e.kind == preceding:
		step = -step
	}
	switch {
	case x.f.mode == "rows":
		return min(max(j+step+extra, 0), rows), nil
	case x.f.mode == "groups", e.kind == currentRow:
		g := x.p.group[j] + step + extra
		return x.p.starts[min(max(g, 0), len(x.p.starts)-1)], nil
	}
	return x.reach(j, by, e.kind == following, end)
}

// reach is the edge of RANGE at a distance of by from the value of row j.
func (x *framer) reach(j int, by value.Value, ahead, end bool) (int, error) {
	start, stop := x.p.peers(j)
	base := x.p.keys[j][0]
	if base.IsNone() { // NULL is as far from NULL as it gets to be, and from nothing else
		if end {
			return stop, nil
		}
		return start, nil
	}
	if err := badSize(by); err != nil {
		return 0, err
	}
	dir, side := 1, -1
	if x.key.desc {
		dir = -1
	}
	if end {
		side = 1
	}
	l, err := limitOf(x.o.style, x.key.oid, base, by, ahead != x.key.desc, side*dir)
	if err != nil {
		return 0, err
	}
	at := x.last.start
	if end {
		at = x.last.end
	}
	for ; at < len(x.p.rows); at++ {
		v := x.p.keys[at][0]
		if v.IsNone() {
			if x.key.nullsFirst {
				continue
			}
			break
		}
		c := l.compare(x.key.oid, v) * dir
		if c > 0 || c == 0 && !end {
			break
		}
	}
	return at, nil
}

// spans are the rows of a frame that are not excluded for row j, in order.
func (x *framer) spans(j int, s span) [3]span {
	start, end := x.p.peers(j)
	switch x.f.exclude {
	case excludeRow:
		return [3]span{s.within(span{0, j}), s.within(span{j + 1, s.end})}
	case excludeGroup:
		return [3]span{s.within(span{0, start}), s.within(span{end, s.end})}
	case excludeTies:
		return [3]span{s.within(span{0, start}), s.within(span{j, j + 1}), s.within(span{end, s.end})}
	}
	return [3]span{s}
}
