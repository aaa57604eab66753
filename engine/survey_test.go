//go:build unix

package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

// largeValues are arguments that make a function work: some hundred kilobytes each.
func largeValues() map[string]value.Value {
	const n = 20_000
	ints, texts, pairs := make([]value.Value, n), make([]value.Value, n), make([]value.Value, n/10)
	for i := range n {
		ints[i], texts[i] = value.Int(int64(i*7919%n)), value.Str("t"+strings.Repeat("x", i%7))
	}
	fields := make([]value.Field, n/10)
	for i := range pairs {
		pairs[i] = value.Array(value.Str("k"+value.Int(int64(i)).Text()), ints[i])
		fields[i] = value.Field{Name: "k" + value.Int(int64(i)).Text(), Value: ints[i]}
	}
	return map[string]value.Value{
		"text":     value.Str(strings.Repeat("ab c", n)),
		"ints":     value.ArrayOf(ints),
		"texts":    value.ArrayOf(texts),
		"pairs":    value.ArrayOf(pairs),
		"object":   value.ObjectOf(value.NewObject(fields...)),
		"polygons": squares(1000),
		"set":      value.SetOf(append([]value.Value(nil), ints...)),
	}
}

// TestEveryFunctionStopsWithItsContext calls each function of the table with large arguments for a client that is
// soon gone.
func TestEveryFunctionStopsWithItsContext(t *testing.T) {
	s := owner(t, openQuiet(t))
	table, large := fn.Library(), largeValues()
	for _, name := range table.Resolver().Names() {
		f, ok := table.Function(name)
		if !ok {
			continue
		}
		most := f.MaxArgs()
		if most < 0 || most > 4 {
			most = max(f.MinArgs(), 2)
		}
		for what, v := range large {
			vars := value.NewObject(value.Field{Name: "v", Value: v}, value.Field{Name: "n", Value: value.Int(3)})
			for args := max(1, f.MinArgs()); args <= most; args++ {
				for _, list := range []string{strings.Repeat("$v, ", args), "$v, " + strings.Repeat("$n, ", args-1)} {
					stops(t, s, "RETURN "+name+"("+strings.TrimSuffix(list, ", ")+")", what, vars)
				}
			}
		}
	}
}

const (
	operators = "+ - * / % ** = == != ?= *= < <= > >= AND OR ?? ?: IN CONTAINS CONTAINSALL CONTAINSANY CONTAINSNONE " +
		"ALLINSIDE ANYINSIDE NONEINSIDE INTERSECTS OUTSIDE"
	casts = "array array<string> bool bytes datetime decimal duration float int number object record regex set set<int> " +
		"string uuid geometry"
)

// TestEveryOperatorStopsWithItsContext does the same for operators and casts.
func TestEveryOperatorStopsWithItsContext(t *testing.T) {
	s := owner(t, openQuiet(t))
	large := largeValues()
	for a, x := range large {
		for _, b := range []string{a, "ints", "polygons"} {
			y := large[b]
			vars := value.NewObject(value.Field{Name: "a", Value: x}, value.Field{Name: "b", Value: y})
			for _, op := range strings.Fields(operators) {
				stops(t, s, "RETURN $a "+op+" $b", a+" and "+b, vars)
			}
		}
		vars := value.NewObject(value.Field{Name: "a", Value: x})
		for _, to := range strings.Fields(casts) {
			stops(t, s, "RETURN <"+to+"> $a", a, vars)
		}
	}
}

// stops runs a text whose context ends soon, and fails where it goes on long after. It counts what the processors have
// worked for it, which a machine with much else to do does not change.
func stops(t *testing.T, s *engine.Session, text, what string, vars *value.Object) {
	t.Helper()
	const soon, late = 50 * time.Millisecond, 5 * time.Second
	ctx, stop := context.WithTimeout(t.Context(), soon)
	defer stop()
	begin := processorTime(t)
	_, err := s.Execute(ctx, text, vars)
	if spent := processorTime(t) - begin; spent > late {
		t.Errorf("%s with %s: %v, %v", text, what, spent, err)
	}
}
