package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/doctor"
	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/engine"
)

// doctorOptions are the flags of doctor.
type doctorOptions struct {
	connect              connectFlags
	json, offline, picky bool
}

func newDoctorCmd(s *streams) *cobra.Command {
	var o doctorOptions
	cmd := &cobra.Command{
		Use:   "doctor [STORE]",
		Short: "Look for what commonly goes wrong: disk, clock, limits, TLS",
		Long: `Checks this machine, the settings in the environment, the way to
the server, and with STORE the disk of its folder: space, file system,
time of a sync. It changes nothing and needs no user.

Exit status: 0 nothing failed, 1 something did (with --strict: or is
risky), 2 wrong arguments.`,
		Example: `  nacre doctor
  nacre doctor bolt://nacre.db --no-server
  nacre doctor -e wss://db.example --json | jq '.[] | select(.level != "ok")'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("want one store at most")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runDoctor(cmd.Context(), s, &o, args) },
	}
	addConnectFlags(cmd, &o.connect, "endpoint")
	cmd.Flags().BoolVar(&o.json, "json", false, "the findings as JSON")
	cmd.Flags().BoolVar(&o.offline, "no-server", false, "do not look for a server")
	cmd.Flags().BoolVar(&o.picky, "strict", false, "exit with 1 for a warning, too")
	return cmd
}

func runDoctor(ctx context.Context, s *streams, o *doctorOptions, args []string) error {
	opt := doctor.Options{Version: s.build.Version, Environ: s.environ, Now: time.Now()}
	if len(args) == 1 {
		path, err := engine.StorePath(args[0])
		if err != nil {
			return usageError{err}
		}
		opt.Store = path
	}
	if !o.offline && !o.connect.embedded() {
		opt.Server = o.connect.endpoint
	}
	found := doctor.Examine(ctx, opt)
	if err := printFindings(s, found, o.json); err != nil {
		return err
	}
	worst := doctor.Worst(found)
	if worst == doctor.Failure || o.picky && worst == doctor.Warning {
		return exitError{exitOther, nil} // each has been told
	}
	return nil
}

func printFindings(s *streams, found []doctor.Finding, asJSON bool) error {
	if asJSON {
		return writeJSON(s.out, found)
	}
	for _, f := range found {
		if _, err := fmt.Fprintf(s.out, "%-8s %-13s %s\n", f.Level, f.Check, process.Plain(f.Text)); err != nil {
			return err
		}
		if f.Hint != "" {
			if _, err := fmt.Fprintf(s.out, "%22s → %s\n", "", f.Hint); err != nil {
				return err
			}
		}
	}
	return nil
}
