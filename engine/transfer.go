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
	"github.com/nacredb/nacre/engine/query"
)

// ImportResult counts what an import did. Records are the changes of records that were committed. Failed are the first
// failures, at most 100, and Lines where their statements begin in the text, from 1.
type ImportResult struct {
	Statements, Failures, Records int64
	Failed                        []Result
	Lines                         []int
}

// ImportOptions say how an import goes. Stop ends it with the first statement that fails: those before it stay applied.
// Progress (may be nil) is called after each statement with the bytes read and the statements run so far.
type ImportOptions struct {
	Stop     bool
	Progress func(bytes, statements int64)
}

// maxImportFailed bounds ImportResult.Failed.
const maxImportFailed = 100

// importAhead is how many parsed statements may wait for their turn.
const importAhead = 4

// Import applies a stream of statements as it arrives. Statements may share a commit, but one that fails leaves nothing
// behind and does not touch the others. A statement that fails is counted and the import goes on, unless opt.Stop; one
// that does not parse, or leads to a place outside the level of the session, is counted and ends it. The error is for
// what was not a matter of the statements: the session may not import, the stream broke off, or ctx ended. What was
// applied stays.
//
// Imports are for system users with the role EDITOR or OWNER: what others write may be dropped without a word.
func (s *Session) Import(ctx context.Context, r io.Reader, opt ImportOptions) (*ImportResult, error) {
	st, err := s.mayImport(s.snapshot())
	if err != nil {
		return nil, err
	}
	ctx, q := s.e.queries.NewQuery(ctx, st, nil, query.Source{Kind: "import"})
	defer q.Close()
	in := &countingReader{r: r}
	ctx, stop := context.WithCancel(ctx)
	parsed := make(chan lined, importAhead)
	var broken error
	var at int
	go func() {
		defer close(parsed)
		at, broken = s.e.parseAhead(ctx, in, parsed)
	}()
	res := &ImportResult{}
	im := &importer{e: s.e, stop: opt.Stop, q: q, res: res}
	for run := int64(1); ; run++ {
		next, ok := <-parsed
		if !ok {
			break
		}
		failed := im.statement(ctx, next)
		if opt.Progress != nil {
			opt.Progress(in.n.Load(), run)
		}
		if ctx.Err() != nil || im.lost != nil || failed && opt.Stop {
			break
		}
	}
	cause := context.Cause(ctx)
	im.finish(context.WithoutCancel(ctx))
	stop()
	for range parsed { // lets the parsing goroutine end
	}
	s.moved(st, q.Session())
	var wrong *errs.Error
	switch {
	case cause == exec.ErrStopped:
		return res, errs.Stopped()
	case cause != nil:
		return res, cause
	case errors.As(im.lost, &wrong):
		res.count([]Result{{Err: wrong}}, []int{im.lostAt})
		return res, nil
	case errors.As(broken, &wrong):
		res.count([]Result{{Err: wrong}}, []int{at})
		return res, nil
	}
	return res, broken
}

// mayImport refuses an import before anything is done. It gives the state with the roles of now.
func (s *Session) mayImport(st *exec.SessionState) (*exec.SessionState, error) {
	st, err := s.mayQuery(st)
	if err != nil {
		return nil, err
	}
	if !st.Auth.Principal.MayImport() {
		return nil, auth.Denied()
	}
	return st, st.Auth.MayUse()
}

// lined is a statement of a text and the line that it begins at.
type lined struct {
	stmt ast.Statement
	line int
}

// parseAhead sends the statements of a stream to out. The error is nil at the end of the stream, and line is that of
// the statement that does not parse.
func (e *Engine) parseAhead(ctx context.Context, r io.Reader, out chan<- lined) (line int, err error) {
	opt := parse.StreamOptions{Options: e.parsing}
	opt.Poll, opt.Values = ctx.Err, true
	stream := parse.Statements(r, opt)
	for {
		stmt, _, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		if err != nil {
			return stream.Line(), err
		}
		select {
		case out <- lined{stmt, stream.Line()}:
		case <-ctx.Done():
			return 0, nil
		}
	}
}

// count adds the answers of finished statements, which begin at lines. A block that failed has no answer to its COMMIT.
func (res *ImportResult) count(answers []Result, lines []int) {
	for i, a := range answers {
		res.Statements++
		if a.Err == nil {
			continue
		}
		res.Failures++
		if len(res.Failed) < maxImportFailed {
			res.Failed, res.Lines = append(res.Failed, a), append(res.Lines, lines[min(i, len(lines)-1)])
		}
	}
}

// ExportOptions says what an export holds. Versions are all versions of the records, on a store that keeps them.
type ExportOptions struct {
	Users, Accesses, Params, Functions, Analyzers, Sequences bool
	APIs, Buckets, Configs, Versions, Records                bool
	Models                                                   bool // their definitions, without their files
	AllTables                                                bool
	Tables                                                   []string
	// Part is called before the text of each table, which is a text of its own then. May be nil.
	Part func(table string) error
}

// DefaultExport is everything but old versions and models.
func DefaultExport() ExportOptions {
	return ExportOptions{Users: true, Accesses: true, Params: true, Functions: true, Analyzers: true, Sequences: true,
		APIs: true, Buckets: true, Configs: true, Records: true, AllTables: true}
}

// Export writes the namespace and database of the session as statements, with bounded memory and from one snapshot. It
// takes a system user who may read everything; users and access methods, whose secrets stand in the text, only an OWNER
// gets.
func (s *Session) Export(ctx context.Context, w io.Writer, opt ExportOptions) error {
	st, err := s.mayCall(s.snapshot())
	if err != nil {
		return err
	}
	if !st.Auth.CanRead() {
		return auth.Denied()
	}
	owner := st.Auth.Allow(auth.Edit, ast.BaseDatabase, auth.ResourceActor) == nil
	return s.e.queries.Read(ctx, st, func(run *exec.Run) error {
		gate, err := run.Gate()
		if err != nil {
			return err
		}
		return dump.Text(ctx, w, run.Cat, gate, dump.Selection{
			Users: opt.Users && owner, Accesses: opt.Accesses && owner, Params: opt.Params, Functions: opt.Functions,
			Analyzers: opt.Analyzers, Sequences: opt.Sequences, APIs: opt.APIs, Buckets: opt.Buckets,
			Configs: opt.Configs,
			Models:  opt.Models, Versions: opt.Versions &&
				s.e.versioned(), Records: opt.Records, AllTables: opt.AllTables, Tables: opt.Tables,
			Part: opt.Part,
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
