// Package cluster kills servers that share a store on a cluster, takes parts of the cluster away from them, and holds
// all of them to what any of them has acknowledged.
package cluster

import "github.com/nacredb/nacre/cmd/nacretest/harness"

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{{Name: "cluster",
		About: "kill -9, rolling restarts, lost stores and split regions under servers that share a cluster of stubs",
		Examples: []string{"cluster -kills 200", "cluster -for 10m -seed 7", "cluster -kills 20 -only kill,build",
			"append -level cluster -txns 5000 -kills 20", "bank -level cluster -txns 5000 -kills 20"},
		Flags: flags}}
}
