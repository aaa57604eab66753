package script

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// heapPause is how often the heap is looked at while a script runs; scripts that are faster pay a timer alone.
const heapPause = 5 * time.Millisecond

// garbagePause is the least time between two collections that tell what is alive from garbage.
const garbagePause = 40 * time.Millisecond

// leap is the part of the limit by which the heap grows between two looks when a single value is made that is too
// large: nothing else is that fast.
const leap = 4

// heapWatch calls full once when the heap of the process has grown too much since it began. Garbage does not count.
type heapWatch struct {
	begin, most uint64
	last        uint64 // at the last look
	swept       time.Time
	full        func()

	mu    sync.Mutex // guards timer and done; a leaf lock
	timer *time.Timer
	done  bool
}

func watchHeap(most uint64, full func()) *heapWatch {
	now := liveHeap()
	w := &heapWatch{begin: now, last: now, most: most, full: full}
	w.mu.Lock()
	w.timer = time.AfterFunc(heapPause, w.look)
	w.mu.Unlock()
	return w
}

func (w *heapWatch) look() {
	if w.tooMuch() {
		w.full()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.timer.Reset(heapPause)
	}
}

// tooMuch reports whether the heap has grown too much. One that grows step by step is collected first; one that leaps
// is not, for the next value may be there before the collection ends.
func (w *heapWatch) tooMuch() bool {
	now := liveHeap()
	leapt := now > w.last+w.most/leap
	w.last = now
	switch {
	case now <= w.begin+w.most:
		return false
	case leapt:
		return true
	case time.Since(w.swept) < garbagePause:
		return false
	}
	runtime.GC()
	w.last, w.swept = liveHeap(), time.Now()
	return w.last > w.begin+w.most
}

func (w *heapWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	w.timer.Stop()
}

// liveHeap is the bytes of objects on the heap, swept or not.
func liveHeap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
