// Package nodes is the register of the processes that serve a store. Each has a record, which it renews every 2 s on
// a store that it shares with others; 10 s after the last time it counts as gone, and the others remove it.
//
// Times are those of the clock that the processes share (kv.Dated). A store of one process has its own clock, and no
// record is renewed there: who joins is the only one.
//
//	key.Node(id) → started8 beat8 JSON     Unix nanoseconds, big endian; {"name", "address", "version"}
//
// Earlier versions stored started8 alone; such a record is of a node that is gone.
package nodes

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// How often a node renews its record on a store that it shares, and after how long without that it is gone.
const (
	Every = 2 * time.Second
	Gone  = 10 * time.Second
)

// ErrGone is the renewal of a record that is not there: others took the node for gone. It has to join again.
var ErrGone = errors.New("the node is not registered")

// Node is a process that serves the store.
type Node struct {
	ID      [16]byte
	Name    string    // of its machine
	Address string    // host:port that it listens at; "" for none
	Version string    // of the program
	Started time.Time // when it joined
	Beat    time.Time // when it last renewed its record
}

// named is the last part of a record.
type named struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Version string `json:"version"`
}

// maxName bounds each text of a record, in bytes.
const maxName = 1024

func (n *Node) encode() ([]byte, error) {
	if len(n.Name) > maxName || len(n.Address) > maxName || len(n.Version) > maxName {
		return nil, fmt.Errorf("register a node: a name of more than %d bytes", maxName)
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(n.Started.UnixNano()))
	b = binary.BigEndian.AppendUint64(b, uint64(n.Beat.UnixNano()))
	text, err := json.Marshal(named{n.Name, n.Address, n.Version})
	return append(b, text...), err
}

// decode reads the record at k. One of an earlier version has no Beat.
func decode(k, raw []byte) (*Node, error) {
	n := &Node{}
	if len(k) != 1+len(n.ID) || len(raw) < 8 || len(raw) > 8 && len(raw) < 16 {
		return nil, fmt.Errorf("read the record of a node: %w", kv.ErrCorrupt)
	}
	copy(n.ID[:], k[1:])
	n.Started = time.Unix(0, int64(binary.BigEndian.Uint64(raw)))
	if len(raw) == 8 {
		return n, nil
	}
	n.Beat = time.Unix(0, int64(binary.BigEndian.Uint64(raw[8:])))
	var t named
	if err := json.Unmarshal(raw[16:], &t); err != nil {
		return nil, fmt.Errorf("read the record of a node: %w: %w", kv.ErrCorrupt, err)
	}
	n.Name, n.Address, n.Version = t.Name, t.Address, t.Version
	return n, nil
}

// Shared reports whether several processes may serve the store.
func Shared(store kv.Store) bool {
	_, ok := store.(kv.Dated)
	return ok
}

// now is the time of a transaction's snapshot.
func now(store kv.Store, tx *txn.Tx) time.Time {
	if d, ok := store.(kv.Dated); ok {
		return d.Time(tx.Version())
	}
	return tx.Began()
}

// alive reports whether a node counts as there at a time.
func (n *Node) alive(store kv.Store, at time.Time) bool {
	return !n.Beat.IsZero() && (!Shared(store) || at.Sub(n.Beat) < Gone)
}

// Join registers n, with the times of now, and removes those that are gone: on a store of one process all others.
func Join(ctx context.Context, store kv.Store, opt txn.Options, n Node) error {
	opt.Urgent = true
	return txn.Retry(ctx, store, opt, func(tx *txn.Tx) error {
		n.Started = now(store, tx)
		n.Beat = n.Started
		if err := clear(store, tx, n.Started); err != nil {
			return err
		}
		raw, err := n.encode()
		if err != nil {
			return err
		}
		return tx.Set(key.Node(nil, n.ID), raw)
	})
}

// clear removes the nodes that are gone at a time: on a store of one process all.
func clear(store kv.Store, tx *txn.Tx, at time.Time) error {
	if !Shared(store) {
		return tx.DeleteRange(space())
	}
	return each(tx, txn.ScanOptions{}, func(k []byte, n *Node) error {
		if n.alive(store, at) {
			return nil
		}
		return tx.Delete(k)
	})
}

