package bucket

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// listing walks a folder in order of the keys.
type listing struct {
	files         fs.FS
	prefix, after string
	limit         int // negative: none
	out           []Info
}

func (d *folders) list(ctx context.Context, id ID, opt Listing) ([]Info, error) {
	root, err := d.open(id, false)
	if err != nil {
		if absent(err) {
			return []Info{}, nil
		}
		return nil, broken(id, err)
	}
	defer root.Close()
	l := listing{files: root.FS(), limit: opt.Limit, out: []Info{}}
	l.prefix, l.after = opt.bounds()
	if err := l.folder(ctx, "."); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, broken(id, err)
	}
	return l.out, nil
}

// key is what an entry of a folder adds to the key: folders end with a slash, which is how their files sort among
// others.
func key(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

// folder lists the files below dir.
func (l *listing) folder(ctx context.Context, dir string) error {
	entries, err := fs.ReadDir(l.files, dir)
	if err != nil {
		if absent(err) {
			return nil
		}
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(key(a), key(b)) })
	for i, e := range entries {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if l.full() {
			return nil
		}
		at := path.Join(dir, e.Name())
		switch {
		case e.IsDir() && l.mayHold("/"+at+"/"):
			err = l.folder(ctx, at)
		case e.Type().IsRegular():
			err = l.file("/"+at, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *listing) full() bool { return l.limit >= 0 && len(l.out) >= l.limit }

// mayHold reports whether a key that is asked for can begin with folder.
func (l *listing) mayHold(folder string) bool {
	inside := strings.HasPrefix(folder, l.prefix) || strings.HasPrefix(l.prefix, folder)
	return inside && (folder > l.after || strings.HasPrefix(l.after, folder))
}

// file adds a file that is asked for.
func (l *listing) file(key string, e fs.DirEntry) error {
	if _, ok := name(key); !ok || !strings.HasPrefix(key, l.prefix) || key <= l.after {
		return nil
	}
	info, err := e.Info()
	if err != nil {
		if absent(err) {
			return nil
		}
		return err
	}
	l.out = append(l.out, Info{Key: key, Size: info.Size(), Updated: info.ModTime().UTC()})
	return nil
}
