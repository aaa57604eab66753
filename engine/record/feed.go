package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// A change feed has an entry per transaction and table: key.Change with the versionstamp of the transaction, and the
// CBOR of the array of changes. Versionstamps are milliseconds since 1970 shifted left by 16, or one more than the last
// one of the database where that is greater; the last one is kept under the meta name "feed" followed by the ids of
// namespace and database.
const metaFeed = "feed"

// sweep is how many expired entries one transaction removes at most.
const sweep = 64

// feedOf is the change feed of a table: its own, or that of its database; nil for none.
func feedOf(tb *catalog.Table) *ast.ChangeFeed {
	if tb.Define.ChangeFeed != nil {
		return tb.Define.ChangeFeed
	}
	return tb.DB.Define.ChangeFeed
}

// Seal writes what follows from the changes of a transaction into the transaction, as its last act.
func (l *Log) Seal(ctx context.Context, tx *txn.Tx) error {
	if l == nil || len(l.Changes) == 0 && len(l.defined) == 0 {
		return nil
	}
	feeds := map[*catalog.Table][]value.Value{}
	var order []*catalog.Table
	add := func(tb *catalog.Table, v value.Value) {
		if _, ok := feeds[tb]; !ok {
			order = append(order, tb)
		}
		feeds[tb] = append(feeds[tb], v)
	}
	for _, d := range l.defined {
		if feedOf(d.table) != nil {
			add(d.table, value.ObjectOf(value.NewObject(value.Field{Name: "define_table", Value: d.shape})))
		}
	}
	for i := range l.Changes {
		if c := &l.Changes[i]; feedOf(c.Table) != nil {
			change, err := feedChange(ctx, c, feedOf(c.Table).Original)
			if err != nil {
				return err
			}
			add(c.Table, change)
		}
	}
	if len(order) == 0 {
		return nil
	}
	// With the turn in hand the stamp follows the last one for certain, and two that write feeds do not conflict over
	// it. Other processes do not wait for the turn: with them it is a conflict.
	if !tx.Shared() {
		if err := tx.TakeTurn(ctx); err != nil {
			return err
		}
	}
	now := time.Now()
	stamps := map[catalog.Scope]uint64{}
	for _, tb := range order {
		stamp, ok := stamps[tb.Scope]
		if !ok {
			var err error
			if stamp, err = nextStamp(ctx, tx, tb.Scope, now); err != nil {
				return err
			}
			stamps[tb.Scope] = stamp
		}
		if err := writeFeed(tx, tb, stamp, feeds[tb], now); err != nil {
			return err
		}
	}
	return nil
}

// feedChange is one change as SHOW CHANGES gives it.
func feedChange(ctx context.Context, c *Change, original bool) (value.Value, error) {
	one := func(name string, v value.Value) value.Value {
		return value.ObjectOf(value.NewObject(value.Field{Name: name, Value: v}))
	}
	switch {
	case c.Deletes() && original:
		before, _ := c.shown()
		return one("delete", value.ObjectOf(value.NewObject(value.Field{Name: "id", Value: value.RecordOf(c.ID)},
			value.Field{Name: "original", Value: before}))), nil
	case c.Deletes():
		return one("delete", one("id", value.RecordOf(c.ID))), nil
	case original && !c.Creates():
		before, now := c.shown()
		diff, err := value.Diff(now, before, ctx.Err)
		return value.ObjectOf(value.NewObject(value.Field{Name: "current", Value: now},
			value.Field{Name: "update", Value: diff})), err
	}
	_, now := c.shown()
	return one("update", now), nil
}

