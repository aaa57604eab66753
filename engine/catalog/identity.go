package catalog

import "github.com/nacredb/nacre/engine/kv"

// Identities counts the commits that changed what the identity of some session may rest on: users, access methods,
// grants that were revoked, records of users, and everything that was removed. As long as it stays the same nothing has
// to be looked up again.
func (c *Cache) Identities() uint64 { return c.identities.Load() }

// IdentityChanged makes Identities count the transaction, once its commit is visible.
func (v *View) IdentityChanged() error {
	c := v.cache
	v.tx.OnCommit(func(kv.Version) { c.identities.Add(1) })
	return v.tell()
}

// Settings counts the commits that changed a setting of the whole store. As long as it stays the same none has to be
// read again.
func (c *Cache) Settings() uint64 { return c.settings.Load() }

// Subjects notes that there are sessions of record users: from then on deletes of records count as well.
func (c *Cache) Subjects() { c.subjects.Store(true) }

// HasSubjects reports whether Subjects was called.
func (c *Cache) HasSubjects() bool { return c.subjects.Load() }

// Changes counts the commits that changed definitions anywhere. As long as it stays the same, what was made of
// definitions is true. It never counts a change before it is visible.
func (c *Cache) Changes() uint64 { return c.changes.Load() }
