package value

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/internal/vectors"
)

// vector is one recorded case of an operator.
type vector struct {
	Name, SQL, Expect, Error, Kind string
}

// loadVectors reads the vectors of a file that parse and need no setup.
func loadVectors(t *testing.T, file string) []vector {
	t.Helper()
	var out []vector
	for _, v := range vectors.Load(t, file) {
		if len(v.Parse) > 0 || v.Setup != "" {
			continue
		}
		x := vector{Name: v.Name, SQL: v.SQL, Kind: v.Kind}
		if v.Expect != nil {
			x.Expect = *v.Expect
		}
		if v.Error != nil {
			x.Error = *v.Error
		}
		out = append(out, x)
	}
	return out
}

// check compares an outcome with the vector.
func (v vector) check(t *testing.T, got Value, err error) {
	t.Helper()
	if err != nil {
		e := errs.As(err)
		if v.Error != err.Error() || v.Kind != e.Kind.String() || e.Msg != v.Error {
			t.Errorf("%s: %s\n got error %s: %v\nwant %s %s: %s", v.Name, v.SQL, e.Kind, err, v.Expect, v.Kind, v.Error)
		}
		return
	}
	if text := got.Text(); text != v.Expect {
		t.Errorf("%s: %s\n got %s\nwant %s%s", v.Name, v.SQL, text, v.Expect, v.Error)
	}
}

var operators = map[string]func(a, b Value) (Value, error){
	"+": Add, "-": Sub, "*": Mul, "%": Rem, "**": Pow,
	"/":            func(a, b Value) (Value, error) { return Div(a, b), nil },
	"=":            test(LooseEqual),
	"==":           test(Equal),
	"!=":           test(func(a, b Value) bool { return !LooseEqual(a, b) }),
	"<":            test(func(a, b Value) bool { return Compare(a, b) < 0 }),
	"<=":           test(func(a, b Value) bool { return Compare(a, b) <= 0 }),
	">":            test(func(a, b Value) bool { return Compare(a, b) > 0 }),
	">=":           test(func(a, b Value) bool { return Compare(a, b) >= 0 }),
	"?=":           test(AnyEqual),
	"*=":           test(AllEqual),
	"CONTAINS":     test(Contains),
	"CONTAINSNOT":  test(func(a, b Value) bool { return !Contains(a, b) }),
	"CONTAINSALL":  test(ContainsAll),
	"CONTAINSANY":  test(ContainsAny),
	"CONTAINSNONE": test(func(a, b Value) bool { return !ContainsAny(a, b) }),
	"INTERSECTS":   test(Intersects),
	"OUTSIDE":      test(func(a, b Value) bool { return !Intersects(a, b) }),
	"IN":           test(func(a, b Value) bool { return Contains(b, a) }),
	"INSIDE":       test(func(a, b Value) bool { return Contains(b, a) }),
	"NOT IN":       test(func(a, b Value) bool { return !Contains(b, a) }),
	"NOTINSIDE":    test(func(a, b Value) bool { return !Contains(b, a) }),
	"ALLINSIDE":    test(func(a, b Value) bool { return ContainsAll(b, a) }),
	"ANYINSIDE":    test(func(a, b Value) bool { return ContainsAny(b, a) }),
	"NONEINSIDE":   test(func(a, b Value) bool { return !ContainsAny(b, a) }),
}

func test(f func(a, b Value) bool) func(a, b Value) (Value, error) {
	return func(a, b Value) (Value, error) { return Bool(f(a, b)), nil }
}

var reOperator = regexp.MustCompile(`^ ?(\*\*|\?=|\*=|==|!=|<=|>=|[-+*/%=<>]|NOT IN|[A-Z]+) ?`)

// operation reads "literal op literal" or one literal, and applies the operator.
func operation(s string) (got Value, err, unread error) {
	r := &reader{s: strings.TrimSpace(s)}
	defer func() {
		if p := recover(); p != nil {
			unread = errors.New("unreadable")
		}
	}()
	a := r.expr()
	if r.at == len(r.s) {
		return a, nil, nil
	}
	m := reOperator.FindStringSubmatch(r.rest())
	if m == nil || operators[m[1]] == nil {
		return None, nil, errors.New("no operator")
	}
	r.at += len(m[0])
	b := r.expr()
	if r.at < len(r.s) {
		return None, nil, errors.New("more")
	}
	got, err = operators[m[1]](a, b)
	return got, err, nil
}

