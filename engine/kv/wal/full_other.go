//go:build !windows

package wal

// isDiskFull knows errors beyond those of POSIX, of which there are none here.
func isDiskFull(error) bool { return false }
