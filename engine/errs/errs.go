// Package errs holds the one error type that may cross the wire, and its closed set of kinds.
//
// Everything a user may see is an *Error; any other error that reaches a front door is logged and
// answered as Internal. Msg is safe to show: it never carries paths or engine internals. Each
// front door maps Kind (and Detail) to its own code in one table (HTTP status, RPC code,
// SQLSTATE, exit code).
package errs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is the class of an error. The set is closed; the names are the wire names.
type Kind uint8

// The kinds, as clients know them.
const (
	KindInternal Kind = iota
	KindValidation
	KindNotFound
	KindNotAllowed
	KindConfiguration
	KindQuery
	KindThrown
	KindSerialization
	KindAlreadyExists
	KindConnection
)

var kindNames = [...]string{
	KindInternal: "Internal", KindValidation: "Validation", KindNotFound: "NotFound", KindNotAllowed: "NotAllowed",
	KindConfiguration: "Configuration", KindQuery: "Query", KindThrown: "Thrown", KindSerialization: "Serialization",
	KindAlreadyExists: "AlreadyExists", KindConnection: "Connection",
}

// String is the wire name of k.
func (k Kind) String() string { return kindNames[k] }

// Error is the only error that crosses the wire.
type Error struct {
	Kind   Kind
	Msg    string  // safe to show
	Detail *Detail // what happened, machine readable; nil for most
	Err    error   // cause: logged, never sent
}

// Detail refines a Kind: {kind, details}. Fields values are string, time.Duration or *Detail.
type Detail struct {
	Kind   string
	Fields map[string]any
	Inner  *Detail // a nested kind, as {kind: "Auth", details: {kind: "InvalidAuth"}}
}

// Error implements error.
func (e *Error) Error() string { return e.Msg }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an *Error of the same kind and, where target names one, the same detail kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	if !ok || t.Kind != e.Kind || (t.Msg != "" && t.Msg != e.Msg) {
		return false
	}
	return t.Detail == nil || (e.Detail != nil && e.Detail.Kind == t.Detail.Kind)
}

// As gives err's *Error, or an Internal one that hides a foreign error.
func As(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: KindInternal, Msg: "An internal error occurred", Err: err}
}

// New makes an error of kind k without details.
func New(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Msg: sprintf(format, args)}
}

// What an error keeps of long texts, in bytes: a client that provokes many errors holds no more memory by them.
const (
	LongestMsg   = 64 << 10
	longestValue = 1 << 10 // of a value that the text quotes
)

// Brief is s, cut to about n bytes where it is longer.
func Brief(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n]) + "…"
}

// Brief cuts e's text to what an error may keep. It changes e.
func (e *Error) Brief() *Error {
	if len(e.Msg) > LongestMsg {
		e.Msg = Brief(e.Msg, LongestMsg)
	}
	return e
}

// Weight is about how many bytes e keeps in memory.
func (e *Error) Weight() int {
	if e == nil {
		return 0
	}
	n := errorCost + len(e.Msg)
	for d := e.Detail; d != nil; d = d.Inner {
		n += errorCost
		for name, v := range d.Fields {
			n += errorCost + len(name)
			if text, ok := v.(string); ok {
				n += len(text)
			}
		}
	}
	return n
}

// errorCost is about what an error, a detail or a field of it takes beside its texts.
const errorCost = 64

// With makes an error of kind k whose detail is named detail and has the given key/value pairs.
func With(k Kind, detail string, fields map[string]any, format string, args ...any) *Error {
	for name, v := range fields {
		if text, ok := v.(string); ok && len(text) > longestValue {
			fields[name] = Brief(text, longestValue)
		}
	}
	return &Error{Kind: k, Detail: &Detail{Kind: detail, Fields: fields}, Msg: sprintf(format, args)}
}

// sprintf is fmt.Sprintf with long arguments cut short. It changes args.
func sprintf(format string, args []any) string {
	if len(args) == 0 {
		return Brief(format, LongestMsg)
	}
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			if len(arg) > longestValue {
				args[i] = Brief(arg, longestValue)
			}
		case error:
			if text := arg.Error(); len(text) > longestValue {
				args[i] = Brief(text, longestValue)
			}
		}
	}
	return Brief(fmt.Sprintf(format, args...), LongestMsg)
}

// Internal is the kind of most statement errors (the reference's choice, kept).
func Internal(format string, args ...any) *Error { return New(KindInternal, format, args...) }

