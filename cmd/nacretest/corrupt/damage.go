package corrupt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/value"
)

func whole(e entry) bool   { return len(e.v) == 0 }
func element(e entry) bool { return len(e.v) > 0 && e.v[0] == 0 }

// logicalDamages leave every checksum right.
func logicalDamages() []damage {
	of := func(kinds ...string) []string { return kinds }
	entries := func(table, index string, ok func(entry) bool) func(*contents) []entry {
		return func(c *contents) []entry { return c.with(c.index(table, index), ok) }
	}
	records := func(table string) func(*contents) []entry {
		return func(c *contents) []entry { return c.with(c.records(table), nil) }
	}
	return []damage{
		{"an index entry is missing", of(physical.FindMissing),
			func(s *spoiler) error { return s.drop(entries("person", "byAge", whole)) }, true},
		{"an index entry of an expression is missing", of(physical.FindMissing),
			func(s *spoiler) error { return s.drop(entries("person", "byText", whole)) }, true},
		{"an element's index entry is missing", of(physical.FindMissing),
			func(s *spoiler) error { return s.drop(entries("person", "byTags", element)) }, true},
		{"a unique index entry is missing", of(physical.FindMissing),
			func(s *spoiler) error { return s.drop(entries("note", "byNumber", nil)) }, true},
		{"a unique index entry names another record", of(physical.FindExtra, physical.FindMissing),
			func(s *spoiler) error {
				return s.change(entries("person", "byName", func(e entry) bool { return len(e.v) > 0 }),
					func(c *contents, e entry) error {
						c.set(e.k, key.AppendRecordKey(nil, value.Int(7)))
						return nil
					})
			}, true},
		{"an index has an entry too many", of(physical.FindExtra), func(s *spoiler) error {
			return s.edit(func(c *contents) error {
				c.set(append(c.index("person", "byAge"),
					key.AppendRecordKey(key.AppendValue(nil, value.Int(1234)), value.Int(7))...), nil)
				return nil
			})
		}, true},
		{"an index has an entry of a record that is not there", of(physical.FindExtra), func(s *spoiler) error {
			return s.edit(func(c *contents) error {
				c.set(append(c.index("person", "byAge"),
					key.AppendRecordKey(key.AppendValue(nil, value.Int(5)), value.Int(99999999))...), nil)
				return nil
			})
		}, true},
		{"an index key is malformed", of(physical.FindKey), func(s *spoiler) error {
			return s.edit(func(c *contents) error {
				c.set(append(c.index("person", "byAge"), 0xee, 0xee), nil)
				return nil
			})
		}, true},
		{"an entry of an index that is not defined", of(physical.FindOrphan), func(s *spoiler) error {
			return s.edit(func(c *contents) error {
				c.set(key.Index(nil, c.ns, c.db, c.tables["person"].ID, 4321, []value.Value{value.Int(1)},
					value.Int(7)), nil)
				return nil
			})
		}, true},
		{"a count index is off by one", of(physical.FindCounter),
			func(s *spoiler) error { return s.bump("person", "adults") }, true},
		{"a row counter is off by one", of(physical.FindCounter), func(s *spoiler) error { return s.bump("book", "") },
			true},
		{"an id counter lags", of(physical.FindCounter), func(s *spoiler) error {
			return s.change(func(c *contents) []entry {
				return c.with(key.Meta(nil, "id"),
					func(e entry) bool { return len(e.v) == 4 && binary.BigEndian.Uint32(e.v) > 2 })
			}, func(c *contents, e entry) error {
				c.set(e.k, binary.BigEndian.AppendUint32(nil, 1))
				return nil
			})
		}, true},
		{"an edge is not linked at its start", of(physical.FindEdge), func(s *spoiler) error {
			return s.drop(func(c *contents) []entry { return c.edges(key.Out, "knows") })
		}, true},
		{"an edge is not linked at its end", of(physical.FindEdge), func(s *spoiler) error {
			return s.drop(func(c *contents) []entry { return c.edges(key.In, "bought") })
		}, true},
		{"an edge is linked and has no record", of(physical.FindEdge), func(s *spoiler) error {
			return s.edit(func(c *contents) error {
				p, k := c.tables["person"].ID, c.tables["knows"].ID
				c.set(key.Edge(nil, c.ns, c.db, p, value.Int(1), key.Out, k, value.Str("ghost")),
					key.EdgeEnd(nil, p, value.Int(2)))
				c.set(key.Edge(nil, c.ns, c.db, p, value.Int(2), key.In, k, value.Str("ghost")),
					key.EdgeEnd(nil, p, value.Int(1)))
				return nil
			})
		}, true},
		{"an edge leads to another record than its record says", of(physical.FindEdge), func(s *spoiler) error {
			return s.change(func(c *contents) []entry { return c.edges(key.Out, "knows") },
				func(c *contents, e entry) error {
					c.set(e.k, key.EdgeEnd(nil, c.tables["person"].ID, value.Int(424242)))
					return nil
				})
		}, true},
		{"an edge's record is gone", of(physical.FindEdge), func(s *spoiler) error { return s.drop(records("knows")) },
			true},
		{"an edge's record has no ends", of(physical.FindEdge), func(s *spoiler) error {
			return s.change(records("knows"), func(c *contents, e entry) error {
				raw, err := rewrite(e.v, func(o *value.Object) *value.Object { return o.Without("in") })
				c.set(e.k, raw)
				return err
			})
		}, false},
		{"a record is gone", of(physical.FindExtra), func(s *spoiler) error { return s.drop(records("person")) }, true},
		{"a row of a view is gone", of(physical.FindView),
			func(s *spoiler) error { return s.drop(records("byAuthor")) }, true},
		{"a record is cut", of(physical.FindRecord), func(s *spoiler) error {
			return s.change(records("book"),
				func(c *contents, e entry) error { c.set(e.k, e.v[:len(e.v)-3]); return nil })
		}, true},
		{"a record has other values than its index", of(physical.FindMissing, physical.FindExtra),
			func(s *spoiler) error {
				return s.change(records("person"), func(c *contents, e entry) error {
					raw, err := rewrite(e.v,
						func(o *value.Object) *value.Object { return o.With("age", value.Int(4711)) })
					c.set(e.k, raw)
					return err
				})
			}, true},
		{"a record lies under another key", of(physical.FindRecord), func(s *spoiler) error {
			return s.change(records("note"), func(c *contents, e entry) error {
				c.remove(e.k)
				c.set(append(c.records("note"), key.AppendRecordKey(nil, value.Str("moved"))...), e.v)
				return nil
			})
		}, true},
		{"a record's key is malformed", of(physical.FindKey), func(s *spoiler) error {
			return s.change(records("note"),
				func(c *contents, e entry) error { c.set(append(c.records("note"), 0xff), e.v); return nil })
		}, true},
		{"a key of no class", of(physical.FindKey), func(s *spoiler) error {
			return s.edit(func(c *contents) error { c.set([]byte{0xee, 1, 2}, []byte("x")); return nil })
		}, true},
		{"a reference is noted that no record holds", of(physical.FindReference), func(s *spoiler) error {
			return s.edit(func(c *contents) error {
				c.set(key.Reference(nil, c.ns, c.db, c.tables["person"].ID, value.Int(60), c.tables["book"].ID,
					"author",
					value.Array(value.Int(1), value.Str("b"))), nil)
				return nil
			})
		}, true},
		{"a reference is not noted", of(physical.FindReference), func(s *spoiler) error {
			return s.drop(func(c *contents) []entry { return c.with(c.class(key.ClassReference), nil) })
		}, true},
		{"a posting of a full-text index is missing", of(physical.FindExtra), func(s *spoiler) error {
			return s.drop(func(c *contents) []entry { return c.with(c.text(textChange), nil) })
		}, true},
		{"a document of a full-text index is missing", of(physical.FindMissing), func(s *spoiler) error {
			return s.drop(func(c *contents) []entry { return c.with(c.text(textRecord), nil) })
		}, true},
		{"a vector is missing", of(physical.FindMissing), func(s *spoiler) error {
			return s.drop(func(c *contents) []entry { return c.with(c.vectors(), nil) })
		}, true},
		{"a vector is another one", of(physical.FindMissing), func(s *spoiler) error {
			return s.change(func(c *contents) []entry { return c.with(c.vectors(), nil) },
				func(c *contents, e entry) error {
					v := bytes.Clone(e.v)
					v[len(v)-1] ^= 1
					c.set(e.k, v)
					return nil
				})
		}, true},
		{"a full-text index counts wrong", of(physical.FindExtra), func(s *spoiler) error {
			// of documents and terms; the others say how far it is folded
			counts := func(e entry) bool { return e.k[len(e.k)-1] <= 2 }
			return s.change(func(c *contents) []entry { return c.with(c.text(textCount), counts) },
				func(c *contents, e entry) error {
					c.set(e.k, kv.AppendCounter(nil, 1))
					return nil
				})
		}, true},
		{"a table's definition does not parse", of(physical.FindDefinition), func(s *spoiler) error {
			return s.spoilText(func(c *contents) []byte { return key.DBDef(nil, c.ns, c.db, key.KindTable, "book") },
				"DEFINE TABLE", "DEFINE TALBE")
		}, true},
		{"an index's definition does not parse", of(physical.FindDefinition), func(s *spoiler) error {
			return s.spoilText(func(c *contents) []byte {
				return key.TableDef(nil, c.ns, c.db, c.tables["person"].ID, key.KindIndex, "byAge")
			}, "DEFINE INDEX", "DEFINE INDXE")
		}, true},
		{"a table's definition is gone", of(physical.FindOrphan), func(s *spoiler) error {
			return s.edit(func(c *contents) error {
				c.remove(key.DBDef(nil, c.ns, c.db, key.KindTable, "note"))
				return nil
			})
		}, true},
		{"a database's definition is gone", of(physical.FindOrphan), func(s *spoiler) error {
			return s.edit(func(c *contents) error {
				c.remove(key.NSDef(nil, c.ns, key.KindDatabase, "rich"))
				return nil
			})
		}, false},
	}
}

