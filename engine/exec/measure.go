package exec

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/plan"
	"github.com/nacredb/nacre/engine/value"
)

// measured takes the time that an operator and what is below it need, for EXPLAIN ANALYZE.
type measured struct {
	rows
	took time.Duration
}

func (s *measured) next(ctx context.Context) (value.Value, bool, error) {
	start := time.Now()
	doc, ok, err := s.rows.next(ctx)
	s.took += time.Since(start)
	return doc, ok, err
}

func (s *measured) explain() *plan.Node {
	n := s.rows.explain()
	n.Clock(s.took)
	return n
}

// measure puts a clock on every operator of a tree.
func measure(in rows) rows {
	switch s := in.(type) {
	case *mapRows:
		s.in = measure(s.in)
	case *modelRows:
		s.rows = measure(s.rows)
	case *passRows:
		s.rows = measure(s.rows)
	case *limitRows:
		s.in = measure(s.in)
	case *sortRows:
		s.in = measure(s.in)
	case *groupRows:
		s.in = measure(s.in)
	case *splitRows:
		s.in = measure(s.in)
	case *subRows:
		s.in = measure(s.in)
	case *knnRows:
		s.in = measure(s.in)
	case *unionRows:
		measureAll(s.parts)
	case *unionIndexRows:
		measureAll(s.parts)
	}
	return &measured{rows: in}
}

func measureAll(parts []rows) {
	for i := range parts {
		parts[i] = measure(parts[i])
	}
}

// unmeasured is the operator under a clock.
func unmeasured(in rows) rows {
	if m, ok := in.(*measured); ok {
		return m.rows
	}
	return in
}
