package document

import "testing"

func TestTimesOfSpans(t *testing.T) {
	d := &Doc{Spans: []Span{{Start: 0, End: 10, From: 0, Before: 2000}, {Start: 11, End: 20, From: 2500, Before: 4000},
		{Start: 21, End: 30, From: 4000, Before: 9000}}}
	for _, tc := range []struct{ start, end, from, before int64 }{
		{0, 10, 0, 2000}, {5, 12, 0, 4000}, {11, 30, 2500, 9000}, {10, 11, 0, 0}, {40, 50, 0, 0}} {
		if from, before := d.Times(int(tc.start), int(tc.end)); from != tc.from || before != tc.before {
			t.Errorf("%d to %d: got %d, %d", tc.start, tc.end, from, before)
		}
	}
}
