package catalog

import (
	"crypto/rand"
	"fmt"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// ModelFile is where the file of a model is. The header is kept with the definition, the ONNX model in parts under an
// id of its own, which the definitions of several models may share.
type ModelFile struct {
	Blob   [16]byte
	Hash   string // SHA-256 of the ONNX model, hexadecimal
	Size   int64  // of the ONNX model, in bytes
	Header string
}

// The names of a ModelFile among the facts of a definition.
const (
	factBlob   = "blob"
	factHash   = "hash"
	factSize   = "size"
	factHeader = "header"
)

// Facts are the properties of a file that its definition keeps.
func (f *ModelFile) Facts() *value.Object {
	return value.NewObject(value.Field{Name: factBlob, Value: value.UUIDOf(value.UUID(f.Blob))},
		value.Field{Name: factHash, Value: value.Str(f.Hash)}, value.Field{Name: factSize, Value: value.Int(f.Size)},
		value.Field{Name: factHeader, Value: value.Str(f.Header)})
}

// FileOf is the file of a model; nil for a model that was defined by a statement and has none.
func FileOf(d *Def) *ModelFile {
	blob, ok := d.Extra.Get(factBlob)
	if !ok || blob.Kind() != value.KindUUID {
		return nil
	}
	f := &ModelFile{Blob: blob.UUID()}
	if v, ok := d.Extra.Get(factHash); ok && v.Kind() == value.KindString {
		f.Hash = v.Str()
	}
	if v, ok := d.Extra.Get(factSize); ok && v.Kind() == value.KindInt {
		f.Size = v.Int()
	}
	if v, ok := d.Extra.Get(factHeader); ok && v.Kind() == value.KindString {
		f.Header = v.Str()
	}
	return f
}

// BlobPart is how many bytes a part of a blob has at most.
const BlobPart = 256 << 10

// NewBlob is an id for a blob.
func NewBlob() (id [16]byte, err error) {
	_, err = rand.Read(id[:])
	return id, err
}

// PutPart stores a part of a blob of a database, counted from 0. The bytes are taken over.
func PutPart(tx *txn.Tx, db Scope, id [16]byte, part uint32, b []byte) error {
	return tx.Set(key.Blob(nil, db.NS, db.DB, id, part), b)
}

// ReadBlob hands the parts of a blob to f, in order. They are good until f returns.
func ReadBlob(tx *txn.Tx, db Scope, id [16]byte, f func(b []byte) error) error {
	start, end := key.PrefixRange(key.BlobPrefix(nil, db.NS, db.DB, id))
	c := tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{Untracked: true})
	defer c.Close()
	for c.Next() {
		if err := f(c.Value()); err != nil {
			return err
		}
	}
	return c.Err()
}

// DropBlob removes up to n parts of a blob, and reports whether there are more.
func DropBlob(tx *txn.Tx, db Scope, id [16]byte, n int) (more bool, err error) {
	start, end := key.PrefixRange(key.BlobPrefix(nil, db.NS, db.DB, id))
	c := tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{KeysOnly: true, Limit: n + 1, Untracked: true})
	defer c.Close()
	var keys [][]byte
	for c.Next() {
		keys = append(keys, append([]byte{}, c.Key()...))
	}
	if err := c.Err(); err != nil {
		return false, err
	}
	more = len(keys) > n
	for _, k := range keys[:min(n, len(keys))] {
		if err := tx.Delete(k); err != nil {
			return false, err
		}
	}
	return more, nil
}

// Blobs are the ids of all blobs of a database.
func Blobs(tx *txn.Tx, db Scope) ([][16]byte, error) {
	var out [][16]byte
	start, end := key.PrefixRange(key.BlobSpace(nil, db.NS, db.DB))
	for {
		c := tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{KeysOnly: true, Limit: 1, Untracked: true})
		if !c.Next() {
			err := c.Err()
			c.Close()
			return out, err
		}
		id, _, err := key.DecodeBlob(c.Key())
		c.Close()
		if err != nil {
			return nil, fmt.Errorf("list blobs: %w", err)
		}
		out = append(out, id)
		_, start = key.PrefixRange(key.BlobPrefix(nil, db.NS, db.DB, id))
	}
}

// BlobUsers are the definitions of models of a database whose file is the blob of id.
func (v *View) BlobUsers(db *Database, id [16]byte) ([]*Def, error) {
	defs, err := v.Defs(db.Inner(), ast.DefModel)
	if err != nil {
		return nil, err
	}
	var out []*Def
	for _, d := range defs {
		if f := FileOf(d); f != nil && f.Blob == id {
			out = append(out, d)
		}
	}
	return out, nil
}
