package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/dump/physical"
)

func newCheckCmd(s *streams) *cobra.Command {
	var target string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "check STORE",
		Aliases: []string{"fix"}, // of the reference
		Short:   "Look for damage in a store that is not open",
		Long: `Checks all of the store STORE (bolt://PATH, or a path) and changes nothing: pages and their order, the checksum of
every value, the log, definitions, records, and everything that is stored twice from both sides: index entries, edges,
references, counters.

With --repair NEW, a store is made at NEW out of what is sound: indexes, edges and counters anew from the records. NEW
is checked too. STORE stays as it is.

Exit status 0: nothing is wrong (with --repair: with NEW). 5: there is no such store. 6: it is open, or there is something at
NEW. 7: there are findings, or it is no store.`,
		Example: `  nacre check nacre.db
  nacre check --json bolt://nacre.db | jq .sound
  nacre check nacre.db --repair repaired.db`,
		Args: exactArgs(1, "a store"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := engine.StorePath(args[0])
			if err != nil {
				return usageError{err}
			}
			if target != "" {
				return runRepair(cmd.Context(), s, path, target, asJSON)
			}
			return runCheck(cmd.Context(), s, path, asJSON)
		},
	}
	cmd.Flags().StringVar(&target, "repair", "", "make a repaired store at this path")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the whole report as JSON")
	return cmd
}

func runCheck(ctx context.Context, s *streams, path string, asJSON bool) error {
	p := newStages(s)
	rep, err := engine.Check(ctx, path, p.tell)
	p.stop()
	if err != nil {
		return physicalError(err)
	}
	if asJSON {
		err = writeJSON(s.out, rep)
	} else {
		err = writeReport(s.out, rep)
	}
	return verdict(rep, err)
}

func runRepair(ctx context.Context, s *streams, path, dsn string, asJSON bool) error {
	target, err := engine.StorePath(dsn)
	if err != nil {
		return usageError{err}
	}
	p := newStages(s)
	done, err := engine.Repair(ctx, path, target, p.tell)
	p.stop()
	if err != nil {
		return physicalError(err)
	}
	if asJSON {
		return verdict(done.After, writeJSON(s.out, done))
	}
	fmt.Fprintf(s.out, "%d keys kept, %d dropped, %d made anew\n", done.Kept, done.Dropped, done.Rebuilt)
	if done.LostKeys+done.LostPages > 0 {
		fmt.Fprintf(s.out, "lost: %d damaged keys or values, %d unreadable pages with all that was in them\n", done.LostKeys, done.LostPages)
	}
	if done.LostLog != "" {
		fmt.Fprintf(s.out, "lost: the end of the log, and the commits in it: %s\n", done.LostLog)
	}
	for _, name := range done.Recovered {
		fmt.Fprintf(s.out, "table %s is defined again: without fields, indexes and permissions\n", name)
	}
	return verdict(done.After, writeReport(s.out, done.After))
}

// verdict is the error of a command that ends with a report.
func verdict(rep *physical.Report, err error) error {
	if err != nil || rep.Clean() {
		return err
	}
	return exitError{exitInvalid, fmt.Errorf("%d findings", rep.Found)}
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func writeReport(w io.Writer, rep *physical.Report) error {
	for _, f := range rep.Findings {
		fmt.Fprintf(w, "%s: %s\n", f.Kind, f.Text)
	}
	if more := rep.Found - len(rep.Findings); more > 0 {
		fmt.Fprintf(w, "… and %d more\n", more)
	}
	for _, t := range rep.Skipped {
		fmt.Fprintf(w, "not checked: %s\n", t)
	}
	fmt.Fprintf(w, "%d keys on %d pages (%d free, %d leaked), version %d\n", rep.Keys, rep.Pages.Pages, rep.Pages.Free,
		rep.Pages.Leaked, rep.Version)
	_, err := fmt.Fprintf(w, "%d records of %d tables, %d entries of %d indexes, %d ends of edges\n", rep.Records, rep.Tables,
		rep.Entries, rep.Indexes, rep.Edges)
	if err == nil && rep.Clean() {
		_, err = fmt.Fprintln(w, "The store is sound: nothing is wrong.")
	}
	return err
}
