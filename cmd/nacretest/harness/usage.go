package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Usage holds the time and memory that a process has used.
type Usage struct {
	CPU    time.Duration // user and system
	Queued time.Duration // its threads were ready to run and had no core
	RSS    int64         // bytes
}

// UsageOf works on Linux alone. The error wraps os.ErrNotExist where the process has ended.
func UsageOf(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return Usage{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	number := func(i int) int64 {
		n, e := strconv.ParseInt(fields[i], 10, 64)
		err = errors.Join(err, e)
		return n
	}
	u := Usage{RSS: number(21) * int64(os.Getpagesize()), Queued: queued(pid)}
	cpu, e := cpuTime(pid)
	u.CPU = cpu
	return u, errors.Join(err, e)
}

// queued adds up what the threads of a process waited for a core; 0 where the kernel does not say.
func queued(pid int) (sum time.Duration) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, path := range files {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // the thread has ended
		}
		var ran, waited int64
		if _, err := fmt.Sscan(string(raw), &ran, &waited); err == nil {
			sum += time.Duration(waited)
		}
	}
	return sum
}

// Since is the CPU time that the server has used since before.
func (s *Server) Since(before Usage) (time.Duration, error) {
	now, err := UsageOf(s.Cmd.Process.Pid)
	return now.CPU - before.CPU, err
}
