package wal

import (
	"errors"
	"os"
	"syscall"
)

// The file systems that are known to write over allocated blocks in place, past their cache: there it needs no space.
// The numbers are those of statfs(2).
const (
	ext4 = 0xef53 // ext2 and ext3, too
	xfs  = 0x58465342
)

// openPast opens the file of f once more, for writes past the cache of the system that are durable when they return;
// nil: it is not known to be good at that.
func openPast(f *os.File) *os.File {
	var fs syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &fs); err != nil || fs.Type != ext4 && fs.Type != xfs {
		return nil
	}
	past, err := os.OpenFile(f.Name(), os.O_WRONLY|syscall.O_DIRECT|syscall.O_DSYNC, 0)
	if err != nil {
		return nil
	}
	return past
}

// cannot reports whether an error says that the file system does not write past its cache.
func cannot(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP)
}

// datasync writes out contents and size, not the times.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}
