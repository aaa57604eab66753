package wal

import (
	"errors"
	"syscall"
)

// isDiskFull knows what the system calls ERROR_HANDLE_DISK_FULL and ERROR_DISK_FULL.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.Errno(39)) || errors.Is(err, syscall.Errno(112))
}
