package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func testTree() *cobra.Command {
	return newRootCmd(&streams{in: bytes.NewReader(nil), out: io.Discard, err: io.Discard,
		build: Build{Version: "3"}}, "")
}

// Every page of help fits a terminal of 80 columns, and begins with examples where there are some.
func TestHelpFitsTheScreen(t *testing.T) {
	pages := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		var out bytes.Buffer
		printHelp(&out, cmd)
		pages++
		for line := range strings.Lines(out.String()) {
			if w := uniseg.StringWidth(strings.TrimRight(line, "\n")); w > helpWidth {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), w, line)
			}
		}
		text := out.String()
		if cmd.Example != "" && strings.Index(text, "Examples:") > strings.Index(text, "Usage:") {
			t.Errorf("%s: the examples stand behind the usage", cmd.CommandPath())
		}
		for _, c := range cmd.Commands() {
			if c.Name() != "completion" {
				visit(c)
			}
		}
	}
	visit(testTree())
	if pages < 50 {
		t.Errorf("there are %d pages only", pages)
	}
}

// Every flag has a variable, and no two of a command have the same.
func TestEveryFlagHasAVariable(t *testing.T) {
	eachCommand(testTree(), func(cmd *cobra.Command) {
		seen := map[string]string{}
		eachOwnFlag(cmd, func(f *pflag.Flag) {
			name, _ := variableOf(cmd, f)
			if name == "" || seen[name] != "" {
				t.Errorf("%s --%s: variable %q, which is that of %q", cmd.CommandPath(), f.Name, name, seen[name])
			}
			seen[name] = f.Name
			if strings.Contains(f.Usage, "[env") {
				t.Errorf("%s --%s: its text names a variable; call variable instead", cmd.CommandPath(), f.Name)
			}
		})
	})
}

// Every command stands under a heading, and every one that talks of exit codes of its own is in the topic.
func TestEveryCommandHasAHeading(t *testing.T) {
	under := map[string]bool{}
	for _, g := range commandGroups {
		for _, c := range g.commands {
			under[c] = true
		}
	}
	for _, c := range testTree().Commands() {
		if c.Runnable() && !under[c.Name()] {
			t.Errorf("%s stands under no heading", c.Name())
		}
	}
}

func TestWrapFolds(t *testing.T) {
	got := wrap(strings.Repeat("word ", 20)+"[env"+fixedBlank+"NACRE_SOMETHING_LONG]", 4)
	for line := range strings.SplitSeq(got, "\n") {
		if len(line) > helpWidth || !strings.HasPrefix(line, "    ") {
			t.Errorf("%q", line)
		}
	}
	if !strings.Contains(got, "[env NACRE_SOMETHING_LONG]") {
		t.Errorf("the variable is divided: %s", got)
	}
}
