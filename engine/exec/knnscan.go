package exec

import (
	"context"
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// nearest starts a walk over a vector index.
func (b *pathBuilder) nearest(ctx context.Context, p *plan.Nearest) (rows, error) {
	r, search := b.r, b.where.env.search
	scan := &knnScanRows{r: r, env: b.where.env, tb: b.tb, ix: p.Index, knn: p.KNN, filter: b.where.of(p.Rest),
		ids: b.ids}
	var err error
	if scan.k, err = r.nearest(ctx, b.env, p.KNN); err != nil {
		return nil, err
	}
	x, err := vector.Open(r.Ex.vectors, r.Tx, b.tb, p.Index)
	if err != nil {
		return nil, err
	}
	x.Bare = b.ids
	if scan.walk, err = x.Search(ctx, scan.k.query, int(max(p.KNN.KNN.EF, p.KNN.KNN.K))); err != nil {
		return nil, err
	}
	search.nearest = scan.k
	return scan, nil
}

// knnScanRows gives the k records that are nearest by a vector index, the nearest first. The rest of the WHERE is asked
// while they are looked for, so it does not take any of the k away.
type knnScanRows struct {
	r      *Run
	env    *Env
	tb     *catalog.Table
	ix     *catalog.Index
	knn    *ast.Binary
	k      *nearest
	walk   *vector.Walk
	filter *predicate
	ids    bool // of the records only their ids are asked

	found []nearRow
	done  bool
	seen  int64 // records before the filter
	n     int64
}

func (s *knnScanRows) next(ctx context.Context) (value.Value, bool, error) {
	if !s.done {
		s.done = true
		if err := s.fill(ctx); err != nil {
			return value.None, false, err
		}
	}
	if len(s.found) == 0 {
		return value.None, false, nil
	}
	doc := s.found[0].doc
	s.found = s.found[1:]
	s.n++
	return doc, true, nil
}

// fill walks until k records have been found.
func (s *knnScanRows) fill(ctx context.Context) error {
	for int64(len(s.found)) < s.knn.KNN.K {
		if err := s.r.Tick(ctx); err != nil {
			return err
		}
		hit, ok, err := s.walk.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := s.take(ctx, hit); err != nil {
			return err
		}
	}
	// A walk that had to look wider may come upon nearer ones late.
	slices.SortStableFunc(s.found, func(a, b nearRow) int { return nearer(&a, &b) })
	return nil
}

// take keeps a hit whose record may be seen and holds.
func (s *knnScanRows) take(ctx context.Context, hit vector.Hit) error {
	doc, err := s.r.row(ctx, s.tb, hit.Record, s.ids)
	if doc.IsNone() || err != nil {
		return err
	}
	if s.r.hidesFields(s.tb) { // SECURITY: the index knows fields that are hidden
		if v, err := s.r.Value(ctx, s.env.WithDoc(doc), s.k.field); v.IsNullish() || err != nil {
			return err
		}
	}
	s.seen++
	id := RecordOf(doc)
	s.k.tried, s.k.far = id, value.Float(hit.Distance)
	ok, err := s.filter.holds(ctx, doc)
	if s.k.tried = value.None; !ok || err != nil {
		return err
	}
	s.k.note(id, s.k.far)
	s.found = append(s.found, nearRow{doc: doc, far: hit.Distance, at: len(s.found)})
	return nil
}

func (s *knnScanRows) close() { s.walk.Close() }

func (s *knnScanRows) explain(ctx context.Context) *plan.Node {
	n := node("KnnScan").With("index", s.ix.Name).With("k", fmt.Sprint(s.knn.KNN.K)).
		With("ef", fmt.Sprint(s.knn.KNN.EF)).With("dimension", fmt.Sprint(s.k.query.Len()))
	if s.filter != nil {
		n.With("predicate", s.filter.text())
	}
	n.Rows = s.seen
	return s.filter.filtered(ctx, n, s.n)
}
