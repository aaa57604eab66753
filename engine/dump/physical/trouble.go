package physical

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/nacredb/nacre/engine/kv"
)

// Trouble is the class of an error of this package: for exit codes and advice.
type Trouble uint8

// The classes.
const (
	Other    Trouble = iota
	InUse            // the store is open in another process
	Exists           // something is where the result should go
	Absent           // there is no such file, or no such directory for one
	NoBackup         // a backup that is damaged, or something else
	NoStore          // no store
	Newer            // a store of a later version
	Damaged          // a store that is damaged
)

// TroubleOf sorts err.
func TroubleOf(err error) Trouble {
	switch {
	case errors.Is(err, kv.ErrLocked), errors.Is(err, kv.ErrUnfinished):
		return InUse
	case errors.Is(err, ErrBackup):
		return NoBackup
	case errors.Is(err, kv.ErrNewer):
		return Newer
	case errors.Is(err, kv.ErrFormat):
		return NoStore
	case errors.Is(err, kv.ErrCorrupt):
		return Damaged
	case errors.Is(err, fs.ErrExist):
		return Exists
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return Absent
	}
	return Other
}
