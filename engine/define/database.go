package define

import (
	"context"
	"math"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/bucket"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// defineFunction is DEFINE FUNCTION.
func (r *run) defineFunction(ctx context.Context, env *exec.Env, s *ast.DefineFunction) error {
	db, err := r.inDatabase(ast.DefFunction)
	if err != nil {
		return err
	}
	def := *s
	def.Mode = ast.ModeCreate
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	if err := checkGraphQL(s.GraphQL); err != nil {
		return err
	}
	return r.put(db.Inner(), ast.DefFunction, s.Name, s.Mode, &def,
		func() error { return alreadyExists("function", "fn::"+s.Name) })
}

// defineParam is DEFINE PARAM: the value is computed now.
func (r *run) defineParam(ctx context.Context, env *exec.Env, s *ast.DefineParam) error {
	db, err := r.inDatabase(ast.DefParam)
	if err != nil {
		return err
	}
	def := *s
	def.Mode = ast.ModeCreate
	if def.Value, err = r.literal(ctx, env, s.Value, value.TypeAny); err != nil {
		return err
	}
	if def.Value == nil {
		def.Value = &ast.Literal{} // NONE
	}
	kept := value.NewObject(value.Field{Name: "value", Value: def.Value.(*ast.Literal).Value})
	if _, err := value.EncodeRecord(nil, kept); err != nil {
		return errs.Internal("A user generated conversion error occured: Closures cannot be stored on disk")
	}
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	return r.put(db.Inner(), ast.DefParam, s.Name, s.Mode, &def,
		func() error { return alreadyExists("param", "$"+s.Name) })
}

// defineAnalyzer is DEFINE ANALYZER.
func (r *run) defineAnalyzer(ctx context.Context, env *exec.Env, s *ast.DefineAnalyzer) error {
	db, err := r.inDatabase(ast.DefAnalyzer)
	if err != nil {
		return err
	}
	name, err := r.name(ctx, env, s.Name, "analyzer")
	if err != nil {
		return err
	}
	err = r.fresh(db.Inner(), ast.DefAnalyzer, name, s.Mode, func() error { return alreadyExists("analyzer", name) })
	if err != nil {
		return done(err)
	}
	def := *s
	def.Mode, def.Name = ast.ModeCreate, ident(name)
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	if _, err := r.Ex.Texts.Compile(&def); err != nil {
		return err
	}
	return r.store(db.Inner(), ast.DefAnalyzer, name, &def)
}

// The defaults of DEFINE SEQUENCE.
const (
	sequenceBatch = 1000
	sequenceStart = 0
)

// defineSequence is DEFINE SEQUENCE.
func (r *run) defineSequence(ctx context.Context, env *exec.Env, s *ast.DefineSequence) error {
	db, err := r.inDatabase(ast.DefSequence)
	if err != nil {
		return err
	}
	name, err := r.name(ctx, env, s.Name, "sequence")
	if err != nil {
		return err
	}
	err = r.fresh(db.Inner(), ast.DefSequence, name, s.Mode, func() error { return alreadyExists("sequence", name) })
	if err != nil {
		return done(err)
	}
	def := *s
	def.Mode, def.Name = ast.ModeCreate, ident(name)
	if def.Batch, err = r.literal(ctx, env, s.Batch, value.TypeInt); err != nil {
		return err
	}
	if l, ok := def.Batch.(*ast.Literal); ok && (l.Value.Int() < 0 || l.Value.Int() > math.MaxUint32) {
		return errs.New(errs.KindValidation, "Invalid query: `%d` is not valid batch size for a sequence definition. A batch size must be within 0..=%d",
			l.Value.Int(), uint32(math.MaxUint32))
	}
	if def.Start, err = r.literal(ctx, env, s.Start, value.TypeInt); err != nil {
		return err
	}
	if def.Timeout, err = r.duration(ctx, env, s.Timeout); err != nil {
		return err
	}
	if def.Batch == nil {
		def.Batch = &ast.Literal{Value: value.Int(sequenceBatch)}
	}
	if def.Start == nil {
		def.Start = &ast.Literal{Value: value.Int(sequenceStart)}
	}
	return r.store(db.Inner(), ast.DefSequence, name, &def)
}

// defineAPI is DEFINE API; defining a path again replaces it.
func (r *run) defineAPI(ctx context.Context, env *exec.Env, s *ast.DefineAPI) error {
	db, err := r.inDatabase(ast.DefAPI)
	if err != nil {
		return err
	}
	def := *s
	def.Mode = ast.ModeCreate
	if def.Path, err = r.literal(ctx, env, s.Path, value.TypeString); err != nil {
		return err
	}
	path := def.Path.(*ast.Literal).Value.Str()
	if err := r.Ex.Endpoints.CheckPath(path); err != nil {
		return err
	}
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	def.Actions = anyFirst(s.Actions)
	return r.put(db.Inner(), ast.DefAPI, path, s.Mode, &def, func() error { return alreadyExists("api", path) })
}

// anyFirst puts the settings for any method before the others, and makes them where there are none.
func anyFirst(actions []ast.APIAction) []ast.APIAction {
	out := []ast.APIAction{{Methods: []string{"any"}}}
	for _, a := range actions {
		if len(a.Methods) == 1 && a.Methods[0] == "any" {
			out[0] = a
		} else {
			out = append(out, a)
		}
	}
	return out
}

// defineBucket is DEFINE BUCKET.
func (r *run) defineBucket(ctx context.Context, env *exec.Env, s *ast.DefineBucket) error {
	db, err := r.inDatabase(ast.DefBucket)
	if err != nil {
		return err
	}
	name, err := r.name(ctx, env, s.Name, "bucket")
	if err != nil {
		return err
	}
	err = r.fresh(db.Inner(), ast.DefBucket, name, s.Mode, func() error { return alreadyExists("bucket", name) })
	if err != nil {
		return done(err)
	}
	def := *s
	def.Mode, def.Name = ast.ModeCreate, ident(name)
	if def.Backend, err = r.bucketBackend(ctx, env, s.Backend); err != nil {
		return err
	}
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	if s.Mode == ast.ModeOverwrite {
		r.dropFiles(bucket.ID{NS: db.Scope.NS, DB: db.ID, Name: name})
	}
	return r.store(db.Inner(), ast.DefBucket, name, &def)
}

// bucketBackend is where a bucket keeps its files: in memory, or in a folder that the operator allows.
func (r *run) bucketBackend(ctx context.Context, env *exec.Env, x ast.Expr) (ast.Expr, error) {
	if x == nil {
		return nil, errs.Internal("No global bucket has been configured")
	}
	v, err := r.Land(r.Eval(ctx, env, x))
	if err != nil {
		return nil, err
	}
	if v.Kind() != value.KindString {
		return nil, errs.Internal("Expected `string` but found `%s`", v.Brief())
	}
	out := &ast.Literal{Value: v}
	folder, reach, err := r.Ex.Files.Folder(ast.LiteralText(out), bucket.Place{NS: r.Auth.NS, DB: r.Auth.DB})
	if err == nil && r.Auth.Principal.Level < levelOf(reach) {
		err = bucket.Denied(folder)
	}
	if err == nil && folder == "" {
		err = r.OneServer("A bucket in memory")
	}
	return out, err
}

// levelOf is the level of those who may define buckets in a folder of that reach. SECURITY: what is in a shared folder
// may belong to other databases, whose files a bucket there would open.
func levelOf(reach bucket.Reach) auth.Level {
	switch reach {
	case bucket.ReachAll:
		return auth.RootUser
	case bucket.ReachNamespace:
		return auth.NamespaceUser
	}
	return auth.DatabaseUser
}
