package corrupt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// spoiler damages one store: through its keys and values, with sound checksums, or in its file.
type spoiler struct {
	path string
	rnd  *rand.Rand
}

// entry is one key and value of a store.
type entry struct{ k, v []byte }

// contents are the keys and values of a store, and the ids in its catalog.
type contents struct {
	all    []entry
	ns, db uint32
	tables map[string]*catalog.Table
	writes []kv.Write
}

// edit lets f choose what to write into the store, and writes it.
func (s *spoiler) edit(f func(c *contents) error) (err error) {
	ctx := context.Background()
	st, err := bolt.Open(bolt.Options{Path: s.path, Sync: kv.SyncNever})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	c, err := read(ctx, st)
	if err != nil {
		return err
	}
	if err := f(c); err != nil {
		return err
	}
	slices.SortFunc(c.writes, func(a, b kv.Write) int { return bytes.Compare(a.Key, b.Key) })
	_, err = st.Commit(ctx, &kv.Batch{Writes: c.writes})
	return err
}

// read reads a whole store.
func read(ctx context.Context, st kv.Store) (*contents, error) {
	tx, err := txn.Begin(ctx, st, txn.Options{})
	if err != nil {
		return nil, err
	}
	defer tx.Cancel()
	c := &contents{tables: map[string]*catalog.Table{}}
	cur := tx.Scan(kv.Range{}, txn.ScanOptions{})
	defer cur.Close()
	for cur.Next() {
		c.all = append(c.all, entry{bytes.Clone(cur.Key()), bytes.Clone(cur.Value())})
	}
	if err := cur.Err(); err != nil {
		return nil, err
	}
	parsing := parse.Options{Resolver: fn.Library().Resolver()}
	view := catalog.NewCache(func(text string) (ast.Statement, error) {
		q, err := parse.Query(text, parsing)
		if err != nil {
			return nil, err
		}
		return q.Stmts[0], nil
	}).View(tx)
	ns, err := view.Namespace("rich")
	if err != nil {
		return nil, err
	}
	db, err := view.Database(ns, "rich")
	if err != nil {
		return nil, err
	}
	c.ns, c.db = ns.ID, db.ID
	tables, err := view.Tables(db)
	for _, tb := range tables {
		c.tables[tb.Name] = tb
	}
	return c, err
}

func (c *contents) set(k, v []byte) {
	c.writes = append(c.writes, kv.Write{Key: k, Value: append([]byte{}, v...)})
}
func (c *contents) remove(k []byte) { c.writes = append(c.writes, kv.Write{Key: k}) }

// with are the entries whose keys begin with prefix and for which ok holds.
func (c *contents) with(prefix []byte, ok func(entry) bool) []entry {
	var out []entry
	for _, e := range c.all {
		if bytes.HasPrefix(e.k, prefix) && (ok == nil || ok(e)) {
			out = append(out, e)
		}
	}
	return out
}

// pick is one of them, by chance.
func (s *spoiler) pick(from []entry) (entry, error) {
	if len(from) == 0 {
		return entry{}, errors.New("there is nothing to spoil")
	}
	return from[s.rnd.IntN(len(from))], nil
}

func (c *contents) index(table, name string) []byte {
	return key.IndexUnique(nil, c.ns, c.db, c.tables[table].ID, c.tables[table].Index(name).ID, nil)
}

func (c *contents) records(table string) []byte {
	return key.RecordPrefix(nil, c.ns, c.db, c.tables[table].ID)
}

// class are the entries of a class in the database.
func (c *contents) class(cl key.Class) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{byte(cl)}, c.ns), c.db)
}

// edges are the adjacency entries of a table of edges in a direction.
func (c *contents) edges(dir key.Direction, table string) []entry {
	return c.with(c.class(key.ClassEdge), func(e entry) bool {
		d, tb, _, err := key.DecodeEdge(e.k)
		return err == nil && d == dir && tb == c.tables[table].ID
	})
}

// change lets f rewrite one of the entries.
func (s *spoiler) change(from func(c *contents) []entry, f func(c *contents, e entry) error) error {
	return s.edit(func(c *contents) error {
		e, err := s.pick(from(c))
		if err != nil {
			return err
		}
		return f(c, e)
	})
}

// drop removes one of the entries.
func (s *spoiler) drop(from func(c *contents) []entry) error {
	return s.change(from, func(c *contents, e entry) error { c.remove(e.k); return nil })
}

// rewrite changes a record and stores it again as it should be stored.
func rewrite(raw []byte, f func(o *value.Object) *value.Object) ([]byte, error) {
	o, err := value.RecordObject(raw)
	if err != nil {
		return nil, err
	}
	return value.EncodeRecord(nil, f(o))
}

// file lets f spoil the bytes of data.db.
func (s *spoiler) file(f func(p []byte) error) error {
	name := filepath.Join(s.path, harness.DataFile)
	p, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := f(p); err != nil {
		return err
	}
	return os.WriteFile(name, p, 0o600)
}

// usedPages are the pages of the trees in p, of one kind (1 branch, 2 leaf).
func usedPages(p []byte, kind uint16) []int {
	le := binary.LittleEndian
	var out []int
	var visit func(id uint64)
	visit = func(id uint64) {
		pg := p[id*harness.PageSize:]
		if le.Uint16(pg[8:]) == kind {
			out = append(out, int(id))
		}
		for i := range int(le.Uint16(pg[10:])) {
			e := pg[16+16*i:]
			switch {
			case le.Uint16(pg[8:]) == 1:
				visit(le.Uint64(e[8:]))
			case le.Uint32(e) == 1:
				if root := le.Uint64(e[le.Uint32(e[4:])+le.Uint32(e[8:]):]); root != 0 {
					visit(root)
				}
			}
		}
	}
	visit(le.Uint64(newestMeta(p)[32:]))
	return out
}

// newestMeta is the meta page that counts.
func newestMeta(p []byte) []byte {
	if binary.LittleEndian.Uint64(p[harness.PageSize+64:]) > binary.LittleEndian.Uint64(p[64:]) {
		return p[harness.PageSize : 2*harness.PageSize]
	}
	return p[:harness.PageSize]
}

// page spoils one used page of a kind.
func (s *spoiler) page(kind uint16, f func(p, pg []byte) error) error {
	return s.file(func(p []byte) error {
		pages := usedPages(p, kind)
		if len(pages) < 2 {
			return fmt.Errorf("only %d pages of kind %d", len(pages), kind)
		}
		id := pages[1+s.rnd.IntN(len(pages)-1)] // the first one may be the root tree
		return f(p, p[id*harness.PageSize:(id+1)*harness.PageSize])
	})
}
