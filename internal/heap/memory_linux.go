package heap

import (
	"bytes"
	"os"
	"strconv"
)

// Memory is how many bytes of it the process may use: the machine's, or less in a container. 0: not known.
func Memory() uint64 {
	least := totalOf(readFile("/proc/meminfo"))
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if n, err := strconv.ParseUint(string(bytes.TrimSpace(readFile(file))), 10, 64); err == nil && n > 0 &&
			(least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// readFile gives nothing where there is no such file: then it limits nothing.
func readFile(name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return b
}

// totalOf finds "MemTotal:  16316412 kB".
func totalOf(meminfo []byte) uint64 {
	for line := range bytes.Lines(meminfo) {
		words := bytes.Fields(line)
		if len(words) == 3 && string(words[0]) == "MemTotal:" {
			kib, err := strconv.ParseUint(string(words[1]), 10, 54)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
