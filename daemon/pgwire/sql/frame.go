package sql

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// boundKind is where a frame begins or ends. The kinds are in the order of the rows.
type boundKind int

const (
	unboundedPreceding boundKind = iota
	preceding
	currentRow
	following
	unboundedFollowing
)

// exclusion is what a frame leaves out.
type exclusion int

const (
	excludeNothing exclusion = iota
	excludeRow               // the current row
	excludeGroup             // the current row and its peers
	excludeTies              // the peers of the current row
)

// boundFrame is the frame of a window.
type boundFrame struct {
	mode     string // rows, range, groups
	from, to boundEnd
	exclude  exclusion
}

// boundEnd is one end of a frame.
type boundEnd struct {
	kind   boundKind
	offset *bound // of preceding and following
}

// defaultFrame is the frame of a window that names none.
var defaultFrame = &frame{mode: "range", from: frameBound{kind: unboundedPreceding}, to: frameBound{kind: currentRow}}

// running reports whether each frame begins where its partition does and leaves nothing out.
func (f *boundFrame) running() bool {
	return f.from.kind == unboundedPreceding && f.exclude == excludeNothing
}

// frame binds the frame of a window. It fails with 42P20 where the mode asks for another order, 0A000 for a RANGE
// that the type of the order has not, and 42P10 or 42804 for an offset that is no constant or no number.
func (b *binder) frame(over *window, order []boundKey, ns *names) (*boundFrame, error) {
	f := over.frame
	if f == nil {
		f = defaultFrame
	}
	out := &boundFrame{mode: f.mode, exclude: f.exclude}
	out.from.kind, out.to.kind = f.from.kind, f.to.kind
	offsets := f.from.offset != nil || f.to.offset != nil
	switch {
	case f.mode == "groups" && len(order) == 0:
		return nil, sqlstate.New(sqlstate.WindowingError, "GROUPS mode requires an ORDER BY clause").At(over.open)
	case f.mode == "range" && offsets && len(order) != 1:
		return nil, sqlstate.New(sqlstate.WindowingError,
			"RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column").At(over.open)
	}
	var err error
	if out.from.offset, err = b.frameOffset(f.mode, f.from, order, ns); err != nil {
		return nil, err
	}
	out.to.offset, err = b.frameOffset(f.mode, f.to, order, ns)
	return out, err
}

// frameOffset binds the offset of one end of a frame; nil where it has none.
func (b *binder) frameOffset(mode string, end frameBound, order []boundKey, ns *names) (*bound, error) {
	if end.offset == nil {
		return nil, nil
	}
	mode = strings.ToUpper(mode)
	reads := false
	inner := &names{cols: slices.Clone(ns.cols), outer: ns.outer, where: "window " + mode}
	for i := range inner.cols {
		inner.cols[i].used = &reads
	}
	x, err := b.expr(end.offset, inner)
	if err != nil {
		return nil, err
	}
	if reads {
		return nil, sqlstate.New(sqlstate.InvalidColumnRef, "argument of %s must not contain variables", mode).At(end.at)
	}
	if mode != "RANGE" {
		if x.oid != pgtype.Unknown && !pgtype.IsNumber(x.oid) {
			return nil, sqlstate.New(sqlstate.TypeMismatch, "argument of %s must be type bigint, not type %s", mode,
				pgtype.Format(x.oid)).At(end.at)
		}
		return b.coerce(x, pgtype.Int8)
	}
	to := rangeOffset(order[0].oid, x.oid)
	if to == 0 {
		err := sqlstate.New(sqlstate.FeatureNotSupported,
			"RANGE with offset PRECEDING/FOLLOWING is not supported for column type %s", pgtype.Format(order[0].oid))
		if rangeOffset(order[0].oid, pgtype.Unknown) != 0 {
			err = sqlstate.New(sqlstate.FeatureNotSupported, "%s and offset type %s", err.Msg, pgtype.Format(x.oid)).
				Hinted("Cast the offset value to an appropriate type.")
		}
		return nil, err.At(end.at)
	}
	return b.coerce(x, to)
}

// rangeOffset is the type that an offset of RANGE is taken for, where the order is by a column of type col and the
// offset is of type offset; 0: there is none.
func rangeOffset(col, offset pgtype.OID) pgtype.OID {
	var want pgtype.OID
	switch {
	case col == pgtype.Int2 || col == pgtype.Int4 || col == pgtype.Int8:
		want = col
		if offset == pgtype.Int2 || offset == pgtype.Int4 || offset == pgtype.Int8 {
			want = offset
		}
	case col == pgtype.Numeric, col == pgtype.Float8:
		want = col
	case col == pgtype.Float4:
		want = pgtype.Float8
	case isTime(col), col == pgtype.Time, col == pgtype.Interval:
		want = pgtype.Interval
	}
	switch {
	case want == 0, offset == want, offset == pgtype.Unknown, rank(offset) > 0 && rank(want) > rank(offset):
		return want
	}
	return 0
}

// offsets are those of a frame in one run: whole numbers for ROWS and GROUPS, values for RANGE.
type offsets struct {
	from, to           int64
	fromRange, toRange value.Value
	style              *pgtype.Style // of the session
}

// offsets computes the offsets. It fails with 22004 where one is NULL and 22013 where one is negative.
func (f *boundFrame) offsets(rt *runtime, outer *scope) (o offsets, err error) {
	at := &scope{rt: rt, outer: outer}
	o.style = rt.env.Style()
	for _, e := range []struct {
		end   boundEnd
		what  string
		n     *int64
		value *value.Value
	}{{f.from, "starting", &o.from, &o.fromRange}, {f.to, "ending", &o.to, &o.toRange}} {
		if e.end.offset == nil {
			continue
		}
		v, err := e.end.offset.eval(at)
		switch {
		case err != nil:
			return o, err
		case v.IsNone():
			return o, sqlstate.New(sqlstate.NullNotAllowed, "frame %s offset must not be null", e.what)
		}
		*e.value = v
		if f.mode == "range" {
			continue
		}
		if *e.n = asInt(v); *e.n < 0 {
			return o, sqlstate.New(sqlstate.InvalidFrameSize, "frame %s offset must not be negative", e.what)
		}
	}
	return o, nil
}
