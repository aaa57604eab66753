//go:build !linux

package residence

// DropProgram does nothing: other systems have no such advice, or count otherwise.
func DropProgram() error { return nil }