// Parts of a full-text index.
const (
	textRecord = 1
	textChange = 3
	textCount  = 5
)

// text returns the prefix of the keys of a part of the full-text index.
func (c *contents) text(part byte) []byte {
	book := c.tables["book"]
	return key.IndexData(nil, c.ns, c.db, book.ID, book.Index("inTitle").ID, part)
}

// vectors returns the prefix of the keys of the vectors of a vector index.
func (c *contents) vectors() []byte {
	point := c.tables["point"]
	return key.IndexData(nil, c.ns, c.db, point.ID, point.Index("near").ID, 1)
}

// bump adds one to a counter.
func (s *spoiler) bump(table, index string) error {
	return s.edit(func(c *contents) error {
		ix := uint32(0)
		if index != "" {
			ix = c.tables[table].Index(index).ID
		}
		e, err := s.pick(c.with(key.CounterPrefix(nil, c.ns, c.db, c.tables[table].ID, ix), nil))
		if err != nil {
			return err
		}
		n, _ := kv.Counter(e.v)
		c.set(e.k, kv.AppendCounter(nil, n+1))
		return nil
	})
}

// spoilText replaces a part of a stored definition by another one of the same length.
func (s *spoiler) spoilText(at func(c *contents) []byte, old, now string) error {
	return s.edit(func(c *contents) error {
		for _, e := range c.with(at(c), nil) {
			if bytes.Contains(e.v, []byte(old)) {
				c.set(e.k, bytes.Replace(e.v, []byte(old), []byte(now), 1))
				return nil
			}
		}
		return errors.New("there is no such definition")
	})
}

