package cli

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/render"
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
				return runServerVersion(cmd.Context(), s, &f, asJSON)
			}
			return runVersion(s, asJSON)
		},
	}
	addConnectFlags(cmd, &f, "endpoint")
	cmd.Flags().BoolVar(&asJSON, "json", false, "version, protocol, store format, commit, date and Go version as JSON")
	cmd.Flags().BoolVar(&server, "server", false, "ask the server instead")
	return cmd
}

// runVersion prints the version of this binary.
func runVersion(s *streams, asJSON bool) error {
	if asJSON {
		return writeJSON(s.out, s.versions())
	}
	_, err := fmt.Fprintf(s.out, "nacre %s for %s/%s, protocol %s, store format %d\n", s.build.Version, runtime.GOOS,
		runtime.GOARCH, ProtocolVersion, engine.StoreFormat)
	return err
}

// versions holds the version numbers of this binary.
func (s *streams) versions() map[string]any {
	b := s.build
	return map[string]any{
		"version": b.Version, "protocol": ProtocolVersion, "format": engine.StoreFormat, "commit": b.Commit,
		"date": b.Date, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// runServerVersion prints the versions that a server tells of itself; as JSON, beside those of this binary.
func runServerVersion(ctx context.Context, s *streams, f *connectFlags, asJSON bool) error {
	c, err := f.probe()
	if err != nil {
		return err
	}
	protocol, program, err := c.Versions(ctx)
	if err != nil {
		return err
	}
	protocol, program = render.Visible(protocol, false), render.Visible(program, false)
	if asJSON {
		all := s.versions()
		all["server"] = map[string]string{"version": program, "protocol": strings.TrimPrefix(protocol, "nacre-")}
		return writeJSON(s.out, all)
	}
	if program != "" {
		protocol = "nacre " + program + ", protocol " + strings.TrimPrefix(protocol, "nacre-")
	}
	_, err = fmt.Fprintln(s.out, protocol)
	return err
}
