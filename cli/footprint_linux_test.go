package cli

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/internal/loopback"
)

// TestScriptOf200MB runs a script that is larger than the memory it may take: 64 MiB of the process of 'nacre sql'.
func TestScriptOf200MB(t *testing.T) {
	if testing.Short() {
		t.Skip("it sends 200 MB")
	}
	bin, err := product()
	must(t, err)
	dir := t.TempDir()
	addr, err := loopback.Free()
	must(t, err)
	nacre := func(args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, "nacre"), args...)
		cmd.Env = append(os.Environ(), "HOME="+dir, "NACRE_ENDPOINT=ws://"+addr, "NACRE_USER=root", "NACRE_PASS=root",
			"GOGC=", "GOMEMLIMIT=")
		return cmd
	}
	server := nacre("start", "--no-banner", "--bind", addr, "memory")
	must(t, server.Start())
	defer func() {
		_ = server.Process.Kill() // what it holds is not needed
		_ = server.Wait()
	}()
	must(t, nacre("isready", "--wait", "3m").Run())

	const statements, size = 50_000, 4000
	file, err := os.Create(filepath.Join(dir, "large.surql"))
	must(t, err)
	w := bufio.NewWriter(file)
	for i := range statements {
		fmt.Fprintf(w, "RETURN %d + string::len('%s');\n", i, strings.Repeat("x", size))
	}
	must(t, w.Flush())
	must(t, file.Close())

	cmd := nacre("sql", "-f", file.Name())
	var last lastLine
	var talk strings.Builder
	cmd.Stdout, cmd.Stderr = &last, &talk
	must(t, cmd.Start())
	peak := make(chan int)
	go func() { peak <- highWater(cmd.Process.Pid) }()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, talk.String())
	}
	if want := fmt.Sprint(statements - 1 + size); last.line != want {
		t.Errorf("the last answer is %q, want %s", last.line, want)
	}
	used := <-peak
	t.Logf("nacre sql -f with %d MB took %d KiB", statements*size/1_000_000, used)
	if used == 0 || used > 64<<10 {
		t.Errorf("nacre sql took %d KiB, want at most 64 MiB", used)
	}
}

// highWater is the most KiB that a process has had in memory, read until the process ends. The figure of wait4 would
// count this process, too: a process begins as a copy of its parent.
func highWater(pid int) (kib int) {
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, ok := strings.Cut(string(status), "VmHWM:")
		if err != nil || !ok { // it has ended
			return kib
		}
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && filepath.Base(exe) == "nacre" {
			_, _ = fmt.Sscan(rest, &kib) // the kernel writes a number
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// lastLine keeps the last whole line of what is written to it.
type lastLine struct{ line, rest string }

func (l *lastLine) Write(p []byte) (int, error) {
	l.rest += string(p)
	if end := strings.LastIndexByte(l.rest, '\n'); end >= 0 {
		l.line = l.rest[strings.LastIndexByte(l.rest[:end], '\n')+1 : end]
		l.rest = l.rest[end+1:]
	}
	return len(p), nil
}

// imageLimit is the largest that the image of a release may be, in bytes, as registries show it and as it is pulled:
// its layers packed by gzip.
const imageLimit = 40 << 20

// distroless is what the base image takes of it: gcr.io/distroless/static has 0.8 MB packed.
const distroless = 1 << 20

// TestImage builds the binary of a release, and packs it as the layer of an image is packed.
func TestImage(t *testing.T) {
	if testing.Short() {
		t.Skip("it links the program")
	}
	bin := filepath.Join(t.TempDir(), "nacre")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "./cmd/nacre")
	build.Dir = ".."
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := os.Open(bin)
	must(t, err)
	defer file.Close()
	var packed byteCount
	z := gzip.NewWriter(&packed)
	plain, err := io.Copy(z, file)
	must(t, err)
	must(t, z.Close())
	t.Logf("the binary has %.1f MB, packed %.1f MB", float64(plain)/1e6, float64(packed)/1e6)
	if int64(packed)+distroless > imageLimit {
		t.Errorf("the image takes %d bytes packed, want at most %d", int64(packed)+distroless, imageLimit)
	}
}

type byteCount int64

func (c *byteCount) Write(p []byte) (int, error) {
	*c += byteCount(len(p))
	return len(p), nil
}
