package exec

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/compile"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/flat"
	"github.com/nacredb/nacre/engine/index/vector"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/sift"
	"github.com/nacredb/nacre/engine/value"
)

// nearest is the KNN operator that a WHERE is answered by.
type nearest struct {
	x         *ast.Binary
	field     ast.Expr
	query     value.Value
	distances map[string]value.Value // of the rows that were found, by the text of their ids
	tried     value.Value            // the id of the row that the rest of the WHERE is asked for
	far       value.Value            // its distance
}

func (k *nearest) note(id value.Value, d value.Value) {
	if id.Kind() == value.KindRecord {
		k.distances[id.Text()] = d
	}
}

// knnMisused is the refusal of KNN operators that no plan can answer.
func knnMisused() error {
	return errs.Internal("Invalid query: KNN operators nested in OR/NOT expressions or mixed with unsupported KNN variants are not supported")
}

// sourceFor builds what a statement reads from, KNN operators included.
func (r *Run) sourceFor(ctx context.Context, env *Env, s *ast.Select, where *predicate, w *properties) (rows, error) {
	if where == nil || where.env.search == nil || where.env.search.knns == 0 {
		return r.source(ctx, env, s, where, w)
	}
	if err := r.namesTable(s); err != nil {
		return nil, err
	}
	knns, rest := plan.KNNs(where.x)
	if len(knns) != where.env.search.knns {
		return nil, knnMisused()
	}
	var others *predicate
	if rest != nil {
		others = where.of(rest)
	}
	if len(s.From) == 1 && plan.IsNamed(s.From[0]) {
		in, err := r.source(ctx, env, s, where, nil)
		if err != nil || where.env.search.nearest != nil {
			return in, err
		}
	}
	for _, b := range knns {
		if b.KNN.Distance == "" {
			continue
		}
		k, err := r.nearest(ctx, env, b)
		if err != nil {
			return nil, err
		}
		where.env.search.nearest = k
		in, err := r.source(ctx, env, s, others, nil)
		if err != nil {
			return nil, err
		}
		return r.knnTop(where.env, in, k)
	}
	// Without an index for it the operator holds for every row, as in the reference.
	return r.source(ctx, env, s, others, w)
}

// namesTable refuses a SELECT from one table that does not exist.
func (r *Run) namesTable(s *ast.Select) error {
	t, ok := s.From[0].(*ast.Table)
	if !ok || len(s.From) > 1 {
		return nil
	}
	g, err := r.Gate()
	if err != nil {
		return err
	}
	_, err = g.Table(t.Name)
	return err
}

// nearest takes a KNN operator apart. The side that is not a field of the rows is what is looked for: it is evaluated
// once, before there is a row, where $parent is what it is for the rows.
func (r *Run) nearest(ctx context.Context, env *Env, b *ast.Binary) (*nearest, error) {
	k := &nearest{x: b, field: b.L, distances: map[string]value.Value{}}
	query := b.R
	if plan.IsRowField(query) && !plan.IsRowField(b.L) {
		k.field, query = b.R, b.L
	}
	var err error
	if k.query, err = r.Value(ctx, inFrom(env), query); err != nil {
		return nil, err
	}
	return k, vector.Numbers(k.query)
}

// knnTop keeps the rows of a source that are nearest by a brute-force operator.
func (r *Run) knnTop(env *Env, in rows, k *nearest) (rows, error) {
	t := &knnRows{r: r, env: env, in: in, k: k}
	var ok bool
	if t.metric, ok = vector.NewMetric(k.x.KNN.Distance, k.x.KNN.Order); !ok {
		return nil, knnMisused()
	}
	if id, plain := k.field.(*ast.Idiom); plain {
		t.path, _ = plan.Names(id)
	}
	t.distance = t.metric.Floats()
	t.query, t.exact = value.Floats(nil, k.query)
	switch k.x.KNN.Distance {
	case "MANHATTAN", "HAMMING", "JACCARD": // their results are of the kind of the numbers, or ask for equal values
		t.exact = false
	}
	return t, nil
}

