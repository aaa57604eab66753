//go:build !linux

package wal

import "os"

// datasync syncs data and metadata, where the system cannot sync data alone.
func datasync(f *os.File) error { return f.Sync() }
