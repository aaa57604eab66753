// Package index kills a server while it builds and replaces indexes of every kind, and compares their answers with
// those of scans.
package index

import "github.com/nacredb/nacre/cmd/nacretest/harness"

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{
		{Name: "index", About: "kill -9 while indexes of every kind are built, and replaced, beside readers and writers",
			Examples: []string{"index -cycles 50", "index -cycles 5 -records 4000 -writers 2"}, Flags: flags},
	}
}