// knnRows gives the k rows of a source whose vectors are nearest, the nearest first. Rows without a vector of the same
// dimension are left out.
type knnRows struct {
	r        *Run
	env      *Env
	in       rows
	k        *nearest
	path     []string // of the field, where it is names only
	metric   vector.Metric
	distance func(a, b []float64) float64
	query    []float64
	exact    bool // query says it all, and distances are floats
	room     []float64

	top    sift.Top[nearRow]
	best   []nearRow
	filled bool
	n      int64
}

// nearRow is a row and how far it is; at is its place in the source.
type nearRow struct {
	doc value.Value
	far float64
	d   value.Value
	at  int
}

// nearer orders rows by distance; NaN comes first, as in the order of values.
func nearer(a, b *nearRow) int {
	if c := cmp.Compare(a.far, b.far); c != 0 {
		return c
	}
	return a.at - b.at
}

func (s *knnRows) next(ctx context.Context) (value.Value, bool, error) {
	if !s.filled {
		s.filled = true
		if err := s.fill(ctx); err != nil {
			return value.None, false, err
		}
	}
	if len(s.best) == 0 {
		return value.None, false, nil
	}
	doc := s.best[0].doc
	s.best = s.best[1:]
	s.n++
	return doc, true, nil
}

// fill reads the source to its end.
func (s *knnRows) fill(ctx context.Context) error {
	s.top = sift.Top[nearRow]{Most: s.k.x.KNN.K, Less: func(a, b *nearRow) bool { return nearer(a, b) < 0 }}
	if s.top.Most > 0 {
		if err := s.takeAll(ctx); err != nil {
			return err
		}
	}
	s.best = s.top.Sorted()
	for i := range s.best {
		b := &s.best[i]
		if s.exact {
			b.d = value.Float(b.far)
		}
		s.k.note(RecordOf(b.doc), b.d)
	}
	return nil
}

// takeFlat measures those rows of a table that a copy of its vectors says may be among the nearest; false where no copy
// tells. Where it has used up the cursor of the scan, there is none any more.
func (s *knnRows) takeFlat(ctx context.Context, scan *tableRows) (ok bool, err error) {
	if scan.filter != nil || scan.rng != nil || scan.reverse || len(s.path) > 1 || s.r.Tx.Shared() {
		return false, nil // each snapshot of a store that others share has a version of its own
	}
	of := flat.Place{NS: scan.tb.Scope.NS, DB: scan.tb.Scope.DB, Table: scan.tb.ID, Field: s.path[0],
		Metric: s.metric, Dimension: len(s.query)}
	found, walked, err := s.r.Ex.flat.Near(ctx, of, s.r.Tx.Version(), scan.cur, s.query, s.top.Most)
	if walked {
		scan.close()
		scan.cur, scan.shared = nil, nil
	}
	if found == nil || err != nil {
		return false, err
	}
	scan.n = found.Rows
	for at, key := range found.Keys {
		row := nearRow{at: at}
		if err = s.r.Tick(ctx); err == nil {
			row.doc, err = s.r.row(ctx, scan.tb, key, false)
		}
		if err == nil {
			ok, err = s.measure(ctx, &row)
		}
		if err != nil {
			return false, err
		}
		if ok {
			s.top.Take(row)
		}
	}
	return true, nil
}

// takeAll measures all rows of the source.
func (s *knnRows) takeAll(ctx context.Context) error {
	walk, err := s.r.sift(ctx, s.in, s.env, s.columns)
	if err != nil {
		return err
	}
	if walk != nil {
		if done, err := s.takeFlat(ctx, walk.scan); done || err != nil {
			return err
		}
		if walk.scan.cur == nil {
			if walk, err = s.r.sift(ctx, s.in, s.env, s.columns); err != nil {
				return err
			}
		}
	}
	defer walk.count()
	var row nearRow // one for all: most rows are only compared
	for at := 0; ; at++ {
		row = nearRow{at: at}
		ok, known := false, false
		if walk == nil {
			row.doc, ok, err = s.in.next(ctx)
		} else {
			row.doc, ok, err = walk.next(ctx)
			known = !walk.now.Open
		}
		if !ok || err != nil {
			return err
		}
		if known {
			d := walk.now.Columns[0]
			if row.far = d.Float(); d.IsNone() || !s.top.Among(&row) {
				continue
			}
			row.doc, err = walk.now.Stored.Record()
		} else {
			ok, err = s.measure(ctx, &row)
		}
		if err != nil {
			return err
		}
		if ok {
			s.top.Take(row)
		}
	}
}