// writeFeed appends an entry to a table's feed, and removes some of those that have expired.
func writeFeed(tx *txn.Tx, tb *catalog.Table, stamp uint64, changes []value.Value, now time.Time) error {
	s := tb.Scope
	raw, err := value.AppendCBOR(nil, value.ArrayOf(changes))
	if err != nil {
		return fmt.Errorf("write a change feed: %w", err)
	}
	if err := tx.Set(key.Change(nil, s.NS, s.DB, stamp, tb.ID), raw); err != nil {
		return fmt.Errorf("write a change feed: %w", err)
	}
	expiry := feedOf(tb).Expiry
	old := now.Unix() - int64(min(expiry.Secs, uint64(now.Unix())))
	return sweepFeed(tx, s, tb.ID, StampAt(old*1000))
}

// StampAt is the first versionstamp of a time in milliseconds since 1970.
func StampAt(ms int64) uint64 { return uint64(max(ms, 0)) << 16 }

// nextStamp is the stamp of a transaction that holds the turn, or is in conflict with those that have another one since
// its snapshot.
func nextStamp(ctx context.Context, tx *txn.Tx, s catalog.Scope, now time.Time) (uint64, error) {
	at := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(key.Meta(nil, metaFeed), s.NS), s.DB)
	var raw []byte
	var err error
	if tx.Shared() {
		raw, err = tx.Get(at)
	} else {
		raw, err = tx.Latest(ctx, at)
	}
	if err != nil {
		return 0, fmt.Errorf("read a versionstamp: %w", err)
	}
	stamp := StampAt(now.UnixMilli())
	if len(raw) == 8 {
		stamp = max(stamp, binary.BigEndian.Uint64(raw)+1)
	}
	if err := tx.Set(at, binary.BigEndian.AppendUint64(nil, stamp)); err != nil {
		return 0, fmt.Errorf("write a versionstamp: %w", err)
	}
	return stamp, nil
}

// sweepFeed removes entries of a table from before a stamp: as many as one transaction may.
func sweepFeed(tx *txn.Tx, s catalog.Scope, tb uint32, before uint64) error {
	start, end := key.ChangeRange(s.NS, s.DB, 0, max(before, 1))
	cur := tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{KeysOnly: true, Untracked: true, Limit: sweep})
	defer cur.Close()
	for cur.Next() {
		_, of, err := key.DecodeChange(cur.Key())
		if err != nil {
			return fmt.Errorf("read a change feed: %w", err)
		}
		if of != tb {
			continue
		}
		if err := tx.Delete(bytes.Clone(cur.Key())); err != nil {
			return fmt.Errorf("sweep a change feed: %w", err)
		}
	}
	return cur.Err()
}

// Feed gives the entries of the change feeds of a database from a versionstamp on, in their order: of one table (by
// id), or of all (0). Each is {versionstamp, changes}. limit bounds them; 0 is no limit.
func (g *Gate) Feed(ctx context.Context, tb uint32, since uint64, limit int) ([]value.Value, error) {
	s := g.DB.Inner()
	start, end := key.ChangeRange(s.NS, s.DB, since, 0)
	cur := g.Tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{})
	defer cur.Close()
	var out []value.Value
	var last uint64
	var changes []value.Value
	flush := func() {
		if changes != nil {
			out = append(out, value.ObjectOf(value.NewObject(value.Field{Name: "changes",
				Value: value.ArrayOf(changes)},
				value.Field{Name: "versionstamp", Value: value.Int(int64(last))})))
			changes = nil
		}
	}
	for cur.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		stamp, of, err := key.DecodeChange(cur.Key())
		if err != nil {
			return nil, fmt.Errorf("read a change feed: %w", err)
		}
		if tb != 0 && of != tb {
			continue
		}
		if stamp != last {
			flush()
			if limit > 0 && len(out) >= limit {
				return out, nil
			}
			last = stamp
		}
		v, err := value.DecodeCBORValue(bytes.Clone(cur.Value()), value.DecodeLimits{})
		if err == nil && v.Kind() != value.KindArray {
			err = kv.ErrCorrupt
		}
		if err != nil {
			return nil, fmt.Errorf("read a change feed: %w", err)
		}
		changes = append(changes, v.Elems()...)
	}
	flush()
	return out, cur.Err()
}
