package plan

import (
	"math"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// probed is how many entries of each index are counted to tell which has fewer.
const probed = 64

// fewest picks the candidate with the fewest entries, as far as a short look tells; of equal ones the first, which
// narrows most by its form.
func (q *Query) fewest(found []*candidate) (*candidate, error) {
	best, least := found[0], -1
	for _, c := range found {
		n := 0
		for _, a := range c.accesses() {
			a.Untracked = true // whichever is taken, the answer is the same
			more, err := q.Host.Entries(c.ix, a, probed-n)
			if err != nil {
				return nil, err
			}
			if n += more; n >= probed {
				break
			}
		}
		if least < 0 || n < least {
			best, least = c, n
		}
		if least == 0 {
			break
		}
	}
	return best, nil
}

// The parts of an index for what is no list may hold a sixteenth of the table's records, but these many at least and at
// most: counting them is work for each plan.
const (
	fewApart  = 64
	mostApart = 1024
	mostEqual = 8192
)

// wide reports whether the index of a candidate for CONTAINS would be read for about as much as the table: each text
// and object in it may contain the value, and what equals it may be no list. Few records are read as fast as the parts
// of an index that is not of elements alone. Who may not know how many there are keeps the index.
func (q *Query) wide(c *candidate) (bool, error) {
	if !c.elements || q.Off.Has(Estimate) {
		return false, nil
	}
	records, err := q.Host.Records()
	if err != nil || records == math.MaxInt64 {
		return false, err
	}
	if records < fewApart {
		return !ofElements(c.ix), nil
	}
	if c.lists {
		return false, nil
	}
	wide, err := q.holds(c, int(min(max(records/16, fewApart), mostApart)), false)
	if wide || err != nil || records/3 > mostEqual {
		return wide, err
	}
	return q.holds(c, int(max(records/3, fewApart)), true)
}

// ofElements reports whether the first field of an index names the elements of a list.
func ofElements(ix *catalog.Index) bool {
	name := ast.Text(ix.Define.Fields[0])
	return strings.HasSuffix(name, ".*") || strings.HasSuffix(name, "[*]")
}

// holds reports whether the accesses of a candidate have most entries or more: those of values, or those of ranges.
func (q *Query) holds(c *candidate, most int, values bool) (bool, error) {
	n := 0
	for _, a := range c.accesses() {
		if (a.Lead != nil) != values {
			continue
		}
		a.Untracked = true
		more, err := q.Host.Entries(c.ix, a, most-n)
		if err != nil {
			return false, err
		}
		if n += more; n >= most {
			return true, nil
		}
	}
	return false, nil
}
