package script

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// heapPause is how often the heap is looked at while a script runs; scripts that are faster pay a timer alone.
const heapPause = 20 * time.Millisecond

// heapWatch calls full once when the heap of the process has grown too much since it began. Garbage does not count.
type heapWatch struct {
	begin, most uint64
	full        func()

	mu    sync.Mutex // guards timer and done; a leaf lock
	timer *time.Timer
	done  bool
}

func watchHeap(most uint64, full func()) *heapWatch {
	w := &heapWatch{begin: liveHeap(), most: most, full: full}
	w.mu.Lock()
	w.timer = time.AfterFunc(heapPause, w.look)
	w.mu.Unlock()
	return w
}

func (w *heapWatch) look() {
	if now := liveHeap(); now > w.begin+w.most {
		if now < w.begin+2*w.most { // a collection takes its time, in which a text may double more than once
			runtime.GC()
			now = liveHeap()
		}
		if now > w.begin+w.most {
			w.full()
			return
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.timer.Reset(heapPause)
	}
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
