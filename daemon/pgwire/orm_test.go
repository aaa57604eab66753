package pgwire_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nacredb/nacre/daemon"
)

// mappers is where the programs are that drive a server with ORMs and query builders. scripts/test installs these.
var mappers = filepath.Join(clients, "orm")

// ormAnswer is a line of such a program: what a step answers, or why it failed.
type ormAnswer struct {
	Step   string
	Answer any
	Failed string
}

// TestORMs runs each program at PostgreSQL and at nacre, over tables that are the same. The answers must be so, too.
func TestORMs(t *testing.T) {
	if _, err := os.Stat(filepath.Join(mappers, "node_modules", "knex")); err != nil {
		t.Fatal("knex is not installed: run scripts/test, or npm ci in testdata/postgres/orm")
	}
	pg := postgres(t)
	addr, d := start(t)
	for _, tc := range []struct {
		name  string
		steps int // at least
	}{{"drizzle", 23}, {"knex", 28}, {"kysely", 28}, {"sequelize", 21}, {"typeorm", 21}} {
		t.Run(tc.name, func(t *testing.T) {
			resetTables(t, pg, d)
			ours := make(chan []ormAnswer, 1)
			go func() { ours <- ormAnswers(t, tc.name, addr, "nacre") }()
			want := ormAnswers(t, tc.name, pg.Conn().RemoteAddr().String(), "postgres")
			got := map[string]ormAnswer{}
			for _, a := range <-ours {
				got[a.Step] = a
			}
			if len(want) < tc.steps {
				t.Errorf("only %d of %d steps ran at PostgreSQL", len(want), tc.steps)
			}
			for _, w := range want {
				compareAnswers(t, got[w.Step], w)
			}
		})
	}
}

// resetTables makes the tables of the programs at both servers, empty.
func resetTables(t *testing.T, pg *pgconn.PgConn, d *daemon.Daemon) {
	t.Helper()
	text := func(name string) string {
		b, err := os.ReadFile(filepath.Join(mappers, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const drop = "DROP TABLE IF EXISTS post_tag, tag, post, person;"
	if _, err := pg.Exec(t.Context(), drop+text("tables.sql")).ReadAll(); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"post_tag", "tag", "post", "person"} {
		run(t, d, "REMOVE TABLE IF EXISTS "+table)
	}
	run(t, d, text("tables.surql"))
}

// ormAnswers runs a program at a server.
func ormAnswers(t *testing.T, name, addr, server string) (list []ormAnswer) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Error(err)
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", name+".mjs", host, port, server)
	cmd.Dir = mappers
	out, err := cmd.Output()
	if err != nil {
		said := ""
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			said = string(exit.Stderr)
		}
		t.Errorf("at %s: %v\n%s", server, err, said)
	}
	for line := range strings.Lines(string(out)) {
		var a ormAnswer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Errorf("at %s: %v: %s", server, err, line)
			continue
		}
		list = append(list, a)
	}
	return list
}

// compareAnswers tells how the answers of a step differ. Those of a list are told of one by one.
func compareAnswers(t *testing.T, got, want ormAnswer) {
	t.Helper()
	gots, isList := got.Answer.([]any)
	wants, wasList := want.Answer.([]any)
	switch {
	case want.Failed != "":
		t.Errorf("%s: fails at PostgreSQL, so the program is wrong: %s", want.Step, want.Failed)
	case got.Step == "":
		t.Errorf("%s: did not run at nacre", want.Step)
	case got.Failed != "":
		t.Errorf("%s: fails at nacre: %s", want.Step, got.Failed)
	case isList && wasList && len(gots) == len(wants):
		for i := range wants {
			if !reflect.DeepEqual(gots[i], wants[i]) {
				t.Errorf("%s, answer %d\ngot  %s\nwant %s", want.Step, i+1, jsonText(gots[i]), jsonText(wants[i]))
			}
		}
	case !reflect.DeepEqual(got.Answer, want.Answer):
		t.Errorf("%s\ngot  %s\nwant %s", want.Step, jsonText(got.Answer), jsonText(want.Answer))
	}
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
