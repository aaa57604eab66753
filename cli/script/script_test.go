package script_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/cli/script"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine/value"
)

// server starts a real daemon in memory and gives its host and port.
func server(t *testing.T) string {
	t.Helper()
	cfg := config.Default()
	cfg.Bind, cfg.User, cfg.Pass = "127.0.0.1:0", "root", "root"
	d, err := daemon.Start(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := d.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d.Addr().String()
}

func open(t *testing.T, endpoint string) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), client.Options{Endpoint: endpoint, User: "root", Pass: "root", Namespace: "n",
		Database: "d"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// said runs a text and gives its answers in words: values, and "number:line: error".
func said(t *testing.T, r *script.Runner, text string) string {
	t.Helper()
	var out []string
	err := r.Run(t.Context(), strings.NewReader(text), func(s *script.Step) error {
		if at, failed := s.Failure(); failed != nil {
			out = append(out, fmt.Sprintf("%d:%d: %v", s.Number+at, s.Line(at), failed))
			return script.ErrStop
		}
		for _, res := range s.Values() {
			out = append(out, res.Value.Text())
		}
		return nil
	})
	if err != nil {
		out = append(out, err.Error())
	}
	return strings.Join(out, " | ")
}

func TestRun(t *testing.T) {
	address := server(t)
	for name, tc := range map[string]struct{ text, want string }{
		"values":       {"RETURN 1; RETURN [2]; RETURN []", "1 | [2] | []"},
		"stops":        {"RETURN 1;\nTHROW 'no';\nCREATE stopped:1", "1 | 2:2: An error occurred: no"},
		"let":          {"LET $a = 1; LET $a = $a + 1; RETURN $a", "NONE | NONE | 2"},
		"let fails":    {"LET $a = 1;\nLET $a = fn::nope();\nRETURN $a", "NONE | 2:2: The function 'fn::nope' does not exist"},
		"closure":      {"LET $f = |$x: int| $x + 1; LET $y = $f(1); RETURN $f($y)", "NONE | NONE | 3"},
		"closure goes": {"LET $f = |$x: int| $x + 1; LET $f = 5; RETURN $f", "NONE | NONE | 5"},
		"regex":        {`LET $r = <regex>"a|b"; RETURN string::matches('cb', $r); LET $r = 5; RETURN $r`, "NONE | true | NONE | 5"},
		"no form":      {"LET $r = [<regex>'a'];\nRETURN 1", "1:1: Tried to serialize a value which cannot be serialized."},
		"quoted name":  {"LET $`a b` = 1; RETURN $`a b`", "NONE | 1"},
		"block":        {"BEGIN; RETURN 1; COMMIT; RETURN 2", "NONE | 1 | NONE | 2"},
		"block cancel": {"BEGIN; CREATE c:1; CANCEL; RETURN 3", "NONE | NONE | 3"},
		"option":       {"OPTION IMPORT; RETURN 4", "NONE | 4"},
		"use":          {"USE NS x DB y; RETURN [session::ns(), session::db()]", "{ database: 'y', namespace: 'x' } | ['x', 'y']"},
		"parse":        {"RETURN 1; SELEC * FROM t", "1 | Parse error"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, scheme := range []string{"ws://", "http://"} {
				got := said(t, script.New(open(t, scheme+address), nil, false), tc.text)
				if name == "parse" {
					got = got[:min(len(got), len(tc.want))]
				}
				if got != tc.want {
					t.Errorf("%s: %s, want %s", scheme, got, tc.want)
				}
			}
		})
	}
	if got := said(t, script.New(open(t, "ws://"+address), nil, false), "RETURN stopped:1.id"); got != "NONE" {
		t.Errorf("what follows a failure ran: %s", got)
	}
}

