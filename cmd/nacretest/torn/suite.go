// Package torn makes the files that a power cut may leave, from a record of what a store wrote and synced, and opens
// each.
package torn

import "github.com/nacredb/nacre/cmd/nacretest/harness"

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{
		{Name: "torn", About: "power cuts: what was written and not synced is there in pieces",
			Examples: []string{"torn -images 10000", "torn -strace=false -images 300 -controls 10"}, Flags: flags},
	}
}
