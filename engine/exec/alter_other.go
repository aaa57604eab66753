package exec

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/value"
)

// altered is a copy of a definition with the clauses of an ALTER.
func (r *Run) altered(env *Env, d *catalog.Def, s *ast.Alter) (ast.Statement, error) {
	switch x := d.Stmt.(type) {
	case *ast.DefineSequence:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterSequence(env, &def, c) })
	case *ast.DefineParam:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterParam(env, &def, c) })
	case *ast.DefineEvent:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterEvent(env, &def, c) })
	case *ast.DefineFunction:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error {
			if from, ok := c.Def.(*ast.DefineFunction); ok {
				def.Permission = from.Permission
				return nil
			}
			var err error
			def.Comment, err = r.newComment(env, c)
			return err
		})
	case *ast.DefineAnalyzer:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterAnalyzer(env, &def, c) })
	case *ast.DefineBucket:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error { return r.alterBucket(env, &def, c) })
	case *ast.DefineAPI:
		def := *x
		return &def, eachClause(s, func(c ast.AlterClause) error {
			var err error
			def.Comment, err = r.newComment(env, c)
			return err
		})
	}
	return nil, notRunnable(s)
}

func eachClause(s *ast.Alter, f func(ast.AlterClause) error) error {
	for _, c := range s.Clauses {
		if err := f(c); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) alterSequence(env *Env, def *ast.DefineSequence, c ast.AlterClause) error {
	def.Timeout = nil
	if c.Drop {
		return nil
	}
	var err error
	def.Timeout, err = r.duration(env, c.X)
	return err
}

func (r *Run) alterAnalyzer(env *Env, def *ast.DefineAnalyzer, c ast.AlterClause) error {
	from, ok := c.Def.(*ast.DefineAnalyzer)
	if !ok || c.Drop {
		from = &ast.DefineAnalyzer{} // a DROP: everything absent
	}
	var err error
	switch c.Name {
	case "COMMENT":
		def.Comment, err = r.newComment(env, c)
	case "FUNCTION":
		def.Function = from.Function
	case "TOKENIZERS":
		def.Tokenizers = from.Tokenizers
	case "FILTERS":
		def.Filters = from.Filters
	}
	return err
}

func (r *Run) alterBucket(env *Env, def *ast.DefineBucket, c ast.AlterClause) error {
	var err error
	switch c.Name {
	case "COMMENT":
		def.Comment, err = r.newComment(env, c)
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
		def.Backend, err = r.bucketBackend(env, x)
	}
	return err
}

func (r *Run) alterParam(env *Env, def *ast.DefineParam, c ast.AlterClause) error {
	from, ok := c.Def.(*ast.DefineParam)
	if !ok {
		from = &ast.DefineParam{Value: c.X}
	}
	var err error
	switch c.Name {
	case "VALUE":
		def.Value, err = r.literal(env, from.Value, value.TypeAny)
	case "COMMENT":
		def.Comment, err = r.newComment(env, c)
	case "PERMISSIONS":
		def.Permission = from.Permission
	}
	return err
}

func (r *Run) alterEvent(env *Env, def *ast.DefineEvent, c ast.AlterClause) error {
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
		def.Then = from.Then
	case "COMMENT":
		def.Comment, err = r.newComment(env, c)
	case "ASYNC":
		def.Async, def.Retry, def.MaxDepth = !c.Drop, from.Retry, from.MaxDepth
	}
	return err
}

// alterActor alters a user or an access method.
func (r *Run) alterActor(env *Env, s *ast.Alter) error {
	base := baseOr(s.Base, ast.BaseDatabase)
	if err := r.Auth.Allow(auth.Edit, base, auth.ResourceActor); err != nil {
		return err
	}
	scope, err := r.level(base)
	if err != nil {
		return err
	}
	kind, what := "user", "user"
	if s.Kind == ast.DefAccess {
		kind, what = "access method", "access"
	}
	name, err := r.name(env, s.Name, what)
	if err != nil {
		return err
	}
	d, err := r.Cat.Def(scope, s.Kind, name)
	if err != nil {
		return err
	}
	if d == nil {
		return missing{r.actorError(kind, name, base, "does not exist")}
	}
	extra := d.Extra
	var stmt ast.Statement
	switch old := d.Stmt.(type) {
	case *ast.DefineUser:
		def := *old
		stmt = &def
		err = eachClause(s, func(c ast.AlterClause) error {
			var err error
			extra, err = r.alterUser(env, &def, extra, c)
			return err
		})
	case *ast.DefineAccess:
		def := *old
		stmt = &def
		err = eachClause(s, func(c ast.AlterClause) error { return r.alterAccess(env, &def, c) })
	default:
		err = notRunnable(s)
	}
	if err != nil {
		return err
	}
	_, err = r.Cat.Put(&catalog.Def{Scope: scope, Kind: s.Kind, Name: name, Stmt: stmt, Extra: extra})
	return err
}

func (r *Run) alterUser(env *Env, def *ast.DefineUser, extra *value.Object, c ast.AlterClause) (*value.Object, error) {
	from, ok := c.Def.(*ast.DefineUser)
	if !ok || c.Drop {
		from = &ast.DefineUser{}
	}
	var err error
	switch c.Name {
	case "COMMENT":
		def.Comment, err = r.newComment(env, c)
	case "PASSWORD", "PASSHASH":
		def.PassHash = from.PassHash
		extra, err = r.userPassword(env, from, def)
	case "ROLES":
		def.Roles = from.Roles
		if len(def.Roles) == 0 {
			def.Roles = []string{"VIEWER"}
		}
	case "DURATION":
		fresh := *from
		if !c.Drop {
			fresh.TokenDuration = exprOr(fresh.TokenDuration, def.TokenDuration)
			fresh.SessionDuration = exprOr(fresh.SessionDuration, def.SessionDuration)
		}
		fresh.Comment = def.Comment
		err = r.userDurations(env, &fresh, def)
	}
	return extra, err
}

func (r *Run) alterAccess(env *Env, def *ast.DefineAccess, c ast.AlterClause) error {
	from, ok := c.Def.(*ast.DefineAccess)
	if !ok || c.Drop {
		from = &ast.DefineAccess{}
	}
	var err error
	switch c.Name {
	case "COMMENT":
		def.Comment, err = r.newComment(env, c)
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
		err = r.accessDurations(env, &fresh, def)
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
