//go:build !amd64

package vector

// hasPackedSums reports whether there are squaresAVX2 and productsAVX2.
const hasPackedSums = false

func squaresAVX2(*[4]float64, *byte, *float64, int) uint64 { return 0 }

func productsAVX2(_, _ *[4]float64, _ *byte, _ *float64, _ int) uint64 { return 0 }
