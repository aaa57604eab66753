package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// FamilyCPU is the CPU time of a process and its children. Those of PostgreSQL live as long as their connections.
func FamilyCPU(pid int) (sum time.Duration, err error) {
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
		if child != pid && parent != pid {
			continue
		}
		u, err := UsageOf(child)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		sum += u.CPU
	}
	return sum, nil
}
