package fn_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/vectors"
)

// TestInventory holds the table to the documented list: every function with its arity and method form, and every
// constant, is there or named in docs/differences.md.
func TestInventory(t *testing.T) {
	rows, constants := vectors.Library(t)
	differences := vectors.ReadFile(t, "docs", "differences.md")
	table := fn.Library()
	absent := 0
	for _, row := range rows {
		f, ok := table.Function(row.Name)
		if !ok {
			if absent++; !strings.Contains(differences, "| `"+row.Name+"` |") {
				t.Errorf("%s is missing, and docs/differences.md does not say so", row.Name)
			}
			continue
		}
		if problem := problemWith(row, table, f); problem != "" && !strings.Contains(differences, "`"+row.Name+"`") {
			t.Errorf("%s: %s", row.Name, problem)
		}
	}
	for _, c := range constants {
		if _, ok := table.Constant(c.Name); !ok {
			t.Errorf("the constant %s is missing", c.Name)
		}
	}
	t.Logf("%d of %d functions and %d constants are there; the table has %d names", len(rows)-absent, len(rows), len(constants), len(table.Names()))
}

// problemWith says how the table differs from a documented function; "" when it does not.
func problemWith(row vectors.Function, table *fn.Table, f *fn.Func) string {
	if row.Method != "" {
		m, ok := table.Method(row.Method)
		if !ok {
			return "no method " + row.Method
		}
		any := false
		for k := value.KindNone; k <= value.KindClosure; k++ {
			g, ok := m.For(k)
			any = any || ok && g == f
		}
		if !any {
			return "the method " + row.Method + " is that of other functions"
		}
	}
	least, most, ok := counts(row)
	if ok && (least != f.MinArgs() || most != f.MaxArgs()) && !loose(f) {
		return "takes " + strconv.Itoa(f.MinArgs()) + " to " + strconv.Itoa(f.MaxArgs()) +
			" arguments, documented are " + row.Args
	}
	return ""
}

// loose functions count their arguments themselves, with texts of their own.
func loose(f *fn.Func) bool { return f.Variadic }

// counts are the documented numbers of arguments; most is -1 without a limit.
func counts(row vectors.Function) (least, most int, ok bool) {
	if row.Args == "none" {
		return 0, 0, true
	}
	m := regexp.MustCompile(`^(\d+)(\+)?(?:(?:\.\.|\|)(\d+))?$`).FindStringSubmatch(row.Args)
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
	for _, name := range []string{"type::thing", "rand::guid", "type::is::array", "string::is::email",
		"time::from::unix", "string::distance::osa_distance"} {
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
