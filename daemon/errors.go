package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"

	"github.com/nacredb/nacre/engine"
)

// Reason is why a daemon did not start. The set is closed.
type Reason uint8

// The reasons.
const (
	StoreFailed   Reason = iota // the store cannot be opened
	StoreLocked                 // another process has it
	StoreForeign                // the file is not a store of ours, or of a newer format
	StoreDamaged                // the store is ours, but not sound
	AddressInUse                // another process listens there
	AddressDenied               // no right to listen there, or no such address
	BadTLS                      // certificate or key cannot be used
	BadSetting                  // a setting names what does not exist
	ImportFailed                // the import file is not there, or not all of it could be imported
)

// StartError is a daemon that did not start. Its text is one line that says what to do.
type StartError struct {
	Reason Reason
	Text   string
	Err    error
}

// Error implements error.
func (e *StartError) Error() string { return e.Text }

// Unwrap gives the cause.
func (e *StartError) Unwrap() error { return e.Err }

// openError explains why a store cannot be opened.
func openError(path string, err error) error {
	e := &StartError{Reason: StoreFailed, Err: err}
	switch {
	case errors.Is(err, engine.ErrLocked):
		e.Reason = StoreLocked
		e.Text = fmt.Sprintf("the store %s is in use by another process: stop that one, or choose another path", path)
		if strings.HasPrefix(path, "tikv:") {
			e.Text = fmt.Sprintf("the prefix of %s is served by a version of nacre that shares it by other rules: stop that one, or choose another prefix", path)
		}
	case errors.Is(err, engine.ErrUnfinished):
		e.Reason = StoreLocked
		e.Text = fmt.Sprintf("a restore into %s is under way, or was interrupted: let it come to its end, or begin it again with 'nacre restore'", path)
	case errors.Is(err, engine.ErrUnavailable):
		e.Text = fmt.Sprintf("the cluster of %s does not answer: check the addresses of its placement drivers and --kvs-ca, --kvs-crt, --kvs-key (%v)", path, err)
	case errors.Is(err, engine.ErrNewer):
		e.Reason = StoreForeign
		e.Text = fmt.Sprintf("%s was made by a newer version of nacre: run that one, or choose another path (%v)",
			path, err)
	case errors.Is(err, engine.ErrCorrupt):
		e.Reason = StoreDamaged
		e.Text = fmt.Sprintf("the store %s is damaged: restore a backup, or see what is left of it with 'nacre check' and its --repair (%v)", path, err)
	case errors.Is(err, engine.ErrNoSpace), errors.Is(err, syscall.ENOSPC):
		e.Text = fmt.Sprintf("the store %s cannot be opened, its disk is full: free some space (%v)", path, err)
	case errors.Is(err, engine.ErrFormat):
		e.Reason = StoreForeign
		e.Text = fmt.Sprintf("%s is not a store of this program: choose another path, or import its data instead (%v)", path, err)
	case errors.Is(err, fs.ErrPermission):
		e.Text = fmt.Sprintf("no permission to open the store %s: check its owner and mode", path)
	case errors.Is(err, context.Canceled):
		e.Text = "stopped while the store was being opened"
	default:
		e.Text = fmt.Sprintf("the store %s cannot be opened: %v", path, err)
	}
	return e
}

// checkBind refuses what cannot be an address to listen on.
func checkBind(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return &StartError{Reason: BadSetting, Err: err,
			Text: fmt.Sprintf("--%s %s: want an address and a port, such as 127.0.0.1:8000 or [::1]:8000 (%v)", flag,
				address, err)}
	}
	return nil
}

// bindError explains why the server cannot listen.
func bindError(flag, address string, err error) error {
	e := &StartError{Reason: AddressDenied, Err: err, Text: fmt.Sprintf("cannot listen on %s: %v", address, err)}
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		e.Reason = AddressInUse
		e.Text = fmt.Sprintf("address %s is in use: stop the other server, or choose another one with --%s", address,
			flag)
	case errors.Is(err, syscall.EACCES):
		e.Text = fmt.Sprintf("no permission to listen on %s: choose a port above 1023 with --%s", address, flag)
	case errors.Is(err, syscall.EADDRNOTAVAIL), errors.As(err, &dns):
		e.Text = fmt.Sprintf("this machine has no address %s: choose another one with --%s", address, flag)
	}
	return e
}
