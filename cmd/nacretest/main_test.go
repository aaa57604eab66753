package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if code, ok := asChild(); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// mustPass runs a suite on a small scale.
func mustPass(t *testing.T, args string) string {
	t.Helper()
	var out bytes.Buffer
	if code := run(t.Context(), &out, strings.Fields(args)); code != 0 {
		t.Errorf("%s: exit %d\n%s", args, code, &out)
	}
	return out.String()
}

func TestCrash(t *testing.T) {
	mustPass(t, "crash -cycles 8 -longest 250ms -writers 4")
}

// TestCluster is a short run of several servers over a cluster. Builds that are taken over are left to the long run:
// they wait until a server counts as gone.
func TestCluster(t *testing.T) {
	mustPass(t, "cluster -kills 2 -fresh 2 -rows 500 -changes 300 -identity 2 -writers 3 -only kill,split,roll")
}

func TestIndex(t *testing.T) {
	mustPass(t, "index -cycles 3 -records 4000 -writers 3")
}

func TestTorn(t *testing.T) {
	mustPass(t, "torn -strace=false -images 300 -controls 10")
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal("strace is not installed: scripts/test installs it")
	}
	if out, err := exec.Command("strace", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %v %s", err, out)
	}
	mustPass(t, "torn -images 300 -controls 10")
}

func TestRestart(t *testing.T) {
	mustPass(t, "restart -rows 20000 -pending 5000 -kills 2 -longest 200ms -max 0")
}

func TestScale(t *testing.T) {
	mustPass(t, "scale -rows 5000 -reads 50 -max-ratio 0 -max-rss 0 -max-ready 0")
}

func TestAppend(t *testing.T) {
	for _, args := range []string{
		"-level kv -store memory -txns 6000", "-level kv -store bolt -txns 6000",
		"-level engine -store memory -txns 1500", "-level text -store bolt -txns 1500",
		"-level wire -store memory -txns 600", "-level wire -store bolt -txns 1500 -kills 2",
		"-level cluster -txns 200 -clients 6 -kills 1",
	} {
		t.Run(args, func(t *testing.T) { mustPass(t, "append "+args) })
	}
}

func TestBank(t *testing.T) {
	for _, args := range []string{
		"-level kv -store memory -txns 6000", "-level kv -store bolt -txns 6000",
		"-level engine -store memory -txns 1500", "-level text -store bolt -txns 1500",
		"-level wire -store bolt -txns 1500 -kills 2", "-level wire -store bolt -txns 1500 -backups 3",
		"-level cluster -txns 200 -clients 6 -kills 1",
	} {
		t.Run(args, func(t *testing.T) { mustPass(t, "bank "+args) })
	}
}

func TestCorrupt(t *testing.T) {
	mustPass(t, "corrupt -records 900 -flips 200")
}

// TestWrongCommandLines exit with a status of their own.
func TestWrongCommandLines(t *testing.T) {
	for _, args := range []string{"append -kills 1", "nonsense", ""} {
		var out bytes.Buffer
		if code := run(t.Context(), &out, strings.Fields(args)); code == 0 {
			t.Errorf("%q passes: %s", args, &out)
		}
	}
}

func TestSockets(t *testing.T) {
	for _, args := range []string{
		"fanout -subscribers 20 -rate 200 -for 500ms", "fanout -subscribers 20 -rate 200 -for 500ms -store bolt",
		"idle -sockets 200 -hold 100ms -bound 0", "idle -sockets 200 -hold 100ms -live -bound 0",
		"rate -clients 1,4 -for 100ms",
	} {
		t.Run(args, func(t *testing.T) { mustPass(t, args) })
	}
}

// TestSiege makes a few of the attacks. The bounds of time are for a machine that does nothing else.
func TestSiege(t *testing.T) {
	mustPass(t, "siege -rows packed,attach,live -hold 100ms -ping 1h -within 1m")
}

// TestPostgres runs each row once on a PostgreSQL and on the listener.
func TestPostgres(t *testing.T) {
	out := mustPass(t, "postgres -rows 200 -clients 1,3 -for 20ms -rounds 1 -rest 0")
	if n := strings.Count(out, " rate "); n != 16 {
		t.Errorf("%d comparisons:\n%s", n, out)
	}
}

func TestBeside(t *testing.T) {
	out := mustPass(t, "beside -rows 2000 -documents 300 -vectors 1000 -for 1ms -rounds 1")
	for _, w := range []string{"count ", "group5000 ", "textcount ", "phrase ", "hops3 ", "exactmany ", "insert100 "} {
		if !strings.Contains(out, "\n"+w) {
			t.Errorf("nothing is said of %s:\n%s", w, out)
		}
	}
	if !regexp.MustCompile(`\nfiltered .*  nacre: recall (0\.9[5-9]|1\.0)\d*, ef \d+`).MatchString(out) {
		t.Errorf("no recall of filtered searches:\n%s", out)
	}
	if out := mustPass(t, "beside -sides nacre -only point,equal -rows 1000 -documents 100 -for 1ms -rounds 1"); strings.Contains(out, "count") {
		t.Errorf("more is measured than was asked for:\n%s", out)
	}
}
