// Command nacretest hurts the database and looks whether it keeps its promises. It is not part of
// a release.
//
//	nacretest crash    kill -9 under load, by the clock and at named places of the store
//	nacretest index    kill -9 while indexes of every kind are built, and replaced, beside readers and writers
//	nacretest torn     power cuts: what was written and not synced is there in pieces
//	nacretest append   list-append transactions, searched for isolation anomalies
//	nacretest bank     transfers between accounts, whose total must not change
//	nacretest corrupt  damage of 25 kinds in a store and 1,000 flipped bytes in a backup
//	nacretest fill     2 million rows in random key order: speed by tenths, memory
//	nacretest restart  kill -9 of a store of 1 GiB, the log full too: time until it serves again
//	nacretest diff     generated statements, whose answers a reference engine gives too
//	nacretest fanout   changes told to many live queries: latency, order, cost of each
//	nacretest idle     thousands of sockets that do nothing: memory of each, a stop with all of them open
//	nacretest siege    attacks on the memory of a server: what stays resident, and how long another client waits
//	nacretest rate     requests a second over WebSockets, and what each costs the server
//
// It starts real servers: itself, as the nacre command. Built with -tags failpoint it can kill
// them at the places that engine/kv/failpoint names. Each run prints its seed; a run that finds
// something exits with status 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/nacredb/nacre/cli"
	"github.com/nacredb/nacre/cmd/nacretest/diff"
)

// asNacre in the environment makes this program the nacre command.
const asNacre = "NACRETEST_AS_NACRE"

func main() {
	if code, ok := asChild(); ok {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Stdout, os.Args[1:]))
}

// asChild runs what a parent asked for, if this is a child.
func asChild() (code int, ok bool) {
	switch {
	case os.Getenv(asNacre) != "":
		return cli.Main(os.Args, cli.Build{}), true
	case os.Getenv(asRecorded) != "":
		return recordedRun(os.Getenv(asRecorded)), true
	case os.Getenv(asLoading) != "":
		return loadingRun(os.Getenv(asLoading)), true
	}
	return 0, false
}

// suite is one kind of test: it prints what it does and returns an error when a promise is broken.
type suite struct {
	name  string
	flags func(*flag.FlagSet) func(ctx context.Context, out io.Writer) error
}

func suites() []suite {
	return []suite{{"crash", crashFlags}, {"index", indexFlags}, {"torn", tornFlags}, {"append", appendFlags}, {"bank", bankFlags}, {"corrupt", corruptFlags},
		{"fill", fillFlags}, {"restart", restartFlags}, {"diff", diff.Flags}, {"fanout", fanoutFlags}, {"rate", rateFlags}, {"idle", idleFlags},
		{"siege", siegeFlags}}
}

// run is main with everything from outside handed in.
func run(ctx context.Context, out io.Writer, args []string) int {
	for _, s := range suites() {
		if len(args) == 0 || args[0] != s.name {
			continue
		}
		fs := flag.NewFlagSet("nacretest "+s.name, flag.ContinueOnError)
		fs.SetOutput(out)
		do := s.flags(fs)
		if err := fs.Parse(args[1:]); err != nil {
			return 2
		}
		if err := do(ctx, out); err != nil {
			fmt.Fprintf(out, "FAILED: %v\n", err)
			return 1
		}
		fmt.Fprintln(out, "passed")
		return 0
	}
	fmt.Fprintln(out, "usage: nacretest crash|index|torn|append|bank|corrupt|fill|diff|fanout|idle|rate [flags]")
	return 2
}
