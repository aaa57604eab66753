package harness

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is the resident memory of a process, in bytes.
type Memory struct {
	anonymous, file int64
	Most            int64 // of the two together, since the process started
}

func (m Memory) String() string {
	return fmt.Sprintf("RSS %d MiB (%d anonymous, %d of files), at most %d", (m.anonymous+m.file)>>20, m.anonymous>>20,
		m.file>>20, m.Most>>20)
}

// ReadMemory asks the kernel, which counts all along: unlike a walk over the mappings it costs nothing.
func ReadMemory() (Memory, error) { return MemoryOf(os.Getpid()) }

// MemoryOf is readMemory of a process.
func MemoryOf(pid int) (m Memory, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, err
	}
	for in := bufio.NewScanner(bytes.NewReader(raw)); in.Scan(); {
		f := strings.Fields(in.Text())
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmHWM:":
			m.Most = n << 10
		case "RssAnon:":
			m.anonymous = n << 10
		case "RssFile:", "RssShmem:":
			m.file += n << 10
		}
	}
	return m, nil
}

// Effort is the processor time that this process has used so far.
type Effort struct {
	CPU    float64 // seconds
	Faults int64   // pages mapped
}

// ReadEffort gives zeros where the kernel does not say.
func ReadEffort() (e Effort) {
	raw, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return e
	}
	f := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(f) < 13 {
		return e
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(f[i], 10, 64); return n }
	const ticks = 100 // of a second; the kernel's unit everywhere
	return Effort{CPU: float64(number(11)+number(12)) / ticks, Faults: number(7) + number(9)}
}
