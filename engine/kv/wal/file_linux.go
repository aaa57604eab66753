package wal

import (
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"
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
