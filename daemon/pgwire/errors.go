package pgwire

import (
	"context"
	"errors"
	"io"
	"net"
	"regexp"
	"sync"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
)

// translate is an error of the engine as the wire has it. What has no business outside is logged.
func (c *conn) translate(err error) *sqlstate.Error {
	if e, ok := errors.AsType[*sqlstate.Error](err); ok {
		return e
	}
	if errors.Is(err, context.Canceled) {
		return &sqlstate.Error{Code: sqlstate.Cancelled, Msg: "canceling statement due to user request"}
	}
	if gone(err) {
		c.srv.Log.Debug("connection lost in a statement", "client", c.client, "err", err)
		return sqlstate.Fatal(sqlstate.ConnectionFailure, "the connection was lost")
	}
	late := c.isLate(err)
	e := errs.As(err)
	if e.Kind == errs.KindInternal && e.Err != nil && e.Msg == errs.As(e.Err).Msg {
		c.srv.Log.Error("statement failed", "err", e.Err)
	}
	out := stateOf(e)
	if late {
		out.Code = "25P03"
	}
	return out
}

// gone reports whether err says that the client has left. No error of the engine does.
func gone(err error) bool {
	if _, ok := errors.AsType[*errs.Error](err); ok {
		return false
	}
	_, failed := errors.AsType[net.Error](err)
	return failed || errors.Is(err, errBye) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// stateOf finds the code of an error: by its kind and detail, and where those do not say enough by its text.
func stateOf(e *errs.Error) *sqlstate.Error {
	out := &sqlstate.Error{Code: kindState(e), Msg: e.Msg}
	for _, s := range textStates() {
		if m := s.re.FindStringSubmatch(e.Msg); m != nil {
			s.fill(out, m)
			break
		}
	}
	if pe, ok := errors.AsType[*parse.Error](e.Err); ok {
		out.Code = sqlstate.SyntaxError
		out.Position = pe.Offset() + 1
	}
	return out
}

func detailOf(e *errs.Error) string {
	if e.Detail == nil {
		return ""
	}
	return e.Detail.Kind
}

// detailStates are the codes of details.
var detailStates = map[errs.Kind]map[string]sqlstate.Code{
	errs.KindNotFound: {"Table": sqlstate.UndefinedTable, "Namespace": sqlstate.UnknownDatabase,
		"Database": sqlstate.UnknownDatabase,
		"Function": sqlstate.UndefinedFunction, "Method": sqlstate.UndefinedFunction, "Record": sqlstate.NoData,
		"Transaction": sqlstate.NoTransaction, "Session": "08003"},
	errs.KindAlreadyExists: {"Record": sqlstate.UniqueViolation, "Table": sqlstate.DuplicateTable,
		"Database":  sqlstate.DuplicateDatabase,
		"Namespace": sqlstate.DuplicateSchema},
	errs.KindQuery: {"TimedOut": sqlstate.Cancelled, "Cancelled": sqlstate.Cancelled,
		"TransactionConflict": sqlstate.Conflict,
		"NotExecuted":         sqlstate.FailedTransaction, "OutOfMemory": sqlstate.OutOfMemory,
		"ReadOnly": sqlstate.ReadOnlyTransaction},
	errs.KindNotAllowed: {"Auth": sqlstate.InvalidAuth},
}

// kindStates are the codes of kinds whose detail says nothing.
var kindStates = map[errs.Kind]sqlstate.Code{
	errs.KindInternal: sqlstate.Internal, errs.KindValidation: sqlstate.InvalidParameter,
	errs.KindNotFound:   sqlstate.UndefinedObject,
	errs.KindNotAllowed: sqlstate.Denied, errs.KindConfiguration: sqlstate.FeatureNotSupported,
	errs.KindQuery:  sqlstate.Internal,
	errs.KindThrown: sqlstate.Thrown, errs.KindSerialization: sqlstate.InvalidText,
	errs.KindAlreadyExists: sqlstate.DuplicateObject,
	errs.KindConnection:    sqlstate.ConnectionFailure,
}

func kindState(e *errs.Error) sqlstate.Code {
	if code, ok := detailStates[e.Kind][detailOf(e)]; ok {
		return code
	}
	return kindStates[e.Kind]
}

// textState is the code of the errors whose text matches.
type textState struct {
	re   *regexp.Regexp
	fill func(e *sqlstate.Error, m []string)
}

func code(code sqlstate.Code) func(*sqlstate.Error, []string) {
	return func(e *sqlstate.Error, _ []string) { e.Code = code }
}

// textStates know the errors that the language reports with the kind Internal.
var textStates = sync.OnceValue(func() []textState {
	return []textState{
		{regexp.MustCompile("^Database index `([^`]*)` already contains"), func(e *sqlstate.Error, m []string) {
			e.Code, e.Constraint = sqlstate.UniqueViolation, m[1]
		}},
		{regexp.MustCompile("^Database record `([^:`]*):"), func(e *sqlstate.Error, m []string) {
			e.Code, e.Table, e.Constraint = sqlstate.UniqueViolation, m[1], m[1]+"_pkey"
			e.Detail = "Key (id) already exists."
		}},
		{regexp.MustCompile("^Found (NONE|NULL) for field `([^`]*)`, with record `([^:`]*):"), func(e *sqlstate.Error, m []string) {
			e.Code, e.Column, e.Table = sqlstate.NotNullViolation, m[2], m[3]
		}},
		{regexp.MustCompile("^Couldn't coerce value for field `([^`]*)` of `([^:`]*):.*: Expected .* but found `?(NONE|NULL)`?"), func(e *sqlstate.Error, m []string) {
			e.Code, e.Column, e.Table = sqlstate.NotNullViolation, m[1], m[2]
		}},
		{regexp.MustCompile("^Couldn't coerce value for field `([^`]*)` of `([^:`]*):"), func(e *sqlstate.Error, m []string) {
			e.Code, e.Column, e.Table = sqlstate.InvalidText, m[1], m[2]
		}},
		{regexp.MustCompile("^Found field '([^']*)', but no such field exists for table '([^']*)'"),
			func(e *sqlstate.Error, m []string) {
				e.Code, e.Column, e.Table = sqlstate.UndefinedColumn, m[1], m[2]
			}},
		{regexp.MustCompile("^Found .* for field `([^`]*)`, with record `([^:`]*):.* but (field|expected)"), func(e *sqlstate.Error, m []string) {
			e.Code, e.Column, e.Table = sqlstate.CheckViolation, m[1], m[2]
		}},
		{regexp.MustCompile("^Function '[^']*' not found"), code(sqlstate.UndefinedFunction)},
		{regexp.MustCompile(`^Cannot perform (addition|subtraction|multiplication|power) with '-?\d+' and '-?\d+'`), code(sqlstate.OutOfRange)},
		{regexp.MustCompile("^(Couldn't coerce|Expected .* but found|Could not cast|Cannot (convert|perform))"), code(sqlstate.TypeMismatch)},
		{regexp.MustCompile("(?i)arithmetic overflow|out of range"), code(sqlstate.OutOfRange)},
		{regexp.MustCompile("(?i)division by zero"), code(sqlstate.DivisionByZero)},
		{regexp.MustCompile("^The transaction is too large|exceeds the limit|too large|too long"), code(sqlstate.TooMuch)},
		{regexp.MustCompile("^Reached excessive computation depth"), code(sqlstate.TooDeep)},
		{regexp.MustCompile("^The store has no space left"), code(sqlstate.DiskFull)},
		{regexp.MustCompile("^The store is read-only"), code(sqlstate.ReadOnlyTransaction)},
		{regexp.MustCompile("^IAM error|^Anonymous access|not allowed|You don't have permission"), code(sqlstate.Denied)},
	}
})

// characters is the number of characters of s before byte n.
func characters(s string, n int) int { return utf8.RuneCountInString(s[:min(max(n, 0), len(s))]) }

// shifted moves a position from a part of a text to the whole: the part begins at byte at, and its positions before
// map back by back.
func shifted(err error, whole string, at int) error {
	e, ok := errors.AsType[*sqlstate.Error](err)
	if !ok || e.Position == 0 {
		return err
	}
	moved := *e
	moved.Position += characters(whole, at)
	return &moved
}
