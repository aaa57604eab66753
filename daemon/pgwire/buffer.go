package pgwire

import (
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// buffer keeps an answer.
type buffer struct {
	c     *conn
	cols  []column
	began bool
	rows  [][]value.Value
	tag   string
	held  int
}

func (b *buffer) begin(cols []column) error {
	b.cols, b.began = cols, true
	return nil
}

// rowCost is about what a row takes besides its values.
const rowCost = 48

func (b *buffer) row(values []value.Value) error {
	n := rowCost
	values = slices.Clone(values)
	for i := range values {
		values[i] = value.Detach(values[i])
		n += value.Weight(values[i])
	}
	if err := b.c.mem.Take(n); err != nil {
		return err
	}
	b.held += n
	b.rows = append(b.rows, values)
	return nil
}

// replay hands the answer on.
func (b *buffer) replay(to sink) error {
	if !b.began {
		return nil
	}
	if err := to.begin(b.cols); err != nil {
		return err
	}
	for _, row := range b.rows {
		if err := to.row(row); err != nil {
			return err
		}
	}
	return nil
}

// drop gives back the memory of the answer.
func (b *buffer) drop() {
	b.c.mem.Release(b.held)
	b.c.mem.Shrink()
	b.rows, b.held = nil, 0
}

// recount is a tag that counts the rows of a query, with another count.
func recount(tag string, n int) string {
	word, _, ok := strings.Cut(tag, " ")
	if ok && (word == "SELECT" || word == "FETCH") {
		return word + " " + itoa(n)
	}
	return tag
}
