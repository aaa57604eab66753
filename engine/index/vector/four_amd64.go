package vector

import "golang.org/x/sys/cpu"

// hasFour reports whether the processor can run squaresAVX and productsAVX.
var hasFour = cpu.X86.HasAVX

// squaresAVX adds to the sums of four vectors those of euclidean for v and each of them, over so many turns of four
// elements, at least one, beginning at an element.
//
//go:noescape
func squaresAVX(sums *[4][4]float32, v *float32, at *[4]*float32, from, turns int)

// productsAVX is squaresAVX with the sums of dot.
//
//go:noescape
func productsAVX(sums *[4][4]float32, v *float32, at *[4]*float32, from, turns int)

// fetch brings so many lines of the cache, at least one, nearer, and does not wait for them.
//
//go:noescape
func fetch(v *float32, lines int)
