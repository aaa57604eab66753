package exec

import (
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// countRows is the number of records of a table as a single row.
type countRows struct {
	r    *Run
	tb   *catalog.Table
	path []string
	text string
	done bool
	n    counter
}

func (s *countRows) next() (value.Value, bool, error) {
	if s.done {
		return value.None, false, nil
	}
	s.done = true
	g, err := s.r.Gate()
	if err != nil {
		return value.None, false, err
	}
	if s.tb == nil {
		return value.None, false, errs.TableNotFound(s.text)
	}
	n, err := g.Count(s.r.Ctx, s.tb, nil)
	if err != nil {
		return value.None, false, err
	}
	s.n++
	return setPath(value.None, s.path, value.Int(n)), true, nil
}

func (s *countRows) close() {}
