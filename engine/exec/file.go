package exec

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/bucket"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

var _ fn.FileHost = (*host)(nil)

// bucket finds a defined bucket and checks that the session may do action there.
func (h *host) bucket(name, action string, f, target *value.File) (bucket.ID, error) {
	r := h.r
	if err := r.Auth.Caps.MayTry("files"); err != nil {
		return bucket.ID{}, errs.Internal("There was a problem running the file::*() function. %s", err)
	}
	db, err := r.Database()
	if err != nil {
		return bucket.ID{}, err
	}
	d, err := r.Cat.Def(db.Inner(), ast.DefBucket, name)
	if err != nil {
		return bucket.ID{}, err
	}
	if d == nil {
		return bucket.ID{}, DoesNotExist("bucket", name)
	}
	def := d.Stmt.(*ast.DefineBucket)
	if err := r.mayTouch(h.ctx, def.Permission, action, f, target); err != nil {
		return bucket.ID{}, err
	}
	if def.Readonly && writes(action) {
		return bucket.ID{}, errs.Internal("Write operation is not supported, as bucket `%s` is in read-only mode", name)
	}
	if writes(action) {
		if err := r.goOutside(); err != nil {
			return bucket.ID{}, err
		}
	}
	place := bucket.Place{NS: r.Auth.NS, DB: r.Auth.DB}
	// again: what is allowed may have changed since
	folder, _, err := r.Ex.Files.Folder(ast.LiteralText(def.Backend), place)
	if err != nil {
		return bucket.ID{}, err
	}
	if folder == "" {
		if err := r.OneServer("A bucket in memory"); err != nil {
			return bucket.ID{}, err
		}
	}
	scope := db.Inner()
	return bucket.ID{NS: scope.NS, DB: scope.DB, Name: name, Folder: folder, Place: place}, nil
}

// OneServer refuses what is kept in the memory of one server while others share the store.
func (r *Run) OneServer(what string) error {
	others, err := r.Ex.Process.Others(r.Tx)
	if err == nil && others {
		err = errs.Internal("%s is of one server, and several serve this store", what)
	}
	return err
}

func writes(action string) bool {
	switch action {
	case "get", "head", "exists", "list":
		return false
	}
	return true
}

// mayTouch checks the PERMISSIONS of a bucket, whose expression sees $action, $file and $target.
func (r *Run) mayTouch(ctx context.Context, p *ast.Permission, action string, f, target *value.File) error {
	if r.clauseOnly() && writes(action) {
		return r.reading
	}
	if p == nil || p.Kind == ast.PermissionFull || r.Auth.CanWrite() || !writes(action) && r.Auth.CanRead() {
		return nil
	}
	if p.Kind == ast.PermissionWhere {
		vars := []record.Param{{Name: "action", Value: value.Str(action)}, {Name: "file", Value: fileOrNone(f)},
			{Name: "target", Value: fileOrNone(target)}}
		v, err := r.EvalIn(ctx, p.Where, value.None, vars, record.AsEngineReader)
		if err == nil && value.Truthy(v) {
			return nil
		}
		if err != nil && r.Denied(p, err) != nil {
			return err
		}
	}
	return errs.NotAllowed("IAM error: Not enough permissions to perform this action")
}

func fileOrNone(f *value.File) value.Value {
	if f == nil {
		return value.None
	}
	return value.FileOf(f)
}

// PutFile writes a file, see fn.FileHost.
func (h *host) PutFile(f *value.File, data []byte, overwrite bool) error {
	id, err := h.bucket(f.Bucket, "put", f, nil)
	if err != nil {
		return err
	}
	return h.r.Ex.Files.Put(id, f.Key, data, overwrite)
}

// GetFile reads a file, see fn.FileHost.
func (h *host) GetFile(f *value.File) (data []byte, found bool, err error) {
	id, err := h.bucket(f.Bucket, "get", f, nil)
	if err != nil {
		return nil, false, err
	}
	return h.r.Ex.Files.Get(id, f.Key)
}

// HeadFile describes a file, see fn.FileHost.
func (h *host) HeadFile(f *value.File) (info fn.FileInfo, found bool, err error) {
	id, err := h.bucket(f.Bucket, "head", f, nil)
	if err != nil {
		return info, false, err
	}
	head, found, err := h.r.Ex.Files.Head(id, f.Key)
	return fn.FileInfo{File: f, Size: head.Size, Updated: head.Updated}, found, err
}

// DeleteFile removes a file, see fn.FileHost.
func (h *host) DeleteFile(f *value.File) error {
	id, err := h.bucket(f.Bucket, "delete", f, nil)
	if err != nil {
		return err
	}
	return h.r.Ex.Files.Delete(id, f.Key)
}

// CopyFile copies or moves a file, see fn.FileHost. It takes the right to put the target, in the same bucket too.
func (h *host) CopyFile(from, to *value.File, overwrite, move bool) error {
	action := "copy"
	if move {
		action = "rename"
	}
	source, err := h.bucket(from.Bucket, action, from, to)
	if err != nil {
		return err
	}
	target, err := h.bucket(to.Bucket, "put", to, nil)
	if err != nil {
		return err
	}
	return h.r.Ex.Files.Copy(source, from.Key, target, to.Key, overwrite, move)
}

// ListFiles lists a bucket, see fn.FileHost.
func (h *host) ListFiles(name string, opt fn.ListFiles) ([]fn.FileInfo, error) {
	id, err := h.bucket(name, "list", nil, nil)
	if err != nil {
		return nil, err
	}
	list, err := h.r.Ex.Files.List(h.ctx, id, bucket.Listing{Prefix: opt.Prefix, After: opt.After, Limit: opt.Limit})
	if err != nil {
		return nil, err
	}
	out := make([]fn.FileInfo, len(list))
	for i, info := range list {
		out[i] = fn.FileInfo{File: &value.File{Bucket: name, Key: info.Key}, Size: info.Size, Updated: info.Updated}
	}
	return out, nil
}
