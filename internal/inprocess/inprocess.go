// Package inprocess opens a store in this process and hands out client transports to it: the same method table as over
// a socket, and the same sign-in for everybody who is not the owner.
package inprocess

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// Store is an open engine. Close it after its transports.
type Store struct {
	engine *engine.Engine
	rpc    *rpc.Server
}

// Open opens the store that dsn names: memory, or a path.
func Open(ctx context.Context, dsn string, log *slog.Logger) (*Store, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	e, err := engine.Open(ctx, dsn, engine.Options{Log: log, NoDefaults: true})
	if err != nil {
		return nil, err
	}
	return &Store{engine: e, rpc: &rpc.Server{Engine: e, Log: log}}, nil
}

// Owner is a transport with the rights of the owner of the store.
func (s *Store) Owner() client.Transport { return s.transport(s.engine.RootSession()) }

// Guest is a transport without rights: its client signs in.
func (s *Store) Guest() client.Transport { return s.transport(s.engine.Session()) }

func (s *Store) transport(session *engine.Session) client.Transport {
	return &transport{s.rpc.NewConn(session, rpc.Options{Persistent: true})}
}

// Close closes the store.
func (s *Store) Close() error { return s.engine.Close(context.Background()) }

type transport struct{ conn *rpc.Conn }

// Call implements client.Transport.
func (t *transport) Call(ctx context.Context, req client.Request) (value.Value, error) {
	resp := t.conn.Call(ctx, &wire.Request{Method: req.Method, Params: req.Params, Txn: req.Txn, Format: wire.CBOR})
	v, err := client.DecodeAnswer(resp.Append(nil, wire.CBOR))
	if err != nil && ctx.Err() != nil {
		return v, errors.Join(context.Cause(ctx), err)
	}
	return v, err
}

// Close implements client.Transport.
func (t *transport) Close() error { return t.conn.Close(context.Background()) }
