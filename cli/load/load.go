// Package load puts the rows of a file into a table: CSV, TSV, JSON and NDJSON.
//
// Rows are read one by one and inserted in batches, each in a transaction of its own, some of them at once. A batch
// that fails is taken apart, so that each row that cannot be inserted is told with its line and the others are kept.
package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// Row is a record to insert, and the line of the file that it begins at, from 1.
type Row struct {
	Line   int
	Record *value.Object
}

// Reader gives rows until io.EOF. A *RowError is about one row, and the next call goes on behind it; other errors are
// the end.
type Reader interface {
	Next() (Row, error)
}

// RowError is why a row cannot be read or inserted.
type RowError struct {
	Line int
	Err  error
}

// Error implements error.
func (e *RowError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives the cause.
func (e *RowError) Unwrap() error { return e.Err }

// Target says where rows go and how.
type Target struct {
	Table    string
	Batch    int // rows in a transaction, from 1
	Parallel int // batches at once, from 1
	Continue bool
	// Failed is told each row that was not inserted, in no order when Parallel is over 1; Record is nil where it could
	// not be read. Calls do not overlap. An error of it ends the load.
	Failed func(Row, error) error
	// Loaded (may be nil) is told how many rows were inserted.
	Loaded func(rows int)
}

// Result counts what a load did.
type Result struct {
	Rows     int64 // that were inserted
	Failures int64 // rows that were not
}

// batchBytes is the approximate size of a full batch: one row more would not fit into a message.
const batchBytes = 1 << 20

// errStop ends a load that does not continue after a failure.
var errStop = errors.New("a row failed")

// Load reads rows and inserts them with c. A row that fails is not an error of Load: without opt.Continue it ends the
// load, and what other batches had inserted by then stays.
func Load(ctx context.Context, c *client.Client, rows Reader, opt Target) (Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l := &loader{c: c, opt: opt, stop: stop, text: "INSERT INTO " + value.QuoteIdent(opt.Table) + " $rows RETURN NONE"}
	batches := make(chan []Row)
	var workers sync.WaitGroup
	for range max(1, opt.Parallel) {
		workers.Go(func() {
			for b := range batches {
				if ctx.Err() == nil {
					l.insert(ctx, b)
				}
			}
		})
	}
	bad, err := l.read(ctx, rows, batches)
	close(batches)
	workers.Wait()
	if bad != nil && ctx.Err() == nil {
		l.failed(Row{Line: bad.Line}, bad.Err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errStop) {
		err = cause
	}
	return Result{l.rows.Load(), l.failures.Load()}, err
}

type loader struct {
	c    *client.Client
	opt  Target
	text string
	stop context.CancelCauseFunc

	rows, failures atomic.Int64
	telling        sync.Mutex // held while Failed runs
}

// read gathers rows into batches. bad is a row that ends the load: those before it are inserted first.
func (l *loader) read(ctx context.Context, rows Reader, out chan<- []Row) (bad *RowError, err error) {
	var batch []Row
	size := 0
	send := func() bool {
		if len(batch) == 0 {
			return true
		}
		select {
		case out <- batch:
			batch, size = nil, 0
			return true
		case <-ctx.Done():
			return false
		}
	}
	for ctx.Err() == nil {
		row, err := rows.Next()
		switch {
		case errors.Is(err, io.EOF):
			send()
			return nil, nil
		case errors.As(err, &bad):
			if !l.opt.Continue {
				send()
				return bad, nil
			}
			l.failed(Row{Line: bad.Line}, bad.Err)
			continue
		case err != nil:
			send()
			return nil, err
		}
		batch = append(batch, row)
		size += value.Weight(value.ObjectOf(row.Record))
		if (len(batch) >= l.opt.Batch || size >= batchBytes) && !send() {
			break
		}
	}
	return nil, nil
}

// insert inserts a batch, or what of it can be.
func (l *loader) insert(ctx context.Context, batch []Row) {
	records := make([]value.Value, len(batch))
	for i, r := range batch {
		records[i] = value.ObjectOf(r.Record)
	}
	rows := value.Field{Name: "rows", Value: value.ArrayOf(records)}
	results, err := l.c.Run(ctx, client.Text{Text: l.text, Vars: value.NewObject(rows)})
	if err == nil {
		err = failure(results)
	}
	var refused *errs.Error
	switch {
	case err == nil:
		l.rows.Add(int64(len(batch)))
		if l.opt.Loaded != nil {
			l.opt.Loaded(len(batch))
		}
	case !errors.As(err, &refused):
		l.stop(err) // the connection, or ctx
	case len(batch) == 1:
		l.failed(batch[0], err)
	default:
		// Halves, in order: few rows fail, as a rule.
		for _, half := range [...][]Row{batch[:len(batch)/2], batch[len(batch)/2:]} {
			if ctx.Err() == nil {
				l.insert(ctx, half)
			}
		}
	}
}

func failure(results []client.Result) error {
	for _, r := range results {
		if r.Err != nil {
			return r.Err
		}
	}
	return nil
}

// failed tells of a row that was not inserted.
func (l *loader) failed(row Row, err error) {
	l.failures.Add(1)
	l.telling.Lock()
	defer l.telling.Unlock()
	if err := l.opt.Failed(row, err); err != nil {
		l.stop(err)
	}
	if !l.opt.Continue {
		l.stop(errStop)
	}
}

// Shape says how the fields of a row become a record.
type Shape struct {
	Table string
	ID    string            // the field whose value is the key of the record; "": id
	Types map[string]string // names of types by field, see Types
}

// record finishes a row: types that were named, and the key.
func (s *Shape) record(o *value.Object) (*value.Object, error) {
	for name, typ := range s.Types {
		v, ok := o.Get(name)
		if !ok || v.Kind() != value.KindString {
			continue
		}
		x, err := read(v.Str(), typ)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		o = o.With(name, x)
	}
	id := s.ID
	if id == "" {
		id = "id"
	}
	key, ok := o.Get(id)
	if !ok {
		if s.ID != "" {
			return nil, fmt.Errorf("it has no field %s, which --id names", s.ID)
		}
		return o, nil
	}
	// "person:ada" in the field of the key is the record of that name, as exports in JSON write it.
	if key.Kind() == value.KindString {
		if r, err := parse.RecordID(key.Str()); err == nil && r.Record().Table == s.Table {
			key = r.Record().Key
		}
	}
	return o.Without(id).With("id", key), nil
}
