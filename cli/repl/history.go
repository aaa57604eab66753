package repl

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// secrets are the words whose lines never reach the history file.
var secrets = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(password|passhash|pass|key|token|signin|signup|secret|bearer)\b`)
})

// maxHistory is how many texts the history keeps.
const maxHistory = 5000

// remember puts a text into the history as it was typed, unless it may hold a secret.
func (sh *shell) remember(text string) {
	text = strings.TrimSpace(text)
	if text == "" || secret(text) {
		return
	}
	if err := sh.rl.SaveHistory(toLine.Replace(text)); err != nil {
		fmt.Fprintf(sh.opt.Err, "history: %v\n", err)
	}
}

// secret reports whether a text may hold a secret.
func secret(text string) bool { return secrets().MatchString(text) }

// historyFile is $XDG_STATE_HOME/nacre/history, made readable by its owner only; "" where it cannot be had
// (said on w): the shell then keeps its history in memory.
func historyFile(w io.Writer) string {
	dir := os.Getenv("XDG_STATE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			fmt.Fprintf(w, "history is not kept: %v\n", err)
			return ""
		}
		dir = filepath.Join(home, ".local", "state")
	}
	path := filepath.Join(dir, "nacre", "history")
	if err := touch(path); err != nil {
		fmt.Fprintf(w, "history is not kept: %v\n", err)
		return ""
	}
	return path
}

// private makes a file readable by its owner only.
func private(path string) error {
	if path == "" {
		return nil
	}
	return os.Chmod(path, 0o600)
}

func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := f.Chmod(0o600); err != nil {
		return fmt.Errorf("%w (%w)", err, f.Close())
	}
	return f.Close()
}
