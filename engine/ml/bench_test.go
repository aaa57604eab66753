package ml

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/nacredb/nacre/internal/onnxtest"
)

// benchModels are models with their number of columns. testdata/onnxruntime/bench.mjs runs the same ones: set
// BENCH_MODELS to a folder to have them written.
func benchModels(b testing.TB) []struct {
	name    string
	columns int
	file    []byte
} {
	list := []struct {
		name    string
		columns int
		file    []byte
	}{
		{"linear20", 20, onnxtest.Linear(20)},
		{"mlp64", 64, onnxtest.Perceptron(64, 64, 1)},
		{"forest100", 20, onnxtest.Forest(20, 100, 8)},
	}
	if dir := os.Getenv("BENCH_MODELS"); dir != "" {
		for _, m := range list {
			if err := os.WriteFile(filepath.Join(dir, m.name+".onnx"), m.file, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	return list
}

// BenchmarkRows computes batches of 1,000 rows.
func BenchmarkRows(b *testing.B) {
	for _, m := range benchModels(b) {
		b.Run(m.name, func(b *testing.B) {
			model, err := LoadONNX(m.file, DefaultLimits)
			if err != nil {
				b.Fatal(err)
			}
			const rows = 1000
			x := onnxtest.Random(3, rows*m.columns)
			env := Call{Ctx: b.Context(), Limits: DefaultLimits}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, ok, err := model.Batch(env, x, rows); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkRow computes single rows.
func BenchmarkRow(b *testing.B) {
	for _, m := range benchModels(b) {
		b.Run(m.name, func(b *testing.B) {
			model, err := LoadONNX(m.file, DefaultLimits)
			if err != nil {
				b.Fatal(err)
			}
			x := onnxtest.Random(3, m.columns)
			env := Call{Ctx: b.Context(), Limits: DefaultLimits}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := model.Compute(env, x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLoad loads a model of 100 MB. It reports how much memory the model keeps beside its bytes.
func BenchmarkLoad(b *testing.B) {
	file := onnxtest.Perceptron(2500, 5000, 2500, 1)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var model *Model
	for b.Loop() {
		var err error
		if model, err = LoadONNX(file, DefaultLimits); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	extra := max(int64(after.HeapAlloc)-int64(before.HeapAlloc), 0)
	b.ReportMetric(float64(int64(len(file))+extra)/float64(len(file)), "memory/size")
	runtime.KeepAlive(model)
}
