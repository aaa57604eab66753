package record

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/inside"
	"github.com/nacredb/nacre/engine/value"
)

// runFields takes the new image of a record through its table's fields, each after those that it reads: READONLY,
// DEFAULT, TYPE, VALUE, TYPE again, PERMISSIONS. Then it runs their ASSERTs on what came of that, and a SCHEMAFULL
// table refuses what it does not know.
func (g *Gate) runFields(ctx context.Context, w *Write) error {
	tb := w.Table
	if !tb.HasRules || g.Import || tb.Define.View != nil { // what stands in a view is what its SELECT gives
		return nil
	}
	w.asserts = w.asserts[:0]
	for _, f := range tb.Order {
		switch {
		case f == tb.IDField:
			if err := g.checkID(ctx, w, f); err != nil {
				return err
			}
			continue
		case f.Define.Computed != nil:
			w.After = setField(w.After, f.Path[0].Name, value.None)
			continue
		case f.Skip != nil && pick(w.After, f.Skip).IsNone():
			continue
		}
		if len(f.Path) == 1 && !f.Path[0].All {
			if err := g.runTopField(ctx, w, f); err != nil {
				return err
			}
			continue
		}
		doc, err := mapPath(w.After, f.Path, func(at []catalog.Step, v value.Value) (value.Value, error) {
			return g.runField(ctx, w, f, at, v)
		})
		if err != nil {
			return err
		}
		if w.After, err = g.permittedInLists(ctx, w, f, doc); err != nil {
			return err
		}
	}
	if err := g.runAsserts(ctx, w); err != nil {
		return err
	}
	if tb.Open != nil {
		return checkShape(w, tb.Open, w.After, nil, true)
	}
	return nil
}

// pendingAssert is an ASSERT of one place in a record. All of them run when the record is what it is to be.
type pendingAssert struct {
	field      *catalog.Field
	at         []catalog.Step
	old, input value.Value
}

func (g *Gate) runAsserts(ctx context.Context, w *Write) error {
	for i := range w.asserts {
		p := &w.asserts[i]
		v := pick(w.After, p.at)
		if v.IsNone() && p.field.Optional {
			continue
		}
		scope := fieldScope{field: p.field, w: w, old: p.old, input: p.input}
		ok, err := g.evalField(ctx, &scope, p.field.Define.Assert, v)
		if err != nil {
			return g.fieldError(ctx, w, "ASSERT", p.field, err)
		}
		if !value.Truthy(ok) {
			return g.assertFailed(ctx, w, p.field, v, p.input)
		}
	}
	return nil
}

// runTopField is runField for a field of the record itself, as most are.
func (g *Gate) runTopField(ctx context.Context, w *Write, f *catalog.Field) error {
	old := inside.Field(w.After, f.Path[0].Name)
	now, err := g.runField(ctx, w, f, f.Path, old)
	if err == nil && !same(old, now) {
		w.After = setField(w.After, f.Path[0].Name, now)
	}
	return err
}

// runField takes one value of a field through its clauses.
func (g *Gate) runField(ctx context.Context, w *Write, f *catalog.Field, at []catalog.Step,
	v value.Value) (value.Value, error) {
	d := f.Define
	old := value.None
	if !w.Before.IsNone() {
		old = pick(w.Before, at)
	}
	if d.Readonly && !w.creates() { // the stored value stays, also under other clauses
		if !value.Equal(old, v) && (!v.IsNone() || !w.KeepReadonly) {
			return v, errs.Internal("Found changed value for field `%s`, with record `%s`, but field is readonly",
				f.Name, value.RecordOf(w.ID).Text())
		}
		return old, nil
	}
	if d.Default == nil && d.Value == nil && d.Assert == nil && !d.Permissions.Given {
		return g.coerce(ctx, w, f, v, pick(w.Input, at))
	}
	scope := fieldScope{field: f, w: w, old: old, input: pick(w.Input, at)}
	now, kept, err := g.clauses(ctx, &scope, v)
	if err == nil && kept && d.Assert != nil {
		w.asserts = append(w.asserts, pendingAssert{f, slices.Clone(at), old, scope.input})
	}
	if err == nil || Spoken(err) || !w.Table.HidesPath(f.Path) {
		return now, err
	}
	// SECURITY: what a caller wrote over a hidden value and may not write is not refused for what came of it: it is
	// left out, whether it would fit or not.
	if may, no := g.mayWriteField(ctx, &scope, v); may || no != nil {
		return v, err
	}
	return old, nil
}

