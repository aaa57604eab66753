package ml

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestBatchesGiveWhatRowsGive compares many rows at once with the same rows one by one, bit by bit.
func TestBatchesGiveWhatRowsGive(t *testing.T) {
	together := map[string]bool{"house": true, "linear_sklearn": true, "logistic": true, "logistic_proba": true,
		"forest_regressor": true, "forest_classifier": true, "forest_gemm": true, "mlp_torch": true,
		"mlp_tensorflow": true,
		"conv_small":     true, "svm_rbf": true, "celsius": true, "transformer_block": true}
	for _, tc := range theData(t).Models {
		t.Run(tc.File, func(t *testing.T) {
			m, err := Load(readData(t, "svml/"+tc.File+".svml"), DefaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			rnd := rand.New(rand.NewPCG(1, 2))
			for _, n := range []int{1, 2, 5, 37, 1500} {
				cols := product(m.Input)
				x := make([]float32, n*cols)
				for i := range x {
					x[i] = float32(rnd.NormFloat64() * 3)
				}
				got, width, ok, err := m.Batch(testEnv(t), x, n)
				if err != nil || ok != together[tc.File] {
					t.Fatalf("%d rows: together %v, %v", n, ok, err)
				}
				if !ok {
					continue
				}
				for i := range n {
					want, err := m.Compute(testEnv(t), x[i*cols:(i+1)*cols])
					if err != nil || len(want) != width {
						t.Fatalf("row %d: %d results instead of %d, %v", i, len(want), width, err)
					}
					for j, w := range want {
						if g := got[i*width+j]; math.Float64bits(g) != math.Float64bits(w) {
							t.Fatalf("%d rows, row %d, result %d: got %v, want %v", n, i, j, g, w)
						}
					}
				}
			}
		})
	}
}

// TestGemmGivesTheSameBitsForAllShapes compares the product by blocks with a plain one.
func TestGemmGivesTheSameBitsForAllShapes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	r := &run{ctx: t.Context(), limits: DefaultLimits}
	for range 300 {
		m, n, k := 1+rnd.IntN(9), 1+rnd.IntN(40), 1+rnd.IntN(40)
		if rnd.IntN(20) == 0 {
			n, k = 250+rnd.IntN(300), 250+rnd.IntN(300)
		}
		a, b := make([]float32, m*k), make([]float32, k*n)
		for i := range a {
			a[i] = float32(rnd.NormFloat64())
		}
		for i := range b {
			b[i] = float32(rnd.NormFloat64())
		}
		x, y := matrix[float32]{a, k, 1}, matrix[float32]{b, n, 1}
		if rnd.IntN(2) == 0 {
			x = matrix[float32]{a, 1, m}
		}
		if rnd.IntN(2) == 0 {
			y = matrix[float32]{b, 1, k}
		}
		got, want := make([]float32, m*n), make([]float32, m*n)
		for i := range got {
			got[i] = float32(i)
			want[i] = float32(i)
		}
		if err := gemm(r, got, m, n, k, x, y); err != nil {
			t.Fatal(err)
		}
		for i := range m {
			for j := range n {
				for p := range k {
					want[i*n+j] += x.data[i*x.rows+p*x.cols] * y.data[p*y.rows+j*y.cols]
				}
			}
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("%d×%d×%d, element %d: got %v, want %v", m, n, k, i, got[i], want[i])
			}
		}
	}
}

func TestBatchStopsWithItsCaller(t *testing.T) {
	m, err := Load(readData(t, "svml/mlp_torch.svml"), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("no memory")
	x := make([]float32, 4000)
	if _, _, ok, err := m.Batch(testEnv(t), x, 1000); !ok || err != nil {
		t.Fatal(ok, err)
	}
	env := testEnv(t)
	env.Bear = func(int) error { return full }
	if _, _, _, err := m.Batch(env, x, 1000); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}
