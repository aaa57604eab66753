package ml

// hasTile8 reports whether there is a tile8.
const hasTile8 = true

// tile8 adds a product of two packed rows a and two packed groups of four columns, b0 and b1, to eight elements at c0
// and eight at c1.
//
//go:noescape
func tile8(c0, c1, a, b0, b1 *float32, depth int)
