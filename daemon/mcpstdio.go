package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/daemon/mcp"
	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
)

// Place is a namespace and a database; "" for none.
type Place struct{ NS, DB string }

// ServeMCP opens the store of cfg and answers the messages of one client of MCP, one a line, until in ends. Every
// call runs with the rights of the owner, within the capabilities of cfg, and begins at the place at. Only the
// protocol is written to out.
func ServeMCP(ctx context.Context, cfg *config.Config, log *slog.Logger, at Place, in io.Reader,
	out io.Writer) (err error) {
	if err := checkNames(cfg); err != nil {
		return err
	}
	if err := engine.CheckPath(cfg.Path); err != nil {
		return &StartError{Reason: BadSetting, Text: err.Error(), Err: err}
	}
	caps := capabilities(cfg)
	opt := engineOptions(cfg, caps, log)
	opt.Unauthenticated = true // who starts the process owns the store
	eng, err := engine.Open(ctx, cfg.Path, opt)
	if err != nil {
		return openError(cfg.Path, err)
	}
	defer func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(cfg.ShutdownTimeout, time.Second))
		defer cancel()
		err = errors.Join(err, eng.Close(grace))
	}()
	if cfg.User != "" && cfg.Pass != "" {
		if _, err := eng.CreateRootUser(ctx, cfg.User, cfg.Pass); err != nil {
			return fmt.Errorf("create the root user: %w", err)
		}
	}
	session := eng.Session()
	defer session.Close()
	if at.NS != "" { // an owner that names a place makes it, as nacre sql does
		enter := session.Use
		if cfg.MCPReadOnly {
			enter = session.Visit
		}
		if err := enter(ctx, &at.NS, &at.DB); err != nil {
			return err
		}
	}
	srv := &rpc.Server{Engine: eng, Caps: caps, Log: log.With("component", "rpc"),
		Limits:           rpc.Limits{QueryTimeout: cfg.QueryTimeout},
		DefaultNamespace: at.NS, DefaultDatabase: at.DB}
	if at.NS == "" && !cfg.NoDefaults {
		srv.DefaultNamespace, srv.DefaultDatabase = cfg.DefaultNamespace, cfg.DefaultDatabase
	}
	door := mcp.New(mcp.Options{RPC: srv, ReadOnly: cfg.MCPReadOnly, Transport: "stdio",
		Log:    log.With("component", "mcp"),
		Limits: mcpLimits(cfg)})
	return door.Stdio(ctx, &mcp.Peer{Engine: session}, in, out, int(cfg.Limits.MCPBody))
}
