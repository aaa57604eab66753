// Package exec runs the language: it evaluates expressions and executes statements and query
// plans. The three are mutually recursive (a projection may hold a subquery, a subquery a closure,
// a closure a statement), so they share one package.
//
// It is the only evaluator. Records are read and written through engine/record alone, which calls
// back here for the expressions in definitions. An Executor belongs to one engine and is safe for
// concurrent use; a Run belongs to one statement or transaction and to one goroutine.
package exec

import (
	"time"

	"github.com/nacredb/nacre/engine/fn"
)

// Limits bound what one statement may use. The zero value of a field means its default.
type Limits struct {
	Depth     int // nested calls, subqueries and computed values
	Rows      int // rows that a statement may hold in memory at once
	CacheSize int // parsed texts that are kept
	CacheText int // longest text in bytes that is kept
	Array     int // elements of an array made by a range, a mock or repetition
}

func (l Limits) withDefaults() Limits {
	def := func(p *int, d int) {
		if *p == 0 {
			*p = d
		}
	}
	def(&l.Depth, 120)
	def(&l.Rows, 10_000_000)
	def(&l.CacheSize, 1024)
	def(&l.CacheText, 64<<10)
	def(&l.Array, 1<<20)
	return l
}

// Executor is what all runs of one engine share.
type Executor struct {
	Functions *fn.Table
	Limits    Limits
	Clock     func() time.Time
}

// New makes an executor over a function table; clock nil means the system's.
func New(functions *fn.Table, limits Limits, clock func() time.Time) *Executor {
	if clock == nil {
		clock = time.Now
	}
	return &Executor{Functions: functions, Limits: limits.withDefaults(), Clock: clock}
}
