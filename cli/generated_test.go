package cli

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

//go:generate go test . -run TestGeneratedFilesAreCurrent -update

var update = flag.Bool("update", false, "rewrite the generated files")

// TestGeneratedFilesAreCurrent holds completions/ and man/ to the command tree that they are made from.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	root := newRootCmd(&streams{in: bytes.NewReader(nil), out: io.Discard, err: io.Discard,
		build: Build{Version: "3"}}, "")
	root.DisableAutoGenTag = true
	writeCompletions(t, root, filepath.Join(dir, "completions"))
	writeMan(t, root, filepath.Join(dir, "man"))
	for _, sub := range []string{"completions", "man"} {
		made, there := filepath.Join(dir, sub), filepath.Join("..", sub)
		if *update {
			replace(t, made, there)
		}
		compare(t, made, there)
	}
}

func writeCompletions(t *testing.T, root *cobra.Command, dir string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	must(t, root.GenBashCompletionFileV2(filepath.Join(dir, "nacre.bash"), true))
	must(t, root.GenZshCompletionFile(filepath.Join(dir, "_nacre")))
	must(t, root.GenFishCompletionFile(filepath.Join(dir, "nacre.fish"), true))
	must(t, root.GenPowerShellCompletionFileWithDesc(filepath.Join(dir, "nacre.ps1")))
}

func writeMan(t *testing.T, root *cobra.Command, dir string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	epoch := time.Unix(0, 0).UTC()
	eachCommand(root, func(cmd *cobra.Command) {
		eachOwnFlag(cmd, func(f *pflag.Flag) {
			name, _ := variableOf(cmd, f)
			f.Usage += " [env " + name + "]"
		})
	})
	must(t, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "nacre", Manual: "nacre", Date: &epoch}, dir))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, made, there string) {
	t.Helper()
	must(t, os.RemoveAll(there))
	must(t, os.CopyFS(there, os.DirFS(made)))
}

func compare(t *testing.T, made, there string) {
	t.Helper()
	entries, err := os.ReadDir(made)
	must(t, err)
	for _, e := range entries {
		want, err := os.ReadFile(filepath.Join(made, e.Name()))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(there, e.Name())); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not current: run go generate ./cli", filepath.Join(there, e.Name()))
		}
	}
	old, err := os.ReadDir(there)
	must(t, err)
	if len(old) != len(entries) {
		t.Errorf("%s holds %d files, want %d: run go generate ./cli", there, len(old), len(entries))
	}
}
