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
		cur := v.tx.Scan(kv.Prefix(p), txn.ScanOptions{KeysOnly: true, Damaged: true, Untracked: true, Limit: n + 1})
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

// Swept is how far a clean job is: nothing of what it is about is left before that. The zero Swept is its beginning.
type Swept struct {
	part int    // of Job.Prefixes
	from []byte // in that; nil: its first key
}

// Sweep removes up to n keys of what a clean job is about, from a place on, and the job with the last of them; more
// says that some may be left, from next on. A place spares the walk over what was removed already, which is what the
// store remembers first of all. The job ends with a walk from its beginning, which meets what was written meanwhile.
// untie, unless it is nil, is called with each record before it goes; it may write keys that the job is not about.
func (v *View) Sweep(j *Job, at Swept, n int, untie func(k, raw []byte) error) (next Swept, more bool, err error) {
	gone := make([]kv.Write, 0, n)
	prefixes, room := j.Prefixes(), []byte(nil)
	for i := at.part; i < len(prefixes); i++ {
		r := kv.Prefix(prefixes[i])
		if i == at.part && at.from != nil {
			r.Start = at.from
		}
		tied := untie != nil && key.Class(prefixes[i][0]) == key.ClassRecord
		cur := v.tx.Scan(r, txn.ScanOptions{KeysOnly: !tied, Damaged: !tied, Limit: n - len(gone)})
		for cur.Next() {
			if tied {
				if err := untie(cur.Key(), cur.Value()); err != nil {
					cur.Close()
					return at, false, err
				}
			}
			var k []byte
			room, k = keep(room, cur.Key())
			gone = append(gone, kv.Write{Key: k})
		}
		cur.Close()
		if err := cur.Err(); err != nil {
			return at, false, err
		}
		if len(gone) == n {
			return Swept{i, append(bytes.Clone(gone[n-1].Key), 0)}, true, v.tx.Append(gone)
		}
	}
	if err := v.tx.Append(gone); err != nil {
		return at, false, err
	}
	if at.part > 0 || at.from != nil {
		return Swept{}, true, nil
	}
	return at, false, v.DeleteJob(j)
}

// sweptRoom is the size of the blocks that swept keys are copied into.
const sweptRoom = 64 << 10

// keep copies a key into a block, or a new one where it has no room.
func keep(room, k []byte) (block, kept []byte) {
	if cap(room)-len(room) < len(k) {
		room = make([]byte, 0, max(sweptRoom, len(k)))
	}
	at := len(room)
	room = append(room, k...)
	return room, room[at:len(room):len(room)]
}
