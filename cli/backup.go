package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
)

func newBackupCmd(s *streams) *cobra.Command {
	var f connectFlags
	var compress bool
	var tls engine.ClusterTLS
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Save a whole store: all namespaces, users and indexes",
		Long: `Writes all of a store, as it is at one moment, to FILE (- is standard output). A running server is asked over HTTP,
by an owner at root level, and serves others meanwhile; a store that is not open is named with --endpoint bolt://PATH,
and one on a TiKV cluster, open or not, with --endpoint tikv://HOST:PORT[,HOST:PORT…][/PREFIX].
Every block carries a checksum; the file appears only when it is whole and verified.

Exit status 5: there is no such store, or no such directory for FILE. 6: the store is open in another process. 7: it is
damaged, or no store.`,
		Example: `  nacre backup -e http://db:8000 -u root -p root monday.backup
  nacre backup -e bolt://nacre.db --compress monday.backup
  nacre backup - | ssh vault 'cat > monday.backup'`,
		Args: exactArgs(1, "a file, or - for standard output"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runBackup(cmd.Context(), s, &f, tls, compress, args[0])
		},
	}
	addConnectFlags(cmd, &f, "endpoint", "username", "password", "password-file", "token")
	addClusterFlags(cmd, &tls)
	cmd.Flags().BoolVar(&compress, "compress", false, "pack the blocks (zstd)")
	return cmd
}

func runBackup(ctx context.Context, s *streams, f *connectFlags, tls engine.ClusterTLS, compress bool,
	path string) error {
	if path == "-" && s.outTTY {
		return usagef("a backup is not for a terminal: name a file, or a pipe")
	}
	out, commit, err := createOutput(s, path)
	if err != nil {
		return physicalError(err)
	}
	p := newStages(s)
	var m *physical.Manifest
	if engine.OnCluster(f.endpoint) {
		m, err = engine.BackupCluster(ctx, f.endpoint, tls, out,
			physical.BackupOptions{Compress: compress, Product: s.build.Version, Progress: p.tell})
	} else if f.embedded() {
		m, err = backupFiles(ctx, s, f.endpoint, compress, out, p.tell)
	} else {
		m, err = backupServer(ctx, f, compress, out, p.tell)
	}
	p.stop()
	if err = commit(physicalError(err)); err != nil {
		return err
	}
	fmt.Fprintf(s.err, "%s, in %v\n", manifestText(m), p.took())
	return nil
}

func backupFiles(ctx context.Context, s *streams, dsn string, compress bool, w io.Writer,
	progress physical.Progress) (*physical.Manifest, error) {
	path, err := engine.StorePath(dsn)
	if err != nil {
		return nil, usageError{err}
	}
	return physical.BackupPath(ctx, path, w,
		physical.BackupOptions{Compress: compress, Product: s.build.Version, Progress: progress})
}

// backupServer copies a backup from a server and verifies it on the way.
func backupServer(ctx context.Context, f *connectFlags, compress bool, w io.Writer,
	progress physical.Progress) (*physical.Manifest, error) {
	f.level = "root"
	c, err := f.probe()
	if err != nil {
		return nil, err
	}
	body, err := c.Backup(ctx, compress)
	if err != nil {
		return nil, err
	}
	m, err := physical.Verify(ctx, io.TeeReader(body, w), progress)
	return m, errors.Join(err, body.Close())
}
