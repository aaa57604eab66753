package bolt

// fetchAhead has the processor fetch n bytes at p, and does not wait for them. It is a hint: nothing depends on it.
//
//go:noescape
func fetchAhead(p *byte, n uint64)
