package define

import (
	"context"
	"slices"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// altered is a copy of a definition with the clauses of an ALTER.
func (r *run) altered(ctx context.Context, env *exec.Env, d *catalog.Def, s *ast.Alter) (ast.Statement, error) {
	switch x := d.Stmt.(type) {
	case *ast.DefineSequence:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterSequence(ctx, env, &def, c) })
	case *ast.DefineParam:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterParam(ctx, env, &def, c) })
	case *ast.DefineEvent:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterEventClause(ctx, env, &def, c) })
	case *ast.DefineFunction:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error {
			if from, ok := c.Def.(*ast.DefineFunction); ok {
				switch c.Name {
				case "SIGNATURE":
					def.Params, def.Returns, def.Body = from.Params, from.Returns, from.Body
				case "BODY":
					def.Body = from.Body
				default:
					def.Permission = from.Permission
				}
				return nil
			}
			var err error
			def.Comment, err = r.newComment(ctx, env, c)
			return err
		})
	case *ast.DefineModel:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error {
			if from, ok := c.Def.(*ast.DefineModel); ok {
				def.Permission = from.Permission
				return nil
			}
			var err error
			def.Comment, err = r.newComment(ctx, env, c)
			return err
		})
	case *ast.DefineAnalyzer:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterAnalyzer(ctx, env, &def, c) })
	case *ast.DefineBucket:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterBucket(ctx, env, &def, c) })
	case *ast.DefineAPI:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error {
			switch c.Name {
			case "FOR":
				def.Actions = alterActions(def.Actions, c)
				return nil
			case "THEN":
				def.Actions = dropThen(def.Actions, c)
				return nil
			}
			var err error
			def.Comment, err = r.newComment(ctx, env, c)
			return err
		})
	case *ast.DefineConfig:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterConfig(ctx, env, &def, c) })
	}
	return nil, exec.NotRunnable(s)
}

// alterActions are the actions of an API without those for the methods of c, and with that of c unless it drops them.
func alterActions(actions []ast.APIAction, c ast.AlterClause) []ast.APIAction {
	fresh := c.Def.(*ast.DefineAPI).Actions[0]
	var out []ast.APIAction
	for _, a := range actions {
		a.Methods = slices.DeleteFunc(slices.Clone(a.Methods),
			func(m string) bool { return slices.Contains(fresh.Methods, m) })
		if len(a.Methods) > 0 {
			out = append(out, a)
		}
	}
	if !c.Drop {
		out = append(out, fresh)
	}
	return anyFirst(out)
}

// dropThen are the actions of an API without the THEN of the methods of c. Any method keeps its other clauses; what is
// for one method alone has no meaning without THEN, and goes.
func dropThen(actions []ast.APIAction, c ast.AlterClause) []ast.APIAction {
	for _, m := range c.Def.(*ast.DefineAPI).Actions[0].Methods {
		if m != "any" {
			continue
		}
		out := slices.Clone(actions)
		for i := range out {
			if slices.Contains(out[i].Methods, m) {
				out[i].Then = nil
			}
		}
		return anyFirst(out)
	}
	return alterActions(actions, c)
}

// alterConfig sets or drops one clause of a config.
func (r *run) alterConfig(ctx context.Context, env *exec.Env, def *ast.DefineConfig, c ast.AlterClause) error {
	from, ok := c.Def.(*ast.DefineConfig)
	if !ok || c.Drop {
		from = &ast.DefineConfig{GraphQL: &ast.GraphQLConfig{Tables: ast.NameFilter{Mode: "NONE"},
			Functions: ast.NameFilter{Mode: "NONE"}},
			API: &ast.APIConfig{}, Default: &ast.DefaultConfig{}}
	}
	switch {
	case def.GraphQL != nil:
		g := *def.GraphQL
		def.GraphQL = &g
		switch c.Name {
		case "TABLES":
			g.Tables = from.GraphQL.Tables
		case "FUNCTIONS":
			g.Functions = from.GraphQL.Functions
		case "DEPTH":
			g.Depth = from.GraphQL.Depth
		case "COMPLEXITY":
			g.Complexity = from.GraphQL.Complexity
		case "INTROSPECTION":
			g.Introspection = from.GraphQL.Introspection
		}
	case def.API != nil:
		a := *def.API
		def.API = &a
		switch c.Name {
		case "MIDDLEWARE":
			a.Middleware = from.API.Middleware
		case "PERMISSIONS":
			a.Permission = from.API.Permission
		}
	case def.Default != nil:
		d := *def.Default
		def.Default = &d
		fresh, err := r.defaultConfig(ctx, env, from.Default)
		if err != nil {
			return err
		}
		switch c.Name {
		case "NAMESPACE":
			d.Namespace = fresh.Namespace
		case "DATABASE":
			d.Database = fresh.Database
		}
	}
	return nil
}

