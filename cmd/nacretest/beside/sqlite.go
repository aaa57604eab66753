package beside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// sqlite is the shell of SQLite. Each turn is a process of its own; what it takes to start is taken off.
type sqlite struct{ program, file string }

func startSQLite(dir string) (side, error) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		return nil, errors.New("SQLite is not installed: apt-get install sqlite3, or -sides without it")
	}
	return &sqlite{program: program, file: filepath.Join(dir, "sqlite.db")}, nil
}

// shell runs a text, and gives what it prints and the CPU time of the process.
func (s *sqlite) shell(ctx context.Context, text string) (out []byte, cpu time.Duration, err error) {
	cmd := exec.CommandContext(ctx, s.program, "-batch", "-bail", s.file)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(text), &said
	if out, err = cmd.Output(); err != nil {
		return nil, 0, fmt.Errorf("sqlite3: %w: %s", err, said.Bytes())
	}
	return out, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func (s *sqlite) load(ctx context.Context, d *data) error {
	var b strings.Builder
	b.WriteString(`PRAGMA journal_mode = WAL; CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, mail TEXT, age INTEGER, city TEXT, kind TEXT,
		score REAL, amount INTEGER, active INTEGER, zip TEXT, at INTEGER, tags TEXT, address TEXT, bio TEXT, rank INTEGER, note TEXT);
		CREATE TABLE knows (id INTEGER PRIMARY KEY, source INTEGER, target INTEGER);
		CREATE TABLE item (id INTEGER PRIMARY KEY, a INTEGER, b TEXT); CREATE VIRTUAL TABLE doc USING fts5(body); BEGIN;`)
	for i := range d.people {
		p := &d.people[i]
		fmt.Fprintf(&b, "INSERT INTO person VALUES (%d, '%s', '%s', %d, '%s', '%s', %g, %d, %t, '%s', %d, '[\"a\",\"b\",\"%s\"]', "+
			"'{\"street\":\"a street\",\"number\":%d,\"floor\":%d}', '%s', %d, NULL);\n", p.id, p.name, p.mail, p.age, p.city, p.kind, p.score,
			p.amount, p.active, p.zip, p.at, p.tag, p.number, p.floor, p.bio, p.rank)
	}
	for _, k := range d.knows {
		fmt.Fprintf(&b, "INSERT INTO knows (source, target) VALUES (%d, %d);\n", k[0], k[1])
	}
	for i, text := range d.texts {
		fmt.Fprintf(&b, "INSERT INTO doc (rowid, body) VALUES (%d, '%s');\n", i, text)
	}
	b.WriteString(`COMMIT; CREATE INDEX byCity ON person (city); CREATE INDEX byRank ON person (rank);
		CREATE INDEX bySource ON knows (source); CREATE INDEX byTarget ON knows (target);
		INSERT INTO doc (doc) VALUES ('optimize'); ANALYZE; PRAGMA wal_checkpoint(TRUNCATE);`)
	_, _, err := s.shell(ctx, b.String())
	return err
}

func (s *sqlite) run(ctx context.Context, w *work, times int) (cpu time.Duration, answer string, err error) {
	text := strings.TrimSuffix(w.sqlite, ";") + ";\n"
	out, started, err := s.shell(ctx, text)
	if err != nil {
		return 0, "", err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if answer = fmt.Sprint(len(lines), " rows"); len(lines) == 1 {
		answer = lines[0]
		if answer == "" {
			answer = "0 rows"
		}
	}
	if strings.Contains(answer, "|") {
		answer = "1 rows"
	}
	_, cpu, err = s.shell(ctx, strings.Repeat(text, times+1))
	return max(cpu-started, 0), answer, err
}

func (s *sqlite) nearest(context.Context, *work, []float32) ([]int64, error) {
	return nil, fmt.Errorf("no vectors: %w", errors.ErrUnsupported)
}

func (s *sqlite) stop() error { return nil }
