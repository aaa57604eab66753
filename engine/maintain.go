package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/dump/physical"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/query"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/txn"
)

// Backup writes all of the open store, as it is at one moment, to w; writers go on meanwhile. See
// package physical for its promise and its bytes.
func (e *Engine) Backup(ctx context.Context, w io.Writer, opt physical.BackupOptions) (*physical.Manifest, error) {
	return physical.Backup(ctx, e.store, w, opt)
}

// Backup is Engine.Backup for a client: only an owner at root level may see everything.
func (s *Session) Backup(ctx context.Context, w io.Writer, opt physical.BackupOptions) (*physical.Manifest, error) {
	st := s.snapshot()
	if err := st.Auth.Allow(auth.Edit, ast.BaseRoot, auth.ResourceActor); err != nil {
		return nil, err
	}
	return s.e.Backup(ctx, w, opt)
}

// StoreFormat is the version of the bytes of a store in files.
const StoreFormat = bolt.FormatVersion

// StorePath is the directory of the store named by dsn: bolt://PATH, or a bare path.
func StorePath(dsn string) (string, error) {
	d, err := kv.ParseDSN(dsn)
	if err != nil {
		return "", err
	}
	if d.Kind != "bolt" {
		return "", fmt.Errorf("store address %q: a %s store has no files", dsn, d.Kind)
	}
	return d.Path, nil
}

// OnCluster reports whether dsn names a store on a cluster.
func OnCluster(dsn string) bool {
	d, err := kv.ParseDSN(dsn)
	return err == nil && d.Kind == "tikv"
}

// RestoreCluster makes the backup f the store under an empty prefix of a cluster, tikv://…. Errors: those of
// physical.Verify, fs.ErrExist where there is data, kv.ErrLocked where servers or another restore use the prefix.
// After an error while it was written no server serves the prefix, and another restore begins anew.
func RestoreCluster(ctx context.Context, dsn string, tls ClusterTLS, f io.ReadSeeker,
	progress physical.Progress) (*physical.Manifest, error) {
	d, err := kv.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	return physical.RestoreInto(ctx, f, func(m *physical.Manifest) (physical.Builder, error) {
		if m.Classes["history"].Keys > 0 {
			return nil, errors.New("the backup is of a store that keeps versions, which one on a cluster does not")
		}
		return buildCluster(ctx, d, Options{Cluster: tls}, kv.Version(m.Version))
	}, progress)
}

// BackupCluster is a backup of what stands under a prefix of a cluster at one timestamp, without a server. Errors
// besides: fs.ErrNotExist where there is nothing.
func BackupCluster(ctx context.Context, dsn string, tls ClusterTLS, w io.Writer,
	opt physical.BackupOptions) (*physical.Manifest, error) {
	d, err := kv.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	d.GC = -1 // that is for the servers, whose address may say otherwise
	st, err := openCluster(ctx, d, Options{Cluster: tls})
	if err != nil {
		return nil, err
	}
	m, err := physical.Backup(ctx, st, w, opt)
	if err == nil && m.Keys == 0 {
		err = fmt.Errorf("there is nothing under the prefix: %w", fs.ErrNotExist)
	}
	return m, errors.Join(err, st.Close())
}

// Check looks at all of the store at path, which must not be open, and changes nothing. What is
// wrong with the store is in the report. Errors: see physical.Check.
func Check(ctx context.Context, path string, progress physical.Progress) (*physical.Report, error) {
	l := newLanguage()
	return physical.Check(ctx, path, physical.CheckOptions{Language: l, Progress: progress})
}

// Repair makes a store at target out of what can be read of the one at path, which must not be
// open and stays as it is. Errors: see physical.Repair.
func Repair(ctx context.Context, path, target string, progress physical.Progress) (*physical.Repaired, error) {
	l := newLanguage()
	return physical.Repair(ctx, path, target, physical.CheckOptions{Language: l, Progress: progress})
}

// language gives physical the knowledge of the language that it needs.
type language struct {
	functions *fn.Table
	parsing   parse.Options
	executors []*query.Runner // one a database
}

func newLanguage() *language {
	functions := fn.Library()
	return &language{functions: functions, parsing: parse.Options{Resolver: functions.Resolver()}}
}

// Release implements physical.Language: it ends what the executors run.
func (l *language) Release() {
	for _, ex := range l.executors {
		ex.Hub.Close()
		ex.Close(context.Background())
	}
	l.executors = nil
}

// Pure implements physical.Language.
func (l *language) Pure(function string) bool {
	f, ok := l.functions.Function(function)
	return ok && f.Pure
}

// Parse implements physical.Language.
func (l *language) Parse(text string) (ast.Statement, error) { return parseDefinition(text, l.parsing) }

// Gate implements physical.Language.
func (l *language) Gate(ctx context.Context, store kv.Store, tx *txn.Tx, ns, db string) (*record.Gate, error) {
	ex := newRunner(store, Options{Log: slog.Default(), Capabilities: auth.DefaultCapabilities()}, l.functions,
		l.parsing, 0, nil, nil)
	l.executors = append(l.executors, ex)
	s := &exec.SessionState{
		Auth: auth.Authority{Principal: auth.DataUser(ns, db), Caps: auth.DefaultCapabilities(), NS: ns,
			DB: db},
	}
	r := ex.NewRun(s, exec.NewEnv(), tx)
	r.Elevate()
	return r.Gate()
}

// parseDefinition reads the text of a stored definition.
func parseDefinition(text string, parsing parse.Options) (ast.Statement, error) {
	parsing.NoFiles = false // the process that made the store may have allowed more
	q, err := parse.Query(text, parsing)
	if err != nil {
		return nil, err
	}
	if len(q.Stmts) != 1 {
		return nil, fmt.Errorf("stored definition holds %d statements", len(q.Stmts))
	}
	return q.Stmts[0], nil
}
