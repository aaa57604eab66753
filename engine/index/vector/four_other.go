//go:build !amd64

package vector

// hasFour reports whether there are squaresAVX, productsAVX and fetch.
const hasFour = false

func squaresAVX(*[4][4]float32, *float32, *[4]*float32, int, int) {}

func productsAVX(*[4][4]float32, *float32, *[4]*float32, int, int) {}

func fetch(*float32, int) {}
