package isolation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/anomaly"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/mem"
	"github.com/nacredb/nacre/engine/value"
)

// target is a database under test, at one of its levels:
//
//	kv      transactions over the store, in this process
//	engine  statements in interactive transactions, in this process
//	text    BEGIN … COMMIT texts, in this process
//	wire    BEGIN … COMMIT texts over WebSockets, in a process of its own that can be killed
//	cluster the same to three processes over a cluster of stubs; each can be killed
type target interface {
	// connect opens what one client works with.
	connect(ctx context.Context) (conn, error)
	// kill ends the process and starts it again; it reports false where there is none.
	kill(ctx context.Context) (bool, error)
	// backup writes a backup while others work.
	backup(ctx context.Context, w io.Writer) error
	// reopen opens what was restored at path, for reading.
	reopen(ctx context.Context, path string) (target, error)
	close() error
}

// conn is one client of a target. Status tells what became of the transaction; an error is for
// what must not happen.
type conn interface {
	// appends runs the operations in one transaction and fills in what the reads returned.
	appends(ctx context.Context, ops []anomaly.Op) (anomaly.Status, error)
	// transfer moves an amount between two accounts, unless the first has too little, and leaves
	// a record called id about it.
	transfer(ctx context.Context, id string, from, to int, amount int64) (anomaly.Status, error)
	// balances reads all accounts in one transaction: with split in two steps.
	balances(ctx context.Context, split bool) ([]int64, anomaly.Status, error)
	// transfers are the ids of all transfers that happened.
	transfers(ctx context.Context) (map[string]bool, error)
	close() error
}

// errClosed is a connection that is gone: a new one must be opened.
var errClosed = errors.New("the connection is gone")

// openTarget opens a target on a fresh store in dir.
func openTarget(ctx context.Context, level, store, dir string) (target, error) {
	path := filepath.Join(dir, "store")
	switch {
	case level == "cluster":
		f, err := harness.StartFleet(ctx, 3)
		if err != nil {
			return nil, err
		}
		t := &fleetTarget{f: f}
		return t, setUp(ctx, t)
	case level == "kv" && store == "memory":
		return kvTarget{mem.New()}, nil
	case level == "kv":
		st, err := bolt.Open(bolt.Options{Path: path, CheckpointKeys: 2000, SegmentSize: 256 << 10})
		return kvTarget{st}, err
	}
	dsn := "memory"
	if store != "memory" {
		dsn = "bolt://" + path
	}
	switch level {
	case "engine", "text":
		e, err := engine.Open(ctx, dsn, engine.Options{})
		if err != nil {
			return nil, err
		}
		t := &engineTarget{e: e, interactive: level == "engine"}
		return t, setUp(ctx, t)
	case "wire":
		t := &wireTarget{dsn: dsn}
		var err error
		if t.s, err = harness.Start(ctx, dsn); err != nil {
			return nil, err
		}
		return t, setUp(ctx, t)
	}
	return nil, fmt.Errorf("no level %q: kv, engine, text, wire, cluster", level)
}

// setUp makes the namespace and database, which each connection only selects, and the tables.
func setUp(ctx context.Context, t target) error {
	c, err := t.connect(ctx)
	if err != nil {
		return err
	}
	_, _, err = c.(*sqlConn).transact(ctx,
		[]string{"DEFINE TABLE list", "DEFINE TABLE account", "DEFINE TABLE transfer"})
	return errors.Join(err, c.close())
}

// engineTarget is an engine in this process.
type engineTarget struct {
	e           *engine.Engine
	interactive bool
}

func (t *engineTarget) connect(ctx context.Context) (conn, error) {
	s := t.e.RootSession()
	ns, db := "test", "test"
	if err := s.Use(ctx, &ns, &db); err != nil {
		return nil, err
	}
	if t.interactive {
		return &sqlConn{run: interactive(s)}, nil
	}
	return &sqlConn{run: func(ctx context.Context, stmts []string) ([]client.Result, error) {
		return answersOf(s.Execute(ctx, inTransaction(stmts), value.NewObject()))
	}, framed: true}, nil
}

func (t *engineTarget) backup(ctx context.Context, w io.Writer) error {
	_, err := t.e.Backup(ctx, w, physical.BackupOptions{})
	return err
}

func (t *engineTarget) reopen(ctx context.Context, path string) (target, error) {
	return reopenEngine(ctx, path)
}

