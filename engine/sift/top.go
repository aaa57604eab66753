package sift

import (
	"slices"
	"sort"

	"github.com/nacredb/nacre/engine/value"
)

// Top keeps the first of the rows that it is given, in an order.
type Top[T any] struct {
	Most int64 // that are kept; negative: all
	Less func(a, b *T) bool
	rows []T // a heap with the last row at its top, once there are Most of them
}

// firstKept is room for so many rows at most from the first one on.
const firstKept = 16

// Among reports whether Take would keep a row.
func (t *Top[T]) Among(row *T) bool {
	return t.Most < 0 || int64(len(t.rows)) < t.Most || t.Most > 0 && t.Less(row, &t.rows[0])
}

// Take keeps a row if it is among the first. grown says that no other row has made room for it.
func (t *Top[T]) Take(row T) (grown bool) {
	switch {
	case !t.Among(&row):
		return false
	case t.Most < 0 || int64(len(t.rows)) < t.Most:
		if t.rows == nil && t.Most > 0 {
			t.rows = make([]T, 0, min(t.Most, firstKept))
		}
		if t.rows = append(t.rows, row); int64(len(t.rows)) == t.Most {
			for i := len(t.rows)/2 - 1; i >= 0; i-- {
				t.down(i)
			}
		}
		return true
	}
	t.rows[0] = row
	t.down(0)
	return false
}

// mostFirst is how many rows each worker remembers for First.
const mostFirst = 1024

// First is a Program.Keep for statements that want the first rows in an order, so many of them, and of equal ones those
// that were read first: a worker drops a row when it has read enough that come before it. nil where they are many.
func First(most int64, less func(a, b []value.Value) bool) func() func(columns []value.Value) bool {
	if most < 0 || most > mostFirst {
		return nil
	}
	return func() func([]value.Value) bool {
		top := Top[[]value.Value]{Most: most, Less: func(a, b *[]value.Value) bool { return less(*a, *b) }}
		var row []value.Value // one for all: most rows are only compared
		return func(columns []value.Value) bool {
			if row = columns; !top.Among(&row) {
				return false
			}
			top.Take(slices.Clone(columns))
			return true
		}
	}
}

// down puts row i in its place among those below it.
func (t *Top[T]) down(i int) {
	for {
		last := 2*i + 1
		if last >= len(t.rows) {
			return
		}
		if last+1 < len(t.rows) && t.Less(&t.rows[last], &t.rows[last+1]) {
			last++
		}
		if !t.Less(&t.rows[i], &t.rows[last]) {
			return
		}
		t.rows[i], t.rows[last] = t.rows[last], t.rows[i]
		i = last
	}
}

// Len is how many rows are kept.
func (t *Top[T]) Len() int { return len(t.rows) }

// Sorted gives up the rows in their order. Less must tell any two rows apart.
func (t *Top[T]) Sorted() []T {
	rows := t.Unsorted()
	sort.Slice(rows, func(i, j int) bool { return t.Less(&rows[i], &rows[j]) })
	return rows
}

// Unsorted gives up the rows as they came, if all are kept.
func (t *Top[T]) Unsorted() []T {
	rows := t.rows
	t.rows = nil
	return rows
}
