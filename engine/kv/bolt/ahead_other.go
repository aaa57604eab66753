//go:build !amd64

package bolt

func fetchAhead(*byte, uint64) {}
