package catalog

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// Sessions that outlive the process are stored at the level of the root, kind "session", by a hash that only who knows
// the id of the session can make. The value is when it ends, in Unix seconds (8 bytes, big endian), and what it holds,
// sealed.

// PutSession stores a session under a hash. expires is when it ends, in Unix seconds.
func (v *View) PutSession(hash []byte, expires int64, sealed []byte) error {
	raw := append(binary.BigEndian.AppendUint64(nil, uint64(expires)), sealed...)
	if err := v.tx.Set(sessionKey(hash), raw); err != nil {
		return fmt.Errorf("store a session: %w", err)
	}
	return nil
}

// Session is what PutSession stored under a hash; sealed is nil where there is none.
func (v *View) Session(hash []byte) (expires int64, sealed []byte, err error) {
	raw, err := v.tx.Get(sessionKey(hash))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("read a session: %w", err)
	case raw == nil:
		return 0, nil, nil
	case len(raw) < 8:
		return 0, nil, fmt.Errorf("read a session: %w", key.ErrMalformed)
	}
	return int64(binary.BigEndian.Uint64(raw)), raw[8:], nil
}

// DropSession removes the session under a hash; it is no error if there is none.
func (v *View) DropSession(hash []byte) error {
	if err := v.tx.Delete(sessionKey(hash)); err != nil {
		return fmt.Errorf("remove a session: %w", err)
	}
	return nil
}

// DropSessions removes up to n sessions that ended before a time, in Unix seconds, and says how many.
func (v *View) DropSessions(before int64, n int) (int, error) {
	start, end := key.PrefixRange(key.RootDef(nil, key.KindSession))
	cur := v.tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{Untracked: true})
	defer cur.Close()
	gone := 0
	for gone < n && cur.Next() {
		if raw := cur.Value(); len(raw) >= 8 && int64(binary.BigEndian.Uint64(raw)) >= before {
			continue
		}
		if err := v.tx.Delete(cur.Key()); err != nil {
			return gone, fmt.Errorf("remove a session: %w", err)
		}
		gone++
	}
	if err := cur.Err(); err != nil {
		return gone, fmt.Errorf("list sessions: %w", err)
	}
	return gone, nil
}

func sessionKey(hash []byte) []byte {
	return key.RootDef(nil, key.KindSession, hex.EncodeToString(hash))
}
