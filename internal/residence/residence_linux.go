package residence

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// DropProgram takes the code and the constants of the program out of this process's memory: what only its start needed
// is otherwise resident for as long as it runs, some 40 MB. They stay in the page cache, and what is used is mapped
// again when it is next touched, at a microsecond for 16 pages. It does nothing to what the process has written.
func DropProgram() error {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("read the mappings of the process: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if from, to, ok := constantMapping(lines.Text(), exe); ok {
			if err := Drop(from, to-from); err != nil {
				return fmt.Errorf("give up the pages of the program: %w", err)
			}
		}
	}
	return lines.Err()
}

// Drop takes [at, at+n) of a mapping through which this process does not write out of its memory. What it held stays
// in the page cache; who reads it next maps it again.
func Drop(at, n uintptr) error {
	if _, _, e := syscall.Syscall(syscall.SYS_MADVISE, at, n, syscall.MADV_DONTNEED); e != 0 {
		return e
	}
	return nil
}

// statm is /proc/self/statm, kept open from the first success on: those who ask ask often.
var statm struct {
	sync.Mutex
	*os.File
}

func openStatm() (*os.File, error) {
	statm.Lock()
	defer statm.Unlock()
	if statm.File != nil {
		return statm.File, nil
	}
	var err error
	statm.File, err = os.Open("/proc/self/statm")
	return statm.File, err
}

// Files is how many bytes of files are resident in this process, its program included; 0 where the kernel does not say.
func Files() int64 {
	file, err := openStatm()
	if err != nil {
		return 0
	}
	var buf [128]byte
	n, _ := file.ReadAt(buf[:], 0) // what there is, and then io.EOF
	f := bytes.Fields(buf[:n])     // pages: size resident shared … (proc(5))
	if len(f) < 3 {
		return 0
	}
	pages, err := strconv.ParseInt(string(f[2]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// constantMapping reads a line of /proc/self/maps. ok: it is a mapping of the file exe that can not be written.
// A line is "from-to perms offset device inode path" (proc(5)).
func constantMapping(line, exe string) (from, to uintptr, ok bool) {
	part := strings.Fields(line)
	if len(part) != 6 || part[5] != exe || len(part[1]) != 4 || part[1][1] != '-' || part[1][3] != 'p' {
		return 0, 0, false
	}
	a, b, ok := strings.Cut(part[0], "-")
	if !ok {
		return 0, 0, false
	}
	low, err := strconv.ParseUint(a, 16, 64)
	high, err2 := strconv.ParseUint(b, 16, 64)
	return uintptr(low), uintptr(high), err == nil && err2 == nil && low < high
}
