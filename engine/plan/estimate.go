package plan

import "math"

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
)

// wide reports whether the index of a candidate for CONTAINS would be read for about as much as the table: each text
// and object in it may contain the value. Who may not know how many there are keeps the index.
func (q *Query) wide(c *candidate) (bool, error) {
	if !c.elements || c.lists || q.Off.Has(Estimate) {
		return false, nil
	}
	records, err := q.Host.Records()
	if err != nil || records == math.MaxInt64 {
		return false, err
	}
	most := int(min(max(records/16, fewApart), mostApart))
	n := 0
	for _, a := range c.accesses() {
		if a.Lead != nil {
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
