//go:build !linux

package wal

import "os"

// datasync syncs data and metadata, where the system cannot sync data alone. The scheduler always hears of it.
func datasync(f *os.File, _ bool) error { return f.Sync() }

// writeAt is WriteAt of f. The scheduler always hears of it.
func writeAt(f *os.File, p []byte, at int64) (n int, err error) { return f.WriteAt(p, at) }

// openPast opens nothing: what is written past the cache elsewhere has rules of its own.
func openPast(*os.File) *os.File { return nil }

// cannot is not asked: see openPast.
func cannot(error) bool { return false }