// physicalDamages hit the files.
func physicalDamages() []damage {
	page := []string{physical.FindPage}
	le := binary.LittleEndian
	return []damage{
		{"a bit of a value is flipped", page, func(s *spoiler) error {
			return s.page(2, func(_, pg []byte) error {
				// The last element's value ends where the page's content does.
				e := pg[16+16*(int(le.Uint16(pg[10:]))-1):]
				at := le.Uint32(e[4:]) + le.Uint32(e[8:]) + uint32(s.rnd.IntN(int(le.Uint32(e[12:]))))
				e[at] ^= 1 << s.rnd.IntN(8)
				return nil
			})
		}, false},
		{"a bit of a key is flipped", page, func(s *spoiler) error {
			return s.page(2, func(_, pg []byte) error {
				e := pg[16:]
				e[le.Uint32(e[4:])+uint32(s.rnd.IntN(int(le.Uint32(e[8:]))))] ^= 1 << s.rnd.IntN(8)
				return nil
			})
		}, false},
		{"a leaf page is zero", page, func(s *spoiler) error {
			return s.page(2, func(_, pg []byte) error { clear(pg); return nil })
		}, false},
		{"a leaf page has the content of another one", page, func(s *spoiler) error {
			return s.page(2, func(p, pg []byte) error {
				for _, id := range usedPages(p, 2) {
					if other := p[id*harness.PageSize : (id+1)*harness.PageSize]; !bytes.Equal(other, pg) {
						copy(pg, other)
						return nil
					}
				}
				return errors.New("no other page")
			})
		}, false},
		{"two keys of a leaf page are swapped", page, func(s *spoiler) error {
			return s.page(2, func(_, pg []byte) error { return swapElements(pg) })
		}, false},
		{"a branch page points nowhere", page, func(s *spoiler) error {
			return s.file(func(p []byte) error {
				pages := usedPages(p, 1)
				if len(pages) == 0 {
					return errors.New("no branch page")
				}
				pg := p[pages[s.rnd.IntN(len(pages))]*harness.PageSize:]
				le.PutUint64(pg[16+16*s.rnd.IntN(int(le.Uint16(pg[10:])))+8:], 1<<40)
				return nil
			})
		}, false},
		{"a branch page points at one child twice", page, func(s *spoiler) error {
			return s.file(func(p []byte) error {
				pg := p[usedPages(p, 1)[0]*harness.PageSize:]
				le.PutUint64(pg[16+8:], le.Uint64(pg[32+8:]))
				return nil
			})
		}, false},
		{"the newest meta page is torn", page, func(s *spoiler) error {
			return s.file(func(p []byte) error { newestMeta(p)[60] ^= 0xff; return nil })
		}, false},
		{"the free list lists a page in use", page, func(s *spoiler) error {
			return s.file(func(p []byte) error {
				free := p[le.Uint64(newestMeta(p)[48:])*harness.PageSize:]
				n := le.Uint16(free[10:])
				le.PutUint64(free[16+8*uint64(n):], uint64(usedPages(p, 2)[1]))
				le.PutUint16(free[10:], n+1)
				return nil
			})
		}, true},
		{"the file is cut", page, func(s *spoiler) error {
			name := filepath.Join(s.path, harness.DataFile)
			p, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			pages := le.Uint64(newestMeta(p)[56:])
			return os.Truncate(name, int64(pages-2)*harness.PageSize)
		}, false},
		{"a frame in the midst of the log is damaged", page, func(s *spoiler) error { return s.spoilLog() }, false},
	}
}

