package catalog

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// Access tokens that were revoked are stored at the level of the root, kind "revoked", until they would have expired:
// the time as 16 hexadecimal digits, so that the first to expire come first, then the hash of the token. The value is
// when it was revoked, in Unix seconds (8 bytes, big endian). They outlive their access method and their database: an
// import may bring the keys of those back.

// PutRevoked stores that the token with a hash is revoked. expires is when it ends, in Unix seconds; 0: never.
func (v *View) PutRevoked(expires int64, hash []byte, now int64) error {
	if err := v.tx.Set(revokedKey(expires, hash), binary.BigEndian.AppendUint64(nil, uint64(now))); err != nil {
		return fmt.Errorf("store a revoked token: %w", err)
	}
	return nil
}

// Revoked reports whether the token with that end and hash is revoked.
func (v *View) Revoked(expires int64, hash []byte) (bool, error) {
	raw, err := v.tx.Get(revokedKey(expires, hash))
	if err != nil {
		return false, fmt.Errorf("look for a revoked token: %w", err)
	}
	return raw != nil, nil
}

// ForgetRevoked removes up to n revoked tokens that expired before a time, in Unix seconds.
func (v *View) ForgetRevoked(before int64, n int) error {
	prefix := key.RootDef(nil, key.KindRevoked)
	end := key.RootDef(nil, key.KindRevoked, expiryText(before))
	cur := v.tx.Scan(kv.Range{Start: prefix, End: end}, txn.ScanOptions{KeysOnly: true, Untracked: true, Limit: n})
	defer cur.Close()
	for cur.Next() {
		if err := v.tx.Delete(cur.Key()); err != nil {
			return fmt.Errorf("forget a revoked token: %w", err)
		}
	}
	if err := cur.Err(); err != nil {
		return fmt.Errorf("list revoked tokens: %w", err)
	}
	return nil
}

func revokedKey(expires int64, hash []byte) []byte {
	if expires == 0 {
		expires = math.MaxInt64
	}
	return key.RootDef(nil, key.KindRevoked, expiryText(expires), hex.EncodeToString(hash))
}

func expiryText(expires int64) string { return fmt.Sprintf("%016x", uint64(max(expires, 0))) }
