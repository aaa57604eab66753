//go:build !linux

package residence

// DropProgram does nothing: other systems have no such advice, or count otherwise.
func DropProgram() error { return nil }

// Drop does nothing, as DropProgram.
func Drop(_, _ uintptr) error { return nil }

// Files is 0: it is not known.
func Files() int64 { return 0 }
