package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"sync"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/engine/value"
)

// ImportModel stores a model file as it arrives and defines the model that its header names, with its description as
// the comment. The file is checked as a whole before the model is defined: what cannot be run is refused, with the
// operators that are missing. An import that fails leaves nothing behind. The same file again changes nothing; another
// file of the same name and version is refused. A model that a statement defined without a file gets its file.
func (s *Session) ImportModel(ctx context.Context, r io.Reader) (*ml.Header, error) {
	st, err := s.mayModel(auth.Edit)
	if err != nil {
		return nil, err
	}
	h, err := ml.ReadHeader(r)
	if err != nil {
		return nil, err
	}
	if err := h.Check(); err != nil {
		return nil, err
	}
	im := &modelImport{e: s.e, st: st, header: h, sum: sha256.New()}
	if err := im.begin(ctx); err != nil {
		return nil, err
	}
	defer im.end(context.WithoutCancel(ctx))
	if err := im.store(ctx, r); err != nil {
		return nil, err
	}
	if err := im.check(ctx); err != nil {
		return nil, err
	}
	return h, im.define(ctx)
}

// mayModel refuses models to those who may not change, or see, the definitions of the database.
func (s *Session) mayModel(action auth.Action) (*exec.SessionState, error) {
	st, err := s.mayCall(s.snapshot())
	if err != nil {
		return nil, err
	}
	if err := st.Auth.MayUse(); err != nil {
		return nil, err
	}
	return st, st.Auth.Allow(action, ast.BaseDatabase, auth.ResourceAny)
}

// uploads are the blobs that are on their way into the store. No other import takes them for left over.
type uploads struct {
	mu sync.Mutex // guards on
	on map[[16]byte]bool
}

func (u *uploads) add(id [16]byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.on == nil {
		u.on = map[[16]byte]bool{}
	}
	u.on[id] = true
}

func (u *uploads) done(id [16]byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.on, id)
}

func (u *uploads) has(id [16]byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.on[id]
}

// modelImport is one import of a model.
type modelImport struct {
	e      *Engine
	st     *exec.SessionState
	header *ml.Header
	sum    hash.Hash
	db     catalog.Scope
	file   catalog.ModelFile
	kept   bool // a definition has the blob
}

// partsAtOnce is how many parts of a blob are written, or removed, in one transaction.
const partsAtOnce = 16

// write runs f in a transaction of its own.
func (im *modelImport) write(ctx context.Context, f func(r *exec.Run) error) error {
	return im.e.queries.Write(ctx, im.st, f)
}

// begin finds the database, removes what crashed imports left, and refuses a model that is there already with another
// file of another size. The rest is for define.
func (im *modelImport) begin(ctx context.Context) error {
	id, err := catalog.NewBlob()
	if err != nil {
		return err
	}
	im.file = catalog.ModelFile{Blob: id, Header: im.header.String()}
	im.e.uploads.add(id)
	err = im.write(ctx, func(r *exec.Run) error {
		db, err := r.Database()
		if err != nil {
			return err
		}
		im.db = db.Inner()
		return im.e.sweepBlobs(r, db)
	})
	if err != nil {
		im.e.uploads.done(id)
	}
	return err
}

// sweepBlobs removes some parts of blobs that no definition has and no import writes.
func (e *Engine) sweepBlobs(r *exec.Run, db *catalog.Database) error {
	ids, err := catalog.Blobs(r.Tx, db.Inner())
	if err != nil {
		return err
	}
	for _, id := range ids {
		if e.uploads.has(id) {
			continue
		}
		users, err := r.Cat.BlobUsers(db, id)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			continue
		}
		if _, err := catalog.DropBlob(r.Tx, db.Inner(), id, sweepParts); err != nil {
			return err
		}
	}
	return nil
}

// sweepParts bounds how many left-over parts an import removes.
const sweepParts = 4096

// store reads the rest of the file into the store.
func (im *modelImport) store(ctx context.Context, r io.Reader) error {
	for part, ended := uint32(0), false; !ended; {
		var batch [][]byte
		for len(batch) < partsAtOnce && !ended {
			b := make([]byte, catalog.BlobPart)
			n, err := io.ReadFull(r, b)
			ended = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
			if err != nil && !ended {
				return err
			}
			if n > 0 {
				im.sum.Write(b[:n])
				im.file.Size += int64(n)
				batch = append(batch, b[:n:n])
			}
		}
		if im.file.Size > im.e.queries.Limits.ModelCache {
			return errs.Validation("The model is larger than the %d MiB that models may take in memory together",
				im.e.queries.Limits.ModelCache>>20)
		}
		if err := im.put(ctx, part, batch); err != nil {
			return err
		}
		part += uint32(len(batch))
	}
	im.file.Hash = hex.EncodeToString(im.sum.Sum(nil))
	return ctx.Err()
}

