package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// What a store needs of its disk.
const (
	spaceFailure = 100 << 20 // bytes free
	spaceWarning = 1 << 30
	spaceShare   = 20 // one part of so many free is a warning
	syncs        = 15
	syncWarning  = 20 * time.Millisecond
)

// store checks the folder that a store is in, or will be in.
func store(path string) []Finding {
	dir, there := existing(path)
	out := []Finding{}
	if !there {
		out = append(out, Finding{"store", Note, "there is no store at " + path + " yet", ""})
	} else if info, err := os.Stat(path); err == nil && info.IsDir() && info.Mode().Perm()&0o007 != 0 {
		out = append(out, Finding{"store", Warning, fmt.Sprintf("every user of this machine may enter %s (mode %v)", path,
			info.Mode().Perm()), "chmod 700 " + path})
	}
	if d, err := diskOf(dir); err == nil {
		out = append(out, space(d), fileSystem(d.kind))
	} else if !errors.Is(err, errors.ErrUnsupported) {
		out = append(out, Finding{"disk", Failure, err.Error(), "check that the disk is mounted"})
	}
	return append(out, syncLatency(dir))
}

// existing is path, or the nearest folder above it that exists.
func existing(path string) (dir string, there bool) {
	dir = path
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, dir == path
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir, false
		}
		dir = up
	}
}

// disk holds the properties of a file system.
type disk struct {
	free, size uint64
	kind       string // "" where it is not known
}

func space(d disk) Finding {
	text := fmt.Sprintf("%d MiB of %d MiB are free", d.free>>20, d.size>>20)
	switch {
	case d.free < spaceFailure:
		return Finding{"disk", Failure, text, "make room: writes are refused on a full disk"}
	case d.free < spaceWarning || d.free < d.size/spaceShare:
		return Finding{"disk", Warning, text, "make room before it is full"}
	}
	return Finding{"disk", OK, text, ""}
}

// risky are file systems that a store may not be safe on, and why.
var risky = map[string]string{
	"nfs":     "locks and syncs of network file systems are not to be trusted: use a local disk",
	"cifs":    "locks and syncs of network file systems are not to be trusted: use a local disk",
	"tmpfs":   "it is memory: all is lost when the machine stops",
	"fuse":    "syncs depend on what is behind it: ask its documentation",
	"overlay": "it is the layer of a container, which goes with it: mount a volume",
}

func fileSystem(kind string) Finding {
	if why := risky[kind]; why != "" {
		return Finding{"file system", Warning, kind, why}
	}
	if kind == "" {
		return Finding{"file system", Note, "its kind is not known here", ""}
	}
	return Finding{"file system", OK, kind, ""}
}

// syncLatency times a write of a page with its sync, as a commit does it.
func syncLatency(dir string) Finding {
	f, err := os.CreateTemp(dir, ".nacre-doctor-*")
	if errors.Is(err, fs.ErrPermission) {
		return Finding{"sync", Failure, "no file can be made in " + dir,
			"run it as the user of the server, or give that user the folder"}
	}
	if err != nil {
		return Finding{"sync", Failure, err.Error(), "check the disk"}
	}
	defer os.Remove(f.Name())
	defer f.Close()
	page, times := make([]byte, 4096), make([]time.Duration, 0, syncs)
	for i := range syncs {
		began := time.Now()
		if _, err := f.WriteAt(page, int64(i*len(page))); err != nil {
			return Finding{"sync", Failure, err.Error(), "check the disk"}
		}
		if err := f.Sync(); err != nil {
			return Finding{"sync", Failure, err.Error(), "check the disk"}
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	median, most := times[len(times)/2], times[len(times)-1]
	text := fmt.Sprintf("a sync takes %v, the slowest of %d %v", median.Round(10*time.Microsecond), syncs,
		most.Round(10*time.Microsecond))
	if median > syncWarning {
		return Finding{"sync", Warning, text, "each commit waits for one: use a faster disk"}
	}
	return Finding{"sync", OK, text, ""}
}
