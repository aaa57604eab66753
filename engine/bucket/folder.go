package bucket

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nacredb/nacre/engine/errs"
)

// tempPrefix begins the names of files that are being written, in the top folder of a bucket. No key may begin so.
const tempPrefix = ".nacre-tmp-"

// staleAfter is the age at which such a file belongs to nobody any more.
const staleAfter = time.Hour

// Files and folders that the engine makes are for its own user only.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// folders is the backend "file:": each bucket is a folder, each file is there under its key.
//
// Files are written beside and moved into place when they are on disk, so that a reader, and a crash, finds the old or
// the new one. Nothing here holds a lock: the file system orders what happens at once. Links count as no files.
type folders struct {
	allowed []string // absolute and clean
	limit   int64    // bytes of one file
	swept   sync.Map // folders whose stale files were removed
}

// Folders makes paths of folders absolute and clean, as New wants them. Empty ones are left out.
func Folders(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, fmt.Errorf("allow the bucket folder %s: %w", p, err)
		}
		out = append(out, abs)
	}
	return out, nil
}

// Folder is the folder that the text of BACKEND names, empty for memory. A folder outside the allowed ones is an error.
func (s *Store) Folder(backend string) (string, error) {
	if backend == "memory" {
		return "", nil
	}
	u, err := url.Parse(backend)
	if err != nil || u.Scheme != "file" {
		return "", errs.Internal("Bucket backend is not supported")
	}
	shown := path.Clean("/" + u.Path + u.Opaque)
	folder := filepath.FromSlash(shown)
	if drive := folder[1:]; filepath.VolumeName(drive) != "" {
		folder = filepath.Clean(drive)
	}
	if u.Host != "" && u.Host != "localhost" || s.folders.above(folder) == "" {
		denied := errs.Internal("File access denied: %s", shown)
		denied.Err = errors.New("the folder is not inside those of --bucket-folder-allowlist")
		return "", denied
	}
	return folder, nil
}

// above is the allowed folder that folder is in, empty if none.
func (d *folders) above(folder string) string {
	for _, a := range d.allowed {
		if rel, err := filepath.Rel(a, folder); err == nil && filepath.IsLocal(rel) && !strings.ContainsRune(folder, 0) {
			return a
		}
	}
	return ""
}

// open opens the folder of a bucket. It goes through the allowed folder, so that no link on the way leads out of it.
func (d *folders) open(id ID, create bool) (*os.Root, error) {
	allowed := d.above(id.Folder)
	if allowed == "" {
		return nil, errors.New("the folder is not allowed")
	}
	top, err := os.OpenRoot(allowed)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	rel, err := filepath.Rel(allowed, id.Folder)
	if err != nil {
		return nil, err
	}
	if create {
		if err := top.MkdirAll(rel, folderMode); err != nil {
			return nil, err
		}
	}
	return top.OpenRoot(rel)
}

// name is a key's path inside the folder of its bucket, if a file may have it.
func name(key string) (string, bool) {
	name := strings.TrimPrefix(key, "/")
	ok := fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\\x00") && !strings.HasPrefix(name, tempPrefix) &&
		filepath.IsLocal(filepath.FromSlash(name))
	return name, ok
}

// absent reports whether err says that there is no such file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// broken is the error of an operation that the file system refused: without its text, which names paths.
func broken(id ID, err error) error { return failed(id, "the folder cannot be used", err) }

// find opens the bucket's folder and looks for a file. The caller closes root where found is true.
func (d *folders) find(id ID, key string) (root *os.Root, at string, info fs.FileInfo, found bool, err error) {
	at, ok := name(key)
	if !ok {
		return nil, "", nil, false, nil
	}
	if root, err = d.open(id, false); err == nil {
		if info, err = root.Lstat(at); err == nil && info.Mode().IsRegular() {
			return root, at, info, true, nil
		}
		root.Close()
	}
	if err != nil && !absent(err) {
		return nil, "", nil, false, broken(id, err)
	}
	return nil, "", nil, false, nil
}

func (d *folders) head(id ID, key string) (Info, bool, error) {
	root, _, info, found, err := d.find(id, key)
	if !found {
		return Info{}, false, err
	}
	defer root.Close()
	return Info{Key: key, Size: info.Size(), Updated: info.ModTime().UTC()}, true, nil
}

func (d *folders) get(id ID, key string) ([]byte, bool, error) {
	root, at, _, found, err := d.find(id, key)
	if !found {
		return nil, false, err
	}
	defer root.Close()
	f, err := root.Open(at)
	if absent(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, broken(id, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, d.limit+1))
	if err != nil {
		return nil, false, broken(id, err)
	}
	if int64(len(data)) > d.limit {
		return nil, false, failed(id, "the file is too large", nil)
	}
	return data, true, nil
}

