package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// embedded is the transport to an engine in this process: the same method table as over a socket.
type embedded struct {
	engine *engine.Engine
	conn   *rpc.Conn
}

// openEmbedded opens the store named by f.endpoint with the rights of its owner. A store that does not exist is only
// made with f.create: a wrong letter in a path shall not look like an empty database. With f.placed the session is at
// its place at once, whether that exists or not, and nothing is made.
func openEmbedded(ctx context.Context, f *connectFlags) (*embedded, error) {
	if err := f.exists(); err != nil {
		return nil, err
	}
	e, err := engine.Open(ctx, f.endpoint, engine.Options{Log: slog.New(slog.DiscardHandler), NoDefaults: f.placed})
	if err != nil {
		return nil, physicalError(err)
	}
	session := e.RootSession()
	if f.placed {
		session = e.SessionAs(session.Principal(), f.ns, f.db)
	}
	srv := &rpc.Server{Engine: e, Log: slog.New(slog.DiscardHandler)}
	return &embedded{engine: e, conn: srv.NewConn(session, rpc.Options{Persistent: true})}, nil
}

// exists is an error where the store of f is a folder that does not exist, and is not to be made.
func (f *connectFlags) exists() error {
	path, err := engine.StorePath(f.endpoint)
	if err != nil || f.create {
		return nil // a store without files, or an address that opening it refuses
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return exitError{exitNotFound, fmt.Errorf("there is no store at %s: check the path; %s", path, f.maker)}
	}
	return nil
}

// Call implements client.Transport.
func (t *embedded) Call(ctx context.Context, req client.Request) (value.Value, error) {
	resp := t.conn.Call(ctx, &wire.Request{Method: req.Method, Params: req.Params, Txn: req.Txn, Format: wire.CBOR})
	return client.DecodeAnswer(resp.Append(nil, wire.CBOR))
}

// Close implements client.Transport.
func (t *embedded) Close() error {
	ctx := context.Background()
	return errors.Join(t.conn.Close(ctx), t.engine.Close(ctx))
}

// Import implements client.Streamer.
func (t *embedded) Import(ctx context.Context, r io.Reader, opt client.ImportOptions) (*client.ImportResult, error) {
	res, err := t.conn.Session().Import(ctx, r, engine.ImportOptions{Stop: opt.Stop})
	if err != nil {
		return nil, err
	}
	out := &client.ImportResult{Statements: res.Statements, Failures: res.Failures, Records: res.Records}
	for i, f := range res.Failed {
		out.Failed = append(out.Failed, client.ImportFailure{Line: res.Lines[i], Err: f.Err})
	}
	return out, nil
}

// Export implements client.Streamer.
func (t *embedded) Export(ctx context.Context, w io.Writer, opt client.ExportOptions) (int64, error) {
	x := engine.ExportOptions{Users: opt.Users, Accesses: opt.Accesses, Params: opt.Params, Functions: opt.Functions,
		Analyzers: opt.Analyzers, Sequences: opt.Sequences, APIs: opt.APIs, Buckets: opt.Buckets, Configs: opt.Configs,
		Models:   opt.Models,
		Versions: opt.Versions, Records: opt.Records}
	switch tables := opt.Tables.(type) {
	case bool:
		x.AllTables = tables
	case []string:
		x.Tables = tables
	}
	n := &counter{w: w}
	err := t.conn.Session().Export(ctx, n, x)
	return n.n, err
}

// ImportModel implements client.ModelStreamer.
func (t *embedded) ImportModel(ctx context.Context, r io.Reader) error {
	_, err := t.conn.Session().ImportModel(ctx, r)
	return err
}

// ExportModel implements client.ModelStreamer.
func (t *embedded) ExportModel(ctx context.Context, name, version string, w io.Writer) error {
	return t.conn.Session().ExportModel(ctx, name, version, w)
}

// counter counts what it passes on.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
