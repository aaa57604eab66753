package fault

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/nacredb/nacre/engine/kv/wal"
)

// sector is the unit that a device writes whole or not at all.
const sector = 512

// Disk is a wal.FS in memory. It knows which writes were synced. It is safe for concurrent use.
type Disk struct {
	mu    sync.Mutex // guards all below and the contents of the files; Plan runs without it
	files map[string]*file
	plan  Plan
	count int64
	limit int64 // bytes of all files; 0 = no limit

	blocks bool // see SetBlocks
}

// file has what programs see now, what is on the medium for certain, and the changes between.
type file struct {
	now     []byte
	synced  []byte
	pending []change
	entry   bool // its name is durable
}

// change is a write, or a new size when data is nil.
type change struct {
	at   int64
	data []byte
}

// NewDisk gives an empty disk.
func NewDisk() *Disk { return &Disk{files: map[string]*file{}} }

// empty gives one without files that is as good at blocks as d, whose mu is held.
func (d *Disk) empty() *Disk { return &Disk{files: map[string]*file{}, blocks: d.blocks} }

// SetPlan replaces the plan; nil means no more faults.
func (d *Disk) SetPlan(p Plan) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan = p
}

// SetLimit sets the size of the disk in bytes; 0 = no limit.
func (d *Disk) SetLimit(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit = n
}

// SetBlocks says whether the files of the disk are better at wal.File.WriteBlocks than at writes with a sync.
func (d *Disk) SetBlocks(are bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blocks = are
}

// Blocks reports whether they are.
func (d *Disk) Blocks() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.blocks
}

// Used is the number of bytes of all files.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

func (d *Disk) used() (n int64) {
	for _, f := range d.files {
		n += int64(len(f.now))
	}
	return n
}

// step counts an operation and asks the plan.
func (d *Disk) step(op Op) error {
	d.mu.Lock()
	d.count++
	plan, n := d.plan, d.count
	d.mu.Unlock()
	if plan == nil {
		return nil
	}
	return plan(op, n).Err
}

// Open implements wal.FS.
func (d *Disk) Open(name string) (wal.File, error) {
	if err := d.step(Open); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.files[name]
	if f == nil {
		f = &file{}
		d.files[name] = f
	}
	return &handle{disk: d, file: f}, nil
}

// List implements wal.FS.
func (d *Disk) List(dir string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.files {
		if filepath.Dir(name) == dir {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Remove implements wal.FS. The removal is durable at once: the harder case, as the log must
// never need a file again that it has removed.
func (d *Disk) Remove(name string) error {
	if err := d.step(Remove); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		return os.ErrNotExist
	}
	delete(d.files, name)
	return nil
}

// SyncDir implements wal.FS.
func (d *Disk) SyncDir(dir string) error {
	if err := d.step(SyncDir); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, f := range d.files {
		if filepath.Dir(name) == dir {
			f.entry = true
		}
	}
	return nil
}

// Crash gives the disk after a power cut now: synced writes are there; of the others each sector
// is there or not, by chance. d itself goes on.
func (d *Disk) Crash(rnd *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := d.empty()
	// Some crashes lose nearly all of what was pending, some nearly nothing.
	chance := []float64{0, 0.1, 0.5, 0.9, 1}[rnd.IntN(5)]
	names := make([]string, 0, len(d.files))
	for name := range d.files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f := d.files[name]
		if !f.entry && rnd.Float64() >= chance {
			continue
		}
		content := slices.Clone(f.synced)
		for _, c := range f.pending {
			content = c.survive(content, rnd, chance)
		}
		after.files[name] = &file{now: content, synced: slices.Clone(content), entry: true}
	}
	return after
}

// Kill gives the disk after the process was killed: all that was written is there, synced or
// not, and may still be lost in a later Crash.
func (d *Disk) Kill() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := d.empty()
	for name, f := range d.files {
		after.files[name] = &file{now: slices.Clone(f.now), synced: slices.Clone(f.synced),
			pending: slices.Clone(f.pending), entry: f.entry}
	}
	return after
}

