package engine

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/dump"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/parse"
)

// ImportResult counts what an import did. Failed are the first failures, at most 100.
type ImportResult struct {
	Statements, Failures int64
	Failed               []Result
}

// maxImportFailed bounds ImportResult.Failed.
const maxImportFailed = 100

// importAhead is how many parsed statements may wait for their turn.
const importAhead = 4

// Import applies a stream of statements as it arrives. Statements may share a commit, but one that fails leaves nothing
// behind and does not touch the others. progress (may be nil) is called after each statement with the bytes read and the
// statements run so far. A statement that fails is counted and the import goes on; one that does not parse, or leads to a
// place outside the level of the session, is counted and ends it. The error is for what was not a matter of the
// statements: the session may not import, the stream broke off, or ctx ended. What was applied stays.
//
// Imports are for system users with the role EDITOR or OWNER: what others write may be dropped without a word.
func (s *Session) Import(ctx context.Context, r io.Reader, progress func(bytes, statements int64)) (*ImportResult, error) {
	st := s.snapshot()
	if err := s.mayImport(&st); err != nil {
		return nil, err
	}
	in := &countingReader{r: r}
	ctx, stop := context.WithCancel(ctx)
	parsed := make(chan ast.Statement, importAhead)
	var broken error
	go func() {
		defer close(parsed)
		broken = s.e.parseAhead(ctx, in, parsed)
	}()
	after := st
	res := &ImportResult{}
	im := &importer{e: s.e, sess: &after, q: s.e.queries.NewQuery(&after, nil), res: res}
	defer im.q.Close()
	for run := int64(1); ; run++ {
		stmt, ok := <-parsed
		if !ok {
			break
		}
		im.statement(ctx, stmt)
		if progress != nil {
			progress(in.n.Load(), run)
		}
		if ctx.Err() != nil || im.lost != nil {
			break
		}
	}
	cause := context.Cause(ctx)
	im.finish(context.WithoutCancel(ctx))
	stop()
	for range parsed { // lets the parsing goroutine end
	}
	s.moved(&st, &after)
	var wrong *errs.Error
	switch {
	case cause != nil:
		return res, cause
	case errors.As(im.lost, &wrong), errors.As(broken, &wrong):
		res.count([]Result{{Err: wrong}})
		return res, nil
	}
	return res, broken
}

// mayImport refuses an import before anything is done.
func (s *Session) mayImport(st *exec.Session) error {
	if err := s.mayQuery(st); err != nil {
		return err
	}
	if !st.Auth.Principal.MayImport() {
		return auth.Denied()
	}
	return st.Auth.MayUse()
}

// parseAhead sends the statements of a stream to out. It is nil at the end of the stream.
func (e *Engine) parseAhead(ctx context.Context, r io.Reader, out chan<- ast.Statement) error {
	opt := parse.StreamOptions{Options: e.parsing}
	opt.Poll = ctx.Err
	stream := parse.Statements(r, opt)
	for {
		stmt, _, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case out <- stmt:
		case <-ctx.Done():
			return nil
		}
	}
}

// count adds the answers of finished statements.
func (res *ImportResult) count(answers []Result) {
	for _, a := range answers {
		res.Statements++
		if a.Err == nil {
			continue
		}
		res.Failures++
		if len(res.Failed) < maxImportFailed {
			res.Failed = append(res.Failed, a)
		}
	}
}

// ExportOptions says what an export holds. Versions are all versions of the records, on a store that keeps them.
type ExportOptions struct {
	Users, Accesses, Params, Functions, Analyzers, Sequences bool
	APIs, Buckets, Configs, Versions, Records                bool
	AllTables                                                bool
	Tables                                                   []string
}

// DefaultExport is everything but old versions.
func DefaultExport() ExportOptions {
	return ExportOptions{Users: true, Accesses: true, Params: true, Functions: true, Analyzers: true, Sequences: true,
		APIs: true, Buckets: true, Configs: true, Records: true, AllTables: true}
}

// Export writes the namespace and database of the session as statements, with bounded memory and from one snapshot. It
// takes a system user who may read everything; users and access methods, whose secrets stand in the text, only an OWNER
// gets.
func (s *Session) Export(ctx context.Context, w io.Writer, opt ExportOptions) error {
	st := s.snapshot()
	if err := s.mayCall(&st); err != nil {
		return err
	}
	if !st.Auth.CanRead() {
		return auth.Denied()
	}
	owner := st.Auth.Allow(auth.Edit, ast.BaseDatabase, auth.ResourceActor) == nil
	return s.e.queries.Read(ctx, &st, func(run *exec.Run) error {
		gate, err := run.Gate()
		if err != nil {
			return err
		}
		return dump.Text(ctx, w, run.Cat, gate, dump.Options{
			Users: opt.Users && owner, Accesses: opt.Accesses && owner, Params: opt.Params, Functions: opt.Functions,
			Analyzers: opt.Analyzers, Sequences: opt.Sequences, APIs: opt.APIs, Buckets: opt.Buckets, Configs: opt.Configs, Versions: opt.Versions && s.e.versioned(), Records: opt.Records, AllTables: opt.AllTables, Tables: opt.Tables,
		})
	})
}

// countingReader counts what is read through it.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

// Read implements io.Reader.
func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}
