package physical

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/wal"
)

// The names of what is on its way to path, and of what was there before.
const (
	freshSuffix = ".new"
	oldSuffix   = ".old"
)

// replaceStore lets build make a store beside path, and puts it in the place of what is at path,
// if anything. A crash leaves at path either store, or in the worst moment none: then the whole
// old one is at path.old and the whole new one at path.new.
func replaceStore(path string, build func(fresh string) error) error {
	path = filepath.Clean(path)
	fresh, old := path+freshSuffix, path+oldSuffix
	if err := clearLeftover(fresh); err != nil {
		return err
	}
	if _, err := os.Lstat(old); err == nil {
		return inTheWay(old, "left by a run that was interrupted")
	}
	if err := build(fresh); err != nil {
		return err
	}
	return swap(path, fresh, old)
}

// clearLeftover removes the unfinished store of a run that was killed. A finished one is not
// touched: it may be all that there is.
func clearLeftover(fresh string) error {
	if _, err := os.Lstat(fresh); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	finished, err := bolt.Finished(fresh)
	switch {
	case errors.Is(err, kv.ErrFormat):
		return inTheWay(fresh, "not a store")
	case err != nil:
		return fmt.Errorf("%s is in the way: %w", fresh, err)
	case finished:
		return inTheWay(fresh, "a whole store")
	}
	return os.RemoveAll(fresh)
}

// inTheWay is the refusal to write where something else is.
func inTheWay(path, what string) error {
	return fmt.Errorf("%s is in the way: it is %s; move or remove it: %w", path, what, os.ErrExist)
}

// swap moves fresh to path, and what was there out of the way and away.
func swap(path, fresh, old string) error {
	switch _, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist):
		old = ""
	case err != nil:
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if old != "" {
		if err := os.Rename(path, old); err != nil {
			return errors.Join(fmt.Errorf("replace %s: %w", path, err), os.RemoveAll(fresh))
		}
	}
	if err := os.Rename(fresh, path); err != nil {
		if old != "" {
			err = errors.Join(err, os.Rename(old, path))
		}
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if err := (wal.OS{}).SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if old == "" {
		return nil
	}
	if err := os.RemoveAll(old); err != nil {
		return fmt.Errorf("the new store is at %s; remove the old one by hand: %w", path, err)
	}
	return nil
}
