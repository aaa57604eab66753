package profile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFileKeepsContexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "config.toml")
	f, err := Load(path)
	if err != nil || len(f.Names()) != 0 {
		t.Fatalf("%v %v", f, err)
	}
	prod := Context{
		Endpoint: "wss://x", User: "u", Level: "database", Namespace: "n", Database: "d", PasswordFile: "/p",
	}
	for name, c := range map[string]Context{"prod": prod, "äö-1.x": {PasswordPrompt: true}} {
		if err := f.Add(name, c, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Add("prod", prod, false); !errors.Is(err, ErrTaken) {
		t.Errorf("twice: %v", err)
	}
	for _, name := range []string{"", "a b", "-x", "a/b", "x\n", string(make([]byte, 70))} {
		if err := f.Add(name, prod, false); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
	if err := errors.Join(f.Use("prod"), f.Save()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	again, err := Load(path)
	if err != nil || again.Current != "prod" || again.Contexts["prod"] != prod ||
		!slices.Equal(again.Names(), []string{"prod", "äö-1.x"}) {
		t.Fatalf("%+v %v", again, err)
	}
	if err := again.Remove("prod"); err != nil || again.Current != "" {
		t.Errorf("%v %q", err, again.Current)
	}
	for _, err := range []error{again.Remove("prod"), again.Use("prod")} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("got %v", err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"syntax": "current = ", "unknown": "[contexts.a]\nendpont = 'x'", "kind": "[contexts.a]\nendpoint = 3",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if f, err := Load(path); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("current = 'a'"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o622); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(open); err == nil {
		t.Error("a file that others may write is read")
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{
		"prod": true, "日本-1.a_b": true, "": false, "-a": false, ".a": false, "a b": false,
		"a/b": false, "a\n": false, "\xff": false,
		strings.Repeat("é", 64): true, strings.Repeat("é", 65): false,
	} {
		if got := nameLike(name); got != want {
			t.Errorf("%q: got %t, want %t", name, got, want)
		}
	}
}
