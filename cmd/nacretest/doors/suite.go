// Package doors measures requests over gRPC beside the same over a WebSocket.
package doors

import (
	"context"
	"errors"
	"flag"
	"io"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
)

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{
		{Name: "doors",
			About:    "the same requests over gRPC and over a WebSocket, in turns: rate, and the CPU of server and clients apart",
			Examples: []string{"doors", "doors -clients 1,64 -for 5s -rounds 5"}, Flags: measureFlags},
		{Name: "stops", About: "how long a statement goes on after its call over gRPC is cancelled or its deadline has passed",
			Examples: []string{"stops", "stops -times 500"}, Flags: stopFlags},
	}
}

// options say what is measured, and how long.
type options struct {
	clients []int
	rows    int
	length  time.Duration
	rounds  int
}

func measureFlags(fs *flag.FlagSet) func(context.Context, io.Writer) error {
	var o options
	list := fs.String("clients", "1,16,64", "numbers of connections, one request at a time each")
	fs.IntVar(&o.rows, "rows", 100_000, "records of the table that is read as a whole")
	fs.DurationVar(&o.length, "for", 2*time.Second, "how long each turn lasts")
	fs.IntVar(&o.rounds, "rounds", 3, "how many turns each door has")
	return func(ctx context.Context, out io.Writer) error {
		var err error
		if o.clients, err = harness.Clients(*list); err != nil {
			return err
		}
		return withServer(ctx, func(s *harness.Server) error { return o.measure(ctx, out, s) })
	}
}

// withServer runs do beside a server with a store in memory.
func withServer(ctx context.Context, do func(s *harness.Server) error) error {
	s, err := harness.Start(ctx, "memory", "NACRE_CONNECTIONS_PER_ADDRESS=0")
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Stop())
}

// connect opens n connections by a scheme.
func connect(
	ctx context.Context, s *harness.Server, scheme string, n int,
) (list []*client.Client, done func(), err error) {
	done = func() {
		for _, c := range list {
			_ = c.Close()
		}
	}
	for range n {
		c, err := client.Open(ctx, client.Options{Endpoint: scheme + "://" + s.Addr,
			Namespace: "test", Database: "test", MaxMessage: 1 << 30})
		if err != nil {
			done()
			return nil, nil, err
		}
		list = append(list, c)
	}
	return list, done, nil
}
