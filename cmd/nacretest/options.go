package main

import (
	"flag"
	"os"
)

// runOptions are what all suites let one choose that make a store of their own.
type runOptions struct {
	seed uint64
	dir  string // where the directory of the run is made
	keep bool   // it stays
}

// flags adds the flags of o to those of a suite; dir is the default of -dir.
func (o *runOptions) flags(fs *flag.FlagSet, dir string) {
	fs.Uint64Var(&o.seed, "seed", 1, "seed of everything that is random in the run")
	fs.StringVar(&o.dir, "dir", dir, "where the directory of the run is made (default: the temporary one)")
	fs.BoolVar(&o.keep, "keep", false, "leave the directory of the run for a look")
}

// scratch makes the directory of a run, which done removes. Each run has its own. A default place that this machine does
// not have is replaced by the temporary one.
func (o *runOptions) scratch(name string) (dir string, done func(), err error) {
	parent := o.dir
	if _, err := os.Stat(parent); err != nil && parent == sharedMemory {
		parent = ""
	}
	dir, err = os.MkdirTemp(parent, "nacretest-"+name+"-")
	return dir, func() {
		if !o.keep {
			os.RemoveAll(dir)
		}
	}, err
}

// sharedMemory is a file system in memory, where there is one.
const sharedMemory = "/dev/shm"
