package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/errs"
)

// TestKindsAreDocumented: the words of the exit codes are all different, and both lists of them say the same.
func TestKindsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, code := range []int{exitOther, exitUsage, exitUnauth, exitForbidden, exitNotFound, exitConflict, exitInvalid,
		exitRateLimited, exitUnreachable, exitTimeout, exitInterrupted} {
		name := codeName(code)
		if seen[name] {
			t.Errorf("%d has the word of another code: %s", code, name)
		}
		seen[name] = true
		if row := fmt.Sprintf("| `%s` | %d |", name, code); !strings.Contains(string(page), row) {
			t.Errorf("docs/operations.md has no row %s", row)
		}
		if line := fmt.Sprintf(" %d  %s: ", code, name); !strings.Contains(exitCodesTopic, line) {
			t.Errorf("the topic has no line%s", line)
		}
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [0-9]+ \\|")
	for _, row := range rows.FindAllStringSubmatch(string(page), -1) {
		if !seen[row[1]] {
			t.Errorf("docs/operations.md has the kind %s, which is none", row[1])
		}
	}
}

// TestFailuresForPrograms: the kind is the word of the exit code, and the kind of the database stands beside it.
func TestFailuresForPrograms(t *testing.T) {
	const wrong = "There was a problem with authentication"
	tooMany := errs.InvalidAuth()
	tooMany.Msg = "Too many authentication attempts, try again in 6 seconds"
	tooMany.Detail.Inner.Kind = "TooManyAttempts"
	for _, tc := range []struct {
		err  error
		args []string
		want failure
	}{
		{errs.Validation("bad"), nil, failure{Kind: "invalid", Message: "bad", Code: "Validation", ExitCode: 7}},
		{errs.InvalidAuth(), []string{"-u", "ada"}, failure{Kind: "unauthenticated", Message: wrong, Code: "NotAllowed",
			Hint:     "Check the name (-u), the password (-p), and where the user is defined: --auth-level is root.",
			ExitCode: 3}},
		{errs.InvalidAuth(), []string{"-t", "x"}, failure{Kind: "unauthenticated", Message: wrong, Code: "NotAllowed",
			Hint:     "The token (-t) may have expired, or be one of another server or database.",
			ExitCode: 3}},
		{errs.NotAllowed("no"), nil, failure{Kind: "forbidden", Message: "no", Code: "NotAllowed",
			Hint:     "No user was given: sign in with -u NAME, or choose a context with --context.",
			ExitCode: 4}},
		{errs.NotAllowed("no"), []string{"-u", "ada"},
			failure{Kind: "forbidden", Message: "no", Code: "NotAllowed", ExitCode: 4}},
		{tooMany, []string{"-u", "ada"},
			failure{Kind: "rate_limited", Message: tooMany.Msg, Code: "NotAllowed", RetryAfter: 6, ExitCode: 8}},
		{fmt.Errorf("open x: %w", os.ErrNotExist), nil,
			failure{Kind: "not_found", Message: "open x: file does not exist", ExitCode: 5}},
		{client.ErrUnreachable, nil,
			failure{Kind: "unreachable", Message: "server is not reachable", RetryAfter: 1, ExitCode: 9}},
		{usagef("want one file"), nil,
			failure{Kind: "usage", Message: "want one file", Hint: "See 'nacre sql --help'.", ExitCode: 2}},
		{errors.New("else"), nil, failure{Kind: "other", Message: "else", ExitCode: 1}},
	} {
		t.Setenv("NACRE_USER", "")
		root := testTree()
		cmd, _, err := root.Find([]string{"sql"})
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(tc.args); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		reportJSON(&out, cmd, tc.err)
		var got failure
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, out.Bytes())
		}
		tc.want.Command = "nacre sql"
		if got != tc.want {
			t.Errorf("%v %v:\n got %+v\nwant %+v", tc.err, tc.args, got, tc.want)
		}
	}
}