// reopenEngine checks the files of a store and opens an engine on them.
func reopenEngine(ctx context.Context, path string) (target, error) {
	rep, err := engine.Check(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	if !rep.Clean() {
		return nil, fmt.Errorf("check of what was restored: %v", rep.Findings[0])
	}
	e, err := engine.Open(ctx, "bolt://"+path, engine.Options{})
	return &engineTarget{e: e}, err
}

func (t *engineTarget) kill(context.Context) (bool, error) { return false, nil }
func (t *engineTarget) close() error                       { return t.e.Close(context.Background()) }

// answersOf turns the engine's answers into the client's.
func answersOf(in []engine.Result, err error) ([]client.Result, error) {
	out := make([]client.Result, len(in))
	for i, r := range in {
		out[i] = client.Result{Value: r.Value, Err: r.Err, Time: r.Time, Type: r.Type}
	}
	return out, err
}

// interactive runs statements one by one in a transaction of their own.
func interactive(s *engine.Session) func(context.Context, []string) ([]client.Result, error) {
	return func(ctx context.Context, stmts []string) ([]client.Result, error) {
		tx, err := s.Begin(ctx)
		if err != nil {
			return nil, err
		}
		var all []client.Result
		for _, text := range stmts {
			answers, err := answersOf(tx.Execute(ctx, text, value.NewObject()))
			if err != nil {
				return nil, errors.Join(err, tx.Cancel(ctx))
			}
			all = append(all, answers...)
			runtime.Gosched() // let others in between
			if harness.FirstError(answers) != nil {
				return all, tx.Cancel(ctx)
			}
		}
		if err := tx.Commit(ctx); err != nil {
			all = append(all, client.Result{Err: errs.As(err)})
		}
		return all, nil
	}
}

// inTransaction is one text of statements in one transaction.
func inTransaction(stmts []string) string {
	return "BEGIN; " + strings.Join(stmts, "; ") + "; COMMIT;"
}

// wireTarget is a server process.
type wireTarget struct {
	dsn string

	mu sync.Mutex // guards s
	s  *harness.Server
}

func (t *wireTarget) server() *harness.Server {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.s
}

func (t *wireTarget) connect(ctx context.Context) (conn, error) {
	for {
		cl, err := t.server().Connect(ctx, "test", "test")
		if err == nil {
			return &sqlConn{run: func(ctx context.Context, stmts []string) ([]client.Result, error) {
				answers, err := cl.Query(ctx, inTransaction(stmts), nil)
				if errors.Is(err, client.ErrUnreachable) {
					return nil, fmt.Errorf("%w: %w", errClosed, err)
				}
				return answers, err
			}, framed: true, end: cl.Close}, nil
		}
		if !errors.Is(err, client.ErrUnreachable) {
			return nil, err
		}
		select { // it is being started again
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (t *wireTarget) kill(ctx context.Context) (bool, error) {
	if err := t.server().Kill(); err != nil {
		return true, err
	}
	s, err := harness.Start(ctx, t.dsn)
	if err != nil {
		return true, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.s = s
	return true, nil
}

func (t *wireTarget) backup(ctx context.Context, w io.Writer) error {
	return backupOf(ctx, t.server().Addr, w)
}

// backupOf writes a backup of the server at an address.
func backupOf(ctx context.Context, addr string, w io.Writer) error {
	cl, err := client.Probe(client.Options{Endpoint: "http://" + addr})
	if err != nil {
		return err
	}
	body, err := cl.Backup(ctx, true)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, body)
	return errors.Join(err, body.Close())
}

func (t *wireTarget) reopen(ctx context.Context, path string) (target, error) {
	return reopenEngine(ctx, path)
}

func (t *wireTarget) close() error {
	return t.server().Stop()
}

// kvTarget is a store in this process.
type kvTarget struct{ st kv.Store }

func (t kvTarget) connect(context.Context) (conn, error) { return kvConn(t), nil }
func (t kvTarget) backup(ctx context.Context, w io.Writer) error {
	_, err := physical.Backup(ctx, t.st, w, physical.BackupOptions{})
	return err
}
func (t kvTarget) reopen(_ context.Context, path string) (target, error) {
	st, err := bolt.Open(bolt.Options{Path: path})
	return kvTarget{st}, err
}
func (t kvTarget) kill(context.Context) (bool, error) { return false, nil }
func (t kvTarget) close() error                       { return t.st.Close() }
