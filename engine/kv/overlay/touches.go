package overlay

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/kv"
)

// Bounds of touches.
const (
	places      = 1 << 14 // versions that are kept: 128 KiB
	mostTouched = 1 << 10 // keys of a commit that are noted one by one
	mostAsked   = 64      // keys of a read set that are looked up: for more it is dearer than to look through commits
)

// touches knows for every key a version up to which it may have been changed: the newest one that changed it, or
// another key that shares its place (the versioned locks of Dice, Shalev, Shavit: Transactional Locking II, DISC 2006).
// Most transactions have read nothing that was changed meanwhile, and learn that here at once, however many commits
// there were. It forgets nothing, so that it also serves snapshots which are older than the window.
type touches struct {
	table atomic.Pointer[[places]atomic.Uint64] // nil before the first commit
	all   atomic.Uint64                         // commits up to here may have changed any key
}

// placeSeed is another one in each process, so that no client can choose keys that share their places.
var placeSeed = maphash.MakeSeed()

func place(key []byte) uint64 { return maphash.Bytes(placeSeed, key) % places }

// note counts keys as changed by version v. One goroutine at a time may note, any may ask meanwhile.
func (t *touches) note(keys [][]byte, v kv.Version) {
	if len(keys) > mostTouched {
		raise(&t.all, uint64(v))
		return
	}
	table := t.table.Load()
	if table == nil {
		table = new([places]atomic.Uint64)
		t.table.Store(table)
	}
	for _, key := range keys {
		raise(&table[place(key)], uint64(v))
	}
}

// raise sets n to v, unless it is more already.
func raise(n *atomic.Uint64, v uint64) {
	if n.Load() < v {
		n.Store(v)
	}
}

// free reports that no commit after since has changed a key of reads; false: one may have.
func (t *touches) free(reads *kv.ReadSet, since kv.Version) bool {
	if len(reads.Keys) == 0 && len(reads.Ranges) == 0 {
		return true
	}
	if len(reads.Ranges) > 0 || len(reads.Keys) > mostAsked || t.all.Load() > uint64(since) {
		return false
	}
	table := t.table.Load()
	if table == nil {
		return true
	}
	for _, key := range reads.Keys {
		if table[place(key)].Load() > uint64(since) {
			return false
		}
	}
	return true
}
