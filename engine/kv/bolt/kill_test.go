package bolt_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/kvtest"
)

// killPath, when set, makes TestKilledWriter the process that is killed.
const killPath = "NACRE_TEST_KILLED_WRITER"

// TestKilledWriter commits batches for ever and prints the number of each that was acknowledged.
func TestKilledWriter(t *testing.T) {
	path := os.Getenv(killPath)
	if path == "" {
		t.Skip("it is started by TestKill")
	}
	st := open(t, killOptions(path))
	for n := number(t, st) + 1; ; n++ {
		if _, err := st.Commit(ctx, &kv.Batch{Writes: step(n)}); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("acked %d\n", n)
	}
}

func killOptions(path string) bolt.Options {
	return bolt.Options{Path: path, CheckpointKeys: 60, SegmentSize: 64 << 10}
}

// TestKill kills a writing process with SIGKILL, again and again on one store: every batch that
// was acknowledged is there, and the state is exactly that after some batch.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	total := 0
	for round := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), killPath+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acked, lines := total, bufio.NewScanner(out)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "acked "); ok {
				if acked, err = strconv.Atoi(text); err != nil {
					t.Fatal(err)
				}
			}
			if acked == total+50+round*97 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait() // it was killed
		st := open(t, killOptions(path))
		n := number(t, st)
		if n < acked || n > acked+1 {
			t.Fatalf("round %d: got batch %d, acknowledged were %d", round, n, acked)
		}
		if got := kvtest.All(t, st); got != after(n) {
			t.Fatalf("round %d: the state is not that after batch %d", round, n)
		}
		closeStore(t, st)
		total = n
	}
}
