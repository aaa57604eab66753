// Package store holds the schema of the memory service and every query that it runs. It speaks to the database by the
// public client only. Text of callers reaches a query as a parameter, never as a part of its text.
//
// One Store has a control plane (namespace memsvc) and any number of Contexts, each in a namespace and database of its
// own that it enters as the user of that database.
package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/memsvc/problem"
)

// Login says which database is entered, and as whom. Without a user it is the account of the service.
type Login struct{ Namespace, Database, User, Pass string }

// Connect opens a session with the database.
type Connect func(ctx context.Context, who Login) (*client.Client, error)

// Remote connects to a server.
func Remote(endpoint, user, pass string, maxMessage int64) Connect {
	return func(ctx context.Context, who Login) (*client.Client, error) {
		opt := client.Options{Endpoint: endpoint, User: user, Pass: pass, MaxMessage: maxMessage,
			Namespace: who.Namespace, Database: who.Database, Level: "root"}
		if who.User != "" {
			opt.User, opt.Pass, opt.Level = who.User, who.Pass, "database"
		}
		return client.Open(ctx, opt)
	}
}

// Transports hands out the transports of a store in this process.
type Transports interface {
	Owner() client.Transport
	Guest() client.Transport
}

// Embedded connects to a store in this process. Sessions of Contexts sign in as over a socket.
func Embedded(t Transports) Connect {
	return func(ctx context.Context, who Login) (*client.Client, error) {
		opt := client.Options{Transport: t.Owner(), Namespace: who.Namespace, Database: who.Database}
		if who.User != "" {
			opt.Transport, opt.User, opt.Pass, opt.Level = t.Guest(), who.User, who.Pass, "database"
		}
		return client.Open(ctx, opt)
	}
}

// conn is one session that is opened when it is used, and again after it broke.
type conn struct {
	connect Connect
	who     Login
	calls   atomic.Int64 // that are under way

	mu     sync.Mutex // guards c; held while connecting, so that one caller connects
	c      *client.Client
	closed bool
}

func (c *conn) client(ctx context.Context) (*client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, problem.Unavailable(errors.New("the service stops"))
	}
	if c.c == nil {
		cl, err := c.connect(ctx, c.who)
		if err != nil {
			return nil, problem.Unavailable(err)
		}
		c.c = cl
	}
	return c.c, nil
}

// drop forgets a broken client.
func (c *conn) drop(broken *client.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == broken {
		c.c = nil
		_ = broken.Close() // it is broken already
	}
}

func (c *conn) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.c == nil {
		return nil
	}
	err := c.c.Close()
	c.c = nil
	return err
}

// Var is one parameter of a query.
type Var struct {
	Name  string
	Value any
}

func varsOf(vars []Var) *value.Object {
	fields := make([]value.Field, len(vars))
	for i, v := range vars {
		fields[i] = value.Field{Name: v.Name, Value: encode(reflect.ValueOf(v.Value))}
	}
	return value.NewObject(fields...)
}

// query runs a text and gives the answer of its last statement that has one. The first failed statement is the error.
func (c *conn) query(ctx context.Context, text string, vars ...Var) (value.Value, error) {
	c.calls.Add(1)
	defer c.calls.Add(-1)
	cl, err := c.client(ctx)
	if err != nil {
		return value.None, err
	}
	results, err := cl.Query(ctx, text, varsOf(vars))
	if errors.Is(err, client.ErrUnreachable) && strings.HasPrefix(text, "SELECT") {
		// The server may have restarted since the last call. A read is asked again over a new session; a write is not,
		// for it may have happened.
		c.drop(cl)
		if cl, err = c.client(ctx); err != nil {
			return value.None, err
		}
		results, err = cl.Query(ctx, text, varsOf(vars))
	}
	if errors.Is(err, client.ErrUnreachable) {
		c.drop(cl)
		return value.None, problem.Unavailable(err)
	}
	if err != nil {
		return value.None, fmt.Errorf("query: %w", err)
	}
	var out value.Value
	var failed *errs.Error
	for _, r := range results {
		switch {
		case r.Err != nil && (failed == nil || notExecuted(failed)):
			failed = r.Err
		case r.Err == nil:
			out = r.Value
		}
	}
	if failed != nil {
		return value.None, failed
	}
	return out, nil
}

// notExecuted reports a statement that failed only because another of its transaction did.
func notExecuted(e *errs.Error) bool {
	return e.Kind == errs.KindQuery && (e.Detail == nil || e.Detail.Kind != "TransactionConflict")
}

// retryable reports an error of a transaction that did not happen and may be tried again.
func retryable(err error) bool {
	var e *errs.Error
	if !errors.As(err, &e) {
		return false
	}
	return (e.Kind == errs.KindThrown && e.Msg == errs.Thrown(revMoved).Msg) ||
		(e.Detail != nil && e.Detail.Kind == "TransactionConflict")
}

// exists reports an error about a row that is there already.
func exists(err error) bool {
	var e *errs.Error
	return errors.As(err, &e) && e.Kind == errs.KindAlreadyExists
}

// rows runs a query whose last answer is a list of records of T.
func rows[T any](ctx context.Context, c *conn, text string, vars ...Var) ([]T, error) {
	v, err := c.query(ctx, text, vars...)
	if err != nil {
		return nil, err
	}
	if v.IsNullish() {
		return nil, nil
	}
	elems := []value.Value{v}
	if v.Kind() == value.KindArray {
		elems = v.Elems()
	}
	out := make([]T, 0, len(elems))
	for _, e := range elems {
		if e.IsNullish() {
			continue
		}
		var t T
		if err := decode(e, reflect.ValueOf(&t).Elem()); err != nil {
			return nil, fmt.Errorf("read a row: %w", err)
		}
		out = append(out, t)
	}
	return out, nil
}

// one is the first of rows, or nil.
func one[T any](ctx context.Context, c *conn, text string, vars ...Var) (*T, error) {
	all, err := rows[T](ctx, c, text, vars...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}
