package catalog

import (
	"bytes"
	"crypto/rand"
	"slices"
	"sync"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// The epoch tells the processes that share a store that something has changed which they keep counts of in memory:
// Identities, Changes and Settings. It is 16 random bytes, written by each transaction that changes such a thing, so
// that no two epochs are equal. DESIGN.md of engine/nodes has the rule and its proof.

// maxRecent is how many databases are remembered whose versions are read together with the epoch.
const maxRecent = 8

// epochs is what a process knows of the epoch, and which databases it uses.
type epochs struct {
	mu     sync.Mutex // guards all; a leaf lock
	known  bool
	at     kv.Version // the newest snapshot that was looked at
	value  []byte     // the epoch there; nil: none yet
	recent []uint32   // databases, the last one used first

	shown    map[string][]byte // what ahead has read last of the versions, and of who watches; nil values: nothing
	presumed []kv.Pair         // shown and the epoch; nil: not made yet. It does not change
}

func epochKey() []byte { return key.Meta(nil, "epoch") }

// subjectsKey is where it stands that there are sessions of users that are records of a table.
func subjectsKey(s Scope) []byte {
	return appendID(appendID(appendID(key.Meta(nil, "subjects"), s.NS), s.DB), s.TB)
}

// Observe looks whether a transaction of another process has changed what Identities, Changes and Settings count, as
// of the snapshot of tx, and counts it. On a store that one process has open it does nothing. beside are keys that the
// transaction is going to read: they are read with the same request.
func (c *Cache) Observe(tx *txn.Tx, beside ...[]byte) error {
	if !tx.Shared() {
		return nil
	}
	c.epochs.mu.Lock()
	known := c.epochs.known && c.epochs.at >= tx.Version()
	c.epochs.mu.Unlock()
	if known {
		return nil
	}
	if err := c.ahead(tx, append(beside, epochKey())...); err != nil {
		return err
	}
	raw, err := tx.GetUntracked(epochKey())
	if err != nil {
		return err
	}
	c.advance(tx.Version(), raw)
	return nil
}

// advance notes what the epoch is at a version. If it may be another one than when things were looked up, the counts
// move before anybody can know that epoch: at the first look nothing says that it is not.
func (c *Cache) advance(at kv.Version, raw []byte) {
	e := &c.epochs
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known && at <= e.at {
		return // others know better
	}
	if !e.known || !bytes.Equal(e.value, raw) {
		c.identities.Add(1)
		c.changes.Add(1)
		c.settings.Add(1)
	}
	e.known, e.at = true, at
	if !bytes.Equal(e.value, raw) {
		e.value, e.presumed = bytes.Clone(raw), nil
	}
}

// Presumed are the versions and the epoch that were seen last. A transaction on a store elsewhere can go by them,
// instead of asking for them first (txn.Options.Presume). nil: it has to ask. identity says that the epoch matters to
// it: then it calls RelyOnEpoch as well.
func (c *Cache) Presumed(identity bool) []kv.Pair {
	e := &c.epochs
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.shown[string(versionKey(nil, 0))]; !ok || identity && !e.known {
		return nil
	}
	if e.presumed == nil {
		e.presumed = make([]kv.Pair, 0, len(e.shown)+1)
		for k, v := range e.shown {
			e.presumed = append(e.presumed, kv.Pair{Key: []byte(k), Value: v})
		}
		e.presumed = append(e.presumed, kv.Pair{Key: epochKey(), Value: e.value})
	}
	return e.presumed
}

// RelyOnEpoch makes a transaction that goes by Presumed depend on the epoch.
func (c *Cache) RelyOnEpoch(tx *txn.Tx) error {
	_, err := tx.GetUntracked(epochKey())
	return err
}

// ahead reads the versions of the root and of the databases in use together, what other processes watch there, and
// more.
func (c *Cache) ahead(tx *txn.Tx, more ...[]byte) error {
	if !tx.Prefetches() {
		return nil
	}
	keys := append(more, versionKey(nil, 0))
	c.epochs.mu.Lock()
	for _, db := range c.epochs.recent {
		keys = append(keys, versionKey(nil, db), key.Watch(nil, db))
	}
	c.epochs.mu.Unlock()
	if _, err := tx.Prefetch(keys); err != nil {
		return err
	}
	c.epochs.mu.Lock()
	defer c.epochs.mu.Unlock()
	c.epochs.shown, c.epochs.presumed = make(map[string][]byte, len(keys)), nil
	for _, k := range keys[len(more):] {
		if v, there, known := tx.AtHand(k); there {
			c.epochs.shown[string(k)] = append([]byte{}, v...)
		} else if known {
			c.epochs.shown[string(k)] = nil
		}
	}
	return nil
}

// shows reports whether it is known what stood last at the keys of a database.
func (e *epochs) shows(db uint32) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.shown[string(key.Watch(nil, db))]
	return ok && db != 0
}

// use notes that a database is in use.
func (e *epochs) use(db uint32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.recent) > 0 && e.recent[0] == db {
		return
	}
	e.recent = slices.DeleteFunc(e.recent, func(d uint32) bool { return d == db })
	e.recent = slices.Insert(e.recent, 0, db)
	e.recent = e.recent[:min(len(e.recent), maxRecent)]
}

// tell makes the other processes of a shared store count what the transaction changes.
func (v *View) tell() error {
	if !v.tx.Shared() {
		return nil
	}
	next := make([]byte, 16)
	rand.Read(next) // never fails: it ends the process instead
	return v.tx.Set(epochKey(), next)
}

// Shared reports whether other processes may change the store.
func (v *View) Shared() bool { return v.tx.Shared() }

// MarkSubjects notes that there are sessions of users that are records of a table, for all processes of a shared
// store: from then on deletes in it count as changes of identities. marked tells that it stood there before.
func (v *View) MarkSubjects(s Scope) (marked bool, err error) {
	if marked, err = v.MarkedSubjects(s); marked || err != nil {
		return marked, err
	}
	return false, v.tx.Set(subjectsKey(s), []byte{1})
}

// MarkedSubjects reports whether MarkSubjects was called for a table. It counts as read: a transaction that deletes in
// a table and did not see the mark cannot commit after it.
func (v *View) MarkedSubjects(s Scope) (bool, error) {
	raw, err := v.tx.Get(subjectsKey(s))
	return raw != nil, err
}
