package define

import (
	"context"
	"slices"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// alter is ALTER: clause by clause on a copy of the definition, which is then stored like a DEFINE.
func (r *run) alter(ctx context.Context, env *exec.Env, s *ast.Alter) error {
	err := r.alterKind(ctx, env, s)
	if s.IfExists && isMissing(err) {
		return nil
	}
	return err
}

// alters is the definer of a definition that the run alters: what its definer and the caller have in common. Code that
// somebody else wrote gains nothing when an OWNER alters a clause beside it, and the code of an OWNER loses that
// authority where an EDITOR may have changed it.
func (r *run) alters(d *catalog.Def) catalog.Definer { return d.By.Lower(r.Auth.Definer()) }

func errNoCompaction() error {
	return errs.Internal("The storage layer does not support compaction requests.")
}

func compacts(s *ast.Alter) bool {
	for _, c := range s.Clauses {
		if c.Name == "COMPACT" {
			return true
		}
	}
	return false
}

func (r *run) alterKind(ctx context.Context, env *exec.Env, s *ast.Alter) error {
	switch {
	case s.System:
		return r.alterSystem(ctx, env, s)
	case s.Kind == ast.DefNamespace:
		if err := r.Auth.Allow(auth.Edit, ast.BaseRoot, auth.ResourceAny); err != nil {
			return err
		}
		return errNoCompaction()
	case s.Kind == ast.DefDatabase:
		if err := r.Auth.Allow(auth.Edit, ast.BaseNamespace, auth.ResourceAny); err != nil {
			return err
		}
		return errNoCompaction()
	case s.Kind == ast.DefUser || s.Kind == ast.DefAccess:
		return r.alterActor(ctx, env, s)
	case s.Kind == ast.DefConfig:
		d, err := r.presentConfig(s.Name.Ident)
		if err != nil {
			return err
		}
		return r.putAltered(ctx, env, d, s)
	}
	db, err := r.inDatabase(s.Kind)
	if err != nil {
		return err
	}
	switch s.Kind {
	case ast.DefTable:
		return r.alterTable(ctx, env, db, s)
	case ast.DefField:
		return r.alterField(ctx, env, db, s)
	case ast.DefIndex:
		return r.alterIndex(ctx, env, db, s)
	case ast.DefEvent:
		return r.alterEvent(ctx, env, db, s)
	}
	name := s.Name
	if s.Version != "" {
		name = ident(name.Ident + "<" + s.Version + ">")
	}
	d, err := r.presentIn(ctx, env, db, s.Kind, name)
	if err != nil {
		return err
	}
	return r.putAltered(ctx, env, d, s)
}

// The system's settings are kept beside the definitions of the root.
const (
	systemConfig = "System"
	queryTimeout = "query_timeout"
)

func (r *run) alterSystem(ctx context.Context, env *exec.Env, s *ast.Alter) error {
	if err := r.Auth.Allow(auth.Edit, ast.BaseRoot, auth.ResourceActor); err != nil {
		return err
	}
	if compacts(s) {
		return errNoCompaction()
	}
	for _, c := range s.Clauses {
		if c.Name != "QUERY_TIMEOUT" {
			continue
		}
		extra := value.NewObject()
		if !c.Drop {
			x, err := r.literal(ctx, env, c.X, value.TypeDuration)
			if err != nil {
				return err
			}
			if v := x.(*ast.Literal).Value; v.Duration().Std() >= time.Millisecond { // less means none
				extra = value.NewObject(value.Field{Name: queryTimeout, Value: v})
			}
		}
		if err := r.Cat.PutSetting(systemConfig, extra); err != nil {
			return err
		}
	}
	return nil
}

// systemConfig is the config that INFO FOR ROOT shows.
func (r *run) systemConfig() (value.Value, error) {
	extra, err := r.Cat.Setting(systemConfig)
	if err != nil {
		return value.None, err
	}
	timeout, _ := extra.Get(queryTimeout)
	return value.ObjectOf(value.NewObject(value.Field{Name: "QUERY_TIMEOUT", Value: timeout})), nil
}

// SystemTimeout is the QUERY_TIMEOUT of ALTER SYSTEM; 0: there is none.
func SystemTimeout(v *catalog.View) (time.Duration, error) {
	extra, err := v.Setting(systemConfig)
	if err != nil {
		return 0, err
	}
	if t, _ := extra.Get(queryTimeout); t.Kind() == value.KindDuration {
		return t.Duration().Std(), nil
	}
	return 0, nil
}

func (r *run) alterTable(ctx context.Context, env *exec.Env, db *catalog.Database, s *ast.Alter) error {
	tb, err := r.presentTable(ctx, env, db, s.Name)
	if err != nil {
		return err
	}
	if compacts(s) {
		return errNoCompaction()
	}
	def, told := *tb.Define, false
	for _, c := range s.Clauses {
		from, _ := c.Def.(*ast.DefineTable)
		switch {
		case c.Name == "COMMENT":
			if def.Comment, err = r.newComment(ctx, env, c); err != nil {
				return err
			}
		case c.Drop && c.Name == "CHANGEFEED":
			def.ChangeFeed = nil
		case c.Name == "SCHEMAFULL":
			def.Schemafull = true
		case c.Name == "SCHEMALESS":
			def.Schemafull = false
		case from == nil:
			return exec.NotRunnable(s)
		case c.Name == "CHANGEFEED":
			told = def.ChangeFeed != nil
			def.ChangeFeed = from.ChangeFeed
		case c.Name == "TYPE":
			def.Kind, def.In, def.Out, def.Enforced = from.Kind, from.In, from.Out, from.Enforced
		case c.Name == "PERMISSIONS":
			def.Permissions = from.Permissions
		}
	}
	return r.putTable(ctx, db, tb, &def, r.alters(tb.Def), told)
}

// newComment is the comment that a clause sets; nil where it drops it.
func (r *run) newComment(ctx context.Context, env *exec.Env, c ast.AlterClause) (ast.Expr, error) {
	if c.Drop {
		return nil, nil
	}
	return r.comment(ctx, env, c.X)
}

func (r *run) alterField(ctx context.Context, env *exec.Env, db *catalog.Database, s *ast.Alter) error {
	tb, name, err := r.onTable(ctx, env, db, "field", s.Table, s.Name, s.Field)
	if err != nil {
		return err
	}
	f := tb.Field(name)
	if f == nil {
		return missing{exec.DoesNotExist("field", name)}
	}
	def := *f.Define
	for _, c := range s.Clauses {
		if err := r.alterFieldClause(ctx, env, &def, c); err != nil {
			return err
		}
	}
	if err := checkFieldClauses(&def, name); err != nil {
		return err
	}
	if err := checkInline(tb, &def, name); err != nil {
		return err
	}
	return r.putField(ctx, tb, f, &def, r.alters(f.Def), name)
}

func (r *run) alterFieldClause(ctx context.Context, env *exec.Env, def *ast.DefineField, c ast.AlterClause) error {
	from, ok := c.Def.(*ast.DefineField)
	if !ok {
		from = &ast.DefineField{} // a DROP: everything absent
	}
	var err error
	switch c.Name {
	case "COMMENT":
		def.Comment, err = r.newComment(ctx, env, c)
	case "TYPE":
		def.Type = from.Type
		def.Flexible = from.Flexible || def.Flexible && !c.Drop
	case "FLEXIBLE":
		def.Flexible = !c.Drop
	case "INLINE":
		def.Inline = !c.Drop
	case "READONLY":
		def.Readonly = !c.Drop
	case "VALUE":
		def.Value = from.Value
	case "ASSERT":
		def.Assert = from.Assert
	case "DEFAULT":
		def.Default, def.DefaultAlways = from.Default, from.DefaultAlways
	case "COMPUTED":
		def.Computed = from.Computed
	case "REFERENCE":
		def.Reference = from.Reference
	case "PERMISSIONS":
		def.Permissions = from.Permissions
	}
	return err
}

func (r *run) alterIndex(ctx context.Context, env *exec.Env, db *catalog.Database, s *ast.Alter) error {
	tb, name, err := r.onTable(ctx, env, db, "index", s.Table, s.Name, nil)
	if err != nil {
		return err
	}
	if tb.Index(name) == nil {
		return missing{exec.DoesNotExist("index", name)}
	}
	for _, ix := range []*catalog.Index{tb.Index(name), tb.Successor(name)} {
		if ix == nil {
			continue
		}
		if err := r.alterOneIndex(ctx, env, ix, s); err != nil {
			return err
		}
	}
	return nil
}

// alterOneIndex alters an index, or the one that is to take its place.
func (r *run) alterOneIndex(ctx context.Context, env *exec.Env, ix *catalog.Index, s *ast.Alter) error {
	def, build := *ix.Define, ix.Build
	for _, c := range s.Clauses {
		switch c.Name {
		case "COMMENT":
			var err error
			if def.Comment, err = r.newComment(ctx, env, c); err != nil {
				return err
			}
		case "PREPARE REMOVE":
			build.Retired = true
		}
	}
	_, err := r.Cat.Put(&catalog.Def{Scope: ix.Scope, Kind: ast.DefIndex, Name: ix.Name, Stmt: &def,
		Extra: build.Facts(), By: r.alters(ix.Def)})
	return err
}

// alterEvent alters an event of a table.
func (r *run) alterEvent(ctx context.Context, env *exec.Env, db *catalog.Database, s *ast.Alter) error {
	tb, name, err := r.onTable(ctx, env, db, "event", s.Table, s.Name, nil)
	if err != nil {
		return err
	}
	for _, e := range tb.Events {
		if e.Name == name {
			return r.putAltered(ctx, env, e.Def, s)
		}
	}
	return missing{exec.DoesNotExist("event", name)}
}

// putAltered stores a definition with the clauses of an ALTER.
func (r *run) putAltered(ctx context.Context, env *exec.Env, d *catalog.Def, s *ast.Alter) error {
	stmt, err := r.altered(ctx, env, d, s)
	if err != nil {
		return err
	}
	by := r.alters(d)
	if f, ok := stmt.(*ast.DefineFunction); ok && newBody(s) && (f.Permission == nil || f.Permission.Where == nil) {
		by = r.Auth.Definer() // none of the old code is left
	}
	_, err = r.Cat.Put(&catalog.Def{Scope: d.Scope, Kind: d.Kind, Name: d.Name, Stmt: stmt, Extra: d.Extra, By: by})
	return err
}

// newBody reports whether s gives a function another body.
func newBody(s *ast.Alter) bool {
	return slices.ContainsFunc(s.Clauses,
		func(c ast.AlterClause) bool { return c.Name == "BODY" || c.Name == "SIGNATURE" })
}
