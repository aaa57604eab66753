// Package blob keeps the bytes of uploads outside of the database, under keys that begin with ctx/CONTEXT/.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Store keeps objects. A key that does not exist is fs.ErrNotExist for Get, and nothing for Delete.
type Store interface {
	Put(ctx context.Context, key string, b []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
	DeleteAll(ctx context.Context, prefix string) error
	// Each calls f for every key below prefix with the time that it was written.
	Each(ctx context.Context, prefix string, f func(key string, at time.Time) error) error
}

// Open opens the store that an address names.
func Open(address string) (Store, error) {
	scheme, path, _ := strings.Cut(address, "://")
	switch scheme {
	case "local":
		if path == "" {
			return nil, errors.New("want local://PATH")
		}
		return &Local{dir: path}, nil
	case "s3", "gcs", "azure":
		return openCloud(scheme, path, nil)
	}
	return nil, errors.New("want local://PATH, s3://BUCKET/PREFIX, gcs://BUCKET/PREFIX or azure://CONTAINER/PREFIX")
}

// Local is a directory of files.
type Local struct{ dir string }

// path is the file of a key. Keys are made by the service: letters, digits and slashes.
func (l *Local) path(key string) (string, error) {
	if !filepath.IsLocal(key) || strings.ContainsAny(key, "\\\x00") {
		return "", fmt.Errorf("bad object key %q", key)
	}
	return filepath.Join(l.dir, filepath.FromSlash(key)), nil
}

// Put implements Store: the file is whole or not there.
func (l *Local) Put(_ context.Context, key string, b []byte) error {
	path, err := l.path(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".put-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Get implements Store.
func (l *Local) Get(_ context.Context, key string) ([]byte, error) {
	path, err := l.path(key)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Delete implements Store.
func (l *Local) Delete(_ context.Context, key string) error {
	path, err := l.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// DeleteAll implements Store.
func (l *Local) DeleteAll(_ context.Context, prefix string) error {
	path, err := l.path(strings.TrimSuffix(prefix, "/"))
	if err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// Each implements Store.
func (l *Local) Each(ctx context.Context, prefix string, f func(string, time.Time) error) error {
	root, err := l.path(strings.TrimSuffix(prefix, "/"))
	if err != nil {
		return err
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(l.dir, path)
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(rel), info.ModTime())
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
