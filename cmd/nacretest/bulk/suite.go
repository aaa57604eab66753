// Package bulk measures large stores: how fast they fill, how much memory that takes, how soon they serve after a
// kill, and whether a record costs more in them.
package bulk

import "github.com/nacredb/nacre/cmd/nacretest/harness"

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{
		{Name: "fill", About: "2 million rows in random key order: speed by tenths, memory",
			Examples: []string{"fill", "fill -rows 200000 -cpuprofile fill.prof"}, Flags: fillFlags},
		{Name: "restart", About: "kill -9 of a store of 1 GiB, the log full too: time until it serves again",
			Examples: []string{"restart", "restart -rows 200000 -pending 50000 -kills 2 -max 0"}, Flags: restartFlags},
		{Name: "scale", About: "5 million records beside 500,000: what each costs, memory, the start after a kill",
			Examples: []string{"scale", "scale -rows 200000 -max-ratio 0"}, Flags: scaleFlags},
	}
}