// Validation is bad input without a more exact detail.
func Validation(format string, args ...any) *Error { return New(KindValidation, format, args...) }

// Parse is a text that does not parse; msg holds the whole rendered error with its excerpt.
func Parse(msg string) *Error { return (&Error{Kind: KindValidation, Msg: msg}).Brief() }

// InvalidParams is a call with the wrong parameters.
func InvalidParams(format string, args ...any) *Error {
	return With(KindValidation, "InvalidParams", nil, format, args...)
}

// NotAllowed is a refusal.
func NotAllowed(format string, args ...any) *Error { return New(KindNotAllowed, format, args...) }

// InvalidAuth is the one answer to every failed login: it does not say which part was wrong.
func InvalidAuth() *Error {
	return &Error{Kind: KindNotAllowed, Msg: "There was a problem with authentication",
		Detail: &Detail{Kind: "Auth", Inner: &Detail{Kind: "InvalidAuth"}}}
}

// Thrown is a THROW of the user's own.
func Thrown(text string) *Error {
	return &Error{Kind: KindThrown, Msg: "An error occurred: " + Brief(text, LongestMsg)}
}

// TableNotFound says that a table does not exist.
func TableNotFound(name string) *Error {
	return With(KindNotFound, "Table", map[string]any{"name": name}, "The table '%s' does not exist", name)
}

// TableExists says that a table is defined already.
func TableExists(name string) *Error {
	return With(KindAlreadyExists, "Table", map[string]any{"name": name}, "The table '%s' already exists", name)
}

// RecordNotFound says that a record that must be there is not.
func RecordNotFound(id string) *Error {
	return With(KindNotFound, "Record", map[string]any{"id": id}, "The record '%s' does not exist", id)
}

// RecordExists says that a record is there already; id is its canonical text.
func RecordExists(id string) *Error {
	return With(KindAlreadyExists, "Record", map[string]any{"id": id}, "Database record `%s` already exists", id)
}

// Conflict is a commit that lost a race; the client may retry the whole transaction.
func Conflict() *Error {
	return With(KindQuery, "TransactionConflict", nil, "Transaction conflict: Resource busy. This transaction can be retried")
}

// TimedOut is a statement that ran longer than d; text is d in the language's own form.
func TimedOut(d time.Duration, text string) *Error {
	return With(KindQuery, "TimedOut", map[string]any{"duration": d}, "The query was not executed because it exceeded the timeout: %s", text)
}

// DeadlinePassed is a statement that was still at work when the deadline of its caller's context passed.
func DeadlinePassed() *Error {
	return &Error{Kind: KindQuery, Detail: &Detail{Kind: "TimedOut"}, Err: context.DeadlineExceeded,
		Msg: "The query was not executed because the deadline of its caller passed"}
}

// OutOfMemory is a statement that would have held more memory than is left for it at the moment; the client may retry.
func OutOfMemory() *Error {
	return With(KindQuery, "OutOfMemory", nil, "The query was not executed because the memory that there is for queries is in use. This query can be retried")
}

// NoMemory is a request that there is no room for at the moment; the client may retry.
func NoMemory() *Error {
	return With(KindQuery, "OutOfMemory", nil, "The server has no memory for this request now. Try again.")
}

// NotExecuted is a statement undone with its transaction.
func NotExecuted() *Error {
	return With(KindQuery, "NotExecuted", nil, "The query was not executed due to a failed transaction")
}

// Cancelled is a statement skipped or undone by a cancelled transaction.
func Cancelled() *Error {
	return With(KindQuery, "Cancelled", nil, "The query was not executed due to a cancelled transaction")
}

// Stopped is a statement that an operator has stopped.
func Stopped() *Error {
	return New(KindQuery, "The query was stopped by an operator of the server")
}

// LargeAnswer is the error of an answer of more than most bytes.
func LargeAnswer(most int) *Error {
	return Internal("The answer would be larger than %d bytes", most)
}

// ManyRows is the error of a statement with more than most rows.
func ManyRows(most int) *Error {
	return Internal("The statement would answer more than %d rows", most)
}

// SingleOutput is the error of ONLY with any number of results but one.
func SingleOutput() *Error {
	return Internal("Expected a single result output when using the ONLY keyword")
}

// TooDeep is a recursion stopped by its depth limit.
func TooDeep() *Error {
	return Internal("Reached excessive computation depth due to functions, subqueries, or computed values")
}

// KindOf finds a kind by its wire name.
func KindOf(name string) (Kind, bool) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), true
		}
	}
	return KindInternal, false
}
