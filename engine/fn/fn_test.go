package fn_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// closure is a function value that Go code stands behind.
type closure func(args []value.Value) (value.Value, error)

func (closure) Text() string { return "|$x| $x" }
func (closure) Size() int    { return len("|$x| $x") }

// host is an evaluator without a database.
type host struct {
	net   fn.NetFilter
	param value.Value
}

func (host) Context() context.Context { return context.Background() }
func (host) Invoke(f value.Value, args ...value.Value) (value.Value, error) {
	return f.Closure().(closure)(args)
}
func (host) Fetch(*value.RecordID) (value.Value, error) { return value.None, nil }
func (h host) Param(string) value.Value                 { return h.param }
func (host) Reserve(int) error                          { return nil }
func (host) Now() time.Time                             { return time.Unix(1700000000, 123456789) }
func (h host) NetFilter() fn.NetFilter                  { return h.net }

// library makes one table for a test and gives its functions by name.
type library struct {
	testing.TB
	table *fn.Table
	host  fn.Host
}

func newLibrary(t testing.TB) *library { return &library{t, fn.Library(), host{}} }

func (l *library) try(name string, args ...value.Value) (value.Value, error) {
	l.Helper()
	f, ok := l.table.Function(name)
	if !ok {
		l.Fatalf("no function %s", name)
	}
	return f.Call(l.host, args)
}

func (l *library) call(name string, args ...value.Value) value.Value {
	l.Helper()
	v, err := l.try(name, args...)
	if err != nil {
		l.Fatalf("%s: %v", name, err)
	}
	return v
}

func ints(ns ...int) value.Value {
	out := make([]value.Value, len(ns))
	for i, n := range ns {
		out[i] = value.Int(int64(n))
	}
	return value.ArrayOf(out)
}

func TestEveryFunctionIsDescribed(t *testing.T) {
	for _, f := range fn.Library().Functions() {
		if f.Impl == nil || f.Result == "" || !strings.HasSuffix(f.Doc, ".") {
			t.Errorf("%s: incomplete entry", f.Name)
		}
	}
}

func TestArgumentsAreCountedAndTyped(t *testing.T) {
	l := newLibrary(t)
	for _, tc := range []struct {
		name string
		args []value.Value
		want string
	}{
		{"string::len", nil, "Incorrect arguments for function string::len(). Expected 1 argument"},
		{"array::add", nil, "Incorrect arguments for function array::add(). Expected 2 arguments"},
		{"count", []value.Value{value.None, value.None}, "Incorrect arguments for function count(). Expected 0 to 1 arguments"},
		{"rand::bool", []value.Value{value.None}, "Incorrect arguments for function rand::bool(). Expected no arguments"},
		{"string::join", nil, "Incorrect arguments for function string::join(). Expected at least one argument"},
		{"string::len", []value.Value{value.Int(1)}, "Incorrect arguments for function string::len(). Argument 1 was the wrong type. Expected `string` but found `1`"},
		{"array::at", []value.Value{ints(1), value.Float(1.5)}, "Incorrect arguments for function array::at(). Argument 2 was the wrong type. Expected `int` but found `1.5f`"},
		{"math::sum", []value.Value{value.Array(value.Str("a"))}, "Incorrect arguments for function math::sum(). Argument 1 was the wrong type. Expected `number` but found `'a'` when coercing an element of `array<number>`"},
		{"array::every", []value.Value{ints(1)}, "Unknown function 'array::every' - not found in function registry"},
	} {
		_, err := l.try(tc.name, tc.args...)
		if e, ok := errors.AsType[*errs.Error](err); !ok || e.Msg != tc.want {
			t.Errorf("%s: got %v, want %s", tc.name, err, tc.want)
		}
	}
	args := []value.Value{ints(1, 2, 3), value.Float(1)}
	if v := l.call("array::at", args...); v.Int() != 2 {
		t.Errorf("a whole float is no index: %s", v)
	}
	if args[1].Kind() != value.KindFloat {
		t.Error("coercion changed the caller's arguments")
	}
}

