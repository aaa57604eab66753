package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// textRows gives the records that match a query, in the order in which they were indexed; or, where best says how many
// are wanted, by their scores.
type textRows struct {
	r      *Run
	env    *Env
	tb     *catalog.Table
	ix     *catalog.Index
	m      *matcher
	filter *predicate // the rest of the WHERE
	best   int64
	bare   bool // the rows are counted: count says how many there are
	ids    bool // of the records only their ids are asked

	x     *fulltext.Index
	near  fulltext.Records
	found *fulltext.Search
	hits  []fulltext.Hit // with best: what was asked for
	hit   int            // the next of them
	asked int64
	key   value.Value // of the current record
	seen  int64       // records before the filter
	n     int64
}

func (s *textRows) next(ctx context.Context) (value.Value, bool, error) {
	if s.x == nil {
		s.x = s.r.fullText(s.tb, s.ix)
		s.r.Ex.Texts.Seen(s.x)
	}
	if s.best > 0 && int64(s.n) >= s.best {
		return value.None, false, nil
	}
	for {
		if err := s.r.Tick(ctx); err != nil {
			return value.None, false, err
		}
		doc, ok, err := s.step()
		if !ok || err != nil {
			s.key = value.None // the search stands at no record any more
			return value.None, false, err
		}
		if s.key, err = s.near.Record(s.x, doc); err != nil {
			return value.None, false, err
		}
		row, err := s.r.row(ctx, s.tb, s.key, s.ids)
		if err != nil {
			return value.None, false, err
		}
		if row.IsNone() {
			continue
		}
		if ok, err = s.shows(ctx, row); err != nil {
			return value.None, false, err
		}
		if !ok {
			continue
		}
		s.seen++
		if ok, err = s.filter.holds(ctx, row); err != nil {
			return value.None, false, err
		}
		if ok {
			s.n++
			return row, true, nil
		}
	}
}

// count is how many records match, without reading them. It is for callers who see all of them as they are stored.
func (s *textRows) count(ctx context.Context) (int64, error) {
	x := s.r.fullText(s.tb, s.ix)
	s.r.Ex.Texts.Seen(x)
	found, err := x.Search(s.m.q)
	if err != nil {
		return 0, err
	}
	s.n, err = found.Count(ctx)
	s.seen = s.n
	return s.n, err
}

// shows reports whether the caller sees that the record matches. SECURITY: the index knows fields that are hidden.
func (s *textRows) shows(ctx context.Context, row value.Value) (bool, error) {
	if !s.r.hidesFields(s.tb) {
		return true, nil
	}
	return s.r.matches(ctx, s.env.WithDoc(row), s.m.x)
}

// fullText opens an index. SECURITY: who may not see all that it is over learns nothing of the rest by the scores.
func (r *Run) fullText(tb *catalog.Table, ix *catalog.Index) *fulltext.Index {
	x := fulltext.Open(r.Tx, tb, ix)
	x.Alone = !r.Auth.CanRead() && (tb.Define.Permissions.Select.Kind != ast.PermissionFull || tb.HidesPartOf(ix))
	return x
}

// hidesFields reports whether the caller may not see all fields of a table.
func (r *Run) hidesFields(tb *catalog.Table) bool { return tb.FieldReads && !r.Auth.CanRead() }

// step moves to the next document.
func (s *textRows) step() (uint64, bool, error) {
	var err error
	if s.best == 0 {
		if s.found == nil {
			if s.found, err = s.x.Search(s.m.q); err != nil {
				return 0, false, err
			}
		}
		if !s.found.Next() {
			return 0, false, s.found.Err()
		}
		return s.found.Doc(), true, nil
	}
	if s.hit == len(s.hits) {
		if int64(len(s.hits)) < s.asked {
			return 0, false, nil
		}
		// Some of the hits were hidden or did not hold: ask for more of them. Where some may not hold, as with a phrase
		// behind a search for its words, a few more cost less at once than another search.
		if s.asked *= askMore; s.asked == 0 {
			s.asked = s.best
			if s.filter != nil {
				s.asked *= askMore
			}
		}
		search, err := s.x.Search(s.m.q)
		if err != nil {
			return 0, false, err
		}
		if s.hits, err = search.Top(int(s.asked)); err != nil || s.hit >= len(s.hits) {
			return 0, false, err
		}
		if err = s.near.Ahead(s.x, s.hits[s.hit:]); err != nil {
			return 0, false, err
		}
	}
	s.hit++
	return s.hits[s.hit-1].Doc, true, nil
}

// at reports whether the scan stands at a record.
func (s *textRows) at(id *value.RecordID) bool {
	return (s.found != nil || s.hit > 0) && id.Table == s.tb.Name && value.Equal(id.Key, s.key)
}

// score is that of the current record.
func (s *textRows) score() float64 {
	if s.best > 0 {
		return s.hits[s.hit-1].Score
	}
	return s.found.Score()
}

func (s *textRows) close() { s.near.Close() }

func (s *textRows) explain(ctx context.Context) *plan.Node {
	n := node("FullTextScan").With("index", s.ix.Name).With("query", s.m.text)
	n.Rows = s.seen
	return s.filter.filtered(ctx, n, s.n)
}

// askMore is how many times as many hits are asked for where those before were not enough.
const askMore = 8

// maxBest is how many rows may be wanted by score: more are sorted.
const maxBest = 10_000

// bestWanted is how many rows a statement wants by descending score of a matcher, 0 where it does not: then all are
// read.
func bestWanted(s *ast.Select, lim window, m *matcher) int64 {
	wanted := lim.start + lim.limit
	if lim.limit <= 0 || wanted > maxBest || s.Order == nil || len(s.Order.Keys) != 1 || s.Group != nil ||
		len(s.Split) > 0 {
		return 0
	}
	k := s.Order.Keys[0]
	if !k.Desc || k.Collate || k.Numeric {
		return 0
	}
	text := ast.Text(k.Key)
	for i := range s.Projections.Fields {
		f := &s.Projections.Fields[i]
		c, ok := f.X.(*ast.Call)
		if f.Alias == nil || ast.Text(f.Alias) != text || !ok || c.Kind != ast.CallBuiltin ||
			c.Path != "search::score" || len(c.Args) != 1 {
			continue
		}
		ref, ok := c.Args[0].(*ast.Literal)
		if !ok || ref.Value.Kind() != value.KindInt {
			return 0
		}
		if all := searchesOf(s.Where); all != nil && m != nil {
			if by := all.referred(ref.Value.Int()); by != nil && by.x == m.x {
				return wanted
			}
		}
		return 0
	}
	return 0
}
