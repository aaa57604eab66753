package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/internal/loopback"
)

func TestMain(m *testing.M) {
	testscript.Main(tidy{m}, map[string]func(){
		"nacre":   func() { os.Exit(Main(os.Args, Build{})) },
		"isready": func() { os.Exit(Main(os.Args, Build{})) },
	})
}

// tidy runs the tests, and removes what product has built.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	dir, err := os.MkdirTemp("", "nacre-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	productDir = dir
	return m.M.Run()
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
			// "models" puts the model files of the data set into the folder of the script.
			"models": func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(copyModels(ts.MkAbs("."))) },
		},
	})
}

// copyModels puts model files of the data set into the folder of a script: as they are, and house without its header.
func copyModels(dir string) error {
	for _, name := range []string{"svml/house", "svml/celsius", "svml/logistic", "bad/op_unknown"} {
		b, err := os.ReadFile("../testdata/models/" + name + ".svml")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)+".svml"), b, 0o600); err != nil {
			return err
		}
		_, payload, err := ml.Split(b)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)+".onnx"), payload, 0o600); err != nil {
			return err
		}
	}
	return nil
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
