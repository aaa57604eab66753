// Package memsvc is the agent memory service: it stores what agents hear and read, finds it again, and answers from it.
// Serve runs it over a database that it reaches by the client package: one in this process, or a server.
package memsvc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nacredb/nacre/internal/span"
	"github.com/nacredb/nacre/memsvc/api"
	"github.com/nacredb/nacre/memsvc/blob"
	"github.com/nacredb/nacre/memsvc/config"
	"github.com/nacredb/nacre/memsvc/ingest"
	"github.com/nacredb/nacre/memsvc/model"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/store"
)

// Config holds the settings of the service.
type Config struct {
	*config.Config
	// Connect opens sessions with the database; nil: those of the server at DBURL.
	Connect store.Connect
	// Log gets what happens, without content of memories; nil: nothing.
	Log *slog.Logger
	// Version is told to clients.
	Version string
	// AtStage is called when a job reaches a stage; may be nil. Tests end the process there.
	AtStage func(stage string)
	// Listening is called with the address when requests are served; may be nil.
	Listening func(addr net.Addr)
}

// drain is how long a stop waits for requests that are under way.
const drain = 20 * time.Second

// scheduleEvery is how often the scheduler looks for work that is due.
const scheduleEvery = time.Minute

// NewLog makes the log of a server.
func NewLog(w io.Writer, c *config.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // the configuration allows known levels only
	}
	opt := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

func (c *Config) fill() {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Connect == nil {
		c.Connect = store.Remote(c.DBURL, c.DBUser, c.DBPass, c.MaxMessage)
	}
}

// open opens the database. The error names the setting that says where it is.
func (c *Config) open(ctx context.Context) (*store.Store, error) {
	st, err := store.Open(ctx, c.Connect)
	if err != nil {
		return nil, fmt.Errorf("%sSURREALDB_URL: %w", config.Prefix, err)
	}
	return st, nil
}

// Serve runs the service until ctx ends; then it finishes the requests that are under way.
func Serve(ctx context.Context, c Config) (err error) {
	c.fill()
	for _, w := range c.Warnings {
		c.Log.Warn(w)
	}
	if c.Has(config.RoleWorker) && c.OCRLocal && c.OCR.URL == "" {
		if err := model.LocalOCR(); err != nil {
			return fmt.Errorf("%sOCR_LOCAL: %w", config.Prefix, err)
		}
	}
	l, err := net.Listen("tcp", c.Bind)
	if err != nil {
		return fmt.Errorf("%sBIND: %w", config.Prefix, err)
	}
	st, err := c.open(ctx)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := st.Sweep(ctx); err != nil {
		c.Log.Warn("sweep", "error", err)
	}
	behind, err := st.Migrate(ctx, false)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if len(behind) > 0 {
		c.Log.Info("brought tables up to date", "contexts", len(behind))
	}
	objects, err := blob.Open(c.ObjectStore)
	if err != nil {
		return errors.Join(fmt.Errorf("%sOBJECT_STORE: %w", config.Prefix, err), l.Close())
	}
	if c.OTLP != "" {
		to := span.Collector{URL: span.At(c.OTLP), Attributes: map[string]string{"service.name": "memsvc"}}
		spans := span.New(to, "memsvc", c.Version, c.Log)
		defer spans.Close() // after everything that ends spans
		ctx = span.With(ctx, spans)
	}
	s := api.New(api.Options{Config: c.Config, Store: st, Blob: objects, Log: c.Log, Version: c.Version})
	defer s.Close()
	s.Ingest().AtStage = c.AtStage
	var workers sync.WaitGroup
	defer workers.Wait()
	work, stop := context.WithCancel(ctx)
	defer stop()
	if c.Has(config.RoleWorker) {
		workers.Go(func() { ingest.NewWorker(s.Ingest()).Run(work) })
	}
	if c.Has(config.RoleScheduler) {
		workers.Go(func() { s.Ingest().Schedule(work, scheduleEvery) })
	}
	return serve(ctx, &c, l, s)
}

func serve(ctx context.Context, c *Config, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 5 * time.Minute,
		IdleTimeout: 2 * time.Minute,
		// Requests outlive the stop of the service until they are drained.
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug)}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	debug.FreeOSMemory() // what the start needed, such as that for the hashes of passwords
	c.Log.Info("serving", "address", l.Addr().String(), "roles", c.Roles)
	if c.Listening != nil {
		c.Listening(l.Addr())
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	err := srv.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		c.Log.Warn("requests were cut off by the stop")
		err = srv.Close()
	}
	c.Log.Info("stopped")
	return err
}

// Bootstrap makes the first management key, and the first Context with a key. It fails if there is one.
func Bootstrap(ctx context.Context, c Config, contextID string) (out *api.Bootstrapped, err error) {
	c.fill()
	st, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	s := api.New(api.Options{Config: c.Config, Store: st, Log: c.Log, Version: c.Version})
	defer s.Close()
	return s.Bootstrap(ctx, contextID, c.ManagementKey, c.APIKey)
}

// Migrated tells the state of the tables of Contexts.
type Migrated struct {
	Current  string         `json:"current"`  // version of the tables that this program writes
	Versions map[string]int `json:"versions"` // Contexts by version, afterwards
	Updated  []string       `json:"updated"`  // Contexts that were brought up to date, or with dry would be
}

// Migrate brings the tables of every Context up to date, as a start of the service does. With dry it only looks.
func Migrate(ctx context.Context, c Config, dry bool) (out *Migrated, err error) {
	c.fill()
	st, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	out = &Migrated{Current: store.SchemaVersion}
	if out.Updated, err = st.Migrate(ctx, dry); err != nil {
		return nil, err
	}
	if out.Updated == nil {
		out.Updated = []string{}
	}
	out.Versions, _, err = st.SchemaVersions(ctx)
	return out, err
}

// Bootstrapped reports whether err says that the first keys exist already.
func Bootstrapped(err error) bool { return problem.Is(err, "conflict") }
