// Package pgspeed measures the PostgreSQL listener beside a PostgreSQL of the same machine.
package pgspeed

import (
	"context"
	"flag"
	"io"
	"time"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{{Name: "postgres",
		About: "statements by pgx on the PostgreSQL listener and on a PostgreSQL, in turns: rate, CPU, latency",
		Examples: []string{"postgres", "postgres -only read,insert -clients 1,16 -for 5s -rounds 5",
			"postgres -sides ./nacre-before,nacre -only read"}, Flags: flags}}
}

// options say what is measured, and how long.
type options struct {
	harness.RunOptions
	only    string
	sides   string
	list    string
	clients []int
	rows    int
	length  time.Duration
	rounds  int
	rest    time.Duration
}

func flags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o options
	o.Flags(fs, "")
	fs.StringVar(&o.only, "only", "", "names of the rows to measure, with commas (default: all)")
	fs.StringVar(&o.sides, "sides", "postgres,nacre", "what is measured, compared with the first: postgres, nacre (this build), or\n"+
		"the path of another build of nacre")
	fs.StringVar(&o.list, "clients", "1,16,64", "numbers of connections, one statement at a time each")
	fs.IntVar(&o.rows, "rows", 100_000, "records in the table that is read")
	fs.DurationVar(&o.length, "for", 3*time.Second, "how long each turn of a row lasts")
	fs.IntVar(&o.rounds, "rounds", 3, "how many turns each side has")
	fs.DurationVar(&o.rest, "rest", 3*time.Second, "pause before turns that write: nothing that\n"+
		"a side still has to do is done in the turn of another")
	return func(ctx context.Context, out io.Writer) error {
		var err error
		if o.clients, err = harness.Clients(o.list); err != nil {
			return err
		}
		return o.run(ctx, out)
	}
}
