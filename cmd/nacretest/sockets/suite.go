// Package sockets puts many WebSockets on one server: notifications, requests, idle connections and attacks on its
// memory.
package sockets

import "github.com/nacredb/nacre/cmd/nacretest/harness"

// Suites are the suites of this package.
func Suites() []harness.Suite {
	return []harness.Suite{
		{Name: "fanout", About: "changes told to many live queries: latency, order, cost of each",
			Examples: []string{"fanout", "fanout -subscribers 1000 -rate 100 -for 30s -store bolt"}, Flags: fanoutFlags},
		{Name: "idle", About: "thousands of sockets that do nothing: memory of each, a stop with all of them open",
			Examples: []string{"idle -sockets 5000", "idle -sockets 1000 -live"}, Flags: idleFlags},
		{Name: "siege", About: "attacks on the memory of a server: what stays resident, and how long another client waits",
			Examples: []string{"siege", "siege -memory 256MiB -resident 500"}, Flags: siegeFlags},
		{Name: "rate", About: "requests a second over WebSockets, and what each costs the server",
			Examples: []string{"rate", "rate -clients 1,16 -for 10s -store bolt"}, Flags: rateFlags},
	}
}
