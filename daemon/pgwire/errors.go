package pgwire

import (
	"context"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
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
	if out.Code == sqlstate.UniqueViolation && out.Detail == "" {
		out.Detail = c.keyDetail(out, e.Msg)
	}
	if late {
		out.Code = "25P03"
	}
	return out
}

// violated finds the values in the error of a unique index.
var violated = regexp.MustCompile("(?s)^Database index `[^`]*` already contains (.*), with record `[^`]*:.*`$")

// keyDetail tells the columns of the unique index that an error names, and the values where the error tells them whole.
// Clients take it apart.
func (c *conn) keyDetail(e *sqlstate.Error, msg string) string {
	if c.schema == nil {
		return ""
	}
	var cols, values []string
	for _, t := range c.schema.Tables {
		for _, ix := range t.Indexes {
			if t.Name == e.Table && ix.Name == e.Constraint {
				for _, n := range ix.Columns {
					if n > 0 {
						cols = append(cols, t.Columns[n-1].Name)
					}
				}
			}
		}
	}
	if len(cols) == 0 {
		return ""
	}
	if m := violated.FindStringSubmatch(msg); m != nil {
		v, err := parse.Value(m[1])
		list := []value.Value{v}
		if len(cols) > 1 && v.Kind() == value.KindArray {
			list = v.Elems()
		}
		for _, v := range list {
			if err == nil && len(list) == len(cols) {
				values = append(values, string(pgtype.AppendText(nil, pgtype.TypeOf(v), v, &c.style)))
			}
		}
	}
	if len(values) == 0 {
		return "Key (" + strings.Join(cols, ", ") + ") already exists."
	}
	return "Key (" + strings.Join(cols, ", ") + ")=(" + strings.Join(values, ", ") + ") already exists."
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
		{regexp.MustCompile("(?s)^Database index `([^`]*)` already contains (?:.*, with record `([^`:]*):)?"),
			func(e *sqlstate.Error, m []string) {
				e.Code, e.Constraint, e.Table = sqlstate.UniqueViolation, m[1], m[2]
			}},
		{regexp.MustCompile("(?s)^Database record `(([^:`]*):.*)`"), func(e *sqlstate.Error, m []string) {
			e.Code, e.Table, e.Constraint = sqlstate.UniqueViolation, m[2], m[2]+"_pkey"
			e.Detail = "Key (id)=(" + m[1] + ") already exists."
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