func (im *modelImport) put(ctx context.Context, part uint32, batch [][]byte) error {
	if len(batch) == 0 {
		return nil
	}
	return im.write(ctx, func(r *exec.Run) error {
		for i, b := range batch {
			if err := catalog.PutPart(r.Tx, im.db, im.file.Blob, part+uint32(i), b); err != nil {
				return err
			}
		}
		return nil
	})
}

// check loads the model as a call would, and refuses it where that cannot be.
func (im *modelImport) check(ctx context.Context) error {
	return im.e.queries.Read(ctx, im.st, func(r *exec.Run) error {
		_, err := r.Ex.Models.Get(ctx, r.Tx, im.db, &im.file)
		return err
	})
}

// define makes the definition, or finds that there is nothing to change.
func (im *modelImport) define(ctx context.Context) error {
	name := im.header.Name + "<" + im.header.Version.String() + ">"
	kept := false
	err := im.write(ctx, func(r *exec.Run) error {
		kept = false
		db, err := r.Database()
		if err != nil {
			return err
		}
		if db.Inner() != im.db {
			return errs.Internal("The database was removed while the model was imported")
		}
		old, err := r.Cat.Def(im.db, ast.DefModel, name)
		if err != nil {
			return err
		}
		def := &ast.DefineModel{Name: im.header.Name, Version: im.header.Version.String()}
		by := im.st.Auth.Definer()
		if old != nil {
			had := catalog.FileOf(old)
			if had != nil {
				if had.Hash == im.file.Hash && had.Header == im.file.Header {
					return nil
				}
				return errs.New(errs.KindAlreadyExists, "The model '%s' already exists", im.header.Name)
			}
			if was, ok := old.Stmt.(*ast.DefineModel); ok {
				def, by = was, old.By
			}
		} else if im.header.Description != "" {
			def.Comment = &ast.Literal{Value: value.Str(im.header.Description)}
		}
		file, err := im.shared(r, db)
		if err != nil {
			return err
		}
		kept = file.Blob == im.file.Blob
		_, err = r.Cat.Put(&catalog.Def{Scope: im.db, Kind: ast.DefModel, Name: name, Stmt: def, Extra: file.Facts(),
			By: by})
		return err
	})
	im.kept = err == nil && kept
	return err
}

// shared is the file with the blob of another model that has the same bytes, if there is one.
func (im *modelImport) shared(r *exec.Run, db *catalog.Database) (catalog.ModelFile, error) {
	file := im.file
	defs, err := r.Cat.Defs(db.Inner(), ast.DefModel)
	if err != nil {
		return file, err
	}
	for _, d := range defs {
		if f := catalog.FileOf(d); f != nil && f.Hash == file.Hash && f.Size == file.Size {
			file.Blob = f.Blob
		}
	}
	return file, nil
}

// end removes the blob if nothing has it.
func (im *modelImport) end(ctx context.Context) {
	defer im.e.uploads.done(im.file.Blob)
	if !im.kept {
		im.e.queries.Models.Forget(im.file.Blob)
	}
	for more := !im.kept; more; {
		err := im.write(ctx, func(r *exec.Run) (err error) {
			more, err = catalog.DropBlob(r.Tx, im.db, im.file.Blob, 256)
			return err
		})
		if err != nil {
			im.e.opt.Log.Error("left-over parts of a model stay until the next import", "err", err)
			return
		}
	}
}

// ExportModel writes the file of a model to w: its header and its bytes as they were imported.
func (s *Session) ExportModel(ctx context.Context, name, version string, w io.Writer) error {
	st, err := s.mayModel(auth.View)
	if err != nil {
		return err
	}
	return s.e.queries.Read(ctx, st, func(r *exec.Run) error {
		db, err := r.Database()
		if err != nil {
			return err
		}
		d, err := r.Cat.Def(db.Inner(), ast.DefModel, name+"<"+version+">")
		if err != nil {
			return err
		}
		var f *catalog.ModelFile
		if d != nil {
			f = catalog.FileOf(d)
		}
		if f == nil {
			return errs.New(errs.KindNotFound, "Model %s %s not found", name, version)
		}
		h, err := ml.ParseHeader([]byte(f.Header))
		if err != nil {
			return err
		}
		if _, err := w.Write(h.Bytes()); err != nil {
			return err
		}
		return catalog.ReadBlob(r.Tx, db.Inner(), f.Blob, func(b []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			_, err := w.Write(b)
			return err
		})
	})
}
