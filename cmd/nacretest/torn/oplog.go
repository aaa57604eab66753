package torn

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// event is one thing that a process did to files, or said about itself.
type event struct {
	kind eventKind
	file string // base name
	to   string // of a link: the second name
	at   int64  // of a write; the new size of a truncation
	data []byte
	mark string // of a mark: "try 1 7", "ack 1 7", "ready"
	// covers is, for a sync, how many events had ended when it began: it promises nothing of later ones. since is the
	// first one that it promises something of: that of a write that is durable by itself is its own.
	covers, since int
}

type eventKind uint8

const (
	evWrite eventKind = iota
	evTruncate
	evCreate
	evLink
	evRemove
	evSync
	evSyncDir
	evMark
)

// sector is the unit that a disk writes whole or not at all.
const sector = 512

// disk replays events, and knows what of each file is there for certain.
type disk struct {
	files map[string]*diskFile
	// drop is the number of a sync that is left out, from 0; -1 = none. Those of other files are
	// not counted.
	drop  int
	syncs int
}

// diskFile is one file: what was synced, and what came after that.
type diskFile struct {
	synced  []byte
	pending []pendingChange
	named   bool // its directory entry is durable
}

type pendingChange struct {
	number int // of the event
	event
}

func newDisk(drop int) *disk { return &disk{files: map[string]*diskFile{}, drop: drop} }

// apply replays event number n.
func (d *disk) apply(n int, e event) {
	f := d.files[e.file]
	if f == nil && (e.kind == evWrite || e.kind == evTruncate || e.kind == evCreate) {
		f = &diskFile{}
		d.files[e.file] = f
	}
	switch e.kind {
	case evWrite, evTruncate:
		f.pending = append(f.pending, pendingChange{n, e})
	case evLink:
		if f != nil {
			second := *f
			second.named = false
			d.files[e.to] = &second
		}
	case evRemove:
		delete(d.files, e.file) // durable at once: the harder case
	case evSyncDir:
		for _, f := range d.files {
			f.named = true
		}
	case evSync:
		if f == nil {
			return
		}
		d.syncs++
		if d.syncs-1 == d.drop {
			return
		}
		kept := f.pending[:0]
		for _, p := range f.pending {
			if e.since <= p.number && p.number < e.covers {
				f.synced = p.all(f.synced)
			} else {
				kept = append(kept, p)
			}
		}
		f.pending = kept
	}
}

// all applies the whole change.
func (p *pendingChange) all(content []byte) []byte {
	if p.kind == evTruncate {
		return resized(content, p.at)
	}
	return overwritten(content, p.data, p.at)
}

// some applies those sectors of the change that reached the disk.
func (p *pendingChange) some(content []byte, rnd *rand.Rand, chance float64) []byte {
	if p.kind == evTruncate {
		if rnd.Float64() < chance {
			return resized(content, p.at)
		}
		return content
	}
	for from := 0; from < len(p.data); {
		to := min(len(p.data), from+sector-int((p.at+int64(from))%sector))
		if rnd.Float64() < chance {
			content = overwritten(content, p.data[from:to], p.at+int64(from))
		}
		from = to
	}
	return content
}

func resized(p []byte, size int64) []byte {
	if int64(len(p)) >= size {
		return p[:size]
	}
	return append(p, make([]byte, size-int64(len(p)))...)
}

func overwritten(p, data []byte, at int64) []byte {
	if end := at + int64(len(data)); end > int64(len(p)) {
		p = resized(p, end)
	}
	copy(p[at:], data)
	return p
}

// cut writes into dir what a power cut now would leave.
func (d *disk) cut(dir string, rnd *rand.Rand) error {
	// Some cuts lose nearly all that was pending, some nearly nothing.
	chance := []float64{0, 0.1, 0.5, 0.9, 1}[rnd.IntN(5)]
	names := make([]string, 0, len(d.files))
	for name := range d.files {
		names = append(names, name)
	}
	slices.Sort(names)
	var errs []error
	for _, name := range names {
		f := d.files[name]
		if !f.named && rnd.Float64() >= chance {
			continue
		}
		content := slices.Clone(f.synced)
		for i := range f.pending {
			content = f.pending[i].some(content, rnd, chance)
		}
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return errors.Join(errs...)
}