// Every vector "RETURN a op b" and "RETURN [a op b, …]" whose operands are literals.
func TestOperatorVectors(t *testing.T) {
	for file, atLeast := range map[string]int{
		"arithmetic_cross": 3700, "compare_cross": 841, "contains_cross": 625, "inside_cross": 325,
		"numbers": 60, "ranges": 20, "durations_datetimes": 60, "strings": 30, "arrays_objects_sets": 40,
		"records_geometry": 20,
	} {
		t.Run(file, func(t *testing.T) {
			ran := 0
			for _, v := range loadVectors(t, "operators/"+file) {
				body, ok := strings.CutPrefix(strings.TrimSuffix(v.SQL, ";"), "RETURN ")
				if !ok || strings.Contains(body, "--") { // a comment
					continue
				}
				if list, ok := splitOperations(body); ok {
					ran++
					checkList(t, v, list)
				} else if got, err, unread := operation(body); unread == nil {
					ran++
					v.check(t, got, err)
				}
			}
			if ran < atLeast {
				t.Errorf("only %d vectors could be read", ran)
			}
		})
	}
}

// splitOperations takes "[(a) op (b), (a) op (b)]" apart.
func splitOperations(body string) ([]string, bool) {
	if !strings.HasPrefix(body, "[(") || !regexp.MustCompile(`\) [A-Z=<>!]+ \(`).MatchString(body) {
		return nil, false
	}
	var out []string
	depth, from := 0, 1
	for i := 1; i < len(body)-1; i++ {
		switch body[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case ',':
			if depth == 0 {
				out, from = append(out, body[from:i]), i+1
			}
		}
	}
	return append(out, body[from:len(body)-1]), true
}

func checkList(t *testing.T, v vector, list []string) {
	t.Helper()
	elems := make([]Value, len(list))
	for i, s := range list {
		var err, unread error
		if elems[i], err, unread = operation(s); err != nil || unread != nil {
			t.Errorf("%s: %s: %v %v", v.Name, s, err, unread)
			return
		}
	}
	v.check(t, ArrayOf(elems), nil)
}

func TestCastVectors(t *testing.T) {
	re := regexp.MustCompile(`^RETURN <(.*)> \((.*)\);$`)
	ran := 0
	for _, v := range loadVectors(t, "operators/casts") {
		m := re.FindStringSubmatch(v.SQL)
		if m == nil {
			continue
		}
		typ, err := readType(m[1])
		if err != nil {
			t.Errorf("%s: %v", v.SQL, err)
			continue
		}
		in, err := readLiteral(m[2])
		if err != nil {
			t.Errorf("%s: %v", v.SQL, err)
			continue
		}
		ran++
		got, err := Cast(in, typ, &reader{})
		v.check(t, got, err)
	}
	if ran < 1600 {
		t.Errorf("only %d vectors could be read", ran)
	}
}

func TestCoercionVectors(t *testing.T) {
	re := regexp.MustCompile(`^LET \$v: (.*?) = (.*); RETURN \$v;$`)
	ran := 0
	for _, v := range loadVectors(t, "operators/coercions") {
		m := re.FindStringSubmatch(v.SQL)
		if m == nil {
			continue
		}
		typ, err := readType(m[1])
		if err != nil {
			t.Errorf("%s: %v", v.SQL, err)
			continue
		}
		in, err := readLiteral(m[2])
		if err != nil {
			t.Errorf("%s: %v", v.SQL, err)
			continue
		}
		ran++
		v.Error = strings.TrimPrefix(v.Error, "Tried to set `$v`, but couldn't coerce value: ")
		got, err := Coerce(in, typ)
		v.check(t, got, err)
	}
	if ran < 1600 {
		t.Errorf("only %d vectors could be read", ran)
	}
}

func TestOrderingVectors(t *testing.T) {
	re := regexp.MustCompile(`^RETURN array::sort\((\[.*\])\);$`)
	ran := 0
	for _, v := range loadVectors(t, "operators/ordering") {
		m := re.FindStringSubmatch(v.SQL)
		if m == nil || v.Error != "" {
			continue
		}
		in, err := readLiteral(m[1])
		if err != nil {
			t.Errorf("%s: %v", v.SQL, err)
			continue
		}
		ran++
		elems := append([]Value(nil), in.Elems()...)
		SortValues(elems)
		v.check(t, ArrayOf(elems), nil)
	}
	if ran < 390 {
		t.Errorf("only %d vectors could be read", ran)
	}
}
