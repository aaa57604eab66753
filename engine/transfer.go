package engine

import (
	"context"
	"io"

	"github.com/nacredb/nacre/engine/errs"
)

// ImportResult counts what an import did. Failed are the first failures, at most 100.
type ImportResult struct {
	Statements, Records, Failures int64
	Failed                        []Result
}

// Import applies a stream of statements as it arrives, each committed as parsed. progress (may be nil) is called now and
// then with the bytes read so far.
func (s *Session) Import(ctx context.Context, r io.Reader, progress func(bytes, statements int64)) (*ImportResult, error) {
	return nil, errs.Internal("Import is not available")
}

// ExportOptions says what an export holds; DefaultExport has everything but versions.
type ExportOptions struct {
	Users, Accesses, Params, Functions, Analyzers, Sequences, Versions, Records bool
	AllTables                                                                   bool
	Tables                                                                      []string
}

// Export writes the namespace and database of the session as statements, with bounded memory and from one snapshot.
func (s *Session) Export(ctx context.Context, w io.Writer, opt ExportOptions) error {
	return errs.Internal("Export is not available")
}
