package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Family is a process and its children, as those of PostgreSQL: one a connection, and some that come and go.
type Family struct {
	pid  int
	seen map[int]time.Duration // CPU time by process, those that have ended included
}

// FamilyOf is the family of a process.
func FamilyOf(pid int) *Family { return &Family{pid: pid, seen: map[int]time.Duration{}} }

// CPU is the time that the family has used so far. It never shrinks: of a child that has ended counts what was seen of
// it.
func (f *Family) CPU() (sum time.Duration, err error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var child, parent int
		fmt.Sscanf(string(raw), "%d", &child)
		_, rest, _ := strings.Cut(string(raw), ") ")
		var state string
		fmt.Sscanf(rest, "%s %d", &state, &parent)
		if child != f.pid && parent != f.pid {
			continue
		}
		u, err := UsageOf(child)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		f.seen[child] = max(f.seen[child], u.CPU)
	}
	for _, cpu := range f.seen {
		sum += cpu
	}
	return sum, nil
}
