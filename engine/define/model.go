package define

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/value"
)

// defineModel is DEFINE MODEL. The definition that it replaces gives it its file; a new one has none until a file of
// its name and version is imported.
func (r *run) defineModel(ctx context.Context, env *exec.Env, s *ast.DefineModel) error {
	db, err := r.inDatabase(ast.DefModel)
	if err != nil {
		return err
	}
	if !ml.ValidName(s.Name) {
		return errs.Internal("`%s` is not a valid model name: use letters, digits and underscores, and `::` between parts",
			errs.Brief(s.Name, 64))
	}
	if _, err := ml.ParseVersion(s.Version); err != nil {
		return err
	}
	name := s.Name + "<" + s.Version + ">"
	old, err := r.Cat.Def(db.Inner(), ast.DefModel, name)
	if err != nil {
		return err
	}
	if err := r.mode(s.Mode, old != nil, func() error { return alreadyExists("model", s.Name) }); err != nil {
		return done(err)
	}
	def := *s
	def.Mode = ast.ModeCreate
	if def.Comment, err = r.comment(ctx, env, s.Comment); err != nil {
		return err
	}
	d := &catalog.Def{Scope: db.Inner(), Kind: ast.DefModel, Name: name, Stmt: &def, By: r.Auth.Definer()}
	if old != nil {
		d.Extra = old.Extra
	}
	_, err = r.Cat.Put(d)
	return err
}

// dropModel removes the file of a model with it, unless another model has the same.
func (r *run) dropModel(db *catalog.Database, d *catalog.Def) error {
	f := catalog.FileOf(d)
	if f == nil {
		return nil
	}
	users, err := r.Cat.BlobUsers(db, f.Blob)
	if err != nil || len(users) > 1 {
		return err
	}
	for more := true; more; {
		if more, err = catalog.DropBlob(r.Tx, db.Inner(), f.Blob, 1024); err != nil {
			return err
		}
	}
	r.Tx.OnCommit(func(kv.Version) { r.Ex.Models.Forget(f.Blob) })
	return nil
}

// modelShape is a model as INFO … STRUCTURE shows it.
func modelShape(s *shape, d *catalog.Def, x *ast.DefineModel) {
	s.str("name", x.Name)
	s.str("version", x.Version)
	s.put("permissions", optionalPermission(x.Permission))
	s.constant("comment", x.Comment)
	if f := catalog.FileOf(d); f != nil {
		s.str("hash", f.Hash[:min(len(f.Hash), shownHash)])
		s.put("size", value.Int(f.Size))
	}
}

// shownHash is how much of the hash of a model's file is shown.
const shownHash = 6
