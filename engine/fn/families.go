package fn

import (
	"math"

	"github.com/nacredb/nacre/engine/value"
)

// families are the parts of the table.
func families() [][]entry {
	return [][]entry{
		basicFuncs(), evalFuncs(), arrayFuncs(), setFuncs(), objectFuncs(),
		stringFuncs(), stringIsFuncs(), semverFuncs(), distanceFuncs(), parseFuncs(),
		mathFuncs(), mathStatsFuncs(), vectorFuncs(), geoFuncs(),
		durationFuncs(), timeFuncs(), randFuncs(),
		typeFuncs(), encodingFuncs(), cryptoFuncs(),
		recordFuncs(), sessionFuncs(), searchFuncs(), fileFuncs(), httpFuncs(), apiFuncs(),
	}
}

// constants are the named constants by their paths.
func constants() map[string]value.Value {
	floats := map[string]float64{
		"e": math.E, "frac_1_pi": 1 / math.Pi, "frac_1_sqrt_2": 1 / math.Sqrt2, "frac_2_pi": 2 / math.Pi,
		"frac_2_sqrt_pi": 2 / math.SqrtPi, "frac_pi_2": math.Pi / 2, "frac_pi_3": math.Pi / 3, "frac_pi_4": math.Pi / 4,
		"frac_pi_6": math.Pi / 6, "frac_pi_8": math.Pi / 8, "inf": math.Inf(1), "ln_10": math.Ln10, "ln_2": math.Ln2,
		"log10_2": math.Ln2 / math.Ln10, "log10_e": 1 / math.Ln10, "log2_10": math.Ln10 / math.Ln2,
		"log2_e":  1 / math.Ln2,
		"neg_inf": math.Inf(-1), "pi": math.Pi, "sqrt_2": math.Sqrt2, "tau": 2 * math.Pi,
		"infinity": math.Inf(1), "neg_infinity": math.Inf(-1), // the names of 3.0.5 and later
	}
	out := make(map[string]value.Value, len(floats)+4)
	for name, f := range floats {
		out["math::"+name] = value.Float(f)
	}
	out["duration::max"] = value.DurationOf(value.Duration{Secs: math.MaxUint64, Nanos: 999_999_999})
	out["time::epoch"] = value.DatetimeOf(value.Datetime{})
	out["time::minimum"] = value.DatetimeOf(value.Datetime{Secs: minTime})
	out["time::maximum"] = value.DatetimeOf(value.Datetime{Secs: maxTime, Nanos: 999_999_999})
	return out
}
