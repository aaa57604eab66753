package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/process"
)

func newClusterCmd(s *streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Look at the servers of a store",
		Long:  `Looks at the servers that serve one store. A TiKV cluster may have several (see docs/cluster.md), a file has one.`,
		Example: `  nacre cluster status -u root -p root
  nacre cluster status --json | jq '.[].address'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q of cluster", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newClusterStatusCmd(s))
	return cmd
}

// clusterOptions are the flags of cluster status.
type clusterOptions struct {
	connect connectFlags
	json    bool
}

func newClusterStatusCmd(s *streams) *cobra.Command {
	var o clusterOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the servers of a store",
		Long: `Lists the servers that serve the store of the one that is asked, the one that joined first before the others. On a
TiKV cluster a server says every two seconds that it is there, and leaves the list after ten seconds without. Times are
those of the cluster's clock. Only users at root level may see it.`,
		Example: `  nacre cluster status -u root -p root
  nacre cluster status --context prod --json`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runClusterStatus(cmd.Context(), s, &o) },
	}
	addConnectFlags(cmd, &o.connect)
	cmd.Flags().BoolVar(&o.json, "json", false, "a JSON array")
	return cmd
}

func runClusterStatus(ctx context.Context, s *streams, o *clusterOptions) (err error) {
	c, err := o.connect.server(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	all, err := process.Nodes(ctx, c)
	if err != nil {
		return err
	}
	if o.json {
		b, err := json.Marshal(all)
		if err == nil {
			_, err = fmt.Fprintf(s.out, "%s\n", b)
		}
		return err
	}
	w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tADDRESS\tVERSION\tSTARTED\tSEEN")
	for i := range all {
		n := &all[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", n.ID, process.Plain(n.Name), process.Plain(n.Address),
			process.Plain(n.Version), n.Started.UTC().Format(time.RFC3339), n.Seen.UTC().Format(time.RFC3339))
	}
	return w.Flush()
}
