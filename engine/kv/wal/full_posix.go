//go:build !windows

package wal

// isDiskFull reports false: POSIX systems have no errors for a full disk beside ENOSPC and EDQUOT.
func isDiskFull(error) bool { return false }