// columns is the distance of a row: NONE of one whose vector has another dimension.
func (s *knnRows) columns(p *sift.Program) bool {
	if !s.exact || len(s.path) == 0 {
		return false
	}
	p.Columns = []compile.Column{compile.Computed(p.Set.Distance(s.path, s.metric, s.query))}
	p.Keep = sift.First(s.top.Most, func(a, b []value.Value) bool {
		return !a[0].IsNone() && (b[0].IsNone() || cmp.Less(a[0].Float(), b[0].Float()))
	})
	return true
}

// measure finds how far a row is; false for one that cannot be measured.
func (s *knnRows) measure(ctx context.Context, row *nearRow) (bool, error) {
	if s.exact && len(s.path) > 0 {
		var ok bool
		if s.room, ok = inside.Floats(s.room[:0], row.doc, s.path); ok {
			if len(s.room) != len(s.query) {
				return false, nil
			}
			row.far = s.distance(s.room, s.query)
			return true, nil
		}
	}
	s.env.SetDoc(row.doc)
	v, err := s.r.Value(ctx, s.env, s.k.field)
	if err != nil {
		return false, err
	}
	if vector.Numbers(v) != nil || v.Len() != s.k.query.Len() {
		return false, nil
	}
	if s.exact {
		s.room = s.room[:0]
		for _, e := range v.Elems() {
			s.room = append(s.room, e.AsFloat())
		}
		row.far = s.distance(s.room, s.query)
		return true, nil
	}
	row.d, err = s.r.distanceOf(ctx, s.k.x.KNN, v, s.k.query)
	row.far = row.d.AsFloat()
	return err == nil, err
}

// distanceOf is the distance of two arrays of numbers by the function of the language.
func (r *Run) distanceOf(ctx context.Context, k *ast.KNN, a, b value.Value) (value.Value, error) {
	name, args := "vector::distance::"+strings.ToLower(k.Distance), []value.Value{a, b}
	switch k.Distance {
	case "COSINE", "JACCARD", "PEARSON":
		name = "vector::similarity::" + strings.ToLower(k.Distance)
	case "MINKOWSKI":
		args = append(args, k.Order)
	}
	f, ok := r.Ex.Functions.Function(name)
	if !ok {
		return value.None, fmt.Errorf("distance %s is no function", k.Distance)
	}
	v, err := f.Call(r.enterHost(ctx, r.host.env, r.host.method), args)
	r.leaveHost()
	if err == nil && k.Distance == "COSINE" {
		v = value.Float(1 - v.Float())
	}
	return v, err
}

func (s *knnRows) close() { s.in.close() }

func (s *knnRows) explain(ctx context.Context) *plan.Node {
	n := above(ctx, "KnnTopK", s.in).With("field", ast.Text(s.k.field)).With("k", fmt.Sprint(s.k.x.KNN.K)).
		With("distance", plan.DistanceName(s.k.x.KNN)).With("dimension", fmt.Sprint(s.k.query.Len()))
	n.Rows = s.n
	return n
}

// KNNDistance is vector::distance::knn(): how far the operator found the current record to be; NONE for others.
func (h *host) KNNDistance([]value.Value) (value.Value, error) {
	s := inSearch(h.env, func(s *searches) bool { return s.knns > 0 })
	if s == nil {
		return value.None, errs.Internal("Invalid query: Index function 'vector::distance::knn': no KNN operator found in WHERE condition")
	}
	id := RecordOf(h.env.This())
	if id.Kind() != value.KindRecord {
		return value.None, errs.Internal("Current document 'id' field is not a RecordId")
	}
	if s.nearest == nil {
		return value.None, nil
	}
	if value.Equal(id, s.nearest.tried) {
		return s.nearest.far, nil
	}
	return s.nearest.distances[id.Text()], nil
}
