package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/column"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/index"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// The parts of fn's host that searches answer.
var (
	_ fn.SearchHost   = (*host)(nil)
	_ fn.AnalyzerHost = (*host)(nil)
)

// searches holds the searches of a WHERE. It belongs to the frame of the rows; functions such as search::score find it
// there.
type searches struct {
	matches []*matcher // in the order of the text
	knns    int        // KNN operators
	nearest *nearest   // the one that is answered, once it is
}

// searchesOf finds the searches of a WHERE; nil for none.
func searchesOf(where ast.Expr) *searches {
	var out *searches
	ast.Inspect(where, func(n any) bool {
		switch n := n.(type) {
		case *ast.Subquery, *ast.Block, *ast.Closure:
			return false
		case *ast.Binary:
			if n.Op != ast.OpMatches && n.Op != ast.OpKNN {
				break
			}
			if out == nil {
				out = &searches{}
			}
			if n.Op == ast.OpKNN {
				out.knns++
				break
			}
			out.matches = append(out.matches, newMatcher(n))
		}
		return true
	})
	return out
}

// inSearch is the innermost search around env that has what is asked for; nil for none.
func inSearch(env *Env, has func(*searches) bool) *searches {
	for e := env; e != nil; e = e.up {
		if e.search != nil && has(e.search) {
			return e.search
		}
	}
	return nil
}

// matcher is one MATCHES operator: field @ref@ query.
type matcher struct {
	x     *ast.Binary
	field *ast.Idiom // nil: the left side is no field
	ref   int64
	fixed bool // the query is the same for all rows

	tb     *catalog.Table // what the rest is for
	ix     *catalog.Index // nil: the field has none
	plain  bool           // the query is a text
	ready  bool           // text is analyzed
	text   string         // the query as it was given
	a      *fulltext.Analyzer
	q      *fulltext.Query
	scorer *fulltext.Scorer
	scan   *textRows // that answers the operator, or nil
	behind *matcher  // for the records that the field leads to
}

func newMatcher(x *ast.Binary) *matcher {
	m := &matcher{x: x, fixed: plan.Rowless(x.R)}
	if id, ok := x.L.(*ast.Idiom); ok && !plan.Literal(id) {
		m.field = id
	}
	if x.Match != nil && x.Match.HasRef {
		m.ref = x.Match.Ref
	}
	return m
}

// bind makes the matcher ready for rows of a table. env is where the query is evaluated.
func (m *matcher) bind(ctx context.Context, r *Run, env *Env, tb *catalog.Table, ix *catalog.Index) error {
	if tb != m.tb || ix != m.ix {
		m.tb, m.ix, m.ready, m.scorer = tb, ix, false, nil
	}
	if m.ready && m.fixed {
		return nil
	}
	v, err := r.Value(ctx, env, m.x.R)
	if err != nil {
		return err
	}
	if m.plain = v.Kind() == value.KindString; !m.plain || ix == nil {
		m.ready = true
		return nil
	}
	if m.ready && v.Str() == m.text && m.q != nil {
		return nil
	}
	m.text, m.scorer = v.Str(), nil
	known := r.queries[m.x]
	if known.q == nil || known.ix != ix || known.text != m.text {
		if known, err = r.analyze(ctx, m, ix); err != nil {
			return err
		}
	}
	m.a, m.q, m.ready = known.a, known.q, true
	return nil
}

// analyzed is the query of a MATCHES operator as an index sees it. A sub-select may ask it for every row around it.
type analyzed struct {
	ix   *catalog.Index
	text string
	a    *fulltext.Analyzer
	q    *fulltext.Query
}

func (r *Run) analyze(ctx context.Context, m *matcher, ix *catalog.Index) (analyzed, error) {
	out := analyzed{ix: ix, text: m.text}
	g, err := r.Gate()
	if err != nil {
		return out, err
	}
	if out.a, err = g.Analyzer(ix.Define.FullText.Analyzer); err != nil {
		return out, err
	}
	text, err := g.Prepare(ctx, out.a, m.text)
	if err != nil {
		return out, err
	}
	out.q = fulltext.NewQuery(out.a, text, m.x.Match != nil && m.x.Match.Op == "OR")
	if r.queries == nil {
		r.queries = map[*ast.Binary]analyzed{}
	}
	r.queries[m.x] = out
	return out, nil
}

// matcher finds the matcher of an operator, or makes one outside of any WHERE.
func (r *Run) matcher(env *Env, x *ast.Binary) *matcher {
	for e := env; e != nil; e = e.up {
		if e.search == nil {
			continue
		}
		for _, m := range e.search.matches {
			if m.x == x {
				return m
			}
		}
	}
	m := r.loose[x]
	if m == nil {
		if r.loose == nil {
			r.loose = map[*ast.Binary]*matcher{}
		}
		m = newMatcher(x)
		r.loose[x] = m
	}
	return m
}

