//go:build !linux

package wal

import "os"

// datasync writes out contents and size.
func datasync(f *os.File) error { return f.Sync() }

// openPast opens nothing: what is written past the cache elsewhere has rules of its own.
func openPast(*os.File) *os.File { return nil }

// cannot is not asked: see openPast.
func cannot(error) bool { return false }
