package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/memsvc/problem"
)

// keyName is the record that holds the name of a key, so that a name is given once in a Context.
func keyName(contextID, name string) value.Value { return ID("key_name", contextID+"/"+name) }

// CreateKey stores a new key; a name that is taken is a conflict.
func (s *Store) CreateKey(ctx context.Context, k Key) error {
	_, err := s.ctl.query(ctx, "BEGIN; CREATE $name SET context = $c RETURN NONE; INSERT INTO apikey $row RETURN NONE; COMMIT",
		Var{"name", keyName(k.Context, k.Name)}, Var{"c", k.Context}, Var{"row", row("apikey", k)})
	if exists(err) {
		return problem.Conflict("There is a key named %.80q already", k.Name)
	}
	return err
}

// Key is a key by its id, or nil.
func (s *Store) Key(ctx context.Context, id string) (*Key, error) {
	return one[Key](ctx, s.ctl, "SELECT * FROM $id", Var{"id", ID("apikey", id)})
}

// Keys are the keys of a Context (and of one principal, if it is not "") by name.
func (s *Store) Keys(ctx context.Context, contextID, principal string) ([]Key, error) {
	return rows[Key](ctx, s.ctl, "SELECT * FROM apikey WHERE context = $c AND ($p = '' OR principal = $p) ORDER BY name",
		Var{"c", contextID}, Var{"p", principal})
}

// KeyNamed is the key with a name, or nil.
func (s *Store) KeyNamed(ctx context.Context, contextID, name string) (*Key, error) {
	return one[Key](ctx, s.ctl, "SELECT * FROM apikey WHERE context = $c AND name = $n", Var{"c", contextID}, Var{"n", name})
}

// ChangeKey writes the new secret and expiry of a key.
func (s *Store) ChangeKey(ctx context.Context, k Key) error {
	_, err := s.ctl.query(ctx, "UPDATE $id SET hash = $hash, expires = $expires RETURN NONE",
		Var{"id", ID("apikey", k.ID)}, Var{"hash", k.Hash}, Var{"expires", k.Expires})
	return err
}

// DeleteKeys removes keys of a Context.
func (s *Store) DeleteKeys(ctx context.Context, keys ...Key) error {
	var ids []value.Value
	for _, k := range keys {
		ids = append(ids, ID("apikey", k.ID), keyName(k.Context, k.Name))
	}
	if len(ids) == 0 {
		return nil
	}
	_, err := s.ctl.query(ctx, "DELETE $ids RETURN NONE", Var{"ids", ids})
	return err
}

// UsedKey notes the use of a key.
func (s *Store) UsedKey(ctx context.Context, id string, at time.Time) error {
	_, err := s.ctl.query(ctx, "UPSERT $id SET at = $at RETURN NONE", Var{"id", ID("key_use", id)}, Var{"at", at})
	return err
}

// KeyUses is when the keys were used last.
func (s *Store) KeyUses(ctx context.Context, keys []Key) (map[string]time.Time, error) {
	type use struct {
		ID string    `db:"id"`
		At time.Time `db:"at"`
	}
	ids := make([]value.Value, len(keys))
	for i, k := range keys {
		ids[i] = ID("key_use", k.ID)
	}
	all, err := rows[use](ctx, s.ctl, "SELECT * FROM $ids", Var{"ids", ids})
	if err != nil {
		return nil, fmt.Errorf("read key uses: %w", err)
	}
	out := map[string]time.Time{}
	for _, u := range all {
		out[u.ID] = u.At
	}
	return out, nil
}

// ManagementKey is a key of the management API, by the hash of its secret.
type ManagementKey struct {
	ID        string    `db:"id"`
	Hash      string    `db:"hash"`
	CreatedAt time.Time `db:"created_at"`
}

// CreateManagementKey stores one.
func (s *Store) CreateManagementKey(ctx context.Context, k ManagementKey) error {
	_, err := s.ctl.query(ctx, "INSERT INTO management_key $row RETURN NONE", Var{"row", row("management_key", k)})
	return conflict(err)
}

// ManagementKey is a management key by its id, or nil.
func (s *Store) ManagementKey(ctx context.Context, id string) (*ManagementKey, error) {
	return one[ManagementKey](ctx, s.ctl, "SELECT * FROM $id", Var{"id", ID("management_key", id)})
}

// HasManagementKey reports whether the service was bootstrapped.
func (s *Store) HasManagementKey(ctx context.Context) (bool, error) {
	k, err := one[ManagementKey](ctx, s.ctl, "SELECT * FROM management_key LIMIT 1")
	return k != nil, err
}
