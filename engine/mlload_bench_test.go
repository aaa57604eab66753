package engine_test

import (
	"runtime"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/kv/bolt"
	"github.com/nacredb/nacre/internal/onnxtest"
)

// BenchmarkModelLoadBolt calls a model of 100 MB for the first time since the engine was opened on a store in a file. It
// reports how much the heap has grown when the model is loaded, by the size of the file.
func BenchmarkModelLoadBolt(b *testing.B) {
	path, file := b.TempDir(), onnxtest.Perceptron(2500, 5000, 2500, 1)
	open := func() *engine.Engine {
		store, err := bolt.Open(bolt.Options{Path: path, Sync: kv.SyncNever})
		if err != nil {
			b.Fatal(err)
		}
		return openStore(b, store)
	}
	e := open()
	importMade(b, owner(b, e), "large", 2500, file)
	if err := e.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	size, memory := float64(len(file)), 0.0
	b.SetBytes(int64(len(file)))
	file = nil
	for range b.N {
		b.StopTimer()
		e := open()
		s := owner(b, e)
		before := heap()
		b.StartTimer()
		v, err := lastAnswer(b, s, "RETURN ml::large<1.0.0>(array::repeat(0.5, 2500))")
		b.StopTimer()
		if err != nil || v.Len() != 1 {
			b.Fatal(v.Text(), err)
		}
		memory += (heap() - before) / size
		if err := e.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(memory/float64(b.N), "memory/size")
}

// heap is how many bytes are in use.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
