package define

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// tableToDefineOn finds the table that an index or event is defined on, and defines it where it is missing.
func (r *run) tableToDefineOn(ctx context.Context, env *exec.Env,
	n ast.Name) (*catalog.Database, *catalog.Table, error) {
	return r.definedOn(ctx, env, n, (*record.Gate).TableForWrite)
}

func (r *run) definedOn(ctx context.Context, env *exec.Env, n ast.Name,
	find func(*record.Gate, string) (*catalog.Table, error)) (*catalog.Database, *catalog.Table, error) {
	db, err := r.inDatabase(ast.DefField)
	if err != nil {
		return nil, nil, err
	}
	name, err := r.name(ctx, env, n, "table")
	if err != nil {
		return nil, nil, err
	}
	g, err := r.Gate()
	if err != nil {
		return nil, nil, err
	}
	tb, err := find(g, name)
	if err == nil && tb == nil {
		err = errs.TableNotFound(name)
	}
	return db, tb, err
}

// defineField is DEFINE FIELD. It looks at the other fields of the table as far as it must: there may be thousands.
func (r *run) defineField(ctx context.Context, env *exec.Env, s *ast.DefineField) error {
	find := (*record.Gate).OutlineForWrite
	if s.Flexible { // a table that comes into being is not SCHEMAFULL
		find = (*record.Gate).Table
	}
	db, tb, err := r.definedOn(ctx, env, s.Table, find)
	if err != nil {
		return err
	}
	def := *s
	def.Mode, def.Table, def.NameExpr = ast.ModeCreate, ident(tb.Name), nil
	if def.Name, err = r.fieldIdiom(ctx, env, s); err != nil {
		return err
	}
	name := ast.Text(def.Name)
	if err := r.checkField(db, tb, &def, name); err != nil {
		return err
	}
	old, err := r.Cat.Field(tb, name)
	if err != nil {
		return err
	}
	if err := r.mode(s.Mode, old != nil, func() error { return alreadyExists("field", name) }); err != nil {
		return done(err)
	}
	if isEnd(tb, name) && def.Type != nil && def.Type.Kind != value.TypeRecord {
		return errs.Thrown(name + " field on a relation must be a record")
	}
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	if err := checkGraphQL(s.GraphQL); err != nil {
		return err
	}
	if err := r.putField(ctx, tb, old, &def, r.Auth.Definer(), name); err != nil {
		return err
	}
	return r.putEnd(db, tb, &def, name)
}

// putEnd makes the record types of the field in or out those of its relation.
func (r *run) putEnd(db *catalog.Database, tb *catalog.Table, d *ast.DefineField, name string) error {
	if !isEnd(tb, name) || d.Type == nil {
		return nil
	}
	def := *tb.Define
	if name == "in" {
		def.In = d.Type.Tables
	} else {
		def.Out = d.Type.Tables
	}
	_, err := r.Cat.Put(&catalog.Def{Scope: db.Inner(), Kind: ast.DefTable, Name: tb.Name, Stmt: &def, Extra: tb.Extra,
		By: tb.By})
	return err
}

// isEnd reports whether a field is an end of a relation.
func isEnd(tb *catalog.Table, name string) bool {
	return tb.Define.Kind == ast.TableRelation && (name == "in" || name == "out")
}

// fieldIdiom is the name of a field, where an index over everything is written .*.
func (r *run) fieldIdiom(ctx context.Context, env *exec.Env, s *ast.DefineField) (*ast.Idiom, error) {
	if s.NameExpr == nil {
		return s.Name, nil
	}
	text, err := r.name(ctx, env, ast.Name{Expr: s.NameExpr}, "field")
	if err != nil {
		return nil, err
	}
	return r.Ex.ReadPath(text)
}

// putField stores a field in the place of old, and the hidden one for the elements of a typed collection.
func (r *run) putField(ctx context.Context, tb *catalog.Table, old *catalog.Field, def *ast.DefineField,
	by catalog.Definer, name string) error {
	if err := r.dropReferences(ctx, tb, old, def); err != nil {
		return err
	}
	if _, err := r.Cat.Put(&catalog.Def{Scope: tb.Inner(), Kind: ast.DefField, Name: name, Stmt: def,
		By: by}); err != nil {
		return err
	}
	at := def.Name
	for t := elemType(def.Type); t != nil; t = elemType(t) {
		at = &ast.Idiom{Parts: append(at.Parts[:len(at.Parts):len(at.Parts)], &ast.PartAll{})}
		name := ast.Text(at)
		sub := &ast.DefineField{Name: at, Table: def.Table, Type: t}
		was, err := r.Cat.Field(tb, name)
		if err != nil {
			return err
		}
		by := by
		if was != nil { // only its TYPE follows from the list
			clauses := *was.Define
			clauses.Type, sub = t, &clauses
			clauses.Flexible = clauses.Flexible && t.HoldsObject()
			by = r.alters(was.Def)
		}
		if _, err := r.Cat.Put(&catalog.Def{Scope: tb.Inner(), Kind: ast.DefField, Name: name, Stmt: sub,
			By: by}); err != nil {
			return err
		}
	}
	return nil
}

