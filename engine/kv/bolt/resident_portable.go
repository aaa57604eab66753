//go:build !linux

package bolt

// unmapPages does nothing: on other systems than Linux the advice has another meaning or no effect.
func unmapPages(_, _ uintptr) error { return nil }
