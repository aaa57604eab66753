package plan

// probed is how many entries of each index are counted to tell which has fewer.
const probed = 64

// fewest picks the candidate with the fewest entries, as far as a short look tells; of equal ones the first, which narrows
// most by its form.
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
