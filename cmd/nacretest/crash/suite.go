// Package crash kills a server under load again and again, and holds it to every transaction that it acknowledged.
package crash

import "github.com/nacredb/nacre/cmd/nacretest/harness"

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{
		{Name: "crash", About: "kill -9 under load, by the clock and at named places of the store",
			Examples: []string{"crash -cycles 200", "crash -cycles 50 -options 'sync=never&versioned=true' -keep"}, Flags: flags},
	}
}
