package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	for _, tc := range []struct {
		used, spare uint64
		want        int64
	}{
		{20 << 20, 128 << 20, 640}, {64 << 20, 128 << 20, 200}, {128 << 20, 128 << 20, 100},
		{1 << 30, 128 << 20, 12}, {0, 128 << 20, 3200}, {8 << 20, 4 << 20, 50},
	} {
		if got := percentFor(tc.used, tc.spare); got != tc.want {
			t.Errorf("%d used, spare %d: got %d, want %d", tc.used, tc.spare, got, tc.want)
		}
	}
}

func TestSpare(t *testing.T) {
	const mib = 1 << 20
	for _, tc := range []struct {
		name string
		u    usage
		full uint64
		want uint64
	}{
		{"200,000 small records", usage{used: 47 * mib, live: 46 * mib, scanned: 17 * mib}, 128 * mib, 128 * mib},
		{"20,000 vectors of 128 floats and their index", usage{used: 60 * mib, live: 59 * mib, scanned: 8 * mib},
			128 * mib, 7864320},
		{"a few vectors", usage{used: 10 * mib, live: 9 * mib, scanned: 1 * mib}, 128 * mib, leastSpare},
		{"a little of both", usage{used: 100 * mib, live: 100 * mib, scanned: 25 * mib}, 128 * mib, 73662464},
		{"nothing", usage{}, 128 * mib, leastSpare},
	} {
		got := tc.u.spare(tc.full)
		if diff := float64(got)/float64(tc.want) - 1; diff > 0.01 || diff < -0.01 {
			t.Errorf("%s: got %d, want %d", tc.name, got, tc.want)
		}
	}
}

func TestLoad(t *testing.T) {
	var l load
	all := uint64(0)
	look := func(allocated uint64) (changed bool) {
		all += allocated
		return l.changes(all)
	}
	if look(0) || l.working {
		t.Error("works at the start")
	}
	if !look(workAllocation+1) || !l.working {
		t.Error("work was not seen")
	}
	for i := range restAfter - 1 {
		if look(workAllocation) || !l.working {
			t.Fatalf("rests after %d looks", i+1)
		}
	}
	if look(workAllocation + 1) {
		t.Error("work in between was a change")
	}
	for range restAfter - 1 {
		look(0)
	}
	if !look(0) || l.working {
		t.Error("does not rest")
	}
	if look(0) {
		t.Error("rests twice")
	}
}

// TestPace: the percentage follows the work, and is as before afterwards.
func TestPace(t *testing.T) {
	t.Setenv("GOGC", "")
	present := func() int {
		p := debug.SetGCPercent(defaultPercent)
		debug.SetGCPercent(p)
		return p
	}
	p := &pacer{headroom: 1 << 40, percent: defaultPercent}
	p.adjust()
	if got := present(); got != defaultPercent {
		t.Errorf("without work: %d", got)
	}
	p.turn(true, 0)
	if got := present(); got <= defaultPercent || int64(got) != p.percent {
		t.Errorf("with work: %d", got)
	}
	p.turn(false, 0)
	if got := present(); got != defaultPercent {
		t.Errorf("after work: %d", got)
	}
	p.turn(true, 0)
	p.end()
	if got := present(); got != defaultPercent || p.adjust() {
		t.Errorf("after the end: %d", got)
	}
}

// TestMayFree: what is small is given back after each time of work, what is large once in a while.
func TestMayFree(t *testing.T) {
	p, now := &pacer{headroom: 100}, time.Now()
	for i, step := range []struct {
		used  uint64
		later time.Duration
		want  bool
	}{{1000, 0, true}, {1000, freeLargeEach / 2, false}, {50, 0, true}, {1000, freeLargeEach / 2, false},
		{1000, freeLargeEach / 2, true}, {50, 0, true}} {
		now = now.Add(step.later)
		if got := p.mayFree(step.used, now); got != step.want {
			t.Errorf("step %d: got %v", i, got)
		}
	}
}

