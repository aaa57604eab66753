//go:build unix

package profile

import "io/fs"

// unsafe reports whether others than the owner may write a file.
func unsafe(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }
