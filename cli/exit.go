package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/daemon"
	"github.com/nacredb/nacre/engine/errs"
)

// The exit codes of every command but isready. They are a contract for scripts.
const (
	exitOK          = 0
	exitOther       = 1
	exitUsage       = 2
	exitUnauth      = 3
	exitForbidden   = 4
	exitNotFound    = 5
	exitConflict    = 6
	exitInvalid     = 7
	exitRateLimited = 8
	exitUnreachable = 9
	exitTimeout     = 10
	exitInterrupted = 130
)

// codeName is an exit code in a word: the kinds of failures.
func codeName(code int) string {
	switch code {
	case exitUsage:
		return "usage"
	case exitUnauth:
		return "unauthenticated"
	case exitForbidden:
		return "forbidden"
	case exitNotFound:
		return "not_found"
	case exitConflict:
		return "conflict"
	case exitInvalid:
		return "invalid"
	case exitRateLimited:
		return "rate_limited"
	case exitUnreachable:
		return "unreachable"
	case exitTimeout:
		return "timeout"
	case exitInterrupted:
		return "interrupted"
	}
	return "other"
}

// usageError is a wrong command line: exit code 2, one line and a hint.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError is an error with an exit code of its own. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}
func (e exitError) Unwrap() error { return e.err }

// exitCode maps an error to the exit code of its kind.
func exitCode(err error) int {
	var usage usageError
	var exit exitError
	var e *errs.Error
	var start *daemon.StartError
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, client.ErrNotReady):
		return exitUnreachable
	case errors.Is(err, fs.ErrNotExist):
		return exitNotFound
	case errors.As(err, &start):
		return startCode(start)
	case errors.As(err, &e):
		return kindCode(e)
	}
	return exitOther
}

// startCode is the exit code of a daemon that did not start.
func startCode(e *daemon.StartError) int {
	switch e.Reason {
	case daemon.StoreLocked, daemon.AddressInUse:
		return exitConflict
	case daemon.StoreForeign, daemon.StoreDamaged, daemon.BadTLS, daemon.ImportFailed:
		return exitInvalid
	case daemon.BadSetting:
		return exitUsage
	case daemon.AddressDenied:
		return exitForbidden
	}
	return exitOther
}

// kindCode is the exit code of an error that the database answered.
func kindCode(e *errs.Error) int {
	switch e.Kind {
	case errs.KindValidation, errs.KindSerialization:
		return exitInvalid
	case errs.KindNotFound:
		return exitNotFound
	case errs.KindNotAllowed:
		if e.Detail == nil || e.Detail.Kind != "Auth" {
			return exitForbidden
		}
		if e.Detail.Inner != nil && e.Detail.Inner.Kind == "TooManyAttempts" {
			return exitRateLimited
		}
		return exitUnauth
	case errs.KindAlreadyExists:
		return exitConflict
	case errs.KindQuery:
		if e.Detail != nil && e.Detail.Kind == "TransactionConflict" {
			return exitConflict
		}
		if e.Detail != nil && e.Detail.Kind == "TimedOut" {
			return exitTimeout
		}
		if e.Detail != nil && e.Detail.Kind == "OutOfMemory" {
			return exitUnreachable
		}
	case errs.KindConnection:
		return exitUnreachable
	}
	return exitOther
}
