package vectors

import (
	"strings"
	"testing"
)

// Function is a function of the language, as documented.
type Function struct {
	Name   string
	Args   string // how many: "2", "0..1", "1+", "0|2", "none", or "-" where that is not documented
	Method string // the name of its method form, "" without one
	Later  bool   // the recorded release does not have it
}

// Constant is a constant of the language, as documented.
type Constant struct {
	Name  string
	Later bool // the recorded release does not have it
}

// Library reads testdata/functions.txt.
func Library(tb testing.TB) (functions []Function, constants []Constant) {
	tb.Helper()
	for line := range strings.Lines(ReadFile(tb, "testdata", "functions.txt")) {
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case len(words) == 5 && words[0] == "function":
			f := Function{Name: words[1], Args: words[2], Method: words[3], Later: words[4] == "later"}
			if f.Method == "-" {
				f.Method = ""
			}
			functions = append(functions, f)
		case len(words) == 3 && words[0] == "constant":
			constants = append(constants, Constant{Name: words[1], Later: words[2] == "later"})
		default:
			tb.Fatalf("testdata/functions.txt: %q is neither a function nor a constant", line)
		}
	}
	if len(functions) == 0 || len(constants) == 0 {
		tb.Fatal("testdata/functions.txt lists no functions or no constants")
	}
	return functions, constants
}
