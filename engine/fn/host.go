package fn

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/value"
)

// Host is the interface of the evaluator that functions may use. The further interfaces of this file are optional:
// a function that needs one asks the Host for it and answers as it does outside a query when the Host has none.
type Host interface {
	// Context is cancelled with the statement.
	Context() context.Context
	// Invoke calls a closure value. It does not keep args: the caller may use the slice again.
	Invoke(closure value.Value, args ...value.Value) (value.Value, error)
	// Fetch reads a record as the session may see it; NONE when missing or hidden.
	Fetch(id *value.RecordID) (value.Value, error)
	// Param is a session-level parameter such as "session", "auth", "token", "access".
	Param(name string) value.Value
	// Reserve refuses n bytes of values that a call is about to hold at once, if that is too much.
	Reserve(n int) error
	// Now is the clock of the statement.
	Now() time.Time
}

// DatabaseHost answers questions about what is stored and defined.
type DatabaseHost interface {
	// TableExists reports whether a table is defined.
	TableExists(name string) (bool, error)
	// RecordExists reports whether a record is stored (of a range of keys: one of them). An undefined table is an
	// error.
	RecordExists(id *value.RecordID) (bool, error)
	// IsEdge reports whether a record is stored as a relation.
	IsEdge(id *value.RecordID) (bool, error)
}

// SequenceHost counts on defined sequences.
type SequenceHost interface {
	// NextVal is the next number of a sequence. An undefined sequence is an error.
	NextVal(sequence string) (int64, error)
}

// SearchHost answers what the operators of the running query found for the current row. args are those of the function,
// as they were given; the host checks them.
type SearchHost interface {
	SearchScore(args []value.Value) (value.Value, error)
	SearchHighlight(args []value.Value) (value.Value, error)
	SearchOffsets(args []value.Value) (value.Value, error)
	KNNDistance(args []value.Value) (value.Value, error)
}

// AnalyzerHost runs defined analyzers.
type AnalyzerHost interface {
	// Analyze is the tokens of text. An undefined analyzer is an error.
	Analyze(analyzer, text string) ([]string, error)
}

// ProjectionHost looks into the current row of a SELECT.
type ProjectionHost interface {
	// InRow reports whether there is one.
	InRow() bool
	// Field is the value of a path given as text, e.g. "a.b[0]".
	Field(path string) (value.Value, error)
}

// APIHost calls the API endpoints of the database.
type APIHost interface {
	// InvokeAPI answers {status, headers, body, request_id}; options should be an object.
	InvokeAPI(path string, options value.Value) (value.Value, error)
}

// EvalHost runs texts of the language.
type EvalHost interface {
	// EvalText runs one statement in the transaction of the caller, with bindings for its parameters. It checks whether
	// the session may.
	EvalText(text string, bindings *value.Object) (value.Value, error)
	// EvalGQL is EvalText for a program in ISO GQL.
	EvalGQL(text string, bindings *value.Object) (value.Value, error)
}

// FileHost reaches into buckets. Every method checks that the bucket exists and what the session may do there.
type FileHost interface {
	PutFile(f *value.File, data []byte, overwrite bool) error
	// GetFile is nil, false for a key that is not there.
	GetFile(f *value.File) (data []byte, found bool, err error)
	HeadFile(f *value.File) (info FileInfo, found bool, err error)
	DeleteFile(f *value.File) error
	// CopyFile also removes the source if move is set. Without overwrite it leaves a target that is there as it is.
	CopyFile(from, to *value.File, overwrite, move bool) error
	ListFiles(bucket string, opt ListFiles) ([]FileInfo, error)
}

// FileInfo describes a stored file.
type FileInfo struct {
	File    *value.File
	Size    int64
	Updated time.Time
}

// ListFiles narrows a listing: keys with a prefix, behind a key, at most Limit (negative: all). Slashes in front are
// optional.
type ListFiles struct {
	Prefix, After string
	Limit         int
}

// NetHost says which network targets the session may reach. A host without it reaches none.
type NetHost interface {
	NetFilter() NetFilter
}

// OutsideHost hears of what the end of the statement's transaction does not undo, before it is done: requests, pauses.
type OutsideHost interface {
	Outside() error
}

// outside tells the host, which may refuse it.
func (c Call) outside() error {
	if h, ok := c.Host.(OutsideHost); ok {
		return h.Outside()
	}
	return nil
}

// NetFilter is an allow list and a deny list of network targets; deny wins.
type NetFilter struct{ Allow, Deny NetTargets }

// NetTargets is everything, or named targets: host names, host:port, addresses and CIDR blocks, in lower case.
type NetTargets struct {
	All   bool
	Names map[string]bool
}

func (t NetTargets) has(name string) bool { return t.All || t.Names[name] }