// swapElements exchanges the places of two neighbours in a leaf.
func swapElements(pg []byte) error {
	le := binary.LittleEndian
	if le.Uint16(pg[10:]) < 2 {
		return errors.New("a page with one key")
	}
	a, b := pg[16:32], pg[32:48]
	var was [16]byte
	copy(was[:], a)
	copy(a, b)
	copy(b, was[:])
	// Places are counted from the element.
	le.PutUint32(a[4:], le.Uint32(a[4:])+16)
	le.PutUint32(b[4:], le.Uint32(b[4:])-16)
	return nil
}

// spoilLog makes a store whose log has commits that data.db lacks, as after a kill, and damages
// one that later ones build on.
func (s *spoiler) spoilLog() error {
	ctx := context.Background()
	st, err := bolt.Open(bolt.Options{Path: s.path})
	if err != nil {
		return err
	}
	for i := range 20 {
		if _, err := st.Commit(ctx,
			&kv.Batch{Writes: []kv.Write{
				{Key: key.Meta(nil, "test"), Value: bytes.Repeat([]byte{byte(i)}, 100)}}}); err != nil {
			return errors.Join(err, st.Close())
		}
	}
	killed := s.path + ".killed"
	err = os.CopyFS(killed, os.DirFS(s.path))
	if err := errors.Join(err, st.Close(), os.RemoveAll(s.path), os.Rename(killed, s.path)); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(s.path, "wal-*.log"))
	if err != nil {
		return err
	}
	for _, name := range names {
		p, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if at := bytes.Index(p, bytes.Repeat([]byte{5}, 100)); at > 0 {
			p[at+50] ^= 1
			return os.WriteFile(name, p, 0o600)
		}
	}
	return errors.New("the log does not have what was written")
}
