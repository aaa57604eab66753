package catalog

import (
	"bytes"
	"fmt"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// DropDefs removes the definitions that a clean job is about, and reports the prefixes of the rest. The rest has
// no name from then on, and its ids are not given again, so it may be removed later.
func (v *View) DropDefs(j *Job) (rest [][]byte, err error) {
	for _, p := range j.Prefixes() {
		switch key.Class(p[0]) {
		case key.ClassNSDef, key.ClassDBDef, key.ClassTableDef:
			if err := v.DropData(p); err != nil {
				return nil, err
			}
		default:
			rest = append(rest, p)
		}
	}
	return rest, nil
}

// DropData removes whole key spaces, those of Job.Prefixes.
func (v *View) DropData(prefixes ...[]byte) error {
	for _, p := range prefixes {
		if err := v.tx.DeleteRange(kv.Prefix(p)); err != nil {
			return fmt.Errorf("remove data: %w", err)
		}
	}
	return nil
}

// MoreThan reports whether there are more than n keys under the prefixes.
func (v *View) MoreThan(n int, prefixes [][]byte) (bool, error) {
	for _, p := range prefixes {
		cur := v.tx.Scan(kv.Prefix(p), txn.ScanOptions{KeysOnly: true, Untracked: true, Limit: n + 1})
		for ; cur.Next(); n-- {
			if n == 0 {
				cur.Close()
				return true, nil
			}
		}
		cur.Close()
		if err := cur.Err(); err != nil {
			return false, fmt.Errorf("look at what is removed: %w", err)
		}
	}
	return false, nil
}

// Sweep removes up to n keys of what a clean job is about, and the job with the last of them; more says that some are
// left.
func (v *View) Sweep(j *Job, n int) (more bool, err error) {
	gone := make([]kv.Write, 0, n)
	for _, p := range j.Prefixes() {
		cur := v.tx.Scan(kv.Prefix(p), txn.ScanOptions{KeysOnly: true, Limit: n - len(gone)})
		for cur.Next() {
			gone = append(gone, kv.Write{Key: bytes.Clone(cur.Key())})
		}
		cur.Close()
		if err := cur.Err(); err != nil {
			return false, err
		}
		if len(gone) == n {
			return true, v.tx.Append(gone)
		}
	}
	if err := v.tx.Append(gone); err != nil {
		return false, err
	}
	return false, v.DeleteJob(j)
}
