package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/nacredb/nacre/cli/profile"
)

// noContext is the name that stands for no context.
const noContext = "none"

// must1 is for registrations that fail only by a slip in this program.
func must1(err error) {
	if err != nil {
		panic(err)
	}
}

// resolve fills what flags and variables left open: from a context, and the password from where it is kept. Commands
// that do not sign in have no flag for a password.
func (f *connectFlags) resolve(cmd *cobra.Command) error {
	c, err := f.chosen(cmd)
	if err != nil {
		return err
	}
	signs := cmd.Flags().Lookup("password") != nil
	if c != nil && f.quiet && c.PasswordCommand != "" {
		c.PasswordCommand = "" // it may ask for something itself
	}
	if c != nil {
		own := !f.given(cmd, "username") || f.user == c.User
		for name, text := range map[string]string{"endpoint": c.Endpoint, "username": c.User, "auth-level": c.Level,
			"namespace": c.Namespace, "database": c.Database} {
			if text != "" && !f.given(cmd, name) {
				*placeOf(f, name) = text
			}
		}
		if own && signs && !f.passStdin && f.pass == "" && f.passFile == "" && f.token == "" {
			if err := f.contextPassword(cmd, c); err != nil {
				return err
			}
		}
	}
	switch {
	case f.passStdin:
		f.pass, err = firstLine(cmd.InOrStdin())
		return err
	case signs && f.user != "" && f.pass == "" && f.passFile == "" && f.token == "" && !f.embedded() && !f.quiet:
		return f.ask()
	}
	return nil
}

// chosen is the context to take things from, nil for none. An address that was given leaves the context in use aside:
// its password is for another server.
func (f *connectFlags) chosen(cmd *cobra.Command) (*profile.Context, error) {
	name := f.context
	if name == "" {
		name, _ = fromEnv("CONTEXT")
	}
	if name == noContext || name == "" && f.given(cmd, "endpoint") {
		return nil, nil
	}
	file, err := contexts()
	switch {
	case err != nil && name == "" && noHome():
		return nil, nil // a container without a home has no contexts
	case err != nil:
		return nil, err
	case name == "":
		name = file.Current
	}
	if name == "" {
		return nil, nil
	}
	c, err := file.Get(name)
	if err != nil {
		return nil, contextError(err)
	}
	return &c, nil
}

func noHome() bool {
	_, err := profile.DefaultPath()
	return err != nil
}

// given reports whether a flag or its variable was set.
func (f *connectFlags) given(cmd *cobra.Command, name string) bool {
	for _, d := range connectTable {
		if d.name != name {
			continue
		}
		if _, ok := fromEnv(d.env); ok {
			return true
		}
		for _, flag := range append([]string{d.name}, d.aliases...) {
			if cmd.Flags().Changed(flag) {
				return true
			}
		}
	}
	return false
}

func placeOf(f *connectFlags, name string) *string {
	for _, d := range connectTable {
		if d.name == name {
			return d.place(f)
		}
	}
	panic("no connection setting " + name)
}

// commandTime is how long the command of a context may take to print a password.
const commandTime = time.Minute

// contextPassword gets the password that a context names.
func (f *connectFlags) contextPassword(cmd *cobra.Command, c *profile.Context) error {
	switch {
	case c.PasswordFile != "":
		f.passFile = c.PasswordFile
	case c.PasswordCommand != "":
		ctx, stop := context.WithTimeout(cmd.Context(), commandTime)
		defer stop()
		run := exec.CommandContext(ctx, "sh", "-c", c.PasswordCommand) //nolint:gosec // the user's own file says so
		run.Stderr = cmd.ErrOrStderr()
		var out shortOutput
		run.Stdout = &out
		err := run.Run()
		if out.tooLong {
			err = fmt.Errorf("it prints more than %d KiB", maxPassword>>10)
		}
		if err != nil {
			return exitError{exitUnauth, fmt.Errorf("the password command of the context failed: %w", err)}
		}
		f.pass, err = firstLine(&out.text)
		return err
	}
	return nil
}

// shortOutput takes what a command prints, and fails the command that prints more than a password can be.
type shortOutput struct {
	text    bytes.Buffer
	tooLong bool
}

// Write implements io.Writer.
func (o *shortOutput) Write(p []byte) (int, error) {
	if o.text.Len()+len(p) > maxPassword {
		o.tooLong = true
		return 0, io.ErrShortWrite
	}
	return o.text.Write(p)
}

// maxPassword is the longest password that is read, in bytes.
const maxPassword = 64 << 10

// firstLine reads a line without its end.
func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxPassword)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", exitError{exitUnauth, errors.New("there is no password in what was read")}
	}
	return line, nil
}

// ask reads the password from the terminal, without showing it.
func (f *connectFlags) ask() error {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return usagef("user %s needs a password: use --password-stdin, --password-file, NACRE_PASS, or a terminal", f.user)
	}
	defer tty.Close()
	fmt.Fprintf(tty, "Password of %s at %s: ", f.user, f.endpoint)
	b, err := term.ReadPassword(int(tty.Fd()))
	fmt.Fprintln(tty)
	if err != nil {
		return exitError{exitUnauth, fmt.Errorf("read the password: %w", err)}
	}
	f.pass = string(b)
	return nil
}