func (d *folders) put(id ID, key string, data []byte, overwrite bool) (stored bool, err error) {
	at, ok := name(key)
	if !ok {
		return false, failed(id, "the key is no path of a file", nil)
	}
	if int64(len(data)) > d.limit {
		return false, failed(id, full, nil)
	}
	root, err := d.open(id, true)
	if err != nil {
		return false, broken(id, err)
	}
	defer root.Close()
	d.sweep(root, id.Folder)
	temp, err := writeTemp(root, data)
	if err != nil {
		return false, broken(id, err)
	}
	stored, err = place(id, root, temp, at, overwrite)
	if err != nil || !stored || !overwrite { // otherwise it is the file now
		if left := ignoreAbsent(id, root.Remove(temp)); err == nil {
			err = left
		}
	}
	return stored, err
}

func ignoreAbsent(id ID, err error) error {
	if err == nil || absent(err) {
		return nil
	}
	return broken(id, err)
}

// writeTemp writes data to disk under a name of its own.
func writeTemp(root *os.Root, data []byte) (name string, err error) {
	name = tempPrefix + rand.Text()
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, root.Remove(name))
	}
	return name, nil
}

// place gives a file the name at, durably: with overwrite it moves there, without it also keeps its old name, and nothing
// happens where at is taken.
func place(id ID, root *os.Root, from, at string, overwrite bool) (placed bool, err error) {
	dir := path.Dir(at)
	for range 8 { // as often as a concurrent delete takes the empty folder away
		if err = root.MkdirAll(dir, folderMode); errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
			return false, failed(id, "a part of the key is taken by a file", err)
		}
		if err == nil {
			info, miss := root.Lstat(at)
			switch {
			case miss == nil && !info.Mode().IsRegular():
				return false, failed(id, "the key is taken by a folder or link", nil)
			case miss == nil && !overwrite:
				return false, nil
			case overwrite:
				err = root.Rename(from, at)
			default:
				err = root.Link(from, at)
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch {
	case err == nil:
		return true, syncFolders(id, root, dir)
	case !overwrite && errors.Is(err, fs.ErrExist):
		return false, nil
	}
	return false, broken(id, err)
}

// syncFolders makes the names in dir durable, and those of the folders above it.
func syncFolders(id ID, root *os.Root, dir string) error {
	for {
		f, err := root.Open(dir)
		if err == nil {
			err = errors.Join(syncFolder(f), f.Close())
		}
		if err != nil && !absent(err) {
			return broken(id, err)
		}
		if dir == "." {
			return nil
		}
		dir = path.Dir(dir)
	}
}

// syncFolder leaves out what systems and file systems cannot do.
func syncFolder(f *os.File) error {
	err := f.Sync()
	if filepath.Separator == '\\' || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

func (d *folders) remove(id ID, key string) error {
	root, at, _, found, err := d.find(id, key)
	if !found {
		return err
	}
	defer root.Close()
	return removeFrom(id, root, at)
}

// removeFrom removes a file, durably, and the folders that it leaves empty.
func removeFrom(id ID, root *os.Root, at string) error {
	if err := root.Remove(at); err != nil {
		return ignoreAbsent(id, err)
	}
	return prune(id, root, path.Dir(at))
}

// prune removes dir and the folders above it that are empty, and makes what has gone from there durable.
func prune(id ID, root *os.Root, dir string) error {
	for dir != "." && root.Remove(dir) == nil { // a folder that is not empty stays: that is no error
		dir = path.Dir(dir)
	}
	return syncFolders(id, root, dir)
}

func (d *folders) copy(from ID, source string, to ID, target string, overwrite, move bool) error {
	at, ok := name(target)
	if !ok {
		return failed(to, "the key is no path of a file", nil)
	}
	if !move {
		data, found, err := d.get(from, source)
		if err != nil || !found {
			return noSource(from, source, overwrite, move, err)
		}
		if source == target {
			return nil
		}
		_, err = d.put(to, target, data, overwrite)
		return err
	}
	root, old, _, found, err := d.find(from, source)
	if err != nil || !found {
		return noSource(from, source, overwrite, move, err)
	}
	defer root.Close()
	if old == at {
		return nil
	}
	placed, err := place(to, root, old, at, overwrite)
	if err != nil || !placed {
		return err
	}
	if !overwrite {
		return removeFrom(from, root, old)
	}
	return prune(from, root, path.Dir(old))
}

// sweep removes, once for each folder, what writers left behind that were killed.
func (d *folders) sweep(root *os.Root, folder string) {
	if _, done := d.swept.LoadOrStore(folder, true); done {
		return
	}
	stale, err := fs.Glob(root.FS(), tempPrefix+"*")
	if err != nil {
		return // they hurt nobody, and the next engine tries again
	}
	for _, name := range stale {
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			_ = root.Remove(name) // as above
		}
	}
}