// TestSurplus: much more than was in use after the last time, and not used soon, goes back; once.
func TestSurplus(t *testing.T) {
	p := &pacer{headroom: 100, settled: 400}
	for i, step := range []struct {
		all, grown uint64
		want       bool
	}{{699, 0, false}, {700, 0, false}, {700, 43, false}, {700, 44, false}, {800, 1, false}, {800, 1, false},
		{800, 1, true}} {
		if got := p.surplus(step.all, step.grown); got != step.want {
			t.Errorf("step %d: got %v", i, got)
		}
	}
	p.free()
	if p.calm != 0 || p.settled == 400 || p.freed.IsZero() {
		t.Errorf("after it: %+v", p)
	}
}

// TestEachCollection: what hangs on a collection is called by each of them.
func TestEachCollection(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(defaultPercent))
	p := &pacer{headroom: 1 << 30, percent: defaultPercent, working: true}
	p.arm()
	defer p.end()
	for range 2 {
		p.mu.Lock()
		p.percent = 1 // as if the last collection had found much more
		p.mu.Unlock()
		for adjusted := false; !adjusted; runtime.Gosched() {
			runtime.GC()
			p.mu.Lock()
			adjusted = p.percent > defaultPercent
			p.mu.Unlock()
		}
	}
}

func TestPaceLeavesGOGCAlone(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := runtime.NumGoroutine()
	Pace(1 << 40)()
	if runtime.NumGoroutine() != before {
		t.Error("something was started")
	}
	os.Unsetenv("GOGC")
	stop := Pace(1 << 20)
	if runtime.NumGoroutine() == before {
		t.Error("nothing was started")
	}
	stop()
}

func TestHeadroom(t *testing.T) {
	if n := Headroom(); n < leastHeadroom || n > mostHeadroom {
		t.Errorf("got %d", n)
	}
}

func TestLimit(t *testing.T) {
	if Memory() == 0 {
		t.Skip("the memory of this machine is not known")
	}
	was := debug.SetMemoryLimit(-1)
	t.Setenv("GOMEMLIMIT", "")
	restore := Limit()
	if got := uint64(debug.SetMemoryLimit(-1)); got >= Memory() || got < Memory()/2 {
		t.Errorf("a limit of %d bytes, of %d", got, Memory())
	}
	restore()
	t.Setenv("GOMEMLIMIT", "1GiB")
	defer Limit()()
	if got := debug.SetMemoryLimit(-1); got != was {
		t.Errorf("a limit of %d bytes against the environment's", got)
	}
}

// TestDear: the headroom grows where collections take much of the processor time since the one before, and shrinks
// where they do not.
func TestDear(t *testing.T) {
	for _, tc := range []struct {
		before, now spent
		want        bool
	}{
		{spent{}, spent{0.04, 0.96}, false},
		{spent{}, spent{0.06, 0.94}, true},
		{spent{5, 5}, spent{5.04, 5.96}, false}, // what was spent before does not count
		{spent{0, 100}, spent{0.06, 100.94}, true},
		{spent{1, 1}, spent{1, 1}, false},
	} {
		if got := tc.now.dear(tc.before); got != tc.want {
			t.Errorf("%v after %v: got %v", tc.now, tc.before, got)
		}
	}
	p := &pacer{headroom: 1 << 30, percent: defaultPercent, working: true}
	defer p.end()
	defer debug.SetGCPercent(debug.SetGCPercent(defaultPercent))
	p.last = spent{collecting: -1e9} // as if the collection had taken all of the time
	p.collected()
	if p.hurry <= 1 || p.last.running <= 0 {
		t.Errorf("after a dear collection: %+v", p)
	}
	was := p.hurry
	p.last.running -= 1e9
	p.collected()
	if p.hurry >= was {
		t.Errorf("after a cheap collection: %v, before %v", p.hurry, was)
	}
}
