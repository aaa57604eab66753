package model

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// limitMemory bounds the address space of a process, in bytes. One that has ended already is no error.
func limitMemory(pid int, bytes uint64) error {
	err := unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes}, nil)
	if err == nil || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return fmt.Errorf("bound the memory of a program: %w", err)
}
