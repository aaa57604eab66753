package record

import (
	"context"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/index/fulltext"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/value"
)

// Analyzer finds a defined analyzer.
func (g *Gate) Analyzer(name string) (*fulltext.Analyzer, error) {
	d, err := g.Cat.Def(g.DB.Inner(), ast.DefAnalyzer, name)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, errs.Internal("The analyzer '%s' does not exist", name)
	}
	def, ok := d.Stmt.(*ast.DefineAnalyzer)
	if !ok {
		return nil, fmt.Errorf("definition of analyzer %s is of another kind", name)
	}
	return g.Texts.Analyzer(def)
}

// Prepare runs the function of an analyzer over a text, where it has one.
func (g *Gate) Prepare(ctx context.Context, a *fulltext.Analyzer, text string) (string, error) {
	if a.Function == "" {
		return text, nil
	}
	f, err := g.Cat.Def(g.DB.Inner(), ast.DefFunction, a.Function)
	if err != nil {
		return "", err
	}
	if f == nil {
		return "", errs.Internal("The function 'fn::%s' does not exist", a.Function)
	}
	call := &ast.Call{Kind: ast.CallCustom, Path: a.Function, Args: []ast.Expr{&ast.Literal{Value: value.Str(text)}}}
	v, err := g.Eval.EvalIn(ctx, call, value.None, nil, AsEngineReader)
	if err != nil {
		return "", err
	}
	if v.Kind() != value.KindString {
		return "", errs.Internal("There was a problem running the %s() function. The function should return a string.", a.Function)
	}
	return v.Str(), nil
}

// document analyzes what a full-text index keeps of the record image.
func (g *Gate) document(ctx context.Context, ix *catalog.Index, v value.Value) (*fulltext.Document, error) {
	a, err := g.Analyzer(ix.Define.FullText.Analyzer)
	if err != nil {
		return nil, err
	}
	texts, err := g.texts(ctx, a, v)
	if err != nil {
		return nil, err
	}
	if g.scratch == nil {
		g.scratch = new(fulltext.Scratch)
	}
	return fulltext.NewDocument(g.scratch, a, texts), nil
}

// texts are the texts of a value, as an analyzer takes them.
func (g *Gate) texts(ctx context.Context, a *fulltext.Analyzer, v value.Value) ([]string, error) {
	texts := fulltext.Texts(nil, v)
	for i, text := range texts {
		var err error
		if texts[i], err = g.Prepare(ctx, a, text); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// single is the value of an index of one field; NONE for no image.
func (g *Gate) single(ctx context.Context, slot int, ix *catalog.Index, doc value.Value) (value.Value, error) {
	vs, err := g.indexed(ctx, slot, ix, doc)
	if len(vs) == 0 || err != nil {
		return value.None, err
	}
	return vs[0], nil
}

// changeText keeps a full-text index.
func (g *Gate) changeText(ctx context.Context, tb *catalog.Table, ix *catalog.Index, id *value.RecordID,
	before, after value.Value) error {
	x := fulltext.Open(g.Tx, tb, ix)
	defer g.Texts.Changed(x)
	if after.IsNone() {
		return x.Remove(id.Key)
	}
	now, err := g.single(ctx, 1, ix, after)
	if err != nil {
		return err
	}
	if !before.IsNone() {
		old, err := g.single(ctx, 0, ix, before)
		if err != nil || value.Equal(old, now) {
			return err
		}
	}
	d, err := g.document(ctx, ix, now)
	if err != nil {
		return err
	}
	return x.Put(&g.Texts.Numbers, id.Key, d)
}

// textAdder adds records to a full-text index.
type textAdder struct {
	g  *Gate
	ix *catalog.Index
	b  *fulltext.Builder
	a  *fulltext.Analyzer // nil until the first record
}

// add adds a stored record, unless it is there.
func (t *textAdder) add(ctx context.Context, p kv.Pair) error {
	id, err := key.RecordPart(p.Key)
	if err != nil {
		return fmt.Errorf("read a record key: %w", err)
	}
	if has, err := t.b.Has(id); has || err != nil {
		return err
	}
	if t.a == nil {
		if t.a, err = t.g.Analyzer(t.ix.Define.FullText.Analyzer); err != nil {
			return err
		}
	}
	v, err := t.g.kept(ctx, t.ix, p)
	if err != nil {
		return err
	}
	texts, err := t.g.texts(ctx, t.a, v[0])
	if err != nil {
		return err
	}
	return t.b.Add(t.a, id, texts)
}

// buildText fills a full-text index, which has no entries, with all records of its table.
func (g *Gate) buildText(ctx context.Context, tb *catalog.Table, ix *catalog.Index) error {
	t := textAdder{g: g, ix: ix, b: fulltext.Open(g.Tx, tb, ix).Build(g.Texts)}
	start, end := key.RecordRange(tb.Scope.NS, tb.Scope.DB, tb.ID, nil)
	err := g.eachPair(ctx, kv.Range{Start: start, End: end}, 0, func(p kv.Pair) error { return t.add(ctx, p) })
	if err != nil {
		return err
	}
	return t.b.Finish()
}
