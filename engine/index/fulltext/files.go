package fulltext

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Files opens the files of mapper filters by the paths that definitions give. What it does not open is not there.
type Files interface {
	Open(path string) (fs.File, error)
}

// Directories are files in some directories and below, and nothing else: links do not lead out of them. Relative paths
// are below the working directory.
type Directories []string

// Open opens a file for reading.
func (ds Directories) Open(path string) (fs.File, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	for _, d := range ds {
		if d, err = filepath.Abs(d); err != nil {
			return nil, err
		}
		if within, err := filepath.Rel(d, path); err == nil && within != ".." &&
			!strings.HasPrefix(within, ".."+string(filepath.Separator)) {
			return openIn(d, within)
		}
	}
	return nil, fmt.Errorf("open a file of an analyzer: %w", fs.ErrPermission)
}

func openIn(dir, path string) (fs.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%s is no file: %w", path, fs.ErrInvalid)
	}
	return f, nil
}
