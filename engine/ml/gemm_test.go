package ml

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/nacredb/nacre/internal/onnxtest"
)

// TestGemmBits compares products of all layouts with three plain loops: to the bit, for shapes around the sizes of
// tiles and blocks, in float32 and float64.
func TestGemmBits(t *testing.T) {
	for _, k := range []int{1, 2, 7, 256, 300} {
		for _, n := range []int{1, 3, 4, 7, 8, 12, 17, 256, 261} {
			for _, m := range []int{1, 3, 4, 5, 6} {
				t.Run(fmt.Sprint(m, "x", n, "x", k), func(t *testing.T) {
					a, b, c := onnxtest.Random(1, m*k), onnxtest.Random(2, k*n), onnxtest.Random(3, m*n)
					a[0] = float32(math.Inf(1))
					checkGemm(t, m, n, k, a, b, c)
					checkGemm(t, m, n, k, wider(a), wider(b), wider(c))
				})
			}
		}
	}
}

func wider(list []float32) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v) / 3
	}
	return out
}

func checkGemm[T real](t *testing.T, m, n, k int, a, b, c []T) {
	t.Helper()
	want := append([]T{}, c...)
	for i := range m {
		for j := range n {
			for p := range k {
				want[i*n+j] += T(a[i*k+p] * b[p*n+j])
			}
		}
	}
	turned := make([]T, len(b))
	for p := range k {
		for j := range n {
			turned[j*k+p] = b[p*n+j]
		}
	}
	for name, right := range map[string]matrix[T]{"rows": {b, n, 1}, "columns": {turned, 1, k}} {
		got := append([]T{}, c...)
		r := &run{ctx: context.Background(), limits: DefaultLimits}
		if err := gemm(r, got, m, n, k, matrix[T]{a, k, 1}, right); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
				t.Fatalf("%s: element %d is %v, want %v", name, i, got[i], want[i])
			}
		}
	}
}

// TestForestOfManyRows compares rows that pass a forest together with rows that do so alone.
func TestForestOfManyRows(t *testing.T) {
	const columns = 5
	m, err := LoadONNX(onnxtest.Forest(columns, 20, 6), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	env := Call{Ctx: t.Context(), Limits: DefaultLimits}
	for _, rows := range []int{2, 8, 9, 64, 67, 200} {
		x := onnxtest.Random(uint64(rows), rows*columns)
		x[rows], x[rows+3] = float32(math.NaN()), float32(math.Inf(-1))
		got, width, ok, err := m.Batch(env, x, rows)
		if err != nil || !ok || width != 1 {
			t.Fatal(width, ok, err)
		}
		for i := range rows {
			want, err := m.Compute(env, x[i*columns:(i+1)*columns])
			if err != nil || want[0] != got[i] {
				t.Fatalf("%d rows: row %d is %v together and %v alone, %v", rows, i, got[i], want, err)
			}
		}
	}
}
