package cli

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacredb/nacre/cli/process"
	"github.com/nacredb/nacre/cli/top"
	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/value"
)

// topOptions are the flags of top.
type topOptions struct {
	connect    connectFlags
	every      time.Duration
	once, json bool
	color      string
}

func newTopCmd(s *streams) *cobra.Command {
	var o topOptions
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch a server: load, latency, memory, what runs",
		Long: `Shows requests, latency, transactions, memory and the store of a server, second by second, and pages of what runs: k
ends what is selected. ? shows the keys. It connects again when the server was away. Only users at root level may see it.

With --once it prints one page, of the time --interval, and ends; with --once --json one object.`,
		Example: `  nacre top -u root -p root
  nacre top --context prod --interval 5s
  nacre top --once --json | jq .latency_seconds.p99`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runTop(cmd.Context(), s, &o) },
	}
	addConnectFlags(cmd, &o.connect)
	cmd.Flags().DurationVarP(&o.every, "interval", "i", 2*time.Second, "time between readings")
	cmd.Flags().BoolVar(&o.once, "once", false, "print one page and end")
	cmd.Flags().BoolVar(&o.json, "json", false, "with --once: an object")
	addColorFlag(cmd, &o.color)
	return cmd
}

func runTop(ctx context.Context, s *streams, o *topOptions) (err error) {
	switch {
	case o.every < 100*time.Millisecond || o.every > time.Hour:
		return usagef("--interval wants a time from 100ms to 1h")
	case o.json && !o.once:
		return usagef("--json goes with --once: nacre top --once --json")
	case !o.once && !(s.inTTY && s.outTTY):
		return usagef("top needs a terminal: nacre top --once prints one page")
	}
	colour, err := coloured(o.color, s.outTTY)
	if err != nil {
		return err
	}
	src := &server{flags: &o.connect}
	if err := src.connect(ctx); err != nil {
		return err // a wrong address or password is told before the screen is taken
	}
	defer func() { err = errors.Join(err, src.close()) }()
	opt := top.Options{Source: src, Name: process.Plain(o.connect.name()), Every: o.every, Colour: colour}
	if !o.once {
		return top.Run(ctx, opt)
	}
	f, err := top.Once(ctx, opt)
	if err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(s.out).Encode(f)
	}
	return top.PrintOnce(s.out, opt, f)
}

// name is where a command is connected, for people: the context, if one was chosen, and the address.
func (f *connectFlags) name() string {
	if f.context != "" && f.context != noContext {
		return f.context + " " + f.endpoint
	}
	return f.endpoint
}

// server is the source of top. A connection that was lost is opened again by the next reading.
type server struct {
	flags *connectFlags

	mu sync.Mutex // guards c, and is held while it connects
	c  *client.Client
}

func (s *server) connect(ctx context.Context) error {
	c, err := s.flags.server(ctx)
	if err == nil {
		s.c = c
	}
	return err
}

// client is an open connection.
func (s *server) client(ctx context.Context) (*client.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil && s.c.Lost() == nil {
		return s.c, nil
	}
	if s.c != nil {
		_ = s.c.Close() // the connection is gone: there is nothing to end in order
		s.c = nil
	}
	err := s.connect(ctx)
	return s.c, err
}

// Read implements top.Source.
func (s *server) Read(ctx context.Context) (string, *process.List, error) {
	c, err := s.client(ctx)
	if err != nil {
		return "", nil, err
	}
	text, err := c.Call(ctx, "metrics")
	if err != nil {
		return "", nil, err
	}
	list, err := process.Read(ctx, c)
	return value.ToString(text), list, err
}

// Kill implements top.Source.
func (s *server) Kill(ctx context.Context, id string) error {
	c, err := s.client(ctx)
	if err != nil {
		return err
	}
	_, err = process.Kill(ctx, c, id)
	return err
}

func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return nil
	}
	return s.c.Close()
}
