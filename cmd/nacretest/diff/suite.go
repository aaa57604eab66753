package diff

import "github.com/nacredb/nacre/cmd/nacretest/harness"

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{
		{Name: "diff", About: "generated statements, whose answers a reference engine gives too",
			Examples: []string{"diff -oracle http://127.0.0.1:7701/sql", "diff -seed 42"}, Flags: flags},
	}
}
