package engine_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ml"
	"github.com/nacredb/nacre/internal/onnxtest"
)

// BenchmarkModelSelect scores 100,000 rows of 20 columns with a linear model in one SELECT: by the names of the
// columns, and by an array of their values.
func BenchmarkModelSelect(b *testing.B) {
	const columns, rows = 20, 100_000
	s := owner(b, openQuiet(b))
	h := ml.Header{Name: "linear", Version: ml.Version{1, 0, 0}}
	var set, named, plain []string
	for i := range columns {
		c := fmt.Sprint("c", i)
		h.Keys = append(h.Keys, c)
		set = append(set, fmt.Sprintf("%s = ($i %% %d) / 7", c, i+3))
		named, plain = append(named, c+": "+c), append(plain, c)
	}
	file := append(h.Bytes(), onnxtest.Linear(columns)...)
	if _, err := s.ImportModel(b.Context(), bytes.NewReader(file)); err != nil {
		b.Fatal(err)
	}
	fill := fmt.Sprintf("FOR $i IN 0..%d { CREATE t SET %s }", rows, strings.Join(set, ", "))
	if _, err := lastAnswer(b, s, fill); err != nil {
		b.Fatal(err)
	}
	for name, argument := range map[string]string{
		"named": "{ " + strings.Join(named, ", ") + " }", "array": "[" + strings.Join(plain, ", ") + "]",
	} {
		b.Run(name, func(b *testing.B) {
			text := "SELECT VALUE ml::linear<1.0.0>(" + argument + ")[0] FROM t"
			b.ReportAllocs()
			cpu := cpuTime(b)
			for b.Loop() {
				v, err := lastAnswer(b, s, text)
				if err != nil || v.Len() != rows {
					b.Fatal(v.Len(), err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64((cpuTime(b)-cpu).Nanoseconds())/float64(rows*b.N), "cpu-ns/row")
		})
	}
}
