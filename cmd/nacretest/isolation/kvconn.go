package isolation

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/nacredb/nacre/cmd/nacretest/anomaly"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
)

// kvConn works with transactions over a store.
type kvConn struct{ st kv.Store }

func (c kvConn) close() error { return nil }

// transact runs f in a transaction.
func (c kvConn) transact(ctx context.Context, f func(*txn.Tx) error) (anomaly.Status, error) {
	tx, err := txn.Begin(ctx, c.st, txn.Options{Write: true})
	if err != nil {
		return anomaly.Unknown, err
	}
	defer tx.Cancel()
	if err := f(tx); err != nil {
		return anomaly.Unknown, err
	}
	switch err := tx.Commit(ctx); {
	case err == nil:
		return anomaly.Committed, nil
	case errors.Is(err, kv.ErrConflict):
		return anomaly.Aborted, nil
	default:
		return anomaly.Unknown, err
	}
}

func (c kvConn) appends(ctx context.Context, ops []anomaly.Op) (anomaly.Status, error) {
	return c.transact(ctx, func(tx *txn.Tx) error {
		for i, op := range ops {
			runtime.Gosched() // let others in between
			k := fmt.Appendf(nil, "list/%d", op.Key)
			raw, err := tx.Get(k)
			if err != nil {
				return err
			}
			if op.Read {
				ops[i].List = nil
				for at := 0; at < len(raw); at += 8 {
					ops[i].List = append(ops[i].List, int(binary.BigEndian.Uint64(raw[at:])))
				}
				continue
			}
			raw = binary.BigEndian.AppendUint64(append([]byte(nil), raw...), uint64(op.Value))
			if err := tx.Set(k, raw); err != nil {
				return err
			}
		}
		return nil
	})
}

func accountKey(i int) []byte { return fmt.Appendf(nil, "account/%02d", i) }

func (c kvConn) transfer(ctx context.Context, id string, from, to int, amount int64) (anomaly.Status, error) {
	return c.transact(ctx, func(tx *txn.Tx) error {
		if err := tx.Set([]byte("transfer/"+id), nil); err != nil {
			return err
		}
		have, err := balance(tx, from)
		if err != nil || have < amount {
			return err
		}
		if err := tx.Set(accountKey(from), kv.AppendCounter(nil, have-amount)); err != nil {
			return err
		}
		if have, err = balance(tx, to); err != nil {
			return err
		}
		return tx.Set(accountKey(to), kv.AppendCounter(nil, have+amount))
	})
}

func balance(tx *txn.Tx, i int) (int64, error) {
	raw, err := tx.Get(accountKey(i))
	if err != nil {
		return 0, err
	}
	n, ok := kv.Counter(raw)
	if !ok {
		return 0, kv.ErrCounter
	}
	return n, nil
}

func (c kvConn) balances(ctx context.Context, split bool) (out []int64, status anomaly.Status, err error) {
	ranges := []kv.Range{kv.Prefix([]byte("account/"))}
	if split {
		ranges = []kv.Range{{Start: accountKey(0), End: accountKey(accounts / 2)},
			{Start: accountKey(accounts / 2), End: accountKey(accounts)}}
	}
	status, err = c.transact(ctx, func(tx *txn.Tx) error {
		for _, r := range ranges {
			cur := tx.Scan(r, txn.ScanOptions{})
			for cur.Next() {
				n, ok := kv.Counter(cur.Value())
				if !ok {
					return kv.ErrCounter
				}
				out = append(out, n)
			}
			cur.Close()
			if err := cur.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	return out, status, err
}

func (c kvConn) transfers(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	_, err := c.transact(ctx, func(tx *txn.Tx) error {
		cur := tx.Scan(kv.Prefix([]byte("transfer/")), txn.ScanOptions{})
		defer cur.Close()
		for cur.Next() {
			out[strings.TrimPrefix(string(cur.Key()), "transfer/")] = true
		}
		return cur.Err()
	})
	return out, err
}

// open makes the accounts.
func (c kvConn) open(ctx context.Context) error {
	_, err := c.transact(ctx, func(tx *txn.Tx) error {
		for i := range accounts {
			if err := tx.Set(accountKey(i), kv.AppendCounter(nil, opening)); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}
