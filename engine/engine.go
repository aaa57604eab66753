// Package engine is the database as a library: the only door into everything under engine/.
//
// An Engine is one open store. Work happens in Sessions, which carry an identity, a namespace and
// database, and variables. Both are safe for concurrent use unless a method says otherwise.
package engine

import (
	"context"
	"io"
	"time"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Options tunes Open. The zero value is a serious default.
type Options struct {
	// Strict makes new databases refuse implicit tables.
	Strict bool
	// Guests lets sessions without an identity run statements (with guest rights).
	Guests bool
	// Unauthenticated gives every session the rights of the root owner.
	Unauthenticated bool
	// DefaultNamespace and DefaultDatabase are created on Open unless NoDefaults ("main", "main").
	DefaultNamespace, DefaultDatabase string
	NoDefaults                        bool
	QueryTimeout                      time.Duration // 0: none
	TransactionTimeout                time.Duration // 0: none
	// Experimental capabilities that are switched on ("files", …).
	Experimental []string
	// Capabilities are what anybody may do. nil: auth.DefaultCapabilities with Guests and Experimental of these Options;
	// otherwise those two fields are not looked at.
	Capabilities *auth.Capabilities
}

// Engine is an open database.
type Engine struct{ opt Options }

// Result is the answer to one statement.
type Result struct {
	Value value.Value
	Err   *errs.Error // nil when the statement succeeded
	Time  time.Duration
	Type  string // "", "live" or "kill"
}

// Session is one user's view of an Engine: identity, place and variables.
type Session struct{ e *Engine }

// Open opens (or creates) the store named by dsn: "memory", "bolt://path", a bare path. The caller closes it.
func Open(ctx context.Context, dsn string, opt Options) (*Engine, error) {
	return &Engine{opt: opt}, nil
}

// Close waits for running statements, flushes and closes the store.
func (e *Engine) Close(ctx context.Context) error { return nil }

// Ping reads one key in a read-only transaction.
func (e *Engine) Ping(ctx context.Context) error { return nil }

// CreateRootUser makes the root user of --user and --pass with role OWNER unless a root user exists already.
func (e *Engine) CreateRootUser(ctx context.Context, name, pass string) error { return nil }

// Session opens a session without identity, namespace or database (with Unauthenticated: root owner).
func (e *Engine) Session() *Session { return &Session{e: e} }

// RootSession opens a session with the rights of the root owner: for the process itself, never for a client.
func (e *Engine) RootSession() *Session { return &Session{e: e} }

// Place is the session's namespace and database; "" for none.
func (s *Session) Place() (ns, db string) { return "", "" }

// Use selects a namespace and database: nil leaves a part as it is, "" unsets it. It creates what is missing when the
// session may, and refuses places outside the session's level.
func (s *Session) Use(ctx context.Context, ns, db *string) error { return nil }

// Signin checks credentials (NS, DB, AC, user, pass and variables, see the RPC method) and gives the session that
// identity. The result is the token text, or an object {access, refresh}.
func (s *Session) Signin(ctx context.Context, params *value.Object) (value.Value, error) {
	return value.None, nil
}

// Signup signs up a record user.
func (s *Session) Signup(ctx context.Context, params *value.Object) (value.Value, error) {
	return value.None, nil
}

// SigninBasic checks a user name and password at the level named by ns and db ("" for none).
func (s *Session) SigninBasic(ctx context.Context, user, pass, ns, db string) error { return nil }

// Authenticate gives the session the identity in a token.
func (s *Session) Authenticate(ctx context.Context, token string) error { return nil }

// Invalidate drops the identity; Reset also place, variables and live queries.
func (s *Session) Invalidate() {}

// Reset drops identity, place, variables, transactions and live queries.
func (s *Session) Reset() {}

// Set defines a session variable; NONE removes it.
func (s *Session) Set(name string, v value.Value) error { return nil }

// Info is the record of the authenticated record user, or NONE.
func (s *Session) Info(ctx context.Context) (value.Value, error) { return value.None, nil }

// Execute runs a text of statements, one Result each. The error is for the text as a whole: it does not parse, or the
// session may not run queries.
func (s *Session) Execute(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return nil, nil
}

// Call runs one function (built-in, fn::, …) with args.
func (s *Session) Call(ctx context.Context, name string, args []value.Value) (value.Value, error) {
	return value.None, nil
}

// Tx is an interactive transaction of a session.
type Tx struct{}

// Begin opens an interactive transaction; ID names it.
func (s *Session) Begin(ctx context.Context) (*Tx, error) { return nil, nil }

// ID is a version 7 UUID.
func (t *Tx) ID() value.UUID { return value.UUID{} }

// Execute runs statements inside t.
func (t *Tx) Execute(ctx context.Context, text string, vars *value.Object) ([]Result, error) {
	return nil, nil
}

// Commit makes t's changes visible; Cancel drops them.
func (t *Tx) Commit(ctx context.Context) error { return nil }

// Cancel drops t's changes.
func (t *Tx) Cancel(ctx context.Context) error { return nil }

// ImportResult counts what an import did. Failed are the first failures, at most 100.
type ImportResult struct {
	Statements, Records, Failures int64
	Failed                        []Result
}

// Import applies a stream of statements as it arrives, each committed as parsed. progress (may be nil) is called now and
// then with the bytes read so far.
func (s *Session) Import(ctx context.Context, r io.Reader, progress func(bytes, statements int64)) (*ImportResult, error) {
	return nil, nil
}

// ExportOptions says what an export holds; DefaultExport has everything but versions.
type ExportOptions struct {
	Users, Accesses, Params, Functions, Analyzers, Sequences, Versions, Records bool
	AllTables                                                                   bool
	Tables                                                                      []string
}

// Export writes the namespace and database of the session as statements, with bounded memory and from one snapshot.
func (s *Session) Export(ctx context.Context, w io.Writer, opt ExportOptions) error { return nil }
