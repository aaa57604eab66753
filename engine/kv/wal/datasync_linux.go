package wal

import (
	"os"
	"syscall"
)

// datasync writes out contents and size, not the times.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return err
		}
	}
}
