package catalog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// Cache keeps parsed definitions for all transactions of an engine. It is safe for concurrent use. Entries are
// found by schema version; a stale entry is compared with the stored bytes before it is used again.
//
// There is one schema version for the store's root and namespaces, and one per database: count4 random4, as a number.
type Cache struct {
	identities atomic.Uint64 // see Identities
	changes    atomic.Uint64 // see Changes
	settings   atomic.Uint64 // see Settings
	subjects   atomic.Bool
	epochs     epochs // of a store that several processes share

	// Of the root, and of the database that was in use last: what a transaction found. Others at the same version of
	// the store need not look.
	found [2]atomic.Pointer[found]

	mu     sync.RWMutex      // guards the maps; a leaf lock, not held across reads of the store
	levels map[uint32]*level // by database id; 0: root and namespaces
	defs   map[string]*Def   // by storage key, newest seen
	tables map[string]*Table // by storage key, newest seen
	parse  Parser
}

// level holds the definitions found under one schema version.
type level struct {
	version uint64
	refused int               // guarded by Cache.mu
	mu      sync.RWMutex      // guards the maps; a leaf lock
	defs    map[string]*Def   // nil values: known to be absent
	tables  map[string]*Table // likewise, by name
	names   map[uint32]string // of table ids; nil: not listed yet
	ids     map[string]uint32 // of tables by name; 0: known to be absent

	spaces    map[string]*Namespace // of the root level
	databases map[dbName]*Database  // of the root level
}

// found is the schema version that a version of the store has. at may change to another version of the store that has
// the same one.
type found struct {
	at      atomic.Uint64 // a kv.Version
	db      uint32
	version uint64
}

// dbName names a database without building its key.
type dbName struct {
	ns   *Def
	name string
}

func newLevel(version uint64) *level {
	return &level{version: version, defs: map[string]*Def{}, tables: map[string]*Table{}, ids: map[string]uint32{},
		spaces: map[string]*Namespace{}, databases: map[dbName]*Database{}}
}

// maxParsed is how many parsed definitions are kept; beyond it all are parsed again as they are needed.
const maxParsed = 1 << 17

// Parser reads one DEFINE statement.
type Parser func(text string) (ast.Statement, error)

// NewCache makes an empty cache whose stored texts are read by parse.
func NewCache(parse Parser) *Cache {
	return &Cache{levels: map[uint32]*level{}, defs: map[string]*Def{}, tables: map[string]*Table{}, parse: parse}
}

// View is the catalog as one transaction sees it. It belongs to one goroutine at a time.
type View struct {
	cache *Cache
	tx    *txn.Tx
	lv    [2]viewLevel // the levels in use most: root, and the last database
	more  map[uint32]*viewLevel
	room  [16]byte // of the key that is asked for
	loose bool     // see Loosely
}

// viewLevel is a level in a view. dirty: the transaction changed definitions there, so nothing shared is trusted
// unchecked.
type viewLevel struct {
	*level
	db    uint32
	dirty bool
}

// View gives the catalog as tx sees it.
func (c *Cache) View(tx *txn.Tx) *View {
	v := new(View)
	c.Init(v, tx)
	return v
}

// Init makes a new v the view that View gives.
func (c *Cache) Init(v *View, tx *txn.Tx) {
	v.cache, v.tx = c, tx
}

// level finds the level of a database (0: root) at the version of the transaction.
func (v *View) level(db uint32) (*viewLevel, error) {
	if v.lv[0].level != nil && db == 0 {
		return &v.lv[0], nil
	}
	if v.lv[1].level != nil && v.lv[1].db == db && db != 0 {
		return &v.lv[1], nil
	}
	if l := v.more[db]; l != nil {
		return l, nil
	}
	if err := v.begin(db); err != nil {
		return nil, err
	}
	version, err := v.version(db)
	if err != nil {
		return nil, err
	}
	l := viewLevel{level: v.cache.level(db, version), db: db}
	switch {
	case db == 0:
		v.lv[0] = l
		return &v.lv[0], nil
	case v.lv[1].level == nil:
		v.lv[1] = l
		return &v.lv[1], nil
	}
	if v.more == nil {
		v.more = map[uint32]*viewLevel{}
	}
	kept := l // one of its own: l itself stays off the heap
	v.more[db] = &kept
	return &kept, nil
}

// begin reads the versions of the levels that are in use together, where that is one request instead of several.
func (v *View) begin(db uint32) error {
	if !v.tx.Prefetches() {
		return nil
	}
	if db != 0 {
		v.cache.epochs.use(db)
	}
	if v.tx.Presumes() {
		if !v.tx.Writable() || !v.cache.epochs.shows(db) {
			return nil
		}
		_, err := v.tx.GetUntracked(key.Watch(nil, db)) // asked for with the version: what is written needs it
		return err
	}
	if v.lv[0].level != nil || v.lv[1].level != nil {
		return nil
	}
	return v.cache.ahead(v.tx)
}

// refusals is how often in a row a transaction is answered with a level of its own, because it is behind the shared
// one, before the shared one gives way: it may be left over from a transaction that was cancelled.
const refusals = 16

// level is the shared level of a version, or a private one for a transaction that is behind it.
func (c *Cache) level(db uint32, version uint64) *level {
	c.mu.RLock()
	l := c.levels[db]
	c.mu.RUnlock()
	if l != nil && l.version == version {
		return l
	}
	fresh := newLevel(version)
	c.mu.Lock()
	defer c.mu.Unlock()
	if l = c.levels[db]; l != nil {
		if l.version == version {
			return l
		}
		if l.version>>32 > version>>32 && l.refused < refusals {
			l.refused++
			return fresh
		}
	}
	c.levels[db] = fresh
	return fresh
}

