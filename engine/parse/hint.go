package parse

import (
	"slices"
	"strings"
)

// maxHintDistance is how many edits a hint may be away from what was written.
const maxHintDistance = 3

// renamed returns the present name of a path of the 2.x line, "" for others.
func renamed(path string) string {
	switch path {
	case "type::thing":
		return "type::record"
	case "rand::guid":
		return "rand::id"
	case "string::distance::osa_distance":
		return "string::distance::osa"
	}
	for _, word := range []string{"::is::", "::from::"} {
		if i := strings.Index(path, word); i >= 0 {
			return path[:i+len(word)-2] + "_" + path[i+len(word):]
		}
	}
	return ""
}

// nearest is the name that was meant by path: its new name, or the one closest to it by edits of single
// characters; "" when none is near.
func nearest(path string, names []string) string {
	if n := renamed(path); n != "" && slices.Contains(names, n) {
		return n
	}
	best, bestDist := "", maxHintDistance+1
	for _, n := range names {
		if d := editDistance(path, n, bestDist); d < bestDist {
			best, bestDist = n, d
		}
	}
	return best
}

// editDistance is the number of insertions, deletions and substitutions from a to b, or at least
// limit where it is not smaller.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 0; i < len(a); i++ {
		diag := row[0]
		row[0] = i + 1
		least := row[0]
		for j := 0; j < len(b); j++ {
			cost := diag
			if a[i] != b[j] {
				cost = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], cost
			least = min(least, cost)
		}
		if least >= limit {
			return limit
		}
	}
	return row[len(b)]
}
