// Package quiet keeps bubbletea from asking the terminal for its colours while the program starts.
//
// The init function of bubbletea v1 writes such a question to every terminal, in every command, and waits up to five
// seconds for an answer that some terminals never give. The question is left out where CI is set, so this package sets
// it, and Done removes it again. The Go specification gives the order: of the packages that are ready, the one with the
// first import path is initialized next. This package needs only os, and bubbletea needs text/template through termenv,
// so this one comes first.
package quiet

import "os"

// set is whether CI was free and is ours.
var set = hush()

func hush() bool {
	if os.Getenv("CI") != "" {
		return false
	}
	return os.Setenv("CI", "1") == nil
}

// Done gives CI back. The package that imports bubbletea calls it while it is initialized.
func Done() bool {
	if set {
		set = false
		return os.Unsetenv("CI") == nil
	}
	return true
}
