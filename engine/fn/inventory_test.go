package fn_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

// sheetFunction is a row of the sheet of functions.
type sheetFunction struct {
	name   string
	arity  string // "2", "0–1", "1+", "0 or 2", "none"; "—" where the sheet has none
	method string // name of the method form, or ""
}

// moduleFile reads a file given by its path from the module's root; it skips the test where there is none.
func moduleFile(t *testing.T, path ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	file := filepath.Join(append([]string{dir}, path...)...)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("%s is not here", file)
	}
	return string(text)
}

// sheet is the function sheet: its rows and the names of the constants.
func sheet(t *testing.T) (rows []sheetFunction, constants []string) {
	text := moduleFile(t, "..", "shared", "reference", "functions.md")
	row := regexp.MustCompile("(?m)^\\| `([a-z_0-9:]+)\\(.*?\\)`.*? \\| (.*?) \\| (.*?) \\|")
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		rows = append(rows, sheetFunction{m[1], m[2], strings.TrimSuffix(strings.Trim(m[3], "`. "), "()")})
	}
	_, list, ok := strings.Cut(text, "**Constants**")
	list, _, ok2 := strings.Cut(list, "\n\n")
	if !ok || !ok2 {
		t.Fatal("the sheet has no list of constants")
	}
	maths := regexp.MustCompile("`math::([a-z0-9_\\s]+)`").FindStringSubmatch(list)
	if maths == nil {
		t.Fatal("the sheet has no constants of math")
	}
	for _, name := range append(strings.Fields(maths[1]), "infinity", "neg_infinity") {
		constants = append(constants, "math::"+name)
	}
	for _, m := range regexp.MustCompile("`((?:duration|time)::[a-z]+)`").FindAllStringSubmatch(list, -1) {
		constants = append(constants, m[1])
	}
	return rows, constants
}

// TestInventory holds the table to the sheet: every function with its arity and method form, and every constant, is there or
// named in docs/differences.md.
func TestInventory(t *testing.T) {
	rows, constants := sheet(t)
	if len(rows) < 425 || len(constants) < 26 {
		t.Fatalf("%d functions and %d constants in the sheet: it is not read right", len(rows), len(constants))
	}
	differences := moduleFile(t, "docs", "differences.md")
	table := fn.Library()
	absent := 0
	for _, row := range rows {
		f, ok := table.Function(row.name)
		if !ok {
			if absent++; !strings.Contains(differences, "| `"+row.name+"` |") {
				t.Errorf("%s is missing, and docs/differences.md does not say so", row.name)
			}
			continue
		}
		if problem := row.holds(table, f); problem != "" && !strings.Contains(differences, "`"+row.name+"`") {
			t.Errorf("%s: %s", row.name, problem)
		}
	}
	for _, name := range constants {
		if _, ok := table.Constant(name); !ok {
			t.Errorf("the constant %s is missing", name)
		}
	}
	t.Logf("%d of %d functions and %d constants of the sheet are there; the table has %d names", len(rows)-absent, len(rows), len(constants), len(table.Names()))
}

// holds says how the table differs from a row; "" when it does not.
func (row sheetFunction) holds(table *fn.Table, f *fn.Func) string {
	if row.method != "" {
		m, ok := table.Method(row.method)
		if !ok {
			return "no method " + row.method
		}
		any := false
		for k := value.KindNone; k <= value.KindClosure; k++ {
			g, ok := m.For(k)
			any = any || ok && g == f
		}
		if !any {
			return "the method " + row.method + " is that of other functions"
		}
	}
	least, most, ok := row.counts()
	if ok && (least != f.MinArgs() || most != f.MaxArgs()) && !loose(f) {
		return "takes " + strconv.Itoa(f.MinArgs()) + " to " + strconv.Itoa(f.MaxArgs()) + " arguments, the sheet has " + row.arity
	}
	return ""
}

// loose functions count their arguments themselves, with texts of their own.
func loose(f *fn.Func) bool { return f.Variadic }

// counts are the numbers of arguments that an arity column gives; most is -1 without a limit.
func (row sheetFunction) counts() (least, most int, ok bool) {
	if row.arity == "none" {
		return 0, 0, true
	}
	m := regexp.MustCompile(`^(\d+)(\+)?(?:(?:–| or )(\d+))?$`).FindStringSubmatch(row.arity)
	if m == nil {
		return 0, 0, false
	}
	least, _ = strconv.Atoi(m[1])
	most = least
	switch {
	case m[2] != "":
		most = -1
	case m[3] != "":
		most, _ = strconv.Atoi(m[3])
	}
	return least, most, true
}

// TestOlderNamesAreGone: the paths of before 3.0 and the method-only aliases cannot be called, as in the reference.
func TestOlderNamesAreGone(t *testing.T) {
	table := fn.Library()
	for _, name := range []string{"type::thing", "rand::guid", "type::is::array", "string::is::email", "time::from::unix", "string::distance::osa_distance"} {
		if _, ok := table.Function(name); ok {
			t.Errorf("%s is there", name)
		}
	}
	for _, name := range []string{"every", "some", "includes", "index_of"} {
		f, ok := table.Function("array::" + name)
		if _, method := table.Method(name); !ok || !f.MethodOnly || !method {
			t.Errorf("array::%s is not a method alone", name)
		}
	}
	if names := table.Names(); !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the names are not in order, or there twice")
	}
}
