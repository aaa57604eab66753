package exec

import (
	"math"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// defineIndex is DEFINE INDEX: it builds the index over the records that are there before it answers.
func (r *Run) defineIndex(env *Env, s *ast.DefineIndex) error {
	db, tb, err := r.tableToDefineOn(env, s.Table)
	if err != nil {
		return err
	}
	name, err := r.name(env, s.Name, "index")
	if err != nil {
		return err
	}
	old := tb.Index(name)
	if err := r.mode(s.Mode, old != nil, func() error { return alreadyExists("index", name) }); err != nil {
		return done(err)
	}
	def := *s
	def.Mode, def.Name, def.Table, def.Concurrently = ast.ModeCreate, ident(name), ident(tb.Name), false
	if def.Comment, err = r.comment(env, s.Comment); err != nil {
		return err
	}
	if err := checkColumns(tb, &def, name); err != nil {
		return err
	}
	if def.Kind == ast.IndexHNSW {
		def.Vector = vectorDefaults(*def.Vector)
	}
	if old != nil {
		if err := r.removeIndex(tb, old); err != nil {
			return err
		}
	}
	if _, err := r.Cat.Put(&catalog.Def{Scope: tb.Inner(), Kind: ast.DefIndex, Name: name, Stmt: &def}); err != nil {
		return err
	}
	return r.buildIndex(db, tb.Name, name)
}

// checkColumns refuses to index what is not stored.
func checkColumns(tb *catalog.Table, def *ast.DefineIndex, name string) error {
	for _, x := range def.Fields {
		id, ok := x.(*ast.Idiom)
		if !ok || len(id.Parts) == 0 {
			continue
		}
		if tb.Define.Schemafull && !storable(tb, catalog.PathOf(id)) {
			return errs.Internal("The field '%s' does not exist", ast.Text(id))
		}
		first := ast.Text(&ast.Idiom{Parts: id.Parts[:1]})
		if f := tb.Field(first); f != nil && f.Define.Computed != nil {
			return badOption("Computed fields cannot be indexed. Index: '%s' - Field: '%s'", name, first)
		}
	}
	return nil
}

// storable reports whether a SCHEMAFULL table can hold something at path: a field of that name, or one around it that
// holds what it likes.
func storable(tb *catalog.Table, path []catalog.Step) bool {
	for _, f := range tb.Fields {
		if slices.Equal(f.Path, path) || catalog.Within(path, f.Path) && holdsParts(f.Define.Type) {
			return true
		}
	}
	return false
}

// holdsParts reports whether values of t have fields or elements of their own.
func holdsParts(t *value.Type) bool {
	if t == nil {
		return true
	}
	switch t.Kind {
	case value.TypeAny, value.TypeObject, value.TypeArray, value.TypeSet, value.TypeFields, value.TypeTuple:
		return true
	case value.TypeUnion:
		return slices.ContainsFunc(t.Alts, holdsParts)
	}
	return false
}

// vectorDefaults fills in the parameters of an HNSW index that were not given.
func vectorDefaults(v ast.VectorIndex) *ast.VectorIndex {
	if v.Distance == "" {
		v.Distance = "EUCLIDEAN"
	}
	if v.Type == "" {
		v.Type = "F32"
	}
	if v.EFC == 0 {
		v.EFC = 150
	}
	if v.M == 0 {
		v.M = 12
	}
	if v.M0 == 0 {
		v.M0 = 2 * v.M
	}
	if v.LM.IsNone() {
		v.LM = value.Float(1 / math.Log(float64(v.M)))
	}
	return &v
}

func (r *Run) buildIndex(db *catalog.Database, table, name string) error {
	tb, err := r.Cat.Table(db, table)
	if err != nil {
		return err
	}
	g, err := r.Gate()
	if err != nil {
		return err
	}
	return g.BuildIndex(r.Ctx, tb, tb.Index(name))
}

func (r *Run) removeIndex(tb *catalog.Table, ix *catalog.Index) error {
	g, err := r.Gate()
	if err != nil {
		return err
	}
	if err := g.DropIndex(tb, ix); err != nil {
		return err
	}
	return r.Cat.Delete(ix.Def)
}

// rebuild is REBUILD INDEX.
func (r *Run) rebuild(env *Env, s *ast.Rebuild) error {
	db, err := r.inDatabase(ast.DefIndex)
	if err != nil {
		return err
	}
	table, err := r.name(env, *s.Table, "table")
	if err != nil {
		return err
	}
	name, err := r.name(env, *s.Name, "index")
	if err != nil {
		return err
	}
	tb, err := r.Cat.Table(db, table)
	if err != nil {
		return err
	}
	var ix *catalog.Index
	if tb != nil {
		ix = tb.Index(name)
	}
	if ix == nil {
		if s.IfExists {
			return nil
		}
		return doesNotExist("index", name)
	}
	g, err := r.Gate()
	if err != nil {
		return err
	}
	if err := g.DropIndex(tb, ix); err != nil {
		return err
	}
	return g.BuildIndex(r.Ctx, tb, ix)
}

// defineEvent is DEFINE EVENT.
func (r *Run) defineEvent(env *Env, s *ast.DefineEvent) error {
	_, tb, err := r.tableToDefineOn(env, s.Table)
	if err != nil {
		return err
	}
	name, err := r.name(env, s.Name, "event")
	if err != nil {
		return err
	}
	def := *s
	def.Mode, def.Name, def.Table = ast.ModeCreate, ident(name), ident(tb.Name)
	if def.When == nil {
		def.When = &ast.Literal{Value: value.Bool(true)}
	}
	if def.Comment, err = r.comment(env, s.Comment); err != nil {
		return err
	}
	return r.put(tb.Inner(), ast.DefEvent, name, s.Mode, &def, func() error { return alreadyExists("event", name) })
}
