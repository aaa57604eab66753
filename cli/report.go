package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/render"
	"github.com/nacredb/nacre/cli/repl"
	"github.com/nacredb/nacre/engine/errs"
)

// report prints why a command failed: one line, and a hint where there is one. Where the command has --json, it is an
// object.
func report(s *streams, cmd *cobra.Command, err error) {
	var exit exitError
	if errors.As(err, &exit) && exit.err == nil {
		return
	}
	if flag := cmd.Flags().Lookup("json"); flag != nil && flag.Value.String() == "true" {
		reportJSON(s.err, cmd, err)
		return
	}
	fmt.Fprintf(s.err, "nacre: %s\n", render.Visible(repl.Plain(err), true)) // it may hold a text of the server's
	if hint := hintOf(cmd, err); hint != "" {
		fmt.Fprintln(s.err, hint)
	}
}

// failure is what a command that failed prints with --json, on one line. docs/operations.md and 'nacre help exit-codes'
// describe it.
type failure struct {
	Kind       string `json:"kind"` // codeName of ExitCode: a closed list
	Message    string `json:"message"`
	Code       string `json:"code,omitempty"` // the kind of an error of the database
	Hint       string `json:"hint,omitempty"`
	Command    string `json:"command"`
	RetryAfter int    `json:"retry_after_secs,omitempty"`
	ExitCode   int    `json:"exit_code"`
}

// reportJSON writes a failure as programs read it: one object on one line.
func reportJSON(w io.Writer, cmd *cobra.Command, err error) {
	code := exitCode(err)
	f := failure{Kind: codeName(code), Message: repl.Plain(err), Hint: hintOf(cmd, err), Command: cmd.CommandPath(),
		ExitCode: code}
	var e *errs.Error
	if errors.As(err, &e) {
		f.Code = e.Kind.String()
	}
	switch code {
	case exitRateLimited:
		f.RetryAfter = waitOf(err)
	case exitUnreachable:
		f.RetryAfter = 1
	}
	var b strings.Builder
	out := json.NewEncoder(&b) // ends the object with a line feed
	out.SetEscapeHTML(false)
	if err := out.Encode(f); err != nil { // strings and numbers always have a form
		b.WriteString("{\"kind\":\"other\"}\n")
	}
	_, _ = io.WriteString(w, render.VisibleJSON(b.String())) // there is no other way to tell of it
}

// waitOf is how many seconds the server asks to wait after too many attempts to sign in; 1 where it does not say.
func waitOf(err error) int {
	seconds := 0
	if _, after, ok := strings.Cut(err.Error(), "try again in "); ok {
		if _, err := fmt.Sscanf(after, "%d second", &seconds); err != nil {
			seconds = 0
		}
	}
	return max(seconds, 1)
}

// hintOf is what may help with a failure; "" where there is nothing to say.
func hintOf(cmd *cobra.Command, err error) string {
	code := exitCode(err)
	asksWrong := exitUsage
	if isReady(cmd) {
		asksWrong = readyUsage
	}
	var usage usageError
	switch {
	case errors.As(err, &usage), code == asksWrong:
		return "See '" + cmd.CommandPath() + " --help'."
	case code == exitUnauth || code == exitForbidden:
		return identityHint(cmd, code)
	}
	return ""
}

// identityHint is what may help where the server refused the identity that the flags of cmd give, or none.
func identityHint(cmd *cobra.Command, code int) string {
	text := func(flag string) string {
		f := cmd.Flags().Lookup(flag)
		if f == nil {
			return ""
		}
		return f.Value.String()
	}
	switch {
	case cmd.Flags().Lookup("username") == nil:
		return ""
	case text("token") != "" && code == exitUnauth:
		return "The token (-t) may have expired, or be one of another server or database."
	case text("username") == "" && text("token") == "":
		return "No user was given: sign in with -u NAME, or choose a context with --context."
	case code == exitUnauth:
		return "Check the name (-u), the password (-p), and where the user is defined: --auth-level is " +
			text("auth-level") + "."
	}
	return ""
}

// addFailureJSON gives sub-commands, which have no answer in JSON of their own, the flag that report heeds.
func addFailureJSON(root *cobra.Command, names ...string) {
	for _, cmd := range root.Commands() {
		if slices.Contains(names, cmd.Name()) {
			cmd.Flags().Bool("json", false, "write a failure as a JSON object")
		}
	}
}
