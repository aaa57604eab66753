package bolt

import "slices"

// spans is a set of pages, as runs of them in ascending order with gaps between.
type spans []span

// span is the n pages from at on.
type span struct{ at, n uint64 }

// spansOf makes a set of page numbers in ascending order.
func spansOf(ids []uint64) spans {
	var s spans
	for _, id := range ids {
		if last := len(s) - 1; last >= 0 && s[last].at+s[last].n == id {
			s[last].n++
		} else {
			s = append(s, span{id, 1})
		}
	}
	return s
}

// count is how many pages there are.
func (s spans) count() (n uint64) {
	for _, run := range s {
		n += run.n
	}
	return n
}

// with is the set with the pages of another one, which has none of them.
func (s spans) with(more spans) spans {
	out := make(spans, 0, len(s)+len(more))
	for len(s) > 0 || len(more) > 0 {
		from := &s
		if len(s) == 0 || len(more) > 0 && more[0].at < s[0].at {
			from = &more
		}
		run := (*from)[0]
		*from = (*from)[1:]
		if last := len(out) - 1; last >= 0 && out[last].at+out[last].n == run.at {
			out[last].n += run.n
		} else {
			out = append(out, run)
		}
	}
	return out
}

// take takes n pages that follow each other out of the set: the first that there are.
func (s *spans) take(n uint64) (at uint64, ok bool) {
	for i := range *s {
		run := &(*s)[i]
		if run.n < n {
			continue
		}
		at = run.at
		if run.at, run.n = run.at+n, run.n-n; run.n == 0 {
			if i == 0 {
				*s = (*s)[1:]
			} else {
				*s = slices.Delete(*s, i, i+1)
			}
		}
		return at, true
	}
	return 0, false
}

// each gives the page numbers in ascending order.
func (s spans) each(f func(id uint64)) {
	for _, run := range s {
		for i := range run.n {
			f(run.at + i)
		}
	}
}