// Beat renews the record of a node, and removes those that are gone. On a store of one process it only looks whether
// the record is there. Errors: ErrGone, those of transactions.
func Beat(ctx context.Context, store kv.Store, opt txn.Options, id [16]byte) error {
	if !Shared(store) {
		return present(ctx, store, opt, id)
	}
	opt.Urgent = true
	var gone [][]byte
	err := txn.Retry(ctx, store, opt, func(tx *txn.Tx) error {
		raw, err := tx.Get(key.Node(nil, id))
		if err != nil {
			return err
		}
		if raw == nil {
			return ErrGone
		}
		n, err := decode(key.Node(nil, id), raw)
		if err != nil {
			return err
		}
		if n.Beat = now(store, tx); n.Beat.Before(n.Started) {
			n.Beat = n.Started
		}
		if raw, err = n.encode(); err != nil {
			return err
		}
		if gone, err = goneBy(store, tx, n.Beat); err != nil {
			return err
		}
		return tx.Set(key.Node(nil, id), raw)
	})
	if err != nil {
		return err
	}
	for _, k := range gone {
		if err := remove(ctx, store, opt, k); err != nil {
			return err
		}
	}
	return nil
}

// goneBy are the keys of the records of nodes that are gone at a time. They do not count as read: each is looked at
// again before it is removed.
func goneBy(store kv.Store, tx *txn.Tx, at time.Time) (keys [][]byte, err error) {
	err = each(tx, txn.ScanOptions{Untracked: true}, func(k []byte, n *Node) error {
		if !n.alive(store, at) {
			keys = append(keys, slices.Clone(k))
		}
		return nil
	})
	return keys, err
}

// remove removes the record at k, if its node is gone still.
func remove(ctx context.Context, store kv.Store, opt txn.Options, k []byte) error {
	return txn.Retry(ctx, store, opt, func(tx *txn.Tx) error {
		raw, err := tx.Get(k)
		if raw == nil || err != nil {
			return err
		}
		n, err := decode(k, raw)
		if err != nil || n.alive(store, now(store, tx)) {
			return err
		}
		return tx.Delete(k)
	})
}

func present(ctx context.Context, store kv.Store, opt txn.Options, id [16]byte) error {
	there, err := Alive(ctx, store, opt, id)
	if err == nil && !there {
		err = ErrGone
	}
	return err
}

// Alive reports whether a node is registered and not gone.
func Alive(ctx context.Context, store kv.Store, opt txn.Options, id [16]byte) (bool, error) {
	opt.Write = false
	tx, err := txn.Begin(ctx, store, opt)
	if err != nil {
		return false, err
	}
	defer tx.Cancel()
	raw, err := tx.Get(key.Node(nil, id))
	if raw == nil || err != nil {
		return false, err
	}
	n, err := decode(key.Node(nil, id), raw)
	return err == nil && n.alive(store, now(store, tx)), err
}

// Leave removes the record of a node, if it has one.
func Leave(ctx context.Context, store kv.Store, opt txn.Options, id [16]byte) error {
	return txn.Retry(ctx, store, opt, func(tx *txn.Tx) error { return tx.Delete(key.Node(nil, id)) })
}

// List gives the nodes that are there as tx sees it, the one that joined first before the others. They do not count
// as read.
func List(store kv.Store, tx *txn.Tx) ([]Node, error) {
	var all []Node
	at := now(store, tx)
	err := each(tx, txn.ScanOptions{Untracked: true}, func(_ []byte, n *Node) error {
		if !n.alive(store, at) {
			return nil
		}
		if !Shared(store) { // who looks is the node itself
			n.Beat = at
		}
		all = append(all, *n)
		return nil
	})
	slices.SortFunc(all, func(a, b Node) int {
		return cmp.Or(a.Started.Compare(b.Started), slices.Compare(a.ID[:], b.ID[:]))
	})
	return all, err
}

// space is the range of all records.
func space() kv.Range { return kv.Prefix([]byte{byte(key.ClassNode)}) }

// each calls f with each record.
func each(tx *txn.Tx, opt txn.ScanOptions, f func(k []byte, n *Node) error) error {
	cur := tx.Scan(space(), opt)
	defer cur.Close()
	for cur.Next() {
		n, err := decode(cur.Key(), cur.Value())
		if err != nil {
			return err
		}
		if err := f(cur.Key(), n); err != nil {
			return err
		}
	}
	if err := cur.Err(); err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	return nil
}
