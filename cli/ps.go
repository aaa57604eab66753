package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/client"
)

// psOptions are the flags of ps.
type psOptions struct {
	connect connectFlags
	json    bool
	all     bool
	watch   time.Duration
}

func newPsCmd(s *streams) *cobra.Command {
	var o psOptions
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List what a server runs",
		Long: `Lists the statements that run, the oldest first, and the open transactions. With --all also the sessions and the live
queries. Texts are shown without their data. Only users at root level may see it.

Where several servers serve one store (docs/cluster.md) those of all are listed: the id of a statement says after its @
on which one it runs, and SERVER is the end of the server's id in 'nacre cluster status'. A server with much to tell
lists 250 rows of each kind.

nacre kill ID ends what a row is about.`,
		Example: `  nacre ps -u root -p root
  nacre ps --all --watch=1s
  nacre ps --json | jq '.statements[] | select(.seconds > 60) | .id'`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runPs(cmd.Context(), s, &o) },
	}
	addConnectFlags(cmd, &o.connect)
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "sessions and live queries, too")
	cmd.Flags().BoolVar(&o.json, "json", false, "everything as one JSON object; with --watch one a line")
	cmd.Flags().DurationVarP(&o.watch, "watch", "w", 0, "list again and again, so often, until Ctrl-C")
	cmd.Flags().Lookup("watch").NoOptDefVal = "2s"
	return cmd
}

func newKillCmd(s *streams) *cobra.Command {
	var f connectFlags
	cmd := &cobra.Command{
		Use:   "kill ID",
		Short: "End a statement, session, live query or transaction of a server",
		Long: `Ends what ID names: a statement by its number, a session, live query or transaction by its uuid, as nacre ps lists them,
on any of the servers of the store. A statement of another server has an @ in its id; a number alone is of the one asked.
A statement fails, and what it changed is undone. A session ends with its statements, transactions and live queries, and
its connection is closed. Only owners at root level may do it.

Exit status: 0 ended, 5 nothing that runs has this id.`,
		Example: `  nacre kill 42
  nacre kill 01a1ff8e-6163-7761-a50f-13f3db900459 --context prod`,
		Args: exactArgs(1, "the ID of a row of nacre ps"),
		RunE: func(cmd *cobra.Command, args []string) error { return runKill(cmd.Context(), s, &f, args[0]) },

		ValidArgsFunction: completeRunning(&f),
	}
	addConnectFlags(cmd, &f)
	return cmd
}

// server refuses an endpoint that is a store in this process: nothing runs in it but the command itself.
func (f *connectFlags) server(ctx context.Context) (*client.Client, error) {
	if f.embedded() {
		return nil, usagef("-e %s is a store without a server: nothing runs in it", f.endpoint)
	}
	if f.level == "" || f.level == "root" {
		f.ns, f.db = "", "" // operators look at the server, and make no place
	}
	return f.open(ctx)
}

func runKill(ctx context.Context, s *streams, f *connectFlags, id string) (err error) {
	c, err := f.server(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	what, err := process.Kill(ctx, c, id)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.err, "ended the %s %s\n", what, id)
	return err
}

func runPs(ctx context.Context, s *streams, o *psOptions) (err error) {
	if o.watch < 0 {
		return usagef("--watch wants a time of at least 100ms")
	}
	c, err := o.connect.server(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for {
		list, err := process.Read(ctx, c)
		if err != nil {
			return err
		}
		if err := o.print(s, list); err != nil || o.watch == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(o.watch, 100*time.Millisecond)):
		}
	}
}

func (o *psOptions) print(s *streams, list *process.List) error {
	if o.json {
		b, err := json.Marshal(list)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%s\n", b)
		return err
	}
	if o.watch > 0 && s.outTTY {
		if _, err := io.WriteString(s.out, "\x1b[H\x1b[2J"); err != nil {
			return err
		}
	}
	w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
	title, of := "", func(*process.Row) string { return "" }
	if list.Totals["nodes"] > 0 {
		title, of = "\tSERVER", func(r *process.Row) string { return "\t" + r.Server() }
	}
	fmt.Fprintln(w, "ID\tKIND\tUSER\tPLACE\tCLIENT\tAGE\tROWS\tMEMORY\tTEXT")
	for _, r := range list.Statements {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", r.ID, r.Kind, r.Who(), r.Place(),
			process.Plain(r.Client),
			r.Age(), r.Rows, process.Size(r.Memory), process.OneLine(r.Text, 60))
	}
	if len(list.Transactions) > 0 {
		fmt.Fprintln(w, "\nTRANSACTION\tSESSION\tUSER\tPLACE\tCLIENT\tAGE"+title)
		for _, r := range list.Transactions {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s%s\n", r.ID, r.Session, r.Who(), r.Place(),
				process.Plain(r.Client), r.Age(), of(&r))
		}
	}
	if o.all {
		fmt.Fprintln(w, "\nSESSION\tUSER\tPLACE\tCLIENT\tAGE\tRUNS\tLIVE\tTXNS"+title)
		for _, r := range list.Sessions {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d%s\n", r.ID, r.Who(), r.Place(),
				process.Plain(r.Client), r.Age(),
				r.Statements, r.Live, r.Transactions, of(&r))
		}
		fmt.Fprintln(w, "\nLIVE QUERY\tSESSION\tPLACE\tAGE"+title+"\tTEXT")
		for _, r := range list.Live {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s%s\t%s\n", r.ID, r.Session, r.Place(), r.Age(), of(&r),
				process.OneLine(r.Text, 60))
		}
	}
	if n := list.Totals["silent"]; n > 0 {
		fmt.Fprintf(w, "\n%d servers did not answer in time: what they run is not listed\n", n)
	}
	return w.Flush()
}