func eachClause(s *ast.Alter, f func(ast.AlterClause) error) error {
	for _, c := range s.Clauses {
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) alterSequence(ctx context.Context, env *exec.Env, def *ast.DefineSequence, c ast.AlterClause) error {
	def.Timeout = nil
	if c.Drop {
		return nil
	}
	var err error
	def.Timeout, err = r.duration(ctx, env, c.X)
	if lit, ok := def.Timeout.(*ast.Literal); ok && lit.Value.IsNone() {
		def.Timeout = nil
	}
	return err
}

func (r *run) alterAnalyzer(ctx context.Context, env *exec.Env, def *ast.DefineAnalyzer, c ast.AlterClause) error {
	from, ok := c.Def.(*ast.DefineAnalyzer)
	if !ok || c.Drop {
		from = &ast.DefineAnalyzer{} // a DROP: everything absent
	}
	var err error
	switch c.Name {
	case "COMMENT":
		def.Comment, err = r.newComment(ctx, env, c)
	case "FUNCTION":
		def.Function = from.Function
	case "TOKENIZERS":
		def.Tokenizers = from.Tokenizers
	case "FILTERS":
		def.Filters = from.Filters
	}
	return err
}

func (r *run) alterBucket(ctx context.Context, env *exec.Env, def *ast.DefineBucket, c ast.AlterClause) error {
	var err error
	switch c.Name {
	case "COMMENT":
		def.Comment, err = r.newComment(ctx, env, c)
	case "READONLY":
		def.Readonly = !c.Drop
	case "PERMISSIONS":
		if from, ok := c.Def.(*ast.DefineBucket); ok {
			def.Permission = from.Permission
		}
	case "BACKEND":
		x := c.X
		if c.Drop {
			x = nil
		}
		def.Backend, err = r.bucketBackend(ctx, env, x)
	}
	return err
}

func (r *run) alterParam(ctx context.Context, env *exec.Env, def *ast.DefineParam, c ast.AlterClause) error {
	from, ok := c.Def.(*ast.DefineParam)
	if !ok {
		from = &ast.DefineParam{Value: c.X}
	}
	var err error
	switch c.Name {
	case "VALUE":
		def.Value, err = r.literal(ctx, env, from.Value, value.TypeAny)
	case "COMMENT":
		def.Comment, err = r.newComment(ctx, env, c)
	case "PERMISSIONS":
		def.Permission = from.Permission
	}
	return err
}

func (r *run) alterEventClause(ctx context.Context, env *exec.Env, def *ast.DefineEvent, c ast.AlterClause) error {
	from, ok := c.Def.(*ast.DefineEvent)
	if !ok {
		from = &ast.DefineEvent{When: c.X}
	}
	var err error
	switch c.Name {
	case "WHEN":
		def.When = from.When
		if def.When == nil {
			def.When = &ast.Literal{Value: value.Bool(true)}
		}
	case "THEN":
		if def.Then = from.Then; c.Drop {
			def.Then = []ast.Expr{&ast.Block{}} // an event has a THEN
		}
	case "COMMENT":
		def.Comment, err = r.newComment(ctx, env, c)
	case "ASYNC":
		def.Async, def.Retry, def.MaxDepth = !c.Drop, from.Retry, from.MaxDepth
	}
	return err
}

// alterActor alters a user or an access method.
func (r *run) alterActor(ctx context.Context, env *exec.Env, s *ast.Alter) error {
	a, err := r.presentActor(ctx, env, s.Kind, s.Name, s.Base)
	if err != nil {
		return err
	}
	d := a.def
	extra := d.Extra
	var stmt ast.Statement
	switch old := d.Stmt.(type) {
	case *ast.DefineUser:
		def := *old
		stmt = &def
		err = eachClause(s, func(c ast.AlterClause) error {
			var err error
			extra, err = r.alterUser(ctx, env, &def, extra, c)
			return err
		})
	case *ast.DefineAccess:
		def := *old
		stmt = &def
		err = eachClause(s, func(c ast.AlterClause) error { return r.alterAccess(ctx, env, &def, c) })
	default:
		err = exec.NotRunnable(s)
	}
	if err != nil {
		return err
	}
	_, err = r.Cat.Put(&catalog.Def{Scope: d.Scope, Kind: d.Kind, Name: d.Name, Stmt: stmt, Extra: extra,
		By: r.alters(d)})
	return err
}

func (r *run) alterUser(ctx context.Context, env *exec.Env, def *ast.DefineUser, extra *value.Object,
	c ast.AlterClause) (*value.Object, error) {
	from, ok := c.Def.(*ast.DefineUser)
	if !ok || c.Drop {
		from = &ast.DefineUser{}
	}
	var err error
	switch c.Name {
	case "COMMENT":
		def.Comment, err = r.newComment(ctx, env, c)
	case "PASSWORD", "PASSHASH":
		def.PassHash = from.PassHash
		extra, err = r.userPassword(ctx, env, from, def)
	case "ROLES":
		def.Roles = from.Roles
		err = checkRoles(def)
	case "DURATION":
		fresh := *from
		if !c.Drop {
			fresh.TokenDuration = exprOr(fresh.TokenDuration, def.TokenDuration)
			fresh.SessionDuration = exprOr(fresh.SessionDuration, def.SessionDuration)
		}
		fresh.Comment = def.Comment
		err = r.userDurations(ctx, env, &fresh, def)
	}
	return extra, err
}

func (r *run) alterAccess(ctx context.Context, env *exec.Env, def *ast.DefineAccess, c ast.AlterClause) error {
	from, ok := c.Def.(*ast.DefineAccess)
	if !ok || c.Drop {
		from = &ast.DefineAccess{}
	}
	var err error
	switch c.Name {
	case "COMMENT":
		def.Comment, err = r.newComment(ctx, env, c)
	case "AUTHENTICATE":
		if def.Authenticate = c.X; c.Drop {
			def.Authenticate = nil
		}
	case "DURATION":
		fresh := *from
		if !c.Drop {
			fresh.GrantDuration = exprOr(fresh.GrantDuration, def.GrantDuration)
			fresh.TokenDuration = exprOr(fresh.TokenDuration, def.TokenDuration)
			fresh.SessionDuration = exprOr(fresh.SessionDuration, def.SessionDuration)
		}
		err = r.accessDurations(ctx, env, &fresh, def)
	}
	return err
}

// exprOr is x, or other where x was not given.
func exprOr(x, other ast.Expr) ast.Expr {
	if x == nil {
		return other
	}
	return x
}
