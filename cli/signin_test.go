package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/profile"
)

func TestPasswordSourcesAreBounded(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	for _, c := range []struct{ command, pass, err string }{
		{"echo secret; echo a comment", "secret", ""},
		{"printf secret", "secret", ""},
		{"yes", "", "it prints more than 64 KiB"},
		{"true", "", "no password"},
		{"exit 3", "", "exit status 3"},
	} {
		var f connectFlags
		err := f.contextPassword(cmd, &profile.Context{PasswordCommand: c.command})
		switch {
		case c.err == "" && (err != nil || f.pass != c.pass):
			t.Errorf("%s: %q, %v", c.command, f.pass, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v", c.command, err)
		}
	}
	path := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(path, []byte("secret\r\nmore\n"), 0o600))
	f := connectFlags{passFile: path}
	if o, err := f.options(); err != nil || o.Pass != "secret" {
		t.Errorf("the file: %q, %v", o.Pass, err)
	}
	if _, err := os.Stat("/dev/zero"); err == nil {
		f.passFile = "/dev/zero" // it never ends
		if o, err := f.options(); err != nil || len(o.Pass) != maxPassword {
			t.Errorf("an endless file: %d bytes, %v", len(o.Pass), err)
		}
	}
}
