package residence

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestConstantMapping(t *testing.T) {
	for _, tc := range []struct {
		line     string
		from, to uintptr
		ok       bool
	}{
		{"00400000-01c80000 r-xp 00000000 fe:00 10002746                           /usr/bin/nacre", 0x400000, 0x1c80000, true},
		{"01c80000-03659000 r--p 01880000 fe:00 10002746 /usr/bin/nacre", 0x1c80000, 0x3659000, true},
		{"03659000-03c8b000 rw-p 03259000 fe:00 10002746 /usr/bin/nacre", 0, 0, false},
		{"03659000-03c8b000 r--s 03259000 fe:00 10002746 /usr/bin/nacre", 0, 0, false},
		{"01c80000-03659000 r--p 01880000 fe:00 10002746 /usr/bin/other", 0, 0, false},
		{"c000000000-c000400000 rw-p 00000000 00:00 0 ", 0, 0, false},
		{"7ffc-7ffd r-xp 00000000 00:00 0 [vdso]", 0, 0, false},
		{"", 0, 0, false},
	} {
		from, to, ok := constantMapping(tc.line, "/usr/bin/nacre")
		if ok != tc.ok || ok && (from != tc.from || to != tc.to) {
			t.Errorf("%q: %x-%x %v", tc.line, from, to, ok)
		}
	}
}

// TestDropProgram holds that fewer pages of files are resident afterwards, and that the program goes on.
func TestDropProgram(t *testing.T) {
	before := filePages(t)
	if err := DropProgram(); err != nil {
		t.Fatal(err)
	}
	if after := filePages(t); after >= before {
		t.Errorf("%d kB of files are resident, %d before", after, before)
	}
}

// TestFiles holds that Files counts what /proc/self/status does, in bytes.
func TestFiles(t *testing.T) {
	if got, want := Files()>>10, int64(filePages(t)); got < want/2 || got > want*2 || want == 0 {
		t.Errorf("%d kB of files are resident, status says %d", got, want)
	}
}

// filePages is how many kB of files are resident in this process.
func filePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
