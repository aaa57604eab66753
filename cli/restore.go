package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
)

func newRestoreCmd(s *streams) *cobra.Command {
	var dryRun, replace bool
	cmd := &cobra.Command{
		Use:   "restore FILE [STORE]",
		Short: "Make a store out of a backup",
		Long: `Verifies all of the backup in FILE (- is standard input), then makes the store STORE (bolt://PATH, or a path) out of
it. The store appears only when it is whole. What is at STORE already is never touched without --replace, and with it
only once the new store is complete.

Exit status 5: no such file. 6: there is something at STORE, or it is in use; with --replace: something that is no store.
7: the backup is damaged.`,
		Example: `  nacre restore --dry-run monday.backup
  nacre restore monday.backup bolt://nacre.db
  ssh vault 'cat monday.backup' | nacre restore - nacre.db --replace`,
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
			return runRestore(cmd.Context(), s, args[0], args[1], replace)
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only verify the backup")
	cmd.Flags().BoolVar(&replace, "replace", false, "put the new store in the place of an existing one")
	return cmd
}

func runVerify(ctx context.Context, s *streams, file string) error {
	in, _, err := openInput(s, file)
	if err != nil {
		return physicalError(err)
	}
	defer in.Close()
	plain, err := unpack(file, in)
	if err != nil {
		return err
	}
	defer plain.Close()
	p := newStages(s)
	m, err := physical.Verify(ctx, plain, p.tell)
	p.stop()
	if err != nil {
		return physicalError(err)
	}
	fmt.Fprintf(s.err, "sound: %s, in %v\n", manifestText(m), p.took())
	return nil
}

func runRestore(ctx context.Context, s *streams, file, dsn string, replace bool) error {
	path, err := engine.StorePath(dsn)
	if err != nil {
		return usageError{err}
	}
	p := newStages(s)
	m, err := restore(ctx, s, file, path, physical.RestoreOptions{Replace: replace, Progress: p.tell})
	p.stop()
	if err != nil {
		return physicalError(err)
	}
	fmt.Fprintf(s.err, "restored %s, in %v\n", manifestText(m), p.took())
	return nil
}

// restore reads a plain file twice; standard input and packed files are copied beside the store meanwhile.
func restore(ctx context.Context, s *streams, file, path string,
	opt physical.RestoreOptions) (*physical.Manifest, error) {
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
	if _, packed := plain.(unpacked); !packed && file != "-" {
		return physical.Restore(ctx, file, path, opt)
	}
	return physical.RestoreStream(ctx, plain, path, opt)
}
