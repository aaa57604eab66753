package compile_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/compile"
	"github.com/nacredb/nacre/engine/operate"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// condition parses an expression.
func condition(t *testing.T, text string) ast.Expr {
	t.Helper()
	x, err := parse.Expr(text, parse.Options{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return x
}

// literal is the value of a literal; all else fails.
func literal(x ast.Expr) (value.Value, error) {
	if l, ok := x.(*ast.Literal); ok {
		return l.Value, nil
	}
	return value.None, errors.New("not a literal")
}

func TestConditions(t *testing.T) {
	row := value.ObjectOf(value.NewObject(
		value.Field{Name: "n", Value: value.Int(5)}, value.Field{Name: "f", Value: value.Float(2.5)},
		value.Field{Name: "s", Value: value.Str("some text")}, value.Field{Name: "gone", Value: value.Null},
		value.Field{Name: "link", Value: value.Record("t", value.Int(1))},
		value.Field{Name: "o", Value: value.ObjectOf(value.NewObject(value.Field{Name: "x", Value: value.Int(7)}))}))
	b, err := value.EncodeRecord(nil, row.Object())
	if err != nil {
		t.Fatal(err)
	}
	const yes, no, open, never = "yes", "no", "open", "not compiled"
	for text, want := range map[string]string{
		"n > 4":                      yes,
		"n > 4 AND n < 5":            no,
		"n = 5 OR link.x = 1":        yes,
		"n = 6 OR link.x = 1":        open,
		"n = 6 AND link.x = 1":       no,
		"link.x = 1 AND n = 6":       open,
		"o.x = 7":                    yes,
		"o.y.z = NONE":               yes,
		"gone.x = NONE":              yes,
		"n.x = 1":                    open,
		"missing < 0":                yes,
		"f >= 2.5 AND f <= 2.5":      yes,
		"f > 2":                      yes,
		"s > 1":                      yes,
		"s CONTAINS 'me te'":         yes,
		"s CONTAINS 'nothing'":       no,
		"!(n = 5)":                   no,
		"(n)":                        yes,
		"gone ?: n = 5":              yes,
		"gone ?? n":                  yes,
		"5 = n":                      yes,
		"n + 1 = 6":                  yes,
		"s + 'x' = 'some textx'":     open,
		"n + s = 1":                  open,
		"n IN [1, 5]":                never, // the evaluator of this test knows literals only
		"rand() > 1":                 never,
		"(SELECT * FROM t)[0] = 1":   never,
		"count(->knows) > 1":         never,
		"n <|2,EUCLIDEAN|> [1, 2]":   never,
		"n + 9223372036854775807":    open,
		"n * 2 = 10 AND o.x - 7 = 0": yes,
	} {
		set := compile.New(literal)
		test := set.Test(condition(t, text))
		if test == nil {
			if want != never {
				t.Errorf("%s: is not compiled, want %s", text, want)
			}
			continue
		}
		fields := set.Fields()
		for _, way := range []string{"a value", "as it is stored"} {
			if way == "a value" {
				fields.Row(row)
			} else if err := fields.Stored(b); err != nil {
				t.Fatal(err)
			}
			ok, err := test(fields)
			got := no
			switch {
			case errors.Is(err, compile.ErrOpen):
				got = open
			case err != nil:
				t.Errorf("%s: %v", text, err)
			case ok:
				got = yes
			}
			if got != want {
				t.Errorf("%s over a row %s: got %s, want %s", text, way, got, want)
			}
		}
	}
}

// TestComparesInts: comparisons of ints answer as the operators do, at the ends of all their stored forms.
func TestComparesInts(t *testing.T) {
	var ints []int64
	for _, n := range []int64{math.MinInt64, -1 << 32, -256, -24, 0, 23, 24, 255, 1 << 16, 1 << 32, math.MaxInt64} {
		ints = append(ints, n-1, n, n+1)
	}
	field, nested := condition(t, "n"), condition(t, "o.n")
	for _, op := range []ast.BinaryOp{ast.OpEqual, ast.OpExact, ast.OpNotEqual, ast.OpLess, ast.OpLessEqual, ast.OpMore,
		ast.OpMoreEqual} {
		for _, with := range ints {
			set := compile.New(literal)
			test := set.Test(&ast.Binary{Op: op, L: field, R: &ast.Literal{Value: value.Int(with)}})
			deep := set.Test(&ast.Binary{Op: op, L: nested, R: &ast.Literal{Value: value.Int(with)}})
			fields := set.Fields()
			for _, n := range ints {
				n := value.Field{Name: "n", Value: value.Int(n)}
				o := value.Field{Name: "o", Value: value.ObjectOf(value.NewObject(n))}
				b, err := value.EncodeRecord(nil, value.NewObject(n, o))
				if err != nil {
					t.Fatal(err)
				}
				if err := fields.Stored(b); err != nil {
					t.Fatal(err)
				}
				want, _ := operate.Ints(op, n.Value.Int(), with)
				for name, test := range map[string]compile.Test{"n": test, "o.n": deep} {
					if got, err := test(fields); err != nil || got != want.Bool() {
						t.Errorf("%s of %s %v %d: got %v, %v", name, n.Value.Text(), op, with, got, err)
					}
				}
			}
		}
	}
}

// TestComparesTexts: comparisons with a text answer as the operators do, for texts of all lengths of their stored
// heads, and for what is no text.
func TestComparesTexts(t *testing.T) {
	long := strings.Repeat("abc", 100)
	values := []value.Value{value.None, value.Null, value.Int(1), value.Bool(true), value.Array(value.Str("a")),
		value.TableOf("a"), value.UUIDOf(value.UUID{0xab, 0xca}), value.BytesOf([]byte("abc"))}
	for _, s := range []string{"", "a", "ab", "abc", "b", "é", long[:23], long[:24], long[:255], long[:256], long} {
		values = append(values, value.Str(s))
	}
	field := condition(t, "s")
	for _, op := range []ast.BinaryOp{ast.OpEqual, ast.OpExact, ast.OpNotEqual, ast.OpLess, ast.OpLessEqual, ast.OpMore,
		ast.OpMoreEqual, ast.OpContains, ast.OpContainsNot, ast.OpInside, ast.OpNotInside, ast.OpContainsAny} {
		for _, with := range []string{"", "a", "ab", "b", long[:24], long} {
			set := compile.New(literal)
			test := set.Test(&ast.Binary{Op: op, L: field, R: &ast.Literal{Value: value.Str(with)}})
			fields := set.Fields()
			for _, v := range values {
				b, err := value.EncodeRecord(nil, value.NewObject(value.Field{Name: "s", Value: v}))
				if err != nil {
					t.Fatal(err)
				}
				if err := fields.Stored(b); err != nil {
					t.Fatal(err)
				}
				want, err := operate.Apply(op, v, value.Str(with))
				if err != nil {
					t.Fatal(err)
				}
				if got, err := test(fields); err != nil || got != want.Bool() {
					t.Errorf("%s %v '%s': got %v, %v", v.Text(), op, with, got, err)
				}
			}
		}
	}
}

// TestPathsAreShared: a field of several conditions is looked for once.
func TestPathsAreShared(t *testing.T) {
	set := compile.New(literal)
	a, b, c := set.Path([]string{"a", "b"}), set.Path([]string{"a"}), set.Path([]string{"a", "b"})
	if a != c || a == b {
		t.Errorf("got %d, %d, %d", a, b, c)
	}
}

func TestColumns(t *testing.T) {
	set := compile.New(literal)
	if _, ok := set.Columns([]ast.Expr{condition(t, "n"), condition(t, "rand()")}); ok {
		t.Error("a call is compiled")
	}
	xs, ok := set.Columns([]ast.Expr{condition(t, "n * 2"), condition(t, "m"), condition(t, "n.x")})
	if !ok {
		t.Fatal("plain expressions are not compiled")
	}
	fields := set.Fields()
	fields.Row(value.ObjectOf(value.NewObject(value.Field{Name: "n", Value: value.Int(4)})))
	for i, want := range []value.Value{value.Int(8), value.None} {
		if got, ok := xs[i].Read(fields); !ok || value.Compare(got, want) != 0 {
			t.Errorf("expression %d: got %s, %v, want %s", i, got.Text(), ok, want.Text())
		}
	}
	if got, ok := xs[2].Read(fields); ok {
		t.Errorf("a field of an int is %s", got.Text())
	}
}
