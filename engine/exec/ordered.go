package exec

import (
	"bytes"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/value"
)

// inOrder gives the rows of a source in the order that ORDER BY asks for without sorting, where the
// keys of the table or an index have that order; nil where they do not. Rows with equal keys come in
// the order of their record keys, as a sort of a table scan leaves them.
func (r *Run) inOrder(in rows, s *ast.Select, lim window) rows {
	scan, ok := in.(*tableRows)
	if !ok || scan.tb == nil || s.Order == nil || s.Order.Random || s.Group != nil || len(s.Split) > 0 {
		return nil
	}
	keys := sortKeys(s.Order)
	for _, k := range s.Order.Keys {
		if k.Collate || k.Numeric || k.Desc != s.Order.Keys[0].Desc {
			return nil
		}
	}
	if len(keys) == 1 && len(keys[0].path) == 1 && keys[0].path[0] == "id" {
		scan.reverse = keys[0].desc
		return scan
	}
	// Looking up every record by an index costs more than a sort unless few are wanted.
	if scan.version != 0 || lim.limit < 0 || lim.start+lim.limit > maxOrdered || scan.rng != nil || s.With != nil {
		return nil
	}
	for _, ix := range scan.tb.Indexes {
		if r.mayUse(scan.tb, ix) && leads(ix, keys) {
			access := index.Access{Reverse: keys[0].desc}
			return &orderedRows{r: r, tb: scan.tb, ix: ix, access: access, fields: len(keys), filter: scan.filter}
		}
	}
	return nil
}

// maxOrdered is how many rows may be wanted of an ordered index scan.
const maxOrdered = 1000

// leads reports whether the fields of an index are the sort keys: with more fields, records of equal
// keys would not come in the order of their record keys.
func leads(ix *catalog.Index, keys []sortKey) bool {
	if len(ix.Define.Fields) != len(keys) {
		return false
	}
	for i := range keys {
		id, ok := ix.Define.Fields[i].(*ast.Idiom)
		if !ok || keys[i].idiom != nil {
			return false
		}
		path, ok := namesOnly(id)
		if !ok || len(path) != len(keys[i].path) {
			return false
		}
		for j := range path {
			if path[j] != keys[i].path[j] {
				return false
			}
		}
	}
	return true
}

// orderedRows reads a whole index in one direction. Backwards, the records of equal keys are turned
// round, so that they come in the order of their record keys both ways.
type orderedRows struct {
	r      *Run
	tb     *catalog.Table
	ix     *catalog.Index
	access index.Access
	fields int // of the index that make the order
	filter *predicate

	cur   *index.Cursor
	entry []byte        // the key that group belongs to
	group []value.Value // record keys with equal index keys, last one first out
	ahead value.Value   // the first key of the next group
	more  bool          // ahead is one
	done  bool
	n     counter
}

func (s *orderedRows) next() (value.Value, bool, error) {
	if s.cur == nil {
		s.cur = index.Scan(s.r.Tx, s.tb, s.ix, s.access)
	}
	for {
		if err := s.r.Tick(); err != nil {
			return value.None, false, err
		}
		k, ok, err := s.key()
		if !ok || err != nil {
			return value.None, false, err
		}
		doc, err := s.r.Fetch(&value.RecordID{Table: s.tb.Name, Key: k})
		if err != nil {
			return value.None, false, err
		}
		if doc.IsNone() {
			continue
		}
		if ok, err = s.filter.holds(doc); err != nil {
			return value.None, false, err
		}
		if ok {
			s.n++
			return doc, true, nil
		}
	}
}

// key is the next record key.
func (s *orderedRows) key() (value.Value, bool, error) {
	if !s.access.Reverse {
		if !s.cur.Next() {
			return value.None, false, s.cur.Err()
		}
		return s.cur.Key(), true, nil
	}
	if len(s.group) == 0 {
		if err := s.fill(); err != nil || len(s.group) == 0 {
			return value.None, false, err
		}
	}
	k := s.group[len(s.group)-1]
	s.group = s.group[:len(s.group)-1]
	return k, true, nil
}

// fill reads the next group of equal keys.
func (s *orderedRows) fill() error {
	if s.more {
		s.group = append(s.group, s.ahead)
		s.more = false
	}
	for !s.done {
		if !s.cur.Next() {
			s.done = true
			return s.cur.Err()
		}
		entry, err := s.cur.Entry(s.fields)
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

func (s *orderedRows) close() {
	if s.cur != nil {
		s.cur.Close()
	}
}

func (s *orderedRows) explain() *planNode {
	dir := "Forward"
	if s.access.Reverse {
		dir = "Backward"
	}
	n := s.filter.attr(node("IndexScan").with("index", s.ix.Name).with("access", "full").with("direction", dir))
	n.rows = s.n
	return n
}
