// Package corrupt spoils copies of a sound store and its backup: check must find each damage, and repair must mend
// what can be mended.
package corrupt

import "github.com/nacredb/nacre/cmd/nacretest/harness"

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{
		{Name: "corrupt", About: "damage of 25 kinds in a store and 1,000 flipped bytes in a backup",
			Examples: []string{"corrupt", "corrupt -records 900 -flips 200 -seed 7"}, Flags: flags},
	}
}