// clauses takes one value of a field through the clauses of its definition but ASSERT. It is false where the caller
// may not write the field, and the old value stays.
func (g *Gate) clauses(ctx context.Context, scope *fieldScope, v value.Value) (now value.Value, kept bool, err error) {
	w, f, d := scope.w, scope.field, scope.field.Define
	if d.Default != nil && v.IsNone() && (w.creates() || d.DefaultAlways) {
		if v, err = g.evalField(ctx, scope, d.Default, v); err != nil {
			return v, false, g.fieldError(ctx, w, "DEFAULT", f, err)
		}
	}
	if !v.IsNone() || d.Value == nil {
		if v, err = g.coerce(ctx, w, f, v, scope.input); err != nil {
			return v, false, err
		}
	}
	if d.Value != nil {
		if v, err = g.evalField(ctx, scope, d.Value, v); err != nil {
			return v, false, g.fieldError(ctx, w, "VALUE", f, err)
		}
		if v, err = g.coerce(ctx, w, f, v, scope.input); err != nil {
			return v, false, err
		}
	}
	kept, err = g.mayWriteField(ctx, scope, v)
	if !kept {
		v = scope.old
	}
	return v, kept, err
}

// fieldScope is the scope of the clauses of one field.
type fieldScope struct {
	field      *catalog.Field
	w          *Write
	old, input value.Value
}

// evalField evaluates a clause of a field.
func (g *Gate) evalField(ctx context.Context, s *fieldScope, x ast.Expr, v value.Value) (value.Value, error) {
	if lit, ok := x.(*ast.Literal); ok {
		return lit.Value, nil
	}
	if g.vars == nil {
		g.vars = new([4]Param) // used again: the evaluator copies them at once
	}
	*g.vars = [4]Param{{"value", v}, {"input", s.input}, {"before", s.old}, {"after", v}}
	out, err := g.Eval.EvalIn(ctx, x, s.w.After, g.vars[:], AsCaller(s.field.Def))
	s.w.HasNone = s.w.HasNone || HasNone(out)
	return out, err
}

// permittedField gives back the old value where the caller may not write the field.
func (g *Gate) permittedField(ctx context.Context, s *fieldScope, v value.Value) (value.Value, error) {
	may, err := g.mayWriteField(ctx, s, v)
	if may || err != nil {
		return v, err
	}
	return s.old, nil
}

// mayWriteField reports whether the caller may write v into the field.
func (g *Gate) mayWriteField(ctx context.Context, s *fieldScope, v value.Value) (bool, error) {
	p := &s.field.Define.Permissions
	if !p.Given || g.Env.CanWrite() {
		return true, nil
	}
	perm := &p.Update
	if s.w.creates() {
		perm = &p.Create
	}
	if perm.Kind == ast.PermissionFull {
		return true, nil
	}
	vars := []Param{{"value", v}, {"input", s.input}, {"before", s.old}, {"after", v}}
	return g.permitsWrite(ctx, perm, s.w.After, vars)
}

// permittedInLists is permittedField for the places of a field in lists that its name leads into, whose other clauses
// do not hold there.
func (g *Gate) permittedInLists(ctx context.Context, w *Write, f *catalog.Field, doc value.Value) (value.Value, error) {
	if !f.Define.Permissions.Given || g.Env.CanWrite() {
		return doc, nil
	}
	return mapLists(doc, f.Path, func(at []catalog.Step, v value.Value) (value.Value, error) {
		scope := fieldScope{field: f, w: w, old: pick(w.Before, at), input: pick(w.Input, at)}
		return g.permittedField(ctx, &scope, v)
	})
}

// coerceField makes v of the field's type.
func coerceField(f *catalog.Field, id *value.RecordID, v value.Value) (value.Value, error) {
	t := f.Define.Type
	if t == nil || t.Kind == value.TypeAny {
		return v, nil
	}
	out, err := value.Coerce(v, t)
	if err != nil {
		e := *errs.As(err)
		e.Kind = errs.KindInternal
		e.Detail = nil
		e.Msg = "Couldn't coerce value for field `" + f.Name + "` of `" + value.RecordOf(id).Text() + "`: " + e.Msg
		return v, &e
	}
	return out, nil
}

// DefaultKey is the key that DEFINE FIELD id … DEFAULT gives a record that names none; NONE where the table has none.
func (g *Gate) DefaultKey(ctx context.Context, tb *catalog.Table, doc value.Value) (value.Value, error) {
	f := tb.IDField
	if f == nil || f.Define.Default == nil || g.Import {
		return value.None, nil
	}
	vars := []Param{{"value", value.None}, {"input", inside.Field(doc, "id")}, {"before", value.None},
		{"after", value.None}}
	v, err := g.Eval.EvalIn(ctx, f.Define.Default, doc, vars, AsCaller(f.Def))
	if err != nil {
		return value.None, g.veiled(err, "The DEFAULT of field `id` of table `%s` failed", tb.Name)
	}
	return v, nil
}