// version reads the schema version of a database (0: root). The root's is not validated at commit, or each new database
// anywhere would undo every open transaction; what is looked up at the root is validated key by key instead.
func (v *View) version(db uint32) (uint64, error) {
	tracked := db != 0 && !v.loose
	read := v.tx.GetUntracked
	if tracked {
		read = v.tx.Get
	}
	at := versionKey(v.room[:0], db)
	last := &v.cache.found[min(db, 1)]
	known := last.Load()
	keeps := !v.tx.Shared() && !v.tx.Dirty() // what is read is in the snapshot, and the snapshot says which it is
	if keeps && known != nil && known.db == db && known.at.Load() == uint64(v.tx.Version()) {
		if tracked {
			if err := v.tx.Track(at); err != nil {
				return 0, fmt.Errorf("read schema version: %w", err)
			}
		}
		return known.version, nil
	}
	b, err := read(at)
	if err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	version := uint64(0)
	if len(b) == 8 {
		version = binary.BigEndian.Uint64(b)
	}
	switch {
	case !keeps: // some snapshots would have to ask for their version
	case known != nil && known.db == db && known.version == version:
		known.at.Store(uint64(v.tx.Version()))
	default:
		known = &found{db: db, version: version}
		known.at.Store(uint64(v.tx.Version()))
		last.Store(known)
	}
	return version, nil
}

// Loosely makes the view go by the definitions of its snapshot without a conflict where any of a database have changed
// by the commit. Pin guards those that matter, and Tighten all again. Call it before anything is looked up.
func (v *View) Loosely() { v.loose = true }

// Pin makes a change, or the removal, of the definition of a table or an index a conflict.
func (v *View) Pin(of ...*Def) error {
	for _, d := range of {
		if _, err := v.tx.Get(defKey(d.Scope, d.Kind, d.Name)); err != nil {
			return fmt.Errorf("read definition of %s: %w", d.Name, err)
		}
	}
	return nil
}

// Tighten ends Loosely: a change of definitions in a database is a conflict. It is for what changes some itself.
func (v *View) Tighten(db *Database) error {
	v.loose = false
	_, err := v.version(db.ID)
	return err
}

// SchemaVersion is the version of the definitions in a database: another one after each change of them.
func (v *View) SchemaVersion(db *Database) (uint64, error) {
	l, err := v.level(db.ID)
	if err != nil {
		return 0, err
	}
	return l.version, nil
}

// touch changes the schema version of a database (0: root) and stops trusting the shared level. A version is a count
// and a random part: what two transactions make of one version never looks alike, so that nothing that was cached
// inside a transaction can be taken for what another one committed.
func (v *View) touch(db uint32) error {
	l, err := v.level(db)
	if err != nil {
		return err
	}
	if !l.dirty {
		c := v.cache
		v.tx.OnCommit(func(kv.Version) { c.changes.Add(1) })
		next := (l.version>>32+1)<<32 | uint64(rand.Uint32())
		l.level, l.dirty = newLevel(next), true
	}
	if err := v.tell(); err != nil {
		return err
	}
	return v.tx.Set(versionKey(nil, db), binary.BigEndian.AppendUint64(nil, l.version))
}

// def finds one definition; nil where there is none.
func (v *View) def(s Scope, k ast.DefKind, name string) (*Def, error) {
	l, err := v.level(s.DB)
	if err != nil {
		return nil, err
	}
	at := string(defKey(s, k, name))
	if !l.dirty {
		l.mu.RLock()
		d, ok := l.defs[at]
		l.mu.RUnlock()
		if ok {
			if s.DB == 0 {
				_, err = v.tx.Get([]byte(at)) // for the validation at commit, see version
			}
			return d, err
		}
	}
	raw, err := v.tx.Get([]byte(at))
	if err != nil {
		return nil, fmt.Errorf("read definition of %s: %w", name, err)
	}
	var d *Def
	if raw != nil {
		if d, err = v.decode(at, s, k, raw); err != nil {
			return nil, err
		}
	}
	if !l.dirty {
		l.mu.Lock()
		l.defs[at] = d
		l.mu.Unlock()
	}
	return d, nil
}

// decode parses stored bytes, or finds the Def that was parsed from the same bytes before.
func (v *View) decode(at string, s Scope, k ast.DefKind, raw []byte) (*Def, error) {
	c := v.cache
	c.mu.RLock()
	d := c.defs[at]
	c.mu.RUnlock()
	if d != nil && bytes.Equal(d.raw, raw) {
		return d, nil
	}
	d, err := decodeDef(c.parse, s, k, raw)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.defs) >= maxParsed { // mostly of what was removed since
		clear(c.defs)
		clear(c.tables)
	}
	c.defs[at] = d
	return d, nil
}

// scan gives all definitions of one kind in a scope, in name order.
func (v *View) scan(s Scope, k ast.DefKind) ([]*Def, error) {
	start, end := key.PrefixRange(defKey(s, k))
	return v.list(s, k, kv.Range{Start: start, End: end})
}

// list gives the definitions in a range of keys, all of one kind in a scope.
func (v *View) list(s Scope, k ast.DefKind, in kv.Range) ([]*Def, error) {
	cur := v.tx.Scan(in, txn.ScanOptions{})
	defer cur.Close()
	var out []*Def
	for cur.Next() {
		d, err := v.decode(string(cur.Key()), s, k, cur.Value())
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	if err := cur.Err(); err != nil {
		return nil, fmt.Errorf("list definitions: %w", err)
	}
	return out, nil
}