func TestMethodsChooseByReceiver(t *testing.T) {
	l := newLibrary(t)
	m, _ := l.table.Method("len")
	for _, tc := range []struct {
		receiver value.Value
		want     int64
	}{
		{value.Str("äb"), 2}, {ints(1, 2, 3), 3}, {value.BytesOf([]byte{1}), 1},
	} {
		if v, err := m.Call(l.host, []value.Value{tc.receiver}); err != nil || v.Int() != tc.want {
			t.Errorf("%s.len(): got %s, %v", tc.receiver, v, err)
		}
	}
	for text, call := range map[string]func() error{
		"Method 'len' cannot be called on value of type 'int'": func() error {
			_, err := m.Call(l.host, []value.Value{value.Int(1)})
			return err
		},
		"Incorrect arguments for method at(). Expected 2 arguments": func() error {
			at, _ := l.table.Method("at")
			_, err := at.Call(l.host, []value.Value{ints(1)})
			return err
		},
		"There was a problem running the foo() function. no such method found for the int type": func() error {
			return fn.NoMethod("foo", value.Int(1))
		},
	} {
		if err := call(); err == nil || err.Error() != text {
			t.Errorf("got %v, want %s", err, text)
		}
	}
	if _, ok := l.table.Method("Len"); ok {
		t.Error("method names depend on letter case")
	}
}

// slow functions do not end soon on purpose.
func slow(name string) bool {
	return name == "sleep" || strings.HasSuffix(name, "::generate") || strings.HasSuffix(name, "::compare") &&
		strings.HasPrefix(name, "crypto::")
}

// anyArgument generates values that the functions take, and closures and texts of their formats.
func anyArgument() *rapid.Generator[value.Value] {
	identity := closure(func(args []value.Value) (value.Value, error) { return args[len(args)-1], nil })
	texts := []string{"", "desc", "1.2.3-a+b", "%Y-%j %s%.f %z", "%", "(a+)+$", "http://[::1]:80/../a?b#c", "a@b.c",
		"é😀", "9q8yyk8ytpxr", "<b a=1>x"}
	return rapid.OneOf(valuetest.Value(2), valuetest.Value(2),
		rapid.Map(rapid.SliceOfN(valuetest.Number(), 0, 6), value.ArrayOf),
		rapid.Map(rapid.String(), value.Str),
		rapid.Map(rapid.SampledFrom(texts), value.Str),
		rapid.Map(rapid.Int64(), value.Int),
		rapid.Just(value.ClosureOf(identity)),
	)
}

func callAnything(t *rapid.T, table *fn.Table) {
	f := rapid.SampledFrom(table.Functions()).Draw(t, "function")
	if slow(f.Name) {
		t.Skip("slow on purpose")
	}
	n := rapid.IntRange(f.MinArgs(), max(f.MinArgs(), len(f.Params))).Draw(t, "count")
	args := make([]value.Value, n)
	for i := range args {
		args[i] = fitting(f.Params[min(i, len(f.Params)-1)]).Draw(t, "argument")
	}
	before := value.ArrayOf(append([]value.Value(nil), args...)).Text()
	got, err := f.Call(host{}, args)
	if _, ok := errors.AsType[*errs.Error](err); err != nil && !ok {
		t.Fatalf("%s(%s): not an error for users: %v", f.Name, before, err)
	}
	if after := value.ArrayOf(args).Text(); after != before {
		t.Fatalf("%s changed its arguments: %s to %s", f.Name, before, after)
	}
	if f.Fixed() {
		again, err2 := f.Call(host{}, args)
		if (err2 == nil) != (err == nil) || err == nil && again.Text() != got.Text() {
			t.Fatalf("%s(%s) is %s, then %s", f.Name, before, got, again)
		}
	}
}

// fitting generates values of a parameter's kind most of the time.
func fitting(p fn.Param) *rapid.Generator[value.Value] {
	return rapid.Custom(func(t *rapid.T) value.Value {
		v := anyArgument().Draw(t, "value")
		for range 30 {
			if value.Is(v, p.Type) {
				return v
			}
			v = anyArgument().Draw(t, "another")
		}
		return v
	})
}

func TestNoFunctionPanics(t *testing.T) {
	table := fn.Library()
	rapid.Check(t, func(t *rapid.T) { callAnything(t, table) })
}

func FuzzFunctions(f *testing.F) {
	table := fn.Library()
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { callAnything(t, table) }))
}
