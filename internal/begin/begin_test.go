package begin

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestFirstCollection: the collector waits, and has its usual pace from the first collection on.
func TestFirstCollection(t *testing.T) {
	const usual = 123
	Over() // the wait of this process would end at any collection, perhaps after the one of the test
	debug.SetGCPercent(usual)
	w := begin()
	if got := debug.SetGCPercent(percent); got != percent {
		t.Fatalf("the collector has %d percent at the start", got)
	}
	runtime.GC()
	for range 1000 { // cleanups run after the collection
		w.mu.Lock()
		over := w.over
		w.mu.Unlock()
		if over {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if got := debug.SetGCPercent(usual); got != usual {
		t.Errorf("the collector has %d percent after a collection", got)
	}
	debug.SetGCPercent(77) // by somebody else
	w.Over()
	if got := debug.SetGCPercent(usual); got != 77 {
		t.Errorf("a second end sets %d percent", got)
	}
}

// TestSettingOfTheEnvironment: one that lets the collector wait longer, or for ever, holds.
func TestSettingOfTheEnvironment(t *testing.T) {
	Over()
	for _, set := range []int{-1, 800} {
		debug.SetGCPercent(set)
		begin()
		if got := debug.SetGCPercent(100); got != set {
			t.Errorf("%d percent became %d", set, got)
		}
	}
}
