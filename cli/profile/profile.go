// Package profile keeps the contexts of the command line: servers with what it takes to reach them, by name.
//
// They are in a TOML file that its owner alone may read. Passwords stand outside of it: in a file, in what a command
// prints, or in the head of the user.
package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// Context is one of them. At most one of the password settings is set; with none there is no password.
type Context struct {
	Endpoint        string `toml:"endpoint,omitempty" json:"endpoint,omitempty"`
	User            string `toml:"user,omitempty" json:"user,omitempty"`
	Level           string `toml:"auth-level,omitempty" json:"auth-level,omitempty"`
	Namespace       string `toml:"namespace,omitempty" json:"namespace,omitempty"`
	Database        string `toml:"database,omitempty" json:"database,omitempty"`
	PasswordFile    string `toml:"password-file,omitempty" json:"password-file,omitempty"`
	PasswordCommand string `toml:"password-command,omitempty" json:"password-command,omitempty"`
	PasswordPrompt  bool   `toml:"password-prompt,omitempty" json:"password-prompt,omitempty"`
}

// File is all contexts, and the name of the one in use.
type File struct {
	Current  string             `toml:"current,omitempty"`
	Contexts map[string]Context `toml:"contexts,omitempty"`
	path     string
}

// ErrUnknown is wrapped by errors about a context that does not exist.
var ErrUnknown = errors.New("there is no such context")

// ErrTaken is wrapped by the error about a context that Add does not write over.
var ErrTaken = errors.New("exists already")

// maxFile is the largest file that is read, in bytes.
const maxFile = 1 << 20

// DefaultPath is nacre/config.toml in $XDG_CONFIG_HOME, else in .config of the user's home.
func DefaultPath() (string, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the home directory: %w", err)
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "nacre", "config.toml"), nil
}

// Load reads the file at path; one that does not exist is empty. A file that others may write is refused: what it names
// as a command would be theirs.
func Load(path string) (*File, error) {
	f := &File{path: path, Contexts: map[string]Context{}}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, fmt.Errorf("read the contexts: %w", err)
	case unsafe(info):
		return nil, fmt.Errorf("%s may be written by others: chmod 600 it", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is too large for a file of contexts", path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the contexts: %w", err)
	}
	meta, err := toml.Decode(string(b), f)
	if err != nil {
		if at, ok := errors.AsType[toml.ParseError](err); ok {
			return nil, fmt.Errorf("%s, line %d: %s", path, at.Position.Line, at.Message)
		}
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if rest := meta.Undecoded(); len(rest) > 0 {
		return nil, fmt.Errorf("%s: unknown setting %q", path, rest[0])
	}
	return f, nil
}

// Path is where the file is.
func (f *File) Path() string { return f.path }

// Save writes the file, whole or not at all, for its owner alone.
func (f *File) Save() error {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(f); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".config-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	_, err = tmp.Write(b.Bytes())
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("write the contexts: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// maxName is how many characters the name of a context has at most.
const maxName = 64

// nameLike reports whether a text can be the name of a context: letters and digits of any script, and after the first
// one also dots, dashes and underscores. It is no regular expression: to compile one with these classes takes longer
// than all else that a command does at its start.
func nameLike(name string) bool {
	if name == "" || utf8.RuneCountInString(name) > maxName {
		return false
	}
	for i, r := range name {
		if !unicode.IsLetter(r) && !unicode.Is(unicode.N, r) && (i == 0 || !strings.ContainsRune("._-", r)) {
			return false
		}
	}
	return true
}

// Add keeps a context under a name, and makes the first one the one in use. With replace it may exist already.
func (f *File) Add(name string, c Context, replace bool) error {
	if !nameLike(name) {
		return fmt.Errorf("%q is no name for a context: want letters, digits, dots and dashes, at most 64", name)
	}
	if _, there := f.Contexts[name]; there && !replace {
		return fmt.Errorf("context %s %w", name, ErrTaken)
	}
	f.Contexts[name] = c
	if f.Current == "" {
		f.Current = name
	}
	return nil
}

// Get is the context of a name.
func (f *File) Get(name string) (Context, error) {
	c, ok := f.Contexts[name]
	if !ok {
		return c, fmt.Errorf("context %s: %w (see 'nacre context ls')", name, ErrUnknown)
	}
	return c, nil
}

// Use makes a context the one in use.
func (f *File) Use(name string) error {
	_, err := f.Get(name)
	if err == nil {
		f.Current = name
	}
	return err
}

// Remove forgets a context.
func (f *File) Remove(name string) error {
	if _, err := f.Get(name); err != nil {
		return err
	}
	delete(f.Contexts, name)
	if f.Current == name {
		f.Current = ""
	}
	return nil
}

// Names are all names, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Contexts)) }
