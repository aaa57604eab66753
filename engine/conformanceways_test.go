package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/daemon/ws"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/kv/fault"
	"github.com/nacredb/nacre/engine/kv/mem"
)

// door is a place to run texts of statements in.
type door interface {
	// fresh empties the place, which is empty at first.
	fresh() error
	// as runs a text as somebody: "" is the owner, others are named as in Vector.Auth.
	as(ctx context.Context, who, text string) ([]engine.Result, error)
	// wire reports whether answers come over the wire, which carries no closures and regular expressions.
	wire() bool
}

// conformanceWays are the ways to run the recorded vectors.
var conformanceWays = []struct {
	name string
	open func(t *testing.T) door
}{
	{"memory", func(t *testing.T) door { return &renewed{t: t, e: openQuiet(t)} }},
	{"bolt", func(t *testing.T) door { return &kept{e: openBolt(t)} }},
	{"memory over the wire", func(t *testing.T) door { return serve(t, openQuiet(t)) }},
	{"bolt over the wire", func(t *testing.T) door { return serve(t, openBolt(t)) }},
}

// openQuiet opens an engine in memory. For tests its store spoils what it handed out when the snapshot is released: what is used
// for longer shows in the answers, as with a store in a file it would only now and then.
func openQuiet(t testing.TB) *engine.Engine {
	var store kv.Store = mem.New()
	if _, ok := t.(*testing.T); ok {
		store = fault.NewSpoiling(store)
	}
	return openStore(t, store)
}

// openBolt is like openQuiet, on a store in a file that is not synced.
func openBolt(t testing.TB) *engine.Engine {
	store, err := bolt.Open(bolt.Options{Path: filepath.Join(t.TempDir(), "data"), Sync: kv.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	return openStore(t, store)
}

// openStore opens an engine on a store, without a default namespace and database.
func openStore(t testing.TB, store kv.Store) *engine.Engine {
	e, err := engine.OpenOn(context.Background(), store, engine.Options{
		NoDefaults: true, Capabilities: openCapabilities(), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// openCapabilities are the default ones and buckets.
func openCapabilities() *auth.Capabilities {
	caps := auth.DefaultCapabilities()
	caps.Experimental.Allow = auth.NewSet("files")
	return caps
}

// renewed is a door to an engine in memory, and to another one after fresh.
type renewed struct {
	t *testing.T
	e *engine.Engine
}

func (d *renewed) fresh() error {
	err := d.e.Close(context.Background())
	d.e = openQuiet(d.t)
	return err
}

func (d *renewed) as(ctx context.Context, who, text string) ([]engine.Result, error) {
	return executeAs(ctx, d.e, who, text)
}

func (d *renewed) wire() bool { return false }

// kept is a door to one engine, in which fresh removes the namespace.
type kept struct{ e *engine.Engine }

func (d *kept) fresh() error { return dropPlace(d.e) }

func (d *kept) as(ctx context.Context, who, text string) ([]engine.Result, error) {
	return executeAs(ctx, d.e, who, text)
}

func (d *kept) wire() bool { return false }

// executeAs runs text in a new session.
func executeAs(ctx context.Context, e *engine.Engine, who, text string) ([]engine.Result, error) {
	s, err := sessionOf(e, who)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Execute(ctx, text, nil)
}

// dropPlace removes all that texts before have made.
func dropPlace(e *engine.Engine) error {
	res, err := e.RootSession().Execute(context.Background(), "REMOVE NAMESPACE IF EXISTS test", nil)
	if err == nil && res[0].Err != nil {
		err = res[0].Err
	}
	return err
}

// served is a door to an engine by clients over a WebSocket, one for each identity.
type served struct {
	e       *engine.Engine
	url     string
	who     atomic.Pointer[string] // the identity of the next connection
	clients map[string]*client.Client
}

// serve starts a server of WebSockets for e on loopback.
func serve(t *testing.T, e *engine.Engine) *served {
	log := slog.New(slog.DiscardHandler)
	sockets := ws.NewServer(&rpc.Server{Engine: e, Log: log}, ws.Limits{}, log)
	d := &served{e: e, clients: map[string]*client.Client{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := sessionOf(e, *d.who.Load())
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		if !sockets.Reserve() {
			http.Error(w, "too many connections", http.StatusServiceUnavailable)
			return
		}
		sockets.Serve(w, r, s, "127.0.0.1")
	}))
	t.Cleanup(func() {
		if err := d.hangUp(); err != nil {
			t.Error(err)
		}
		sockets.Shutdown(context.Background())
		srv.Close()
	})
	d.url = "ws" + strings.TrimPrefix(srv.URL, "http")
	return d
}

func (d *served) fresh() error { return errors.Join(d.hangUp(), dropPlace(d.e)) }

// hangUp closes all clients.
func (d *served) hangUp() error {
	var errs []error
	for _, c := range d.clients {
		errs = append(errs, c.Close())
	}
	clear(d.clients)
	return errors.Join(errs...)
}

func (d *served) as(ctx context.Context, who, text string) ([]engine.Result, error) {
	c := d.clients[who]
	if c == nil {
		d.who.Store(&who)
		var err error
		if c, err = client.Open(ctx, client.Options{Endpoint: d.url}); err != nil {
			return nil, err
		}
		d.clients[who] = c
	}
	res, err := c.Query(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Result, len(res))
	for i, r := range res {
		out[i] = engine.Result{Value: r.Value, Err: r.Err}
	}
	return out, nil
}

func (d *served) wire() bool { return true }

// owner opens a root session in namespace and database test.
func owner(t testing.TB, e *engine.Engine) *engine.Session {
	s := e.RootSession()
	place := "test"
	if err := s.Use(context.Background(), &place, &place); err != nil {
		t.Fatal(err)
	}
	return s
}

// sessionOf is a session of somebody in namespace and database test: "" is the owner.
func sessionOf(e *engine.Engine, who string) (*engine.Session, error) {
	if who != "" {
		return signIn(e, who)
	}
	s, place := e.RootSession(), "test"
	return s, s.Use(context.Background(), &place, &place)
}

// signIn makes the session of a vector's auth field.
func signIn(e *engine.Engine, who string) (*engine.Session, error) {
	p := auth.Principal{Level: auth.DatabaseUser, NS: "test", DB: "test", Name: who}
	switch who {
	case "db-viewer", "viewer":
		p.Roles = auth.Viewer
	case "db-editor":
		p.Roles = auth.Editor
	case "db-owner":
		p.Roles = auth.Owner
	default:
		parts := strings.SplitN(who, ":", 3)
		if len(parts) != 3 || parts[0] != "record" {
			return nil, fmt.Errorf("unknown identity %q", who)
		}
		s := e.RootSession()
		res, err := s.Execute(context.Background(), "RETURN "+parts[2], nil)
		if err != nil {
			return nil, err
		}
		p = auth.Principal{Level: auth.RecordUser, NS: "test", DB: "test", Access: parts[1], Record: res[0].Value}
	}
	return e.SessionAs(p, "test", "test"), nil
}

func texts(res []engine.Result) string {
	var out []string
	for _, r := range res {
		if r.Err != nil {
			out = append(out, "ERR "+r.Err.Msg)
		} else {
			out = append(out, r.Value.Text())
		}
	}
	return strings.Join(out, " ;; ")
}
