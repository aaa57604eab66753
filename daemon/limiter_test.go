package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// tries is a limiter under a clock that stands still.
type tries struct {
	*limiter
	t   *testing.T
	now time.Time
}

func newTries(t *testing.T, perMinute, burst int) *tries {
	l := &tries{newLimiter(perMinute, burst), t, time.Unix(0, 0)}
	l.limiter.now = func() time.Time { return l.now }
	return l
}

func no() bool  { return false }
func yes() bool { return true }

// fail is a wrong guess; it gives the time to wait, 0 where the guess was made.
func (l *tries) fail(client string, names ...string) time.Duration {
	done, wait := l.Try(client, names, no)
	if done != nil {
		done(false)
	}
	return wait
}

func (l *tries) want(what string, got, want time.Duration) {
	l.t.Helper()
	if got != want {
		l.t.Errorf("%s at %d s: wait %v, want %v", what, l.now.Unix(), got, want)
	}
}

func TestLimiter(t *testing.T) {
	l := newTries(t, 6, 2) // one more every ten seconds
	l.want("first", l.fail("a", "u"), 0)
	l.want("second", l.fail("a", "u"), 0)
	l.want("third", l.fail("a", "u"), 10*time.Second)
	l.want("another address", l.fail("b", "u"), 0)
	l.want("another user", l.fail("a", "v"), 0)
	l.now = l.now.Add(4 * time.Second)
	l.want("too soon", l.fail("a", "u"), 6*time.Second)
	l.now = l.now.Add(6 * time.Second)
	l.want("refilled by one", l.fail("a", "u"), 0)
	l.want("and no more", l.fail("a", "u"), 10*time.Second)
	l.now = l.now.Add(time.Hour)
	l.want("full again", l.fail("a", "u"), 0)
	l.want("full again", l.fail("a", "u"), 0)
	l.want("not more than full", l.fail("a", "u"), 10*time.Second)
}

// Attempts at the same time count, and a success gives back.
func TestLimiterCountsAtTheStart(t *testing.T) {
	l := newTries(t, 1, 2)
	first, _ := l.Try("a", []string{"u"}, no)
	second, _ := l.Try("a", []string{"u"}, no)
	if third, wait := l.Try("a", []string{"u"}, no); first == nil || second == nil || third != nil || wait <= 0 {
		t.Fatal("of three at once the third is not refused")
	}
	first(true)
	second(true)
	l.want("after two successes", l.fail("a", "u"), 0)
	l = newTries(t, 1, 2)
	for _, known := range []func() bool{no, yes} {
		done, _ := l.Try("a", []string{"u", "v"}, known)
		done(true)
		if len(l.buckets) != 0 {
			t.Errorf("%d buckets are left of a success", len(l.buckets))
		}
	}
}

// What was right not long ago passes where the checks are used up; how often that may be asked has a bound of its own.
func TestLimiterPassesWhatIsKnown(t *testing.T) {
	l := newTries(t, 1, 3)
	for range 3 {
		l.fail("a", "u")
	}
	if l.fail("a", "u") == 0 {
		t.Fatal("a fourth guess was let through")
	}
	for range 100 {
		done, _ := l.Try("a", []string{"u"}, yes)
		if done == nil {
			t.Fatal("the known password does not pass")
		}
		done(true)
	}
	guesses := 0
	for ; guesses < 1000; guesses++ {
		if done, _ := l.Try("a", []string{"u"}, func() bool { guesses++; return false }); done != nil {
			t.Fatal("a guess was let through")
		}
	}
	looked := 0
	l.Try("a", []string{"u"}, func() bool { looked++; return true })
	if looked != 0 {
		t.Error("guesses without end tell whether a password is known")
	}
	l.now = l.now.Add(time.Minute / wide)
	if done, _ := l.Try("a", []string{"u"}, yes); done == nil {
		t.Error("the known password does not pass later either")
	}
}

// All users of an address together have a wider limit, and of several names each counts.
func TestLimiterOfAnAddress(t *testing.T) {
	l := newTries(t, 1, 2)
	for i := range 2 * wide {
		l.want("made-up users", l.fail("a", fmt.Sprint(i)), 0)
	}
	if l.fail("a", "one more") == 0 {
		t.Error("an address guesses without end")
	}
	l.want("another address", l.fail("b", "0"), 0)
	for i := range 2 {
		l.want("two names", l.fail("c", "email=x", fmt.Sprint("pass=", i)), 0)
	}
	if l.fail("c", "email=x", "pass=3") == 0 {
		t.Error("a changing field hides the one that stays")
	}
	l.want("another value of the field", l.fail("c", "email=y", "pass=3"), 0)
}

// A client of IPv6 has a block of addresses; it is one client.
func TestLimiterKnowsNetworks(t *testing.T) {
	l := newTries(t, 1, 1)
	for _, tc := range []struct {
		address string
		same    bool
	}{
		{"2001:db8::1", false}, {"2001:db8::2", true}, {"2001:db8::ffff:1:2:3", true}, {"2001:DB8:0:0::9%eth0", true}, {"2001:db8:0:1::1", false},
		{"192.0.2.1", false}, {"::ffff:192.0.2.1", true}, {"192.0.2.2", false}, {"", false},
	} {
		if refused := l.fail(tc.address, "u") > 0; refused != tc.same {
			t.Errorf("%s: refused %v", tc.address, refused)
		}
	}
}

// Made-up names and addresses fill no memory, and do not make the limiter forget what was used up.
func TestLimiterForgets(t *testing.T) {
	l := newTries(t, 10, 5)
	for range 5 {
		l.fail("a", "u")
	}
	for i := range 2 * maxBuckets {
		l.fail(fmt.Sprint("x", i), "u"+strings.Repeat("x", i%100))
		if n := len(l.buckets); n > maxBuckets {
			t.Fatalf("%d buckets are kept", n)
		}
	}
	if l.fail("a", "u") == 0 {
		t.Error("the limiter has forgotten what was used up")
	}
	l.now = l.now.Add(time.Hour)
	for i := range maxBuckets {
		l.fail(fmt.Sprint("y", i), "u")
	}
	if n := len(l.buckets); n > maxBuckets {
		t.Errorf("%d buckets are kept", n)
	}
}
