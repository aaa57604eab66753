//go:build !amd64

package ml

// hasTile8 reports whether there is a tile8.
const hasTile8 = false

func tile8(_, _, _, _, _ *float32, _ int) {}
