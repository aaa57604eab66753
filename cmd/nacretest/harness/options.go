package harness

import (
	"flag"
	"os"
)

// RunOptions are the options of all suites that make a store of their own.
type RunOptions struct {
	Seed uint64
	dir  string // where the directory of the run is made
	keep bool   // it stays
}

// Flags adds the flags of o to those of a suite; dir is the default of -dir.
func (o *RunOptions) Flags(fs *flag.FlagSet, dir string) {
	fs.Uint64Var(&o.Seed, "seed", 1, "seed of everything that is random in the run")
	fs.StringVar(&o.dir, "dir", dir, "where the directory of the run is made (default: the temporary one)")
	fs.BoolVar(&o.keep, "keep", false, "leave the directory of the run for a look")
}

// Scratch makes the directory of a run, which done removes. Each run has its own. A default place that this machine
// does not have is replaced by the temporary one.
func (o *RunOptions) Scratch(name string) (dir string, done func(), err error) {
	parent := o.dir
	if _, err := os.Stat(parent); err != nil && parent == SharedMemory {
		parent = ""
	}
	dir, err = os.MkdirTemp(parent, "nacretest-"+name+"-")
	return dir, func() {
		if !o.keep {
			os.RemoveAll(dir)
		}
	}, err
}

// SharedMemory is a file system in memory, where there is one.
const SharedMemory = "/dev/shm"

// DataFile is the name of a bolt store's data file in its directory.
const DataFile = "data.db"

// PageSize is the size of its pages.
const PageSize = 4096
