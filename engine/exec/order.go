package exec

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/compile"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/operate"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/sift"
	"github.com/nacredb/nacre/engine/value"
)

// sortKey is one key of ORDER BY: a path of names, or any idiom.
type sortKey struct {
	path    []string
	idiom   *ast.Idiom // as it is, or of path once that is needed: see through
	desc    bool
	compare func(a, b value.Value) int
	key     ast.OrderKey // as written
}

// sortKeys compiles ORDER BY.
func sortKeys(o *ast.Order) []sortKey {
	out := make([]sortKey, len(o.Keys))
	for i, k := range o.Keys {
		out[i] = sortKey{desc: k.Desc, compare: operate.Order(k.Collate, k.Numeric), key: k}
		if path, ok := plan.Names(k.Key); ok {
			out[i].path = path
		} else {
			out[i].idiom = k.Key
		}
	}
	return out
}

// sorted is a row with its keys.
type sorted struct {
	doc  value.Value
	keys []value.Value
	id   value.Value // of the record, where ties are told by it
	seq  int         // place in the input: the sort is stable
}

// sortRows orders its input; with keep ≥ 0 it holds only the first keep rows.
type sortRows struct {
	r      *Run
	env    *Env
	in     rows
	keys   []sortKey
	keep   int64 // -1: all
	wanted int64 // how many START and LIMIT ask for; -1: all
	rand   bool
	sorted bool               // the input comes in the order, no more than is kept of it
	ties   func() value.Value // the id of the current row, by which equal rows are sorted; nil: they stay as they come

	top  sift.Top[sorted]
	out  []sorted
	sum  held // of what is kept
	seq  int  // rows taken
	at   int
	done bool
	n    int64
}

func (s *sortRows) next(ctx context.Context) (value.Value, bool, error) {
	if s.sorted {
		doc, ok, err := s.in.next(ctx)
		if ok && err == nil {
			s.n++
		}
		return doc, ok, err
	}
	if !s.done {
		s.done = true
		if err := s.fill(ctx); err != nil {
			return value.None, false, err
		}
	}
	if s.at == len(s.out) {
		return value.None, false, nil
	}
	doc := s.out[s.at].doc
	s.out[s.at] = sorted{}
	s.at++
	s.n++
	return doc, true, nil
}

func (s *sortRows) close() { s.in.close() }

func (s *sortRows) fill(ctx context.Context) error {
	s.top = sift.Top[sorted]{Most: s.keep, Less: s.less}
	if err := s.takeAll(ctx); err != nil {
		return err
	}
	if !s.rand {
		s.out = s.top.Sorted()
		return nil
	}
	s.out = s.top.Unsorted()
	rand.Shuffle(len(s.out), func(i, j int) { s.out[i], s.out[j] = s.out[j], s.out[i] })
	return nil
}

// takeAll reads the whole input.
func (s *sortRows) takeAll(ctx context.Context) error {
	var xs []ast.Expr
	for i := 0; s.r.far() && i < len(s.keys); i++ {
		xs = append(xs, s.keys[i].through())
	}
	if s.keep >= 0 && s.ties == nil && !s.rand {
		if walk, err := s.r.sift(ctx, s.in, s.env, s.columns, xs...); walk != nil || err != nil {
			return s.takeSifted(ctx, walk, err)
		}
	}
	if s.ties == nil { // else they tell of the row that was read last
		s.in = s.r.lookingAhead(s.in, xs...)
	}
	for ; ; s.seq++ {
		doc, ok, err := s.in.next(ctx)
		if !ok || err != nil {
			return err
		}
		if err := s.takeDoc(ctx, doc); err != nil {
			return err
		}
	}
}

// columns compiles the keys. A path that leads to NONE may go through a link, which only the evaluator follows.
func (s *sortRows) columns(p *sift.Program) bool {
	p.Columns = make([]compile.Column, len(s.keys))
	for i := range s.keys {
		path := s.keys[i].path
		if path == nil {
			return false
		}
		at := p.Set.Path(path)
		if p.Columns[i] = compile.Field(at); len(path) == 1 {
			continue
		}
		p.Columns[i] = compile.Computed(func(row *value.Fields) (value.Value, error) {
			v, ok := row.At(at)
			if !ok || v.IsNone() {
				return value.None, compile.ErrOpen
			}
			return v, nil
		})
	}
	p.Keep = sift.First(s.keep, func(a, b []value.Value) bool { return s.compare(a, b) < 0 })
	return true
}

// takeSifted is takeAll for rows as they are stored: only of those that are kept a record is made.
func (s *sortRows) takeSifted(ctx context.Context, walk *sifted, err error) error {
	defer walk.count()
	var row sorted // one for all: most rows are only compared
	for ; err == nil; s.seq++ {
		open, ok, failed := walk.next(ctx)
		if !ok || failed != nil {
			return failed
		}
		if walk.now.Open {
			err = s.takeDoc(ctx, open)
			continue
		}
		row.keys, row.seq = walk.now.Columns, s.seq
		if !s.top.Among(&row) {
			continue
		}
		row.keys = slices.Clone(row.keys)
		if row.doc, err = walk.now.Stored.Record(); err == nil {
			err = s.take(row)
		}
	}
	return err
}

// takeDoc takes the next row of the input.
func (s *sortRows) takeDoc(ctx context.Context, doc value.Value) error {
	row := sorted{doc: doc, seq: s.seq}
	if s.ties != nil {
		row.id = s.ties()
	}
	var err error
	if row.keys, err = s.keysOf(ctx, doc); err != nil {
		return err
	}
	return s.take(row)
}

// take keeps a row if it is among the first.
func (s *sortRows) take(row sorted) error {
	if !s.top.Take(row) {
		return nil
	}
	if s.top.Len() > s.r.Ex.Limits.Rows {
		return errs.Internal("The statement would sort more than %d rows", s.r.Ex.Limits.Rows)
	}
	return s.sum.keep(s.r, row.doc) // what takes the place of another row is taken to weigh as much
}

func (s *sortRows) keysOf(ctx context.Context, doc value.Value) ([]value.Value, error) {
	if s.rand {
		return nil, nil
	}
	out := make([]value.Value, len(s.keys))
	for i := range s.keys {
		k := &s.keys[i]
		if k.path != nil {
			out[i] = inside.At(doc, k.path)
			if len(k.path) == 1 || !out[i].IsNone() {
				continue
			}
		}
		var err error
		s.env.SetDoc(doc)
		if out[i], err = s.r.idiom(ctx, s.env, k.through()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// through is the key as an idiom, for paths that go through links and arrays.
func (k *sortKey) through() *ast.Idiom {
	if k.idiom == nil {
		k.idiom = &ast.Idiom{Parts: make([]ast.Part, len(k.path))}
		for i, name := range k.path {
			k.idiom.Parts[i] = &ast.PartField{Name: name}
		}
	}
	return k.idiom
}

// compare is how keys are ordered.
func (s *sortRows) compare(a, b []value.Value) int {
	for i := range s.keys {
		if c := s.keys[i].compare(a[i], b[i]); c != 0 && s.keys[i].desc {
			return -c
		} else if c != 0 {
			return c
		}
	}
	return 0
}

func (s *sortRows) less(a, b *sorted) bool {
	if c := s.compare(a.keys, b.keys); c != 0 {
		return c < 0
	}
	if s.ties != nil {
		if c := value.Compare(a.id, b.id); c != 0 {
			return c < 0
		}
	}
	return a.seq < b.seq
}
