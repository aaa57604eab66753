package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// textRows gives the records that match a query: those of a walk over its index that the caller may see.
type textRows struct {
	fulltext.Walk
	r      *Run
	env    *Env
	tb     *catalog.Table
	ix     *catalog.Index
	m      *matcher
	also   []plan.Match // what the walk asks beside m
	filter *predicate   // the rest of the WHERE
	bare   bool         // the rows are counted: count says how many there are
	ids    bool         // of the records only their ids are asked

	seen int64 // records before the filter
	n    int64
}

func (s *textRows) next(ctx context.Context) (value.Value, bool, error) {
	if s.X == nil {
		s.open()
	}
	if s.Best > 0 && s.n >= s.Best {
		return value.None, false, nil
	}
	for {
		if err := s.r.Tick(ctx); err != nil {
			return value.None, false, err
		}
		key, ok, err := s.Next(ctx)
		if !ok || err != nil {
			return value.None, false, err
		}
		row, err := s.r.row(ctx, s.tb, key, s.ids)
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

// open begins the walk.
func (s *textRows) open() {
	s.X, s.Query, s.Sifted, s.Bare = s.r.fullText(s.tb, s.ix), s.m.q, s.filter != nil, s.ids
	s.r.Ex.Texts.Seen(s.X)
	for _, a := range s.also {
		q := s.r.matcher(s.env, a.X).q
		if a.Index == s.ix {
			s.Also = append(s.Also, q)
			continue
		}
		s.Beside = append(s.Beside, fulltext.Beside{X: s.r.fullText(s.tb, a.Index), Query: q})
	}
}

// count is how many records match, without reading them. It is for callers who see all of them as they are stored.
func (s *textRows) count(ctx context.Context) (n int64, err error) {
	s.open()
	s.n, err = s.Count(ctx)
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

func (s *textRows) close() { s.Close() }

func (s *textRows) explain(ctx context.Context) *plan.Node {
	n := node("FullTextScan").With("index", s.ix.Name).With("query", s.m.text)
	for _, a := range s.also {
		n.With("and", s.r.shown(s.env, a.X))
	}
	n.Rows = s.seen
	return s.filter.filtered(ctx, n, s.n)
}

// maxBest is how many rows may be wanted by score: more are sorted.
const maxBest = 10_000

// fewBest is how many of the best rows are not worth to compile their columns.
const fewBest = 3 * compileAfter

// comesByScore reports whether the rows of in, once they are projected, come in the order for which textRows.Best was
// asked: then every row has the score that the search has found it by, and no other column takes the place of it.
func (r *Run) comesByScore(in rows, proj *projector) bool {
	scan, ok := in.(*textRows)
	return ok && scan.Best > 0 && proj.flat && !r.hidesFields(scan.tb)
}

// bestWanted is how many rows a statement wants by descending score of a matcher, one of all of its WHERE, 0 where it
// does not: then all are read.
func bestWanted(s *ast.Select, lim window, all *searches, m *matcher) int64 {
	wanted := lim.start + lim.limit
	if lim.limit <= 0 || wanted > maxBest || s.Order == nil || len(s.Order.Keys) != 1 || s.Group != nil ||
		len(s.Split) > 0 {
		return 0
	}
	k := s.Order.Keys[0]
	if !k.Desc || k.Collate || k.Numeric {
		return 0
	}
	var score *ast.Call
	for i := range s.Projections.Fields {
		switch f := &s.Projections.Fields[i]; {
		case f.All:
		case f.Alias != nil && ast.Text(f.Alias) == ast.Text(k.Key) && score == nil:
			score, _ = f.X.(*ast.Call)
			if score == nil {
				return 0
			}
		case mayName(f, k.Key):
			return 0
		}
	}
	if score == nil || score.Kind != ast.CallBuiltin || score.Path != "search::score" || len(score.Args) != 1 {
		return 0
	}
	ref, ok := score.Args[0].(*ast.Literal)
	if !ok || ref.Value.Kind() != value.KindInt || all == nil || m == nil {
		return 0
	}
	if by := all.referred(ref.Value.Int()); by == nil || by.x != m.x {
		return 0
	}
	return wanted
}

// mayName reports whether a column may go to the name that a key begins with.
func mayName(f *ast.Projection, key *ast.Idiom) bool {
	name := column.Alias(key)
	if len(name) == 0 {
		return true
	}
	if f.Alias != nil {
		path := column.Alias(f.Alias)
		return len(path) == 0 || path[0] == name[0]
	}
	if c, ok := f.X.(*ast.Call); ok && SelfNaming(c) || column.OfRecord(f.X) {
		return true
	}
	path := column.Of(f.X)
	return len(path) == 0 || path[0] == name[0]
}