// Bytes is the content of a file, to be spoiled in place by a test while no log is open.
func (d *Disk) Bytes(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.files[name]; f != nil {
		return f.now
	}
	return nil
}

// survive applies those sectors of c that reached the medium.
func (c change) survive(content []byte, rnd *rand.Rand, chance float64) []byte {
	if c.data == nil {
		if rnd.Float64() < chance {
			return resize(content, c.at)
		}
		return content
	}
	for from := 0; from < len(c.data); {
		to := min(len(c.data), from+sector-int((c.at+int64(from))%sector))
		if rnd.Float64() < chance {
			content = overwrite(content, c.data[from:to], c.at+int64(from))
		}
		from = to
	}
	return content
}

func resize(p []byte, size int64) []byte {
	if int64(len(p)) >= size {
		return p[:size]
	}
	return append(p, make([]byte, size-int64(len(p)))...)
}

func overwrite(p, data []byte, at int64) []byte {
	if end := at + int64(len(data)); end > int64(len(p)) {
		p = resize(p, end)
	}
	copy(p[at:], data)
	return p
}

// handle is an open file.
type handle struct {
	disk   *Disk
	file   *file
	closed bool
}

var errClosed = errors.New("file is closed")

// ReadAt implements wal.File.
func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	if err := h.disk.step(Read); err != nil {
		return 0, err
	}
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if off >= int64(len(h.file.now)) {
		return 0, io.EOF
	}
	n := copy(p, h.file.now[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt implements wal.File. On a full disk it writes what fits.
func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	if err := h.disk.step(Write); err != nil {
		return 0, err
	}
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if h.closed {
		return 0, errClosed
	}
	var err error
	if grow := off + int64(len(p)) - int64(len(h.file.now)); grow > 0 && h.disk.limit > 0 {
		if over := h.disk.used() + grow - h.disk.limit; over > 0 {
			p, err = p[:max(0, int64(len(p))-over)], syscall.ENOSPC
		}
	}
	if len(p) > 0 {
		h.file.now = overwrite(h.file.now, p, off)
		h.file.pending = append(h.file.pending, change{at: off, data: slices.Clone(p)})
	}
	return len(p), err
}

// Size implements wal.File.
func (h *handle) Size() (int64, error) {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	return int64(len(h.file.now)), nil
}

// Truncate implements wal.File.
func (h *handle) Truncate(size int64) error {
	if err := h.disk.step(Truncate); err != nil {
		return err
	}
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.file.now = resize(h.file.now, size)
	h.file.pending = append(h.file.pending, change{at: size})
	return nil
}

// Sync implements wal.File.
func (h *handle) Sync() error {
	if err := h.disk.step(Sync); err != nil {
		return err
	}
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	if h.closed {
		return errClosed
	}
	for _, c := range h.file.pending {
		if c.data == nil {
			h.file.synced = resize(h.file.synced, c.at)
		} else {
			h.file.synced = overwrite(h.file.synced, c.data, c.at)
		}
	}
	h.file.pending = nil
	return nil
}

// Blocks implements wal.File.
func (h *handle) Blocks() bool { return h.disk.Blocks() }

// WriteBlocks implements wal.File: a write, and a sync of nothing else.
func (h *handle) WriteBlocks(p []byte, off int64) error {
	if _, err := h.WriteAt(p, off); err != nil {
		return err
	}
	if err := h.disk.step(Sync); err != nil {
		return err
	}
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.file.synced = overwrite(h.file.synced, p, off)
	h.file.pending = slices.DeleteFunc(h.file.pending, func(c change) bool {
		return c.at == off && bytes.Equal(c.data, p)
	})
	return nil
}

// Close implements wal.File.
func (h *handle) Close() error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.closed = true
	return nil
}

// Moved gives the same files under another directory.
func (d *Disk) Moved(from, to string) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	moved := d.empty()
	for name, f := range d.files {
		if filepath.Dir(name) == from {
			name = filepath.Join(to, filepath.Base(name))
		}
		moved.files[name] = f
	}
	return moved
}
