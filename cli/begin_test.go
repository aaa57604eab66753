package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// ownPackages are the paths of the packages of this module.
const ownPackages = "github.com/nacredb/nacre/"

// initialised matches the line of a package in the trace of initialisations (runtime, GODEBUG=inittrace=1).
var initialised = regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, (\d+) allocs`)

// TestPackagesBeginLean: every command, a health check too, initialises all packages of the binary first. What a
// package allocates there is paid for by all of them, so tables and expressions are made when they are first needed.
func TestPackagesBeginLean(t *testing.T) {
	// Code that protoc generates registers its messages, which cannot wait.
	const each, all, generated = 40 << 10, 512 << 10, "internal/pb/"
	folder, err := product()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(folder, "nacre"), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.Bytes())
	}
	total, packages := 0, 0
	for _, m := range initialised.FindAllStringSubmatch(trace.String(), -1) {
		path, ours := strings.CutPrefix(m[1], ownPackages)
		if !ours {
			continue
		}
		size, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if size > each && !strings.HasPrefix(path, generated) {
			t.Errorf("%s allocates %d bytes in %s objects when it is initialised; more than %d", path, size, m[3], each)
		}
		total, packages = total+size, packages+1
	}
	if packages < 20 {
		t.Fatalf("the trace names %d packages:\n%s", packages, trace.Bytes())
	}
	if total > all {
		t.Errorf("the packages of this module allocate %d bytes when they are initialised; more than %d", total, all)
	}
}

// TestTreeIsLean: help makes the tree of all commands with their flags, and any other command its own part.
func TestTreeIsLean(t *testing.T) {
	const most = 6000
	s := &streams{in: bytes.NewReader(nil), out: io.Discard, err: io.Discard}
	if n := testing.AllocsPerRun(3, func() { newRootCmd(s, "") }); n > most {
		t.Errorf("the tree of commands takes %.0f allocations, more than %d", n, most)
	} else {
		t.Logf("%.0f allocations", n)
	}
}

// TestCommandsByName: each command of the table is found by the names that it has, alone and in the whole tree.
func TestCommandsByName(t *testing.T) {
	s := &streams{in: bytes.NewReader(nil), out: io.Discard, err: io.Discard}
	for _, c := range commands() {
		cmd := c.make(s)
		var also string
		if len(cmd.Aliases) > 0 {
			also = cmd.Aliases[0]
		}
		if cmd.Name() != c.name || also != c.also || len(cmd.Aliases) > 1 {
			t.Errorf("%s, %s is in the table as %s, %s", cmd.Name(), cmd.Aliases, c.name, c.also)
		}
		for _, name := range append(cmd.Aliases, c.name) {
			found, _, err := newRootCmd(s, name).Find([]string{name})
			if err != nil || found.Name() != c.name {
				t.Errorf("%s: %v, %v", name, found, err)
			}
		}
	}
	if all := newRootCmd(s, "").Commands(); len(all) < len(commands())+len(newTopics()) {
		t.Errorf("%d commands", len(all))
	}
}
