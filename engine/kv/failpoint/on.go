//go:build failpoint && unix

package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Enabled reports whether the build has the tag.
const Enabled = true

// plan holds the failures that the environment asks for; hits counts how often its place was come to.
type plan struct {
	place string
	n     int64
	hits  atomic.Int64
}

// theOne is the only package-level state of the program outside of main: a place has no owner to
// hand it a plan. It is not in a normal build.
var theOne = readPlan(os.Getenv("NACRE_FAILPOINT"))

func readPlan(text string) *plan {
	name, count, ok := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if !ok || err != nil {
		return &plan{}
	}
	return &plan{place: name, n: n}
}

// Hit is called at a place. The process does not survive the one that was asked for.
func Hit(place string) {
	if place != theOne.place || theOne.hits.Add(1) != theOne.n {
		return
	}
	fmt.Fprintf(os.Stderr, "failpoint %s\n", place)
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		panic(err)
	}
	select {} // the signal is on its way
}

// Limit is n, or what NACRE_FAILPOINT_LIMITS says.
func Limit(name string, n int64) int64 {
	for _, part := range strings.Split(os.Getenv("NACRE_FAILPOINT_LIMITS"), ",") {
		if k, v, ok := strings.Cut(part, "="); ok && k == name {
			if own, err := strconv.ParseInt(v, 10, 64); err == nil {
				return own
			}
		}
	}
	return n
}
