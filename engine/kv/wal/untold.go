package wal

import (
	"os"
	"runtime"
	"time"
)

// Writes and syncs that are brief enter the system without telling the scheduler of Go. A call that it hears of lets it
// give the thread's place to another one after some 20 microseconds: its monitor wakes and looks that often, and the
// goroutine has to find a place again afterwards. With a fast disk that is a sixth of the CPU of a server that commits,
// and a part of the wait. A call that it does not hear of holds up the garbage collector, which stops all goroutines
// for a moment, until it returns. So it is for disks that have been fast several times in a row, and one long call has
// the next ones told of again.
const (
	brief   = time.Millisecond
	enough  = 8       // brief syncs in a row after which the next calls are not told of
	penance = 64      // as many more after a long call
	small   = 1 << 20 // bytes of writes that may be brief
)

// told reports whether the scheduler is to hear of the next call.
func (f *osFile) told() bool { return f.row.Load() < enough }

// took notes how long a call took; sync: it was one.
func (f *osFile) took(d time.Duration, sync bool) {
	switch n := f.row.Load(); {
	case d > brief:
		f.row.Store(-penance)
	case sync && n < enough && runtime.GOMAXPROCS(0) > 1: // with one thread nothing else would run meanwhile
		f.row.Add(1)
	}
}

// WriteAt implements File.
func (f *osFile) WriteAt(p []byte, at int64) (int, error) {
	if f.told() || len(p) > small {
		return f.File.WriteAt(p, at)
	}
	began := time.Now()
	n, err := writeAt(f.File, p, at)
	f.took(time.Since(began), false)
	return n, err
}

// Sync implements File.
func (f *osFile) Sync() error {
	began := time.Now()
	err := datasync(f.File, f.told())
	f.took(time.Since(began), true)
	return err
}

// Blocks implements File.
func (f *osFile) Blocks() bool { return f.past != nil && !f.unable.Load() }

// WriteBlocks implements File.
func (f *osFile) WriteBlocks(p []byte, at int64) error {
	write := writeAt
	if f.told() || len(p) > small {
		write = (*os.File).WriteAt
	}
	began := time.Now()
	_, err := write(f.past, p, at)
	f.took(time.Since(began), true)
	if !cannot(err) {
		return err
	}
	f.unable.Store(true)
	if _, err := f.WriteAt(p, at); err != nil {
		return err
	}
	return f.Sync()
}
