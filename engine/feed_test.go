package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// TestFeedShowsCommitsInOrder: many writers, and every change is there once, stamps ascending.
func TestFeedShowsCommitsInOrder(t *testing.T) {
	e := openQuiet(t)
	s := owner(t, e)
	run(t, s, "DEFINE TABLE c CHANGEFEED 1h INCLUDE ORIGINAL")
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			s := owner(t, e)
			for i := range each {
				if res, err := s.Execute(context.Background(), fmt.Sprintf("CREATE c:%d SET w = %d", w*each+i, w), nil); err != nil || res[0].Err != nil {
					t.Error(res, err)
				}
			}
		})
	}
	wg.Wait()
	rows := run(t, s, "SHOW CHANGES FOR TABLE c SINCE 0")[0].Value.Elems()
	seen, last := map[string]bool{}, int64(0)
	for _, row := range rows {
		stamp, _ := row.Object().Get("versionstamp")
		if stamp.Int() <= last {
			t.Errorf("stamp %d comes after %d", stamp.Int(), last)
		}
		last = stamp.Int()
		changes, _ := row.Object().Get("changes")
		for _, c := range changes.Elems() {
			if u, ok := c.Object().Get("update"); ok {
				id, _ := u.Object().Get("id")
				seen[id.Text()] = true
			}
		}
	}
	if len(seen) != writers*each {
		t.Errorf("%d records are in the feed, want %d", len(seen), writers*each)
	}
	if rest := run(t, s, fmt.Sprintf("SHOW CHANGES FOR TABLE c SINCE %d", last))[0].Value.Len(); rest != 1 {
		t.Errorf("%d rows since the last stamp, want 1", rest)
	}
}

// TestCancelledChangesAreNotFed: neither a failed statement nor a cancelled transaction shows.
func TestCancelledChangesAreNotFed(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, "DEFINE TABLE c CHANGEFEED 1h; CREATE c:1; CREATE c:1; BEGIN; CREATE c:2; CANCEL; BEGIN; CREATE c:3; CREATE c:1; COMMIT", allowErrors)
	if got := run(t, s, "SHOW CHANGES FOR DATABASE SINCE 0")[0].Value.Len(); got != 2 {
		t.Errorf("%d rows, want the definition and one record", got)
	}
}