// matches tests the current document against a MATCHES operator by analyzing it: for rows that no scan of the index has
// found. For what is neither field nor text it holds, as in the reference; outside of rows a field meets nothing.
func (r *Run) matches(ctx context.Context, env *Env, x *ast.Binary) (bool, error) {
	m := r.matcher(env, x)
	if m.field == nil || !env.HasDoc() {
		return m.field == nil, nil
	}
	id := RecordOf(env.This())
	if id.Kind() != value.KindRecord {
		return false, nil
	}
	tb, err := r.Table(id.Record().Table)
	if tb == nil || err != nil {
		return false, err
	}
	ix := m.ix
	if tb != m.tb || ix == nil {
		ix = plan.FieldIndex(tb, plan.IsText, m.field, nil)
	}
	if ix == nil && len(m.field.Parts) > 1 {
		if m, ix, _, err = r.matcherBehind(ctx, env, m, tb); m == nil || err != nil {
			return false, err
		}
		tb = m.tb
	}
	if err := m.bind(ctx, r, env, tb, ix); err != nil {
		return false, err
	}
	if !m.plain || ix == nil {
		return ix != nil, nil
	}
	texts, err := r.texts(ctx, env, m)
	if err != nil {
		return false, err
	}
	g, err := r.Gate()
	if err != nil {
		return false, err
	}
	for i, t := range texts {
		if texts[i], err = g.Prepare(ctx, m.a, t); err != nil {
			return false, err
		}
	}
	return m.q.Matches(m.a, texts), nil
}

// matcherBehind is m for the table of the record that its field leads through, with the index of that table and the
// record; nil where the field leads through no record.
func (r *Run) matcherBehind(ctx context.Context, env *Env, m *matcher,
	tb *catalog.Table) (*matcher, *catalog.Index, *value.RecordID, error) {
	last := len(m.field.Parts) - 1
	link, err := r.idiom(ctx, env, &ast.Idiom{Parts: m.field.Parts[:last]})
	if err != nil || link.Kind() != value.KindRecord {
		return nil, nil, nil, err
	}
	other, err := r.Table(link.Record().Table)
	if err != nil {
		return nil, nil, nil, err
	}
	ix := plan.FieldIndex(other, plan.IsText, &ast.Idiom{Parts: m.field.Parts[last:]}, nil)
	if ix == nil || plan.FieldIndex(tb, index.Kept, &ast.Idiom{Parts: m.field.Parts[:last]}, nil) == nil {
		return nil, nil, nil, errs.Internal("There was no suitable index supporting the expression: %s", ast.Text(m.x))
	}
	if m.behind == nil {
		m.behind = newMatcher(m.x)
	}
	m.behind.tb = other
	return m.behind, ix, link.Record(), nil
}

// texts are those of the matcher's field in the current document.
func (r *Run) texts(ctx context.Context, env *Env, m *matcher) ([]string, error) {
	v, err := r.idiom(ctx, env, m.field)
	if err != nil {
		return nil, err
	}
	return fulltext.Texts(nil, v), nil
}

// referred is the matcher that a search function means, bound to the table of the current record.
func (h *host) referred(name string, ref value.Value) (*matcher, *value.RecordID, error) {
	s := inSearch(h.env, func(s *searches) bool { return len(s.matches) > 0 })
	if s == nil {
		return nil, nil, errs.Internal("Invalid query: Index function '%s': no MATCHES clause found in WHERE condition", name)
	}
	if ref.Kind() != value.KindInt || ref.Int() < 0 || ref.Int() > 255 {
		return nil, nil, errs.Internal("Invalid query: Index function '%s': index_ref argument must be a literal integer in range 0..255", name)
	}
	m := s.referred(ref.Int())
	if m == nil {
		return nil, nil, errs.Internal("Invalid query: Index function '%s': no MATCHES clause found for match_ref %d (available: %s)", name, ref.Int(), s.refs())
	}
	id := RecordOf(h.env.This())
	if id.Kind() != value.KindRecord {
		return nil, nil, errs.Internal("Current document 'id' field is not a RecordId")
	}
	tb, err := h.r.Table(id.Record().Table)
	if err != nil {
		return nil, nil, err
	}
	ix := m.ix
	if ix == nil || tb != m.tb {
		ix = plan.FieldIndex(tb, plan.IsText, m.field, nil)
	}
	at := id.Record()
	if ix == nil && m.field != nil && len(m.field.Parts) > 1 {
		behind, other, link, err := h.r.matcherBehind(h.ctx, h.env, m, tb)
		if behind == nil || err != nil {
			return nil, nil, err
		}
		m, ix, at, tb = behind, other, link, behind.tb
	}
	if ix == nil {
		return nil, nil, errs.Internal("No full-text index found for field %s on table %s", column.Debug(m.x.L), id.Record().Table)
	}
	return m, at, m.bind(h.ctx, h.r, h.env, tb, ix)
}

