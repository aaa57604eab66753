//go:build !(failpoint && unix)

package failpoint

// Enabled reports whether the build has the tag.
const Enabled = false

// Hit is called at a place.
func Hit(string) {}

// Limit is n, or what NACRE_FAILPOINT_LIMITS says.
func Limit(_ string, n int64) int64 { return n }
