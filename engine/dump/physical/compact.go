package physical

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
)

// Sizes are bytes of a store's files before and after.
type Sizes struct{ Before, After int64 }

// Compact writes the store at path, which must not be open, anew without gaps, and puts the result
// in its place. All that is copied is verified; a damaged store stays as it is. Errors:
// kv.ErrCorrupt, kv.ErrLocked, kv.ErrFormat, those of ctx and of writing.
func Compact(ctx context.Context, path string, progress Progress) (s Sizes, err error) {
	in, err := bolt.Inspect(path)
	if err != nil {
		return s, err
	}
	if s.Before, err = dirSize(path); err != nil {
		return s, errors.Join(fmt.Errorf("compact: %w", err), in.Close())
	}
	// The lock is kept until the new store is in place, so that no process opens the old one meanwhile.
	err = replaceStore(path, func(fresh string) error { return rewrite(ctx, in, fresh, progress) })
	if err = errors.Join(err, in.Close()); err != nil {
		return s, fmt.Errorf("compact: %w", err)
	}
	s.After, err = dirSize(path)
	return s, err
}

// rewrite builds a store at path out of all that in holds.
func rewrite(ctx context.Context, in *bolt.Inspection, path string, progress Progress) error {
	snap, err := in.Begin(ctx)
	if err != nil {
		return err
	}
	defer snap.Release()
	b, err := bolt.NewBuilder(path)
	if err != nil {
		return err
	}
	if err := copyAll(ctx, snap, uint64(in.FileSize), progress, b.Put); err != nil {
		return errors.Join(err, b.Abort())
	}
	return b.Finish(in.Version)
}

// copyAll hands all entries of snap to put.
func copyAll(ctx context.Context, snap kv.Snapshot, total uint64, progress Progress,
	put func(k, v []byte) error) error {
	c := snap.Scan(kv.Range{}, kv.ScanOptions{})
	defer c.Close()
	keys, size := uint64(0), uint64(0)
	for c.Next() {
		if err := put(c.Key(), c.Value()); err != nil {
			return err
		}
		size += uint64(len(c.Key()) + len(c.Value()))
		if keys++; keys&1023 == 0 {
			progress.tell("copy", keys, size, total)
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	progress.tell("copy", keys, size, size)
	return c.Err()
}

func dirSize(path string) (n int64, err error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		n += info.Size()
	}
	return n, nil
}
