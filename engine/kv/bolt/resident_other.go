//go:build !linux

package bolt

// unmapPages does nothing: elsewhere the advice means other things, or nothing.
func unmapPages(_, _ uintptr) error { return nil }
