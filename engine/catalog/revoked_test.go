package catalog

import "testing"

// Revoked tokens are kept until they have expired, and forgotten a few at a time from then on, oldest first; one
// without an end stays.
func TestRevokedTokensAreForgotten(t *testing.T) {
	s := newStore(t)
	expires := []int64{0, 100, 200, 300, 1 << 40}
	hash := func(i int) []byte { return []byte{byte(i), 0xff} }
	left := func() (n string) {
		s.read(func(v *View) {
			for i, at := range expires {
				gone, err := v.Revoked(at, hash(i))
				check(t, err)
				if other, err := v.Revoked(at, hash(i+1)); other || err != nil {
					t.Errorf("another token that ends at %d is revoked, too: %v", at, err)
				}
				if gone {
					n += string(rune('0' + i))
				}
			}
		})
		return n
	}
	s.write(func(v *View) {
		for i, at := range expires {
			check(t, v.PutRevoked(at, hash(i), 50))
		}
	})
	for _, tc := range []struct {
		before int64
		n      int
		want   string
	}{{-5, 9, "01234"}, {100, 9, "01234"}, {300, 1, "0234"}, {300, 9, "034"}, {1 << 50, 9, "0"}} {
		s.write(func(v *View) { check(t, v.ForgetRevoked(tc.before, tc.n)) })
		if got := left(); got != tc.want {
			t.Errorf("after those before %d (%d at most): %s, want %s", tc.before, tc.n, got, tc.want)
		}
	}
}
