package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
)

func newCompactCmd(s *streams) *cobra.Command {
	return &cobra.Command{
		Use:   "compact STORE",
		Short: "Give back the free space of a store that is not open",
		Long: `Writes the store STORE (bolt://PATH, or a path) anew, without free pages and log, and puts the result in its place.
It needs room for a second copy meanwhile. All that is copied is verified; a damaged store stays as it is.

Exit status 5: there is no such store. 6: it is open, or STORE.new or STORE.old are in the way. 7: it is damaged, or no store.`,
		Example: `  nacre compact nacre.db`,
		Args:    exactArgs(1, "a store"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := engine.StorePath(args[0])
			if err != nil {
				return usageError{err}
			}
			return runCompact(cmd.Context(), s, path)
		},
	}
}

func runCompact(ctx context.Context, s *streams, path string) error {
	p := newStages(s)
	sizes, err := physical.Compact(ctx, path, p.tell)
	p.stop()
	if err != nil {
		return physicalError(err)
	}
	fmt.Fprintf(s.err, "%s before, %s after, in %v\n", process.Size(sizes.Before), process.Size(sizes.After), p.took())
	return nil
}
