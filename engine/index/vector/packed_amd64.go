package vector

import "golang.org/x/sys/cpu"

// hasPackedSums reports whether the processor can run squaresAVX2 and productsAVX2.
var hasPackedSums = cpu.X86.HasAVX2

// squaresAVX2 is squares over so many turns, at least one.
//
//go:noescape
func squaresAVX2(sums *[4]float64, packed *byte, query *float64, turns int) (other uint64)

// productsAVX2 is products over so many turns, at least one.
//
//go:noescape
func productsAVX2(both, own *[4]float64, packed *byte, query *float64, turns int) (other uint64)
