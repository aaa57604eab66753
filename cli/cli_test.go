package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nacredb/nacre/internal/loopback"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"nacre":   func() { os.Exit(Main(os.Args, Build{})) },
		"isready": func() { os.Exit(Main(os.Args, Build{})) },
	})
}

// TestScripts runs testdata/cli/*.txtar: the real command line against a real server on $ADDR.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../testdata/cli",
		Setup: func(env *testscript.Env) error {
			addr, err := loopback.Free()
			if err != nil {
				return err
			}
			second, err := loopback.Free()
			if err != nil {
				return err
			}
			env.Setenv("ADDR", addr)
			env.Setenv("ADDR2", second)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NACRE_ENDPOINT", "ws://"+addr)
			env.Setenv("NACRE_USER", "root")
			env.Setenv("NACRE_PASS", "root")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"code": wantCode,
		},
	})
}

// wantCode is "code N cmd args…": the command must exit with status N. testscript itself only knows zero and not zero.
func wantCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command args…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		_, got, _ = strings.Cut(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s: exit status %s, want %s (%v)", strings.Join(args[1:], " "), got, args[0], err)
	}
}
