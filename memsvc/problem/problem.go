// Package problem is the one error that the memory service answers: a status, a stable type and a text that is safe to
// show. Everything else that goes wrong is answered as internal, with a request id and no detail.
package problem

import (
	"errors"
	"fmt"
	"net/http"
)

// Error is an application/problem+json body in the making.
type Error struct {
	Status int
	Slug   string // the end of the type: urn:memsvc:error:SLUG
	Detail string // safe to show
	Field  string // the field of the request that is at fault; "" for none
	// RetryAfter is in seconds; 0 for none.
	RetryAfter int
	Err        error // the cause: logged, never sent
}

// Error implements error.
func (e *Error) Error() string { return e.Detail }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// As is the problem in err, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Is reports whether err is a problem with this slug.
func Is(err error, slug string) bool {
	e := As(err)
	return e != nil && e.Slug == slug
}

func newf(status int, slug, format string, args []any) *Error {
	return &Error{Status: status, Slug: slug, Detail: fmt.Sprintf(format, args...)}
}

// Invalid is a request with a bad field.
func Invalid(field, format string, args ...any) *Error {
	e := newf(http.StatusBadRequest, "validation-error", format, args)
	e.Field = field
	return e
}

// Ceiling is a k or limit above what is allowed.
func Ceiling(field string, got, most int) *Error {
	e := newf(http.StatusBadRequest, "query-ceiling", "%s is %d, the ceiling is %d", []any{field, got, most})
	e.Field = field
	return e
}

// Unauthorized is a missing, unknown, expired, foreign or unbound key: one text for all of them.
func Unauthorized() *Error {
	return newf(http.StatusUnauthorized, "unauthorized", "The key is not valid here", nil)
}

// Forbidden is a call that the caller's grants do not cover.
func Forbidden(format string, args ...any) *Error {
	return newf(http.StatusForbidden, "forbidden", format, args)
}

// NotFound is a row that does not exist, or that the caller may not see.
func NotFound(format string, args ...any) *Error {
	return newf(http.StatusNotFound, "not-found", format, args)
}

// Conflict is a duplicate, or a state that does not allow the call.
func Conflict(format string, args ...any) *Error {
	return newf(http.StatusConflict, "conflict", format, args)
}

// Of is any other problem.
func Of(status int, slug, format string, args ...any) *Error { return newf(status, slug, format, args) }

// Blocked is a call to a language model while enforcement_blocked is set.
func Blocked() *Error {
	return newf(http.StatusTooManyRequests, "enforcement-blocked",
		"Calls that use a language model are blocked for this Context", nil)
}

// NoProvider is a call that needs a language model where none is reachable.
func NoProvider(stage string) *Error {
	return newf(http.StatusServiceUnavailable, "no-llm-provider", "No language model is configured for %s",
		[]any{stage})
}

// Unavailable is a database that does not answer.
func Unavailable(err error) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Slug: "unavailable",
		Detail: "The database is not reachable", Err: err}
}
