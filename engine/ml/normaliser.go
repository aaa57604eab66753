package ml

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/nacredb/nacre/engine/errs"
)

// Normaliser maps a column to what a model expects, and a result back. All of it is float32 arithmetic.
type Normaliser struct {
	Label string // one of normaliserLabels
	A, B  float32
}

// The labels of normalisers.
const (
	linearScaling = "linear_scaling" // (x - min) / (max - min)
	clipping      = "clipping"       // x within [min, max]
	logScaling    = "log_scaling"    // log of x + min, to a base
	zScore        = "z_score"        // (x - mean) / deviation
)

var numberPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[+-]?\d+(\.\d+)?([eE][+-]?\d+)?`)
})

// parseNormaliser reads LABEL(A,B).
func parseNormaliser(s string) (Normaliser, error) {
	label, rest, ok := strings.Cut(s, "(")
	n := Normaliser{Label: strings.TrimSpace(label)}
	switch n.Label {
	case linearScaling, clipping, logScaling, zScore:
	default:
		return n, refuse("Unknown normaliser type: %s", errs.Brief(n.Label, 64))
	}
	numbers := numberPattern().FindAllString(rest, 2)
	if !ok || len(numbers) < 2 {
		return n, refuse("Model header has the normaliser `%s`, which lacks one of its two numbers", errs.Brief(s, 64))
	}
	for i, p := range []*float32{&n.A, &n.B} {
		v, err := strconv.ParseFloat(numbers[i], 32)
		if err != nil {
			return n, refuse("Model header has the number `%s`, which is no float32", errs.Brief(numbers[i], 64))
		}
		*p = float32(v)
	}
	return n, nil
}

// String is n as it is written: the shortest decimals, without an exponent.
func (n Normaliser) String() string {
	text := func(f float32) string { return strconv.FormatFloat(float64(f), 'f', -1, 32) }
	return n.Label + "(" + text(n.A) + "," + text(n.B) + ")"
}

// forward maps a column's value to what the model expects. A scale of zero gives an infinity or NaN.
func (n Normaliser) forward(x float32) float32 {
	switch n.Label {
	case linearScaling:
		return (x - n.A) / (n.B - n.A)
	case clipping:
		if x < n.A {
			return n.A
		}
		if x > n.B {
			return n.B
		}
		return x
	case logScaling:
		return float32(math.Log(float64(x+n.B))) / float32(math.Log(float64(n.A)))
	}
	return (x - n.A) / n.B
}

// inverse maps a result back.
func (n Normaliser) inverse(x float32) float32 {
	switch n.Label {
	case linearScaling:
		return float32(x*(n.B-n.A)) + n.A
	case clipping:
		return x
	case logScaling:
		return float32(math.Pow(float64(n.A), float64(x))) - n.B
	}
	return float32(x*n.B) + n.A
}
