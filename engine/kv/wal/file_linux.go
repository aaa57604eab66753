package wal

import (
	"io"
	"os"
	"syscall"
	"unsafe"
)

// datasync writes out contents and size, not the times. told: the scheduler hears of the call.
func datasync(f *os.File, told bool) error {
	for {
		err := fdatasync(f, told)
		if err != syscall.EINTR {
			return err
		}
	}
}

func fdatasync(f *os.File, told bool) error {
	if told {
		return syscall.Fdatasync(int(f.Fd()))
	}
	if _, _, err := syscall.RawSyscall(syscall.SYS_FDATASYNC, f.Fd(), 0, 0); err != 0 {
		return err
	}
	return nil
}

// writeAt is WriteAt of f without the scheduler hearing of it.
func writeAt(f *os.File, p []byte, at int64) (n int, err error) {
	if unsafe.Sizeof(uintptr(0)) < 8 { // the offset does not fit
		return f.WriteAt(p, at)
	}
	fd := f.Fd()
	for n < len(p) {
		rest := p[n:]
		start, size := unsafe.Pointer(unsafe.SliceData(rest)), uintptr(len(rest))
		wrote, _, e := syscall.RawSyscall6(syscall.SYS_PWRITE64, fd, uintptr(start), size, uintptr(at+int64(n)), 0, 0)
		switch {
		case e == syscall.EINTR:
		case e != 0:
			return n, &os.PathError{Op: "write", Path: f.Name(), Err: e}
		case wrote == 0:
			return n, io.ErrUnexpectedEOF
		default:
			n += int(wrote)
		}
	}
	return n, nil
}
