package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/client"
)

// The exit codes of isready, as container health checks know them from pg_isready.
const (
	readyYes      = 0
	readyNotYet   = 1
	readyNoAnswer = 2
	readyUsage    = 3
)

func newIsReadyCmd(s *streams) *cobra.Command {
	var f connectFlags
	var wait time.Duration
	cmd := &cobra.Command{
		Use:     "isready",
		Aliases: []string{"is-ready"},
		Short:   "Tell whether a server is ready to serve",
		Long: `Asks GET /ready and prints OK.

Exit status: 0 ready, 1 it answers but is not ready, 2 no answer, 3 wrong arguments.`,
		Example: `  nacre isready
  nacre isready -e http://db:8000 --wait 30s
  HEALTHCHECK CMD ["/nacre", "isready"]`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runIsReady(cmd.Context(), s, &f, wait) },
	}
	addConnectFlags(cmd, &f, "endpoint")
	cmd.Flags().DurationVarP(&wait, "wait", "w", 0, "poll until ready, at most this long")
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exitError{readyUsage, err} })
	return cmd
}

// isReady reports whether cmd is isready, whose exit codes are its own.
func isReady(cmd *cobra.Command) bool { return cmd.Name() == "isready" }

func runIsReady(ctx context.Context, s *streams, f *connectFlags, wait time.Duration) error {
	c, err := f.probe()
	if err != nil {
		return exitError{readyUsage, err}
	}
	const oneTry = 5 * time.Second
	limit := max(wait, oneTry)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if wait > 0 {
		err = c.WaitReady(ctx, 50*time.Millisecond)
	} else {
		err = c.Ready(ctx)
	}
	switch {
	case err == nil:
		_, err = fmt.Fprintln(s.out, "OK")
		return err
	case errors.Is(err, client.ErrNotReady):
		return exitError{readyNotYet, err}
	default:
		return exitError{readyNoAnswer, err}
	}
}
