package bolt

import (
	"time"

	"github.com/nacredb/nacre/internal/residence"
)

// residentBytes is how much of files may be resident in this process, and the size up to which data.db is left alone.
const residentBytes = 192 << 20

// How often keepResident looks. Each read of a place that is not mapped maps 16 pages: a load in random key order maps
// 4 MB in a millisecond, a scan 1 MB.
const (
	looksSoon   = 25 * time.Millisecond // after it has trimmed
	looksSeldom = 250 * time.Millisecond
)

// keepResident trims while the store is open: scans and reads at random would map the whole file in time.
func (s *Store) keepResident() {
	wait := looksSeldom
	next := time.NewTimer(wait)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			if wait = min(2*wait, looksSeldom); s.trimResident() {
				wait = looksSoon
			}
			next.Reset(wait)
		case <-s.stop:
			return
		}
	}
}

// trimResident takes the pages of a large data.db out of this process's memory when much of it is there, and reports
// whether it was. They stay in the page cache, and who reads one next finds it there, with its neighbours, for about a
// microsecond. It is advice: that it was not taken is of no consequence.
func (s *Store) trimResident() bool {
	n := s.count.fileBytes.Load()
	if n <= residentBytes || residence.Files() <= residentBytes {
		return false
	}
	_ = residence.Drop(s.db.Info().Data, uintptr(n))
	return true
}
