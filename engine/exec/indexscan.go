package exec

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// indexRows reads the records that an index finds, and keeps those that hold: what of the WHERE its keys do not say is
// tried on each. Backwards, the records of equal keys are turned round where ties says so, so that they come in the
// order of their record keys both ways.
type indexRows struct {
	r      *Run
	tb     *catalog.Table
	ix     *catalog.Index
	access index.Access
	ties   int        // fields whose values make the order; 0: records come as they do
	filter *predicate // nil: the keys say it all
	bare   bool       // what the index finds is counted: rows are NONE
	ids    bool       // of the records only their ids are asked
	wanted int64      // how many rows are read at most; 0: that is not known
	rest   []string   // what the WHERE asks beyond the scan, for EXPLAIN
	inside []plan.Sub // the operators inside of that

	cur   *index.Cursor
	seen  map[string]bool // of element scans, which may find a record twice
	entry []byte          // the key that group belongs to
	group []value.Value   // record keys with equal index keys, last one first out
	ahead value.Value     // the first key of the next group
	more  bool            // ahead is one
	done  bool
	doc   value.Value // the current row
	read  int64       // records that the caller may see
	n     int64
}

func (s *indexRows) open() {
	if s.cur == nil {
		s.cur = index.Scan(s.r.Tx, s.tb, s.ix, s.access).ReadAhead(s.r.Tx, s.tb, !s.bare && !s.ids, s.wanted)
	}
}

func (s *indexRows) next(ctx context.Context) (value.Value, bool, error) {
	s.open()
	for {
		if err := s.r.Tick(ctx); err != nil {
			return value.None, false, err
		}
		k, ok, err := s.key(ctx)
		if !ok || err != nil {
			return value.None, false, err
		}
		if s.bare {
			s.read++
			s.n++
			return value.None, true, nil
		}
		if ok, err = s.take(ctx, k); err != nil {
			return value.None, false, err
		}
		if ok {
			s.n++
			return s.doc, true, nil
		}
	}
}

// stored is next for plainScan. A record that the caller sees as it is stored comes so, as raw, and without a doc.
func (s *indexRows) stored(ctx context.Context) (raw record.Stored, doc value.Value, ok bool, err error) {
	s.open()
	g, err := s.r.Gate()
	for err == nil && !ok {
		k, more, failed := s.key(ctx)
		if !more || failed != nil {
			return nil, value.None, false, failed
		}
		var plain bool
		if raw, plain, err = g.PeekKey(s.tb, k); plain {
			ok = raw != nil
		} else if err == nil {
			doc, ok, err = g.GetFrom(ctx, s.tb, &value.RecordID{Table: s.tb.Name, Key: k})
		}
		if err == nil {
			err = s.r.Tick(ctx)
		}
	}
	return raw, doc, ok && err == nil, err
}

// take makes the record with a key the current row; false where it does not hold.
func (s *indexRows) take(ctx context.Context, k value.Value) (bool, error) {
	var err error
	s.doc, err = s.r.row(ctx, s.tb, k, s.ids)
	if err != nil || s.doc.IsNone() {
		return false, err
	}
	s.read++ // SECURITY: only now, for EXPLAIN ANALYZE must not count what the caller may not see
	return s.filter.holds(ctx, s.doc)
}

// key is the next record key.
func (s *indexRows) key(ctx context.Context) (value.Value, bool, error) {
	switch {
	case s.access.Elements:
		return s.element(ctx)
	case s.access.Reverse && s.ties > 0:
		return s.turned(ctx)
	case !s.cur.Next():
		return value.None, false, s.cur.Err()
	}
	return s.cur.Key(), true, nil
}

// element is the next key of a record that was not found before.
func (s *indexRows) element(ctx context.Context) (value.Value, bool, error) {
	for s.cur.Next() {
		if err := s.r.Tick(ctx); err != nil {
			return value.None, false, err
		}
		k := s.cur.Key()
		text := k.Text()
		if s.seen[text] {
			continue
		}
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[text] = true
		return k, true, nil
	}
	return value.None, false, s.cur.Err()
}

// turned is the next key of the current group, or of the one before it.
func (s *indexRows) turned(ctx context.Context) (value.Value, bool, error) {
	if len(s.group) == 0 {
		if err := s.fill(ctx); err != nil || len(s.group) == 0 {
			return value.None, false, err
		}
	}
	k := s.group[len(s.group)-1]
	s.group = s.group[:len(s.group)-1]
	return k, true, nil
}

// fill reads the next group of equal keys.
func (s *indexRows) fill(ctx context.Context) error {
	if s.more {
		s.group = append(s.group, s.ahead)
		s.more = false
	}
	for !s.done {
		if err := s.r.Tick(ctx); err != nil {
			return err
		}
		if !s.cur.Next() {
			s.done = true
			return s.cur.Err()
		}
		entry, err := s.cur.Entry(s.ties)
		if err != nil {
			return err
		}
		same := len(s.group) == 0 || bytes.Equal(entry, s.entry)
		s.entry = append(s.entry[:0], entry...)
		if !same {
			s.ahead, s.more = s.cur.Key(), true
			return nil
		}
		s.group = append(s.group, s.cur.Key())
	}
	return nil
}

func (s *indexRows) close() {
	if s.cur != nil {
		s.cur.Close()
	}
}

func (s *indexRows) explain(ctx context.Context) *plan.Node {
	dir := "Forward"
	if s.access.Reverse {
		dir = "Backward"
	}
	n := node("IndexScan").With("index", s.ix.Name).With("access", plan.AccessText(s.ix, s.access)).With("direction",
		dir)
	n.Rows = s.read
	if len(s.rest) == 0 {
		return n
	}
	return plan.Filtered(n, strings.Join(s.rest, " AND "), s.n, s.inside)
}

// unionIndexRows is one index scan after the other.
type unionIndexRows struct {
	unionRows
	tb       *catalog.Table
	where    *predicate
	distinct bool
	seen     map[string]bool
	doc      value.Value // the current row
}

func (s *unionIndexRows) next(ctx context.Context) (value.Value, bool, error) {
	for {
		doc, ok, err := s.unionRows.next(ctx)
		s.doc = doc
		if !ok || err != nil || !s.distinct {
			return doc, ok, err
		}
		id := RecordOf(doc).Text()
		if s.seen[id] {
			s.n--
			continue
		}
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[id] = true
		return doc, true, nil
	}
}

func (s *unionIndexRows) explain(ctx context.Context) *plan.Node {
	u := above(ctx, "UnionIndexScan", s.parts...).With("table", s.tb.Name).With("branches", fmt.Sprint(len(s.parts)))
	for _, c := range u.Children {
		u.Rows += c.Rows
	}
	if len(u.Children) == 1 {
		u = u.Children[0]
	}
	return s.where.filtered(ctx, u, s.n)
}
