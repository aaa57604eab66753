package catalog

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
)

// The membership record of a node, a process that serves the store: when it joined, as 8 bytes of Unix nanoseconds, big
// endian.

// PutNode makes id a member since joined.
func (v *View) PutNode(id [16]byte, joined time.Time) error {
	return v.tx.Set(key.Node(nil, id), binary.BigEndian.AppendUint64(nil, uint64(joined.UnixNano())))
}

// Node reports whether id is a member.
func (v *View) Node(id [16]byte) (bool, error) {
	raw, err := v.tx.Get(key.Node(nil, id))
	if err != nil {
		return false, fmt.Errorf("read a membership record: %w", err)
	}
	return raw != nil, nil
}

// DropNode ends the membership of id, if it has one.
func (v *View) DropNode(id [16]byte) error { return v.tx.Delete(key.Node(nil, id)) }

// DropNodes ends the membership of all nodes.
func (v *View) DropNodes() error {
	start, end := key.PrefixRange([]byte{byte(key.ClassNode)})
	if err := v.tx.DeleteRange(kv.Range{Start: start, End: end}); err != nil {
		return fmt.Errorf("drop membership records: %w", err)
	}
	return nil
}
