package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/engine"
)

func newVersionCmd(s *streams) *cobra.Command {
	var f connectFlags
	var asJSON, server bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary, or of a server",
		Example: `  nacre version --json
  nacre version --server -e http://db:8000`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if server {
				return runServerVersion(cmd.Context(), s, &f)
			}
			return runVersion(s, asJSON)
		},
	}
	addConnectFlags(cmd, &f, "endpoint")
	cmd.Flags().BoolVar(&asJSON, "json", false, "version, protocol, store format, commit, date and Go version as JSON")
	cmd.Flags().BoolVar(&server, "server", false, "ask the server instead")
	return cmd
}

func runVersion(s *streams, asJSON bool) error {
	b := s.build
	if asJSON {
		enc := json.NewEncoder(s.out)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{
			"version": b.Version, "protocol": ProtocolVersion, "format": engine.StoreFormat, "commit": b.Commit,
			"date": b.Date, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	_, err := fmt.Fprintf(s.out, "nacre %s for %s/%s, protocol %s, store format %d\n", b.Version, runtime.GOOS,
		runtime.GOARCH, ProtocolVersion, engine.StoreFormat)
	return err
}

func runServerVersion(ctx context.Context, s *streams, f *connectFlags) error {
	c, err := f.probe()
	if err != nil {
		return err
	}
	v, err := c.Version(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.out, v)
	return err
}
