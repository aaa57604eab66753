package valuetest

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var float = regexp.MustCompile(`-?\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?f\b`)

// SameText reports whether two texts of values are the same. Floats in them may differ by 4 units in the last place
// of b's: engines sum and root in different orders.
func SameText(a, b string) bool {
	if a == b {
		return true
	}
	if float.ReplaceAllString(a, "#") != float.ReplaceAllString(b, "#") {
		return false
	}
	x, y := float.FindAllString(a, -1), float.FindAllString(b, -1)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		f, err1 := strconv.ParseFloat(strings.TrimSuffix(x[i], "f"), 64)
		g, err2 := strconv.ParseFloat(strings.TrimSuffix(y[i], "f"), 64)
		if err1 != nil || err2 != nil || f != g && math.Abs(f-g) > 4*ulp(g) {
			return false
		}
	}
	return true
}

// ulp is the distance from f to the next float away from zero.
func ulp(f float64) float64 {
	f = math.Abs(f)
	return math.Nextafter(f, math.Inf(1)) - f
}
