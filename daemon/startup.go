package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine"
)

// startupPatience is how long an ordinary start may hold back the listener, so that the first probe finds it ready.
const startupPatience = 5 * time.Second

// startup does what has to be done before the server is ready. A failure ends the server: an operator who reads the
// log, or a supervisor that reads the exit code, sees it at once.
func (d *Daemon) startup(ctx context.Context, started chan<- struct{}) {
	d.supervisor.tell("STATUS=starting")
	err := d.prepare(ctx)
	if err == nil {
		err = d.beat(ctx)
	}
	if err != nil {
		d.log.Error("startup failed", "component", "server", "err", err)
		d.supervisor.tell("STATUS=startup failed")
		close(started)
		d.served <- err
		return
	}
	d.state.started.Store(true)
	close(started)
	if d.state.node.Load() == nil {
		d.log.Error("the disk is full: requests are answered, but the server is not ready before there is space",
			"component", "server")
		d.supervisor.tell("STATUS=no space left")
	}
	// The hash of the root user's password takes 19 MiB, an import more: an idle server gives them back.
	debug.FreeOSMemory()
	d.heartbeat(ctx)
}

func (d *Daemon) prepare(ctx context.Context) error {
	if err := d.firstUser(ctx); err != nil {
		return err
	}
	if d.cfg.ImportFile == "" {
		return nil
	}
	return d.importOnce(ctx, d.cfg.ImportFile)
}

// prepareRoot begins to compute the hash of the root user's password while a new store is made, which mostly waits for
// the disk. It is nil where no root user is to be made.
func prepareRoot(cfg *config.Config) *engine.Preparation {
	if cfg.User == "" || cfg.Pass == "" {
		return nil
	}
	path, err := engine.StorePath(cfg.Path)
	if err == nil {
		found, err := os.ReadDir(path)
		if len(found) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil // a store that has a root user, most likely
		}
	} else if cfg.Path != "memory" {
		return nil
	}
	return engine.PreparePassword(cfg.Pass)
}

// firstUser makes the root user of the configuration. It warns when there is no root user, and when the setting has no
// effect.
func (d *Daemon) firstUser(ctx context.Context) error {
	if d.cfg.User != "" && d.cfg.Pass != "" {
		made, err := d.engine.CreateRootUser(ctx, d.cfg.User, d.cfg.Pass)
		if err != nil {
			return fmt.Errorf("create the root user: %w", err)
		}
		if !made {
			d.log.Warn("--user and --pass are ignored: the store has root users; change theirs by DEFINE USER OVERWRITE",
				"component", "server", "user", d.cfg.User)
		}
		return nil
	}
	if d.cfg.Unauthenticated {
		return nil
	}
	there, err := d.engine.HasRootUser(ctx)
	if err != nil {
		return fmt.Errorf("look for root users: %w", err)
	}
	if !there {
		d.log.Warn("there is no root user, so nobody can administer this server: start it once with --user and --pass",
			"component", "server")
	}
	return nil
}

// importOnce imports a file of statements, unless one with the same content was imported before and the
// configuration does not ask for it again.
func (d *Daemon) importOnce(ctx context.Context, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return importError("import: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return importError("import %s: %w", path, err)
	}
	id := hex.EncodeToString(sum.Sum(nil))
	done, err := d.engine.Imported(ctx, id)
	if err != nil {
		return importError("import %s: %w", path, err)
	}
	if done && !d.cfg.ImportAgain {
		d.log.Info("not imported again: the same file was imported before (--import-again does it anyway)",
			"component", "server", "file", path)
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return importError("import %s: %w", path, err)
	}
	if err := d.importFile(ctx, f, path); err != nil {
		return err
	}
	if err := d.engine.NoteImport(ctx, id); err != nil {
		return importError("note the import of %s: %w", path, err)
	}
	return nil
}

// importFile runs the statements of f as the root owner in the default place.
func (d *Daemon) importFile(ctx context.Context, f io.Reader, path string) error {
	session := d.engine.RootSession()
	ns, db := d.cfg.DefaultNamespace, d.cfg.DefaultDatabase
	if !d.cfg.NoDefaults && ns != "" {
		if err := session.Use(ctx, &ns, &db); err != nil {
			return importError("import %s: %w", path, err)
		}
	}
	res, err := session.Import(ctx, f, engine.ImportOptions{})
	if err != nil {
		return importError("import %s: %w", path, err)
	}
	if res.Failures > 0 {
		return importError("import %s: %d of %d statements failed, the first: %w", path, res.Failures, res.Statements,
			res.Failed[0].Err)
	}
	d.log.Info("imported", "component", "server", "file", path, "statements", res.Statements)
	return nil
}

// importError is a start that ends with an import that failed.
func importError(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &StartError{Reason: ImportFailed, Text: err.Error(), Err: err}
}
