package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
)

func newRestoreCmd(s *streams) *cobra.Command {
	var dryRun, replace bool
	var tls engine.ClusterTLS
	cmd := &cobra.Command{
		Use:   "restore FILE [STORE]",
		Short: "Make a store out of a backup",
		Long: `Verifies all of the backup in FILE (- is standard input), then makes the store STORE (bolt://PATH, or a path) out of
it. The store appears only when it is whole. What is at STORE already is never touched without --replace, and with it
only once the new store is complete.

STORE may also be a prefix of a TiKV cluster, tikv://HOST:PORT[,HOST:PORT…][/PREFIX], under which there is nothing and
which no server serves. It is written in transactions of 4 MiB, then read again and compared. Until that is done no server
serves the prefix, also when the restore is interrupted; begin it again then, which removes what is there.

Exit status 5: no such file. 6: there is something at STORE, or it is in use; with --replace: something that is no store.
7: the backup is damaged.`,
		Example: `  nacre restore --dry-run monday.backup
  nacre restore monday.backup bolt://nacre.db
  ssh vault 'cat monday.backup' | nacre restore - nacre.db --replace
  nacre restore monday.backup tikv://pd1:2379,pd2:2379,pd3:2379/shop`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 || len(args) == 1 && dryRun {
				return nil
			}
			return usagef("want a backup and a store, or --dry-run and a backup")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if dryRun {
				return runVerify(cmd.Context(), s, args[0])
			}
			if engine.OnCluster(args[1]) {
				if replace {
					return usagef("--replace is for stores in files: choose another prefix")
				}
				return runRestoreCluster(cmd.Context(), s, args[0], args[1], tls)
			}
			return runRestore(cmd.Context(), s, args[0], args[1], replace)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only verify the backup")
	cmd.Flags().BoolVar(&replace, "replace", false, "put the new store in the place of an existing one")
	addClusterFlags(cmd, &tls)
	return cmd
}

func runVerify(ctx context.Context, s *streams, file string) error {
	return tellOf(s, "sound: ", func(progress physical.Progress) (*physical.Manifest, error) {
		return withBackup(s, file, func(plain io.Reader, _ bool) (*physical.Manifest, error) {
			return physical.Verify(ctx, plain, progress)
		})
	})
}

func runRestore(ctx context.Context, s *streams, file, dsn string, replace bool) error {
	path, err := engine.StorePath(dsn)
	if err != nil {
		return usageError{err}
	}
	return tellOf(s, "restored ", func(progress physical.Progress) (*physical.Manifest, error) {
		opt := physical.RestoreOptions{Replace: replace, Progress: progress}
		return withBackup(s, file, func(plain io.Reader, once bool) (*physical.Manifest, error) {
			if once { // it is copied beside the store meanwhile
				return physical.RestoreStream(ctx, plain, path, opt)
			}
			return physical.Restore(ctx, file, path, opt)
		})
	})
}

func runRestoreCluster(ctx context.Context, s *streams, file, dsn string, tls engine.ClusterTLS) error {
	return tellOf(s, "restored ", func(progress physical.Progress) (*physical.Manifest, error) {
		return withBackup(s, file, func(plain io.Reader, once bool) (*physical.Manifest, error) {
			f, drop, err := readTwice(file, plain, once)
			if err != nil {
				return nil, err
			}
			defer drop()
			return engine.RestoreCluster(ctx, dsn, tls, f, progress)
		})
	})
}

// tellOf does something with a backup, and tells what it was.
func tellOf(s *streams, what string, do func(physical.Progress) (*physical.Manifest, error)) error {
	p := newStages(s)
	m, err := do(p.tell)
	p.stop()
	if err != nil {
		return physicalError(err)
	}
	fmt.Fprintf(s.err, "%s%s, in %v\n", what, manifestText(m), p.took())
	return nil
}

// withBackup opens a backup. once: it is standard input or packed, and what was read of it is gone.
func withBackup(s *streams, file string,
	f func(plain io.Reader, once bool) (*physical.Manifest, error)) (*physical.Manifest, error) {
	in, _, err := openInput(s, file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	plain, err := unpack(file, in)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	_, packed := plain.(unpacked)
	return f(plain, packed || file == "-")
}

// readTwice gives a file that can be read from its beginning again: the backup itself, or a copy of it.
func readTwice(file string, plain io.Reader, once bool) (f *os.File, drop func(), err error) {
	if !once {
		if f, err = os.Open(file); err != nil {
			return nil, nil, err
		}
		return f, func() { _ = f.Close() }, nil
	}
	if f, err = os.CreateTemp("", "nacre-restore-*"); err != nil {
		return nil, nil, err
	}
	drop = func() { _, _ = f.Close(), os.Remove(f.Name()) }
	if _, err := io.Copy(f, plain); err != nil {
		drop()
		return nil, nil, err
	}
	return f, drop, nil
}

// addClusterFlags gives cmd the flags for TLS to a cluster.
func addClusterFlags(cmd *cobra.Command, tls *engine.ClusterTLS) {
	for _, f := range []struct {
		flag, env, help string
		at              *string
	}{
		{"kvs-ca", "KVS_CA", "certificate file (PEM) of the authority that knows the cluster of tikv://", &tls.CA},
		{"kvs-crt", "KVS_CRT", "certificate file (PEM) to show to the cluster of tikv://", &tls.Cert},
		{"kvs-key", "KVS_KEY", "private key file (PEM) of --kvs-crt", &tls.Key},
	} {
		value, _ := fromEnv(f.env)
		cmd.Flags().StringVar(f.at, f.flag, value, f.help)
		cmd.Flags().Lookup(f.flag).DefValue = ""
		variable(cmd.Flags(), f.flag, envPrefixes[0]+f.env)
	}
}
