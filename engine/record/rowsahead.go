package record

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/value"
)

// RowsAhead holds the rows of a stream that come next, and reads ahead what paths from all of them meet, where the
// store is elsewhere. Else each row would wait for requests of its own.
type RowsAhead struct {
	Pull  func(context.Context) (value.Value, bool, error) // gives the rows in turn, false at their end
	Gate  func(context.Context) (*Gate, error)             // that the paths are read by; nil: by none
	Paths [][]ast.Part

	ahead Ahead
	rows  []value.Value
	held  int   // how many rows it has held the last time
	off   bool  // the first rows have no links: the others go through
	end   bool  // of the stream
	err   error // at its end
}

// How many rows RowsAhead holds: at first, and at most; and how much they may weigh, about.
const (
	firstHeld    = 32
	mostHeld     = 256
	heaviestHeld = 1 << 20
)

// Next gives the next row; false at the end. Errors: those of Pull, after the rows before it, of Gate, and of reads.
func (a *RowsAhead) Next(ctx context.Context) (value.Value, bool, error) {
	if a.Passes() {
		return a.Pull(ctx)
	}
	if len(a.rows) == 0 {
		if a.fill(ctx); len(a.rows) == 0 {
			return value.None, false, a.err
		}
	}
	g, err := a.Gate(ctx)
	if g != nil && !a.off {
		err = a.ahead.Follow(g, a.rows, a.Paths...)
	}
	if err != nil {
		return value.None, false, err
	}
	doc := a.rows[0]
	a.rows = a.rows[1:]
	return doc, true, nil
}

// Passes reports whether it holds nothing, and will not: Next is Pull from now on.
func (a *RowsAhead) Passes() bool { return a.off && len(a.rows) == 0 }

func (a *RowsAhead) fill(ctx context.Context) {
	most := firstHeld
	if a.held > 0 {
		most = min(4*a.held, mostHeld)
	}
	for weight := 0; !a.end && len(a.rows) < most && weight < heaviestHeld; {
		doc, ok, err := a.Pull(ctx)
		if a.end, a.err = !ok || err != nil, err; a.end {
			break
		}
		a.rows = append(a.rows, doc)
		weight += value.Weight(doc)
	}
	a.off = a.held == 0 && !LeadAway(a.rows, a.Paths)
	a.held = len(a.rows)
}

// LeadAway reports whether one of the paths leads over an edge, or through a link, from one of some rows.
func LeadAway(rows []value.Value, paths [][]ast.Part) bool {
	for _, path := range paths {
		for _, doc := range rows {
			if meetsRecord(doc, path) {
				return true
			}
		}
	}
	return false
}

func meetsRecord(v value.Value, path []ast.Part) bool {
	for _, p := range path {
		if v.Kind() == value.KindArray && v.Len() > 0 {
			v = v.Elems()[0]
		}
		if v.Kind() == value.KindRecord {
			return true
		}
		switch p := p.(type) {
		case *ast.PartField:
			v = inside.Field(v, p.Name)
		case *ast.PartGraph, *ast.PartRecurse:
			return true
		case *ast.PartOptional, *ast.PartFlatten, *ast.PartAll:
		default:
			return false
		}
	}
	return false
}