// checkID holds the record key to DEFINE FIELD id. Its ASSERT sees the whole record id.
func (g *Gate) checkID(ctx context.Context, w *Write, f *catalog.Field) error {
	if !w.creates() {
		return nil
	}
	k, err := coerceField(f, w.ID, w.ID.Key)
	if err != nil {
		return err
	}
	if k != w.ID.Key {
		w.ID = &value.RecordID{Table: w.ID.Table, Key: k}
		w.After = setField(w.After, "id", value.RecordOf(w.ID))
	}
	if f.Define.Assert == nil {
		return nil
	}
	id := value.RecordOf(w.ID)
	vars := []Param{{"value", id}, {"input", inside.Field(w.Input, "id")}}
	ok, err := g.Eval.EvalIn(ctx, f.Define.Assert, w.After, vars, AsCaller(f.Def))
	if err == nil && !value.Truthy(ok) {
		return g.assertFailed(ctx, w, f, id, id)
	}
	return g.fieldError(ctx, w, "ASSERT", f, err)
}

// checkShape refuses names that a SCHEMAFULL table does not know. Below what is itself no field, and only on the way to
// fields, names that lead to none are left alone (strict is false there), as the reference does.
func checkShape(w *Write, s *catalog.Shape, v value.Value, at []byte, strict bool) error {
	if s.Any {
		return nil
	}
	switch v.Kind() {
	case value.KindObject:
		for _, f := range v.Object().Fields() {
			if len(at) == 0 && (f.Name == "id" || w.isEdge() && (f.Name == "in" || f.Name == "out")) {
				continue
			}
			sub := s.Fields[f.Name]
			if sub == nil {
				sub = s.Elem
			}
			if sub == nil && !strict {
				continue
			}
			if sub == nil || strict && !holds(sub, f.Value) {
				return errs.Internal("Found field '%s', but no such field exists for table '%s'", appendName(at, f.Name),
					w.Table.Name)
			}
			if k := f.Value.Kind(); k != value.KindObject && k != value.KindArray {
				continue
			}
			if err := checkShape(w, sub, f.Value, appendName(at, f.Name), sub.Named); err != nil {
				return err
			}
		}
	case value.KindArray:
		return checkElements(w, s, v.Elems(), at, strict)
	}
	return nil
}

// checkElements is checkShape of an array. Where it stands in the place of an object that has fields, its elements may
// have none.
func checkElements(w *Write, s *catalog.Shape, elems []value.Value, at []byte, strict bool) error {
	for i, e := range elems {
		if k := e.Kind(); k != value.KindObject && k != value.KindArray {
			continue
		}
		sub := s.Element(i, len(elems))
		if sub == nil && (!strict || len(s.Fields) > 0) && !hasNamed(s) {
			continue
		}
		if sub == nil {
			sub = &catalog.Shape{}
		}
		if err := checkShape(w, sub, e, appendIndex(at, i), len(sub.Fields) == 0); err != nil {
			return err
		}
	}
	return nil
}

// hasNamed reports whether a field stands right below s.
func hasNamed(s *catalog.Shape) bool {
	for _, f := range s.Fields {
		if f.Named {
			return true
		}
	}
	return false
}

// holds reports whether v can have the fields that s is on the way to.
func holds(s *catalog.Shape, v value.Value) bool {
	switch {
	case s.Named:
		return true
	case v.Kind() == value.KindObject:
		if hasNamed(s) {
			return true
		}
		for _, f := range v.Object().Fields() {
			sub := s.Fields[f.Name]
			if sub == nil {
				sub = s.Elem
			}
			if sub != nil && holds(sub, f.Value) {
				return true
			}
		}
	case v.Kind() == value.KindArray:
		elems := v.Elems()
		for i, e := range elems {
			sub := s.Element(i, len(elems))
			if hasNamed(s) || len(s.Fields) > 0 && e.Kind() == value.KindObject || sub != nil && holds(sub, e) {
				return true
			}
		}
	}
	return false
}

func appendName(at []byte, name string) []byte {
	out := append(make([]byte, 0, len(at)+len(name)+1), at...)
	if len(at) > 0 {
		out = append(out, '.')
	}
	return value.AppendIdent(out, name)
}

func appendIndex(at []byte, i int) []byte {
	out := append(make([]byte, 0, len(at)+8), at...)
	out = append(out, '[')
	out = value.Int(int64(i)).AppendText(out)
	return append(out, ']')
}