// dropReferences forgets what a REFERENCE field has noted when its new definition (nil: none) is no longer one.
func (r *run) dropReferences(ctx context.Context, tb *catalog.Table, old *catalog.Field, now *ast.DefineField) error {
	if old == nil || old.Define.Reference == nil || now != nil && now.Reference != nil {
		return nil
	}
	g, err := r.Gate()
	if err != nil {
		return err
	}
	return g.DropReferences(ctx, tb, old)
}

// elemType is the type of the elements of a collection type; nil where nothing is said about them.
func elemType(t *value.Type) *value.Type {
	if t == nil {
		return nil
	}
	switch t.Kind {
	case value.TypeArray, value.TypeSet:
		if t.Elem == nil || t.Elem.Kind == value.TypeAny {
			return nil
		}
		return t.Elem
	case value.TypeUnion:
		return unionElem(t)
	}
	return nil
}

func unionElem(t *value.Type) *value.Type {
	var alts []*value.Type
	for _, a := range t.Alts {
		if a.Kind != value.TypeArray && a.Kind != value.TypeSet {
			continue
		}
		switch {
		case a.Elem == nil || a.Elem.Kind == value.TypeAny:
			return value.Any
		case a.Elem.Kind == value.TypeUnion:
			alts = append(alts, a.Elem.Alts...)
		default:
			alts = append(alts, a.Elem)
		}
	}
	switch len(alts) {
	case 0:
		return nil
	case 1:
		return alts[0]
	}
	return &value.Type{Kind: value.TypeUnion, Alts: alts, Max: -1}
}

// checkField refuses a new field whose clauses do not go together or do not fit its table.
func (r *run) checkField(db *catalog.Database, tb *catalog.Table, d *ast.DefineField, name string) error {
	if d.Flexible && !tb.Define.Schemafull {
		return errs.Thrown("FLEXIBLE can only be used in SCHEMAFULL tables")
	}
	if err := checkFieldClauses(d, name); err != nil {
		return err
	}
	if err := checkInline(tb, d, name); err != nil {
		return err
	}
	if name == "id" {
		if err := checkKeyType(d.Type); err != nil {
			return err
		}
	}
	if d.Computed != nil {
		return r.checkComputedIn(db, tb, d, name)
	}
	if err := r.checkOrder(db, tb, d, name); err != nil {
		return err
	}
	return r.checkFieldType(tb, d, name)
}

// checkInline refuses INLINE where no field of an edge is stored.
func checkInline(tb *catalog.Table, d *ast.DefineField, name string) error {
	switch {
	case !d.Inline:
		return nil
	case tb.Define.Kind != ast.TableRelation:
		return badOption("INLINE requires an existing TYPE RELATION table")
	case name == "id" || name == "in" || name == "out":
		return badOption("the 'id', 'in' and 'out' fields already live in the adjacency keys and cannot be INLINE")
	case len(d.Name.Parts) > 1:
		return badOption("only a top-level field can be INLINE")
	}
	return nil
}

// checkFieldClauses refuses clauses that do not go together.
func checkFieldClauses(d *ast.DefineField, name string) error {
	if d.Computed != nil {
		if err := checkComputed(d, name); err != nil {
			return err
		}
	}
	if name == "id" {
		for _, c := range []struct {
			given bool
			word  string
		}{{d.Value != nil, "VALUE"}, {d.Reference != nil, "REFERENCE"}, {d.DefaultAlways, "DEFAULT ALWAYS"},
			{d.Readonly, "READONLY"}} {
			if c.given {
				return badOption("Cannot use the `%s` keyword on the `id` field.", c.word)
			}
		}
	}
	if d.Reference != nil && len(d.Name.Parts) > 1 {
		return badOption("Cannot use the `REFERENCE` keyword on nested field `%s`. Specify a referencing field at the root level instead.", name)
	}
	if d.Reference != nil && !recordsOnly(d.Type) {
		shown := "any"
		if d.Type != nil {
			shown = d.Type.String()
		}
		return badOption("Cannot use the `REFERENCE` keyword with `TYPE %s`. Specify only a `record` type, or a type containing only records, instead.", shown)
	}
	return nil
}

func checkComputed(d *ast.DefineField, name string) error {
	if name == "id" {
		return badOption("Cannot use the `COMPUTED` keyword on the `id` field.")
	}
	if len(d.Name.Parts) > 1 {
		return badOption("Cannot define field `%s` as `COMPUTED` fields must be top-level.", name)
	}
	for _, c := range []struct {
		given bool
		word  string
	}{{d.Value != nil, "VALUE"}, {d.Default != nil, "DEFAULT"}, {d.Readonly, "READONLY"}, {d.Assert != nil, "ASSERT"},
		{d.Reference != nil, "REFERENCE"}, {d.Flexible, "FLEXIBLE"}, {d.Inline, "INLINE"}} {
		if c.given {
			return badOption("Cannot use the `%s` keyword with `COMPUTED`.", c.word)
		}
	}
	return nil
}

// recordsOnly reports whether a type holds record ids and nothing else.
func recordsOnly(t *value.Type) bool {
	if t == nil {
		return false
	}
	switch t.Kind {
	case value.TypeRecord:
		return true
	case value.TypeArray, value.TypeSet:
		return recordsOnly(t.Elem)
	case value.TypeUnion:
		found := false
		for _, a := range t.Alts {
			if a.Kind == value.TypeNone {
				continue
			}
			if !recordsOnly(a) {
				return false
			}
			found = true
		}
		return found
	}
	return false
}
