package physical

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
)

// Verify reads a backup to its end and gives its manifest. Errors: ErrBackup with what is wrong,
// kv.ErrFormat for a format of the future, those of r and ctx.
func Verify(ctx context.Context, r io.Reader, progress Progress) (*Manifest, error) {
	return verify(ctx, r, 0, progress)
}

func verify(ctx context.Context, r io.Reader, total uint64, progress Progress) (*Manifest, error) {
	rd := newReader(r)
	defer rd.close()
	m, err := rd.entries(rd.watch(ctx, "verify", total, progress))
	if err == nil {
		progress.tell("verify", m.Keys, m.Bytes, m.Bytes)
	}
	return m, err
}

// watch is a function for entries that tells the progress and ends with ctx.
func (r *reader) watch(ctx context.Context, stage string, total uint64, progress Progress) func(key,
	value []byte) error {
	n := uint64(0)
	return func(key, value []byte) error {
		if n++; n&1023 != 0 {
			return nil
		}
		progress.tell(stage, r.counts.Keys, r.in, total)
		return ctx.Err()
	}
}

// RestoreOptions tunes a restore.
type RestoreOptions struct {
	// Replace lets an existing store go, once the new one is complete.
	Replace  bool
	Progress Progress
}

// Restore makes a store at path out of the backup in file. All of the backup is verified before
// anything is written, and again while it is read for writing. Errors: those of Verify,
// os.ErrExist when there is something at path, unless it is a store and opt says Replace, kv.ErrLocked when a
// process has that store open.
func Restore(ctx context.Context, file, path string, opt RestoreOptions) (*Manifest, error) {
	if err := mayWrite(path, opt.Replace); err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	defer f.Close()
	return restoreFile(ctx, f, path, opt)
}

// RestoreStream is Restore for what can be read only once: it keeps a copy beside path meanwhile.
func RestoreStream(ctx context.Context, r io.Reader, path string, opt RestoreOptions) (*Manifest, error) {
	if err := mayWrite(path, opt.Replace); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(filepath.Clean(path)), ".nacre-restore-*")
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := verify(ctx, io.TeeReader(r, f), 0, opt.Progress); err != nil {
		return nil, err
	}
	return restoreFile(ctx, f, path, opt)
}

// mayWrite reports why a store may not be put at path.
func mayWrite(path string, replace bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("restore: %w", err)
	case !info.IsDir():
		return inTheWay(path, "a file, not a store")
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	switch err := bolt.Unused(path); {
	case errors.Is(err, kv.ErrFormat):
		return inTheWay(path, "not a store")
	case !replace:
		return fmt.Errorf("restore: there is a store at %s, and only --replace lets it go: %w", path, os.ErrExist)
	case err != nil:
		return fmt.Errorf("restore: %s: %w", path, err)
	}
	return nil
}

func restoreFile(ctx context.Context, f *os.File, path string, opt RestoreOptions) (*Manifest, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	size := uint64(info.Size())
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	m, err := verify(ctx, f, size, opt.Progress)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	err = replaceStore(path, func(fresh string) error { return load(ctx, f, fresh, size, m, opt.Progress) })
	return m, err
}

// load builds a store at path out of a backup whose manifest is want.
func load(ctx context.Context, f io.Reader, path string, size uint64, want *Manifest, progress Progress) error {
	b, err := bolt.NewBuilder(path)
	if err != nil {
		return err
	}
	if err := pour(ctx, f, b, size, want, progress); err != nil {
		return errors.Join(err, os.RemoveAll(path))
	}
	return nil
}

// Builder makes a store of keys in ascending order.
type Builder interface {
	Put(key, value []byte) error
	Finish(version kv.Version) error // makes the store durable, and closes the builder
	Abort() error                    // closes the builder instead
}

// RestoreInto gives what is in the backup f to the builder that open makes. All of the backup is verified before, and
// again while it is read for writing. Errors: those of Verify and of the builder.
func RestoreInto(ctx context.Context, f io.ReadSeeker, open func(*Manifest) (Builder, error),
	progress Progress) (*Manifest, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	m, err := verify(ctx, f, uint64(size), progress)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	b, err := open(m)
	if err != nil {
		return nil, err
	}
	return m, pour(ctx, f, b, uint64(size), m, progress)
}

// pour puts a backup whose manifest is want into b, and finishes or aborts it.
func pour(ctx context.Context, f io.Reader, b Builder, size uint64, want *Manifest, progress Progress) error {
	rd := newReader(f)
	defer rd.close()
	watch := rd.watch(ctx, "restore", size, progress)
	got, err := rd.entries(func(key, value []byte) error {
		if err := b.Put(key, value); err != nil {
			return err
		}
		return watch(key, value)
	})
	if err == nil && got.ID != want.ID {
		err = damaged("it changed while it was read")
	}
	if err != nil {
		return errors.Join(err, b.Abort())
	}
	if err := b.Finish(kv.Version(got.Version)); err != nil {
		return err
	}
	progress.tell("restore", got.Keys, got.Bytes, got.Bytes)
	return nil
}
