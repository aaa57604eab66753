package catalog

import (
	"fmt"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// The grants of an access method are stored under its level: kind "grant", the name of the method, the id of the grant.
// Their content belongs to the package that gives them out.

// PutGrant stores the grant id of the access method d.
func (v *View) PutGrant(d *Def, id string, raw []byte) error {
	if err := v.tx.Set(grantKey(d.Scope, d.Name, id), raw); err != nil {
		return fmt.Errorf("store a grant: %w", err)
	}
	return nil
}

// Grant reads the grant id of the access method d; nil where there is none.
func (v *View) Grant(d *Def, id string) ([]byte, error) {
	raw, err := v.tx.Get(grantKey(d.Scope, d.Name, id))
	if err != nil {
		return nil, fmt.Errorf("read a grant: %w", err)
	}
	return raw, nil
}

// EachGrant calls f with each grant of the access method d, by order of ids; raw is good until f returns.
func (v *View) EachGrant(d *Def, f func(raw []byte) error) error {
	start, end := key.PrefixRange(grantKey(d.Scope, d.Name))
	cur := v.tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer cur.Close()
	for cur.Next() {
		if err := f(cur.Value()); err != nil {
			return err
		}
	}
	if err := cur.Err(); err != nil {
		return fmt.Errorf("list grants: %w", err)
	}
	return nil
}

// DeleteGrant removes the grant id of the access method d, if it is there.
func (v *View) DeleteGrant(d *Def, id string) error {
	if err := v.tx.Delete(grantKey(d.Scope, d.Name, id)); err != nil {
		return fmt.Errorf("remove a grant: %w", err)
	}
	return nil
}

// DropGrants removes all grants of the access method d.
func (v *View) DropGrants(d *Def) error {
	start, end := key.PrefixRange(grantKey(d.Scope, d.Name))
	if err := v.tx.DeleteRange(kv.Range{Start: start, End: end}); err != nil {
		return fmt.Errorf("remove grants: %w", err)
	}
	return nil
}

// grantKey is the key of a grant; without an id it is the prefix of all grants of the access method.
func grantKey(s Scope, access string, id ...string) []byte {
	names := append([]string{access}, id...)
	switch {
	case s.DB != 0:
		return key.DBDef(nil, s.NS, s.DB, key.KindGrant, names...)
	case s.NS != 0:
		return key.NSDef(nil, s.NS, key.KindGrant, names...)
	}
	return key.RootDef(nil, key.KindGrant, names...)
}
