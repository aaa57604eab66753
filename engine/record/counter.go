package record

import "github.com/nacredb/nacre/engine/key"

// MayCount reports whether k may be a counter, to which transactions add without reading it: a store that keeps
// counters in another way than values asks.
func MayCount(k []byte) bool { return key.MayCount(k) }
