package bolt

import "syscall"

// unmapPages takes [at, at+n) of a shared mapping of a file out of this process's memory. What it held stays in the
// page cache; who reads it next maps it again.
func unmapPages(at, n uintptr) error {
	if _, _, e := syscall.Syscall(syscall.SYS_MADVISE, at, n, syscall.MADV_DONTNEED); e != 0 {
		return e
	}
	return nil
}
