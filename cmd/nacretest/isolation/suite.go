// Package isolation runs transactions side by side and searches their history for what a serial run could not show.
package isolation

import "github.com/nacredb/nacre/cmd/nacretest/harness"

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{
		{Name: "append", About: "list-append transactions, searched for isolation anomalies",
			Examples: []string{"append -level kv -store bolt", "append -level wire -store bolt -txns 20000 -kills 5"},
			Flags:    appendFlags},
		{Name: "bank", About: "transfers between accounts, whose total must not change",
			Examples: []string{"bank -level engine -store memory", "bank -level wire -store bolt -backups 3"},
			Flags:    bankFlags},
	}
}
