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

// staleAfter is the age at which such a file counts as abandoned.
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
	allowed []string // absolute and clean; they may have {ns} and {db} in them
	limit   int64    // bytes of one file
	swept   sync.Map // folders whose stale files were removed
}

// Place is a database by its names: what {ns} and {db} stand for in an allowed folder.
type Place struct{ NS, DB string }

// The marks in the path of an allowed folder. Each is a whole part of it.
const (
	markNS = "{ns}"
	markDB = "{db}"
)

// Reach says whose buckets may be in a folder.
type Reach uint8

// The reaches: one database's, those of one namespace, and everybody's. A folder of the latter two is shared: who may
// define buckets there reaches the files of other databases.
const (
	ReachDatabase Reach = iota
	ReachNamespace
	ReachAll
)

// reachOf is the reach of an allowed folder.
func reachOf(pattern string) Reach {
	switch {
	case strings.Contains(pattern, markDB):
		return ReachDatabase
	case strings.Contains(pattern, markNS):
		return ReachNamespace
	}
	return ReachAll
}

// base is the part of an allowed folder before its first mark: the folder that has to be there.
func base(pattern string) string {
	if i := strings.IndexByte(pattern, '{'); i >= 0 {
		return filepath.Dir(pattern[:i] + "x")
	}
	return pattern
}

// of is an allowed folder for a place. It fails where a name cannot be one part of a path.
func (p Place) of(pattern string) (string, bool) {
	parts := strings.Split(pattern, string(filepath.Separator))
	for i, part := range parts {
		switch part {
		case markNS:
			parts[i] = p.NS
		case markDB:
			parts[i] = p.DB
		default:
			continue
		}
		if n := parts[i]; n == "." || n == ".." || n == "" || strings.ContainsAny(n, "/\\:\x00") ||
			!filepath.IsLocal(n) {
			return "", false
		}
	}
	return strings.Join(parts, string(filepath.Separator)), true
}

// checkMarks refuses a path whose marks do not keep databases apart, or are no marks.
func checkMarks(pattern string) error {
	for _, part := range strings.Split(pattern, string(filepath.Separator)) {
		if part != markNS && part != markDB && strings.ContainsAny(part, "{}") {
			return fmt.Errorf("allow the bucket folder %s: {ns} and {db} must be whole parts of the path", pattern)
		}
	}
	if strings.Contains(pattern, markDB) && !strings.Contains(pattern, markNS) {
		return fmt.Errorf("allow the bucket folder %s: {db} needs {ns}: databases of two namespaces may have one name", pattern)
	}
	return nil
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
		if err := checkMarks(abs); err != nil {
			return nil, err
		}
		out = append(out, abs)
	}
	return out, nil
}

// Folder is the folder that the text of BACKEND names, empty for memory, and whose buckets may be there. A folder
// outside those that are allowed for the place is an error.
func (s *Store) Folder(backend string, of Place) (string, Reach, error) {
	if backend == "memory" {
		return "", ReachDatabase, nil
	}
	u, err := url.Parse(backend)
	if err != nil || u.Scheme != "file" {
		return "", 0, errs.Internal("Bucket backend is not supported")
	}
	shown := path.Clean("/" + u.Path + u.Opaque)
	folder := filepath.FromSlash(shown)
	if drive := folder[1:]; filepath.VolumeName(drive) != "" {
		folder = filepath.Clean(drive)
	}
	_, reach, ok := s.folders.above(folder, of)
	if u.Host != "" && u.Host != "localhost" || !ok {
		return "", 0, Denied(shown)
	}
	return folder, reach, nil
}

// Denied is the error of a folder that a bucket may not be in.
func Denied(folder string) error {
	denied := errs.Internal("File access denied: %s", folder)
	denied.Err = errors.New("the folder is not inside those of --bucket-folder-allowlist, or is shared among databases")
	return denied
}

// above is the base of the allowed folder that folder is in, and that one's reach: the least of all that it is in.
func (d *folders) above(folder string, of Place) (top string, reach Reach, ok bool) {
	for _, pattern := range d.allowed {
		a, named := of.of(pattern)
		if !named || strings.ContainsRune(folder, 0) {
			continue
		}
		rel, err := filepath.Rel(a, folder)
		if r := reachOf(pattern); err == nil && filepath.IsLocal(rel) && (!ok || r < reach) {
			top, reach, ok = base(pattern), r, true
		}
	}
	return top, reach, ok
}

// open opens the folder of a bucket. It goes through the allowed folder, so that no link on the way leads out of it.
func (d *folders) open(id ID, create bool) (*os.Root, error) {
	allowed, _, ok := d.above(id.Folder, id.Place)
	if !ok {
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
	ok := fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\\x00") &&
		!strings.HasPrefix(name, tempPrefix) &&
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

// placeAttempts is how often place makes the folders of a file anew when concurrent deletes take the empty ones away.
const placeAttempts = 100

// takenByFile reports whether dir, or a folder above it, is something else than a folder.
func takenByFile(root *os.Root, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// place gives a file the name at, durably: with overwrite it moves there, without it also keeps its old name, and
// nothing happens where at is taken.
func place(id ID, root *os.Root, from, at string, overwrite bool) (placed bool, err error) {
	dir := path.Dir(at)
	for range placeAttempts {
		err = root.MkdirAll(dir, folderMode)
		if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
			if takenByFile(root, dir) {
				return false, failed(id, "a part of the key is taken by a file", err)
			}
			continue // what stood in the way has gone, or is the folder of another writer
		}
		if err == nil {
			placed, err = placeIn(root, from, at, overwrite)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch {
	case errors.Is(err, errNotAFile):
		return false, failed(id, "the key is taken by a folder or link", nil)
	case err != nil:
		return false, broken(id, err)
	case placed:
		return true, syncFolders(id, root, dir)
	}
	return false, nil
}

// errNotAFile says that a key's path is a folder or a link.
var errNotAFile = errors.New("not a file")

// placeIn is place where the folder of at is there. It fails with fs.ErrNotExist when that has just gone.
func placeIn(root *os.Root, from, at string, overwrite bool) (placed bool, err error) {
	info, miss := root.Lstat(at)
	switch {
	case miss == nil && !info.Mode().IsRegular():
		return false, errNotAFile
	case overwrite:
		err = root.Rename(from, at)
	case miss == nil:
		return false, nil
	default:
		if err = root.Link(from, at); errors.Is(err, fs.ErrExist) {
			return false, nil
		}
	}
	return err == nil, err
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
		return // leftover files do no harm, and the next engine tries again
	}
	for _, name := range stale {
		if info, err := root.Lstat(name); err == nil && info.Mode().IsRegular() &&
			time.Since(info.ModTime()) > staleAfter {
			_ = root.Remove(name) // as above
		}
	}
}
