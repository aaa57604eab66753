package pgwire_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clients is where the programs are that drive a server with a client of PostgreSQL. scripts/test installs the clients.
var clients = filepath.Join("..", "..", "testdata", "postgres")

// drive runs a program with the address of a server. It must report at least steps steps, and no failure.
func drive(t *testing.T, steps int, dir string, program ...string) {
	t.Helper()
	if _, err := exec.LookPath(program[0]); err != nil {
		t.Fatalf("%s is not installed: scripts/test installs it", program[0])
	}
	addr, _ := start(t)
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program[0], append(program[1:], host, port)...)
	cmd.Dir = dir
	if balanced { // both are of one server
		cmd.Env = append(os.Environ(), "WITHOUT_STEPS=LISTEN and NOTIFY;cancel")
		steps -= 2
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "ok   "); n < steps {
		t.Errorf("only %d of %d steps ran:\n%s", n, steps, out)
	}
}

// python is that of Debian, for which scripts/test installs the packages.
const python = "/usr/bin/python3"

func TestPsycopg(t *testing.T) { drive(t, 13, clients, python, "psycopg3.py") }

func TestSQLAlchemy(t *testing.T) { drive(t, 5, clients, python, "alchemy.py") }

func TestNodePostgres(t *testing.T) {
	needNode(t)
	drive(t, 10, filepath.Join(clients, "node"), "node", "pg.mjs")
}

func TestPostgresJS(t *testing.T) {
	needNode(t)
	drive(t, 9, filepath.Join(clients, "node"), "node", "postgres.mjs")
}

func needNode(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(clients, "node", "node_modules", "pg")); err != nil {
		t.Fatal("pg is not installed: run scripts/test, or npm ci in testdata/postgres/node")
	}
}

// The driver of Debian; the program is run from its source.
func TestJDBC(t *testing.T) {
	jar := "/usr/share/java/postgresql.jar"
	if _, err := os.Stat(jar); err != nil {
		t.Fatal("the JDBC driver is not installed: scripts/test installs it")
	}
	drive(t, 15, clients, "java", "-XX:TieredStopAtLevel=1", "-cp", jar, "Jdbc.java")
}

// lib/pq is in a module of its own; scripts/test downloads it.
func TestLibPQ(t *testing.T) {
	program := filepath.Join(t.TempDir(), "pq")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join(clients, "pq")
	build.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("lib/pq is not there: run scripts/test, or go mod download in testdata/postgres/pq\n%v\n%s", err, out)
	}
	drive(t, 9, ".", program)
}

// pgbench runs scripts in each of its modes, with several clients.
func TestPgbench(t *testing.T) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil || len(found) == 0 {
		t.Fatal("pgbench is not installed: scripts/test installs it with PostgreSQL")
	}
	addr, d := start(t)
	run(t, d, "DEFINE TABLE account SCHEMAFULL; DEFINE FIELD n ON account TYPE int; CREATE |account:1..100| SET n = 0")
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "transfer.sql")
	text := `\set from random(1, 49)
\set to 100 - :from
BEGIN;
UPDATE account SET n = n - 1 WHERE id = 'account:' || :from;
UPDATE account SET n = n + 1 WHERE id = 'account:' || :to;
SELECT n FROM account WHERE id = 'account:' || :to;
COMMIT;
`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"simple", "extended", "prepared"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, found[len(found)-1], "-n", "-M", mode, "-f", script, "-c", "4", "-t", "25",
			"--max-tries=100", "-h", host, "-p", port, "-U", "root", "test/test")
		cmd.Env = append(os.Environ(), "PGPASSWORD=secret", "PGOPTIONS=-c dialect=sql")
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil || !strings.Contains(string(out), "actually processed: 100/100") {
			t.Errorf("%s: %v\n%s", mode, err, out)
		}
	}
	if got := psql(t, addr, "SET dialect = 'sql'; SELECT sum(n), count(*) FROM account", "-A", "-t", "-q"); got != "0|99" {
		t.Errorf("the sum is %s", got)
	}
}

// behindABalancer are the tests of clients that run behind a balancer in each run, too.
const behindABalancer = "TestPsql|TestPsycopg|TestSQLAlchemy|TestNodePostgres|TestPostgresJS|TestJDBC|TestLibPQ|TestPgbench"

// TestDriversBehindABalancer runs them against two servers on a cluster of stubs.
func TestDriversBehindABalancer(t *testing.T) {
	if balanced {
		t.Skip("this is one of those runs")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^("+behindABalancer+")$")
	cmd.Env = append(os.Environ(), "NACRE_TEST_BALANCER=tcp")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	want := strings.Count(behindABalancer, "|") + 1
	if n := strings.Count(string(out), "\n--- PASS: "); n != want {
		t.Errorf("%d of %d tests passed:\n%s", n, want, out)
	}
}
