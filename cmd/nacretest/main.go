// Command nacretest hurts the database and looks whether it keeps its promises. It is not part of
// a release. Without arguments it lists its suites; nacretest SUITE -help has examples and flags.
//
// It starts real servers: itself, as the nacre command. Built with -tags failpoint it can kill
// them at the places that engine/kv/failpoint names. Each run prints its seed; a run that finds
// something exits with status 1.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/nacredb/nacre/cmd/nacretest/beside"
	"github.com/nacredb/nacre/cmd/nacretest/bulk"
	"github.com/nacredb/nacre/cmd/nacretest/cluster"
	"github.com/nacredb/nacre/cmd/nacretest/corrupt"
	"github.com/nacredb/nacre/cmd/nacretest/crash"
	"github.com/nacredb/nacre/cmd/nacretest/diff"
	"github.com/nacredb/nacre/cmd/nacretest/doors"
	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/cmd/nacretest/index"
	"github.com/nacredb/nacre/cmd/nacretest/isolation"
	"github.com/nacredb/nacre/cmd/nacretest/pgspeed"
	"github.com/nacredb/nacre/cmd/nacretest/sockets"
	"github.com/nacredb/nacre/cmd/nacretest/torn"
)

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
	return harness.Child(map[string]func(string) int{torn.AsChild: torn.RunChild, bulk.AsChild: bulk.RunChild,
		sockets.AsBystander: sockets.RunBystander})
}

func suites() []harness.Suite {
	return slices.Concat(crash.Suites(), cluster.Suites(), index.Suites(),
		torn.Suites(), isolation.Suites(), corrupt.Suites(),
		bulk.Suites(), diff.Suites(), sockets.Suites(), pgspeed.Suites(), doors.Suites(), beside.Suites())
}

// run is main with everything from outside handed in.
func run(ctx context.Context, out io.Writer, args []string) int {
	for _, s := range suites() {
		if len(args) > 0 && args[0] == s.Name {
			return s.Run(ctx, out, args[1:])
		}
	}
	fmt.Fprint(out, "usage: nacretest SUITE [flags]\n\nSuites (nacretest SUITE -help has examples and flags):\n")
	for _, s := range suites() {
		fmt.Fprintf(out, "  %-8s %s\n", s.Name, s.About)
	}
	if len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help") {
		return 0
	}
	return 2
}
