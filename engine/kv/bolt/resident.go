package bolt

import (
	"time"

	"github.com/nacredb/nacre/internal/residence"
)

// residentBytes is how much of files may be resident in this process, and the size up to which data.db is left alone.
const residentBytes = 192 << 20

// residentEach is how often keepResident looks: a scan reads some 200 MB meanwhile.
const residentEach = 100 * time.Millisecond

// keepResident trims while the store is open: scans and reads at random would map the whole file in time.
func (s *Store) keepResident() {
	tick := time.NewTicker(residentEach)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.trimResident()
		case <-s.stop:
			return
		}
	}
}

// trimResident takes the pages of a large data.db out of this process's memory when much of it is there. They stay in
// the page cache, and who reads one next finds it there, with its neighbours, for about a microsecond. It is advice:
// that it was not taken is of no consequence.
func (s *Store) trimResident() {
	if n := s.count.fileBytes.Load(); n > residentBytes && residence.Files() > residentBytes {
		_ = residence.Drop(s.db.Info().Data, uintptr(n))
	}
}