// referred finds the last matcher with a reference. Where all have the same one, any reference means it.
func (s *searches) referred(ref int64) *matcher {
	only := true
	for i := len(s.matches) - 1; i >= 0; i-- {
		if s.matches[i].ref == ref {
			return s.matches[i]
		}
		only = only && s.matches[i].ref == s.matches[0].ref
	}
	if only {
		return s.matches[len(s.matches)-1]
	}
	return nil
}

// refs lists the references that there are.
func (s *searches) refs() string {
	var seen []value.Value
	for _, m := range s.matches {
		seen = append(seen, value.Int(m.ref))
	}
	return value.ArrayOf(value.SetOf(seen).Elems()).Text()
}

// SearchScore is search::score(ref).
func (h *host) SearchScore(args []value.Value) (value.Value, error) {
	m, id, err := h.referred("search::score", args[0])
	if err != nil {
		return value.None, err
	}
	if !m.plain {
		return value.Float(0), nil
	}
	if h.r.hidesFields(m.tb) { // SECURITY: the index knows fields that are hidden
		if texts, err := h.r.texts(h.ctx, h.env, m); len(texts) == 0 || err != nil {
			return value.Float(0), err
		}
	}
	if m.scan != nil && id.Table == m.scan.tb.Name && m.scan.At(id.Key) {
		return value.Float(m.scan.Score()), nil
	}
	if m.scorer == nil {
		if m.scorer, err = h.r.fullText(m.tb, m.ix).Scorer(m.q); err != nil {
			return value.None, err
		}
	}
	score, err := m.scorer.Score(id.Key)
	return value.Float(score), err
}

// SearchHighlight is search::highlight(prefix, suffix, ref, part).
func (h *host) SearchHighlight(args []value.Value) (value.Value, error) {
	m, _, err := h.referred("search::highlight", args[2])
	if err != nil {
		return value.None, err
	}
	texts, spans, err := h.spans(m, len(args) > 3 && value.Truthy(args[3]))
	if len(texts) == 0 || err != nil {
		return value.None, err
	}
	v, err := h.r.idiom(h.ctx, h.env, m.field)
	if err != nil {
		return value.None, err
	}
	prefix, suffix := value.ToString(args[0]), value.ToString(args[1])
	out := make([]value.Value, len(texts))
	for i, t := range fulltext.Shown(nil, v) {
		if spans != nil {
			t = fulltext.Highlight(t, spans[i], prefix, suffix)
		}
		out[i] = value.Str(t)
	}
	if len(out) == 1 {
		return out[0], nil
	}
	return value.ArrayOf(out), nil
}

// SearchOffsets is search::offsets(ref, part): the places of the matches in each text, by the number of the text.
func (h *host) SearchOffsets(args []value.Value) (value.Value, error) {
	m, _, err := h.referred("search::offsets", args[0])
	if err != nil {
		return value.None, err
	}
	_, spans, err := h.spans(m, len(args) > 1 && value.Truthy(args[1]))
	if err != nil {
		return value.None, err
	}
	var fields []value.Field
	for i, of := range spans {
		if len(of) == 0 {
			continue
		}
		places := make([]value.Value, len(of))
		for j, s := range of {
			places[j] = object(value.Field{Name: "e", Value: value.Int(int64(s.End))},
				value.Field{Name: "s", Value: value.Int(int64(s.Start))})
		}
		fields = append(fields, value.Field{Name: value.Int(int64(i)).Text(), Value: value.ArrayOf(places)})
	}
	if fields == nil {
		return value.None, nil
	}
	return object(fields...), nil
}

// spans finds the matches in the texts of the current document; nil where the index is defined without HIGHLIGHTS.
func (h *host) spans(m *matcher, part bool) ([]string, [][]fulltext.Span, error) {
	texts, err := h.r.texts(h.ctx, h.env, m)
	if err != nil || !m.plain || !m.ix.Define.FullText.Highlights {
		return texts, nil, err
	}
	g, err := h.r.Gate()
	if err != nil {
		return nil, nil, err
	}
	spans := make([][]fulltext.Span, len(texts))
	for i, t := range texts {
		if t, err = g.Prepare(h.ctx, m.a, t); err != nil {
			return nil, nil, err
		}
		spans[i] = m.q.Spans(m.a, t, part)
	}
	return texts, spans, nil
}

// Analyze is the terms that an analyzer makes of a text.
func (h *host) Analyze(name, text string) ([]string, error) {
	g, err := h.r.Gate()
	if err != nil {
		return nil, err
	}
	a, err := g.Analyzer(name)
	if err != nil {
		return nil, analyzerError(name, err)
	}
	if text, err = g.Prepare(h.ctx, a, text); err != nil {
		return nil, err
	}
	tokens := a.Analyze(&fulltext.Scratch{}, text)
	out := make([]string, len(tokens))
	for i, t := range tokens {
		out[i] = t.Term
	}
	return out, nil
}

// analyzerError says that an analyzer cannot be used, and why.
func analyzerError(name string, cause error) error {
	e := errs.As(cause)
	if e.Msg == "" || e.Err != nil {
		return cause
	}
	return errs.Internal("Analyzer '%s' not found: %s", name, e.Msg)
}