func TestTransactionOverSeveralTexts(t *testing.T) {
	address := server(t)
	r := script.New(open(t, "ws://"+address), nil, true)
	other := script.New(open(t, "ws://"+address), nil, false)
	for _, s := range []struct {
		text, want   string
		open, failed bool
	}{
		{"DEFINE TABLE t", "NONE", false, false},
		{"BEGIN", "NONE", true, false},
		{"CREATE t:1", "[{ id: t:1 }]", true, false},
		{"BEGIN", "1:1: A transaction is open already: COMMIT or CANCEL ends it", true, false},
		{"THROW 'x'", "1:1: An error occurred: x", true, true},
		{"SELECT * FROM t", "[{ id: t:1 }]", true, true},
		{"CANCEL", "NONE", false, false},
		{"SELECT * FROM t", "[]", false, false},
		{"BEGIN", "NONE", true, false},
		{"CREATE t:3", "[{ id: t:3 }]", true, false},
		{"CREATE t:3", "1:1: Database record `t:3` already exists", true, true},
		{"COMMIT", "1:1: The transaction was cancelled because a statement of it failed: nothing of it is stored", false, false},
		{"SELECT * FROM t", "[]", false, false},
		{"BEGIN; CREATE t:2; COMMIT", "NONE | [{ id: t:2 }] | NONE", false, false},
		{"COMMIT", "1:1: Invalid statement: Cannot COMMIT without starting a transaction", false, false},
	} {
		got := said(t, r, s.text)
		if open, failed := r.Open(); got != s.want || open != s.open || failed != s.failed {
			t.Errorf("%s: %s (open %v, failed %v), want %s (%v, %v)", s.text, got, open, failed, s.want, s.open, s.failed)
		}
		if s.text == "CREATE t:1" {
			if seen := said(t, other, "SELECT * FROM t"); seen != "[]" {
				t.Errorf("another client saw %s before the commit", seen)
			}
		}
	}
}

// A text that is cancelled stops on the server, too, and what comes before it stands.
func TestCancelStopsTheServer(t *testing.T) {
	address := server(t)
	for _, scheme := range []string{"ws://", "http://"} {
		c := open(t, scheme+address)
		ctx, cancel := context.WithCancel(t.Context())
		began := make(chan struct{})
		failed := make(chan error, 1)
		go func() {
			_, err := c.Run(ctx, client.Text{Text: "DEFINE TABLE IF NOT EXISTS mark; CREATE mark:1; SLEEP 1h; CREATE mark:2"})
			failed <- err
		}()
		go func() {
			for watch := open(t, "ws://"+address); ; time.Sleep(5 * time.Millisecond) {
				rs, err := watch.Query(t.Context(), "RETURN mark:1.id", nil)
				if err != nil || rs[0].Err == nil && !rs[0].Value.IsNone() {
					close(began)
					return
				}
			}
		}()
		<-began
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", scheme, err)
		}
		if c.Lost() != nil {
			t.Errorf("%s: the connection ended with the query", scheme)
		}
		if got := said(t, script.New(c, nil, false), "RETURN mark:2.id; DELETE mark RETURN NONE"); got != "NONE | []" {
			t.Errorf("%s: %s", scheme, got)
		}
	}
}

// A script may be longer than memory: the reader is asked for more only as statements have run.
func TestConstantMemory(t *testing.T) {
	r := script.New(open(t, "ws://"+server(t)), nil, false)
	in := &endless{line: "LET $n = ($n OR 0) + 1;\n", most: 20_000}
	ahead := 0
	steps := 0
	err := r.Run(t.Context(), in, func(s *script.Step) error {
		steps++
		ahead = max(ahead, in.given-steps*len(in.line))
		if steps == 5000 {
			return script.ErrStop
		}
		return nil
	})
	if err != nil || r.Vars().Len() != 1 {
		t.Fatalf("%v, %d variables", err, r.Vars().Len())
	}
	if n, _ := r.Vars().Get("n"); n.Kind() != value.KindInt || n.Int() != 5000 {
		t.Errorf("n is %s", n.Text())
	}
	if ahead > 256<<10 {
		t.Errorf("%d bytes were read ahead", ahead)
	}
}

type endless struct {
	line        string
	given, most int
}

func (e *endless) Read(b []byte) (int, error) {
	if e.given >= e.most*len(e.line) {
		return 0, io.EOF
	}
	n := copy(b, e.line[e.given%len(e.line):])
	e.given += n
	return n, nil
}
