package exec

import (
	"fmt"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/value"
)

func isVector(ix *catalog.Index) bool { return ix.Define.Vector != nil }

// knnSource answers the first KNN operator of a WHERE that a vector index of the table is for; nil where there is none.
func (r *Run) knnSource(env *Env, s *ast.Select, tb *catalog.Table, where *predicate) (rows, error) {
	search := where.env.search
	if search == nil || search.knns == 0 {
		return nil, nil
	}
	var scan *knnScanRows
	var rest ast.Expr
	for _, c := range conjuncts(nil, where.x) {
		b, ok := c.(*ast.Binary)
		if !ok || b.Op != ast.OpKNN {
			rest = and(rest, c)
			continue
		}
		field, _ := b.L.(*ast.Idiom)
		if scan != nil || b.KNN.EF == 0 || isRowField(b.R) {
			continue
		}
		if ix := fieldIndex(tb, isVector, field, s.With); ix != nil {
			scan = &knnScanRows{r: r, env: where.env, tb: tb, ix: ix, knn: b}
		}
	}
	if scan == nil {
		return nil, nil
	}
	k, err := r.nearest(env, scan.knn)
	if err != nil {
		return nil, err
	}
	x, err := vector.Open(r.Ex.vectors, r.Tx, tb, scan.ix)
	if err != nil {
		return nil, err
	}
	if scan.walk, err = x.Search(r.Ctx, k.query, int(max(scan.knn.KNN.EF, scan.knn.KNN.K))); err != nil {
		return nil, err
	}
	scan.k, search.nearest = k, k
	if rest != nil {
		scan.filter = &predicate{r: r, env: where.env, x: rest}
	}
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

	found []nearRow
	done  bool
	n     counter
}

func (s *knnScanRows) next() (value.Value, bool, error) {
	if !s.done {
		s.done = true
		if err := s.fill(); err != nil {
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
func (s *knnScanRows) fill() error {
	for int64(len(s.found)) < s.knn.KNN.K {
		if err := s.r.Tick(); err != nil {
			return err
		}
		hit, ok, err := s.walk.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := s.take(hit); err != nil {
			return err
		}
	}
	// A walk that had to look wider may come upon nearer ones late.
	slices.SortStableFunc(s.found, func(a, b nearRow) int { return nearer(&a, &b) })
	return nil
}

// take keeps a hit whose record may be seen and holds.
func (s *knnScanRows) take(hit vector.Hit) error {
	id := &value.RecordID{Table: s.tb.Name, Key: hit.Record}
	doc, err := s.r.Fetch(id)
	if doc.IsNone() || err != nil {
		return err
	}
	if s.r.hidesFields(s.tb) { // SECURITY: the index knows fields that are hidden
		if v, err := s.r.Value(s.env.WithDoc(doc), s.k.field); v.IsNullish() || err != nil {
			return err
		}
	}
	name := value.RecordOf(id).Text()
	s.k.distances[name] = value.Float(hit.Distance)
	ok, err := s.filter.holds(doc)
	if !ok {
		delete(s.k.distances, name)
		return err
	}
	s.found = append(s.found, nearRow{doc: doc, far: hit.Distance, at: len(s.found)})
	return nil
}

func (s *knnScanRows) close() {}

func (s *knnScanRows) explain() *planNode {
	n := node("KnnScan").with("index", s.ix.Name).with("k", fmt.Sprint(s.knn.KNN.K)).
		with("ef", fmt.Sprint(s.knn.KNN.EF)).with("dimension", fmt.Sprint(s.k.query.Len()))
	n.rows = s.n
	if s.filter == nil {
		return n
	}
	return &planNode{op: "Filter", rows: s.n, children: []*planNode{n}, attrs: []planAttr{{"predicate", ast.Text(s.filter.x)}}}
}
