package script_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/script"
	"github.com/nacredb/nacre/engine/value"
)

const prefix = "Problem with embedded script function. "

func engineOf(l script.CallLimits) *script.Engine { return script.New(l, parse.Record{}) }

func obj(fields ...value.Field) value.Value { return value.ObjectOf(value.NewObject(fields...)) }

func cast(t *testing.T, text string, k value.TypeKind) value.Value {
	t.Helper()
	v, err := value.Cast(value.Str(text), value.Simple(k), parse.Record{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestScripts(t *testing.T) {
	e := engineOf(script.CallLimits{})
	this := obj(value.Field{Name: "n", Value: value.Int(4)}, value.Field{Name: "__proto__", Value: value.Int(5)})
	for _, tc := range []struct{ js, want string }{
		{"return 1 + 1", "2"},
		{"return 0.5", "0.5f"},
		{"return", "NONE"},
		{"", "NONE"},
		{"return null", "NULL"},
		{"return this.n + arguments[0]", "11"},
		{"return arguments.length", "2"},
		{"return Object.keys(this)", "['__proto__', 'n']"},
		{"return [...arguments].map(x => x * 2)", "[14, 18]"},
		{"return { a: [1, 'b', true, null, undefined], m: new Map([['k', 1]]), s: new Set([2, 1, 2]) }", "{ a: [1, 'b', true, NULL, NONE], m: { k: 1 }, s: {1, 2} }"},
		{"return await Promise.all([1, Promise.resolve(2)])", "[1, 2]"},
		{"return Promise.resolve(3)", "3"},
		{"return (async () => { await null; return 5 })()", "5"},
		{"return 9007199254740993n", "9007199254740993"},
		{"return 2n ** 70n", "1180591620717411303424dec"},
		{"return NaN", "NaN"},
		{"return new Uint8Array([1, 2, 255])", "b\"0102FF\""},
		{"return new Uint8Array([1, 2]).buffer", "b\"0102\""},
		{"return new Float64Array([0.5])", "[0.5f]"},
		{"return new Date(0)", "d'1970-01-01T00:00:00Z'"},
		{"return new Error('no')", "'Error: no'"},
		{"return new Record('person', 'tobie')", "person:tobie"},
		{"return new Record('person:1')", "person:1"},
		{"return new Record('t', [1, { a: 2 }]).id", "[1, { a: 2 }]"},
		{"return [new Duration('1h30m'), `${new Duration('90m')}`]", "[1h30m, '1h30m']"},
		{"return new Uuid('018f0d3e-6f3b-7aaa-8aaa-1234567890ab')", "u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'"},
		{"return [new Decimal('1.5'), new Decimal('1.5') + 1]", "[1.5dec, 2.5f]"},
		{"return JSON.parse('{\"a\":[1,{\"b\":null}]}')", "{ a: [1, { b: NULL }] }"},
		{"return JSON.parse('[1,2]', (k, v) => typeof v === 'number' ? v * 2 : v)", "[2, 4]"},
		{"return JSON.stringify({ a: [1, undefined, 'x\"'], b: undefined, d: new Date(0), r: new Record('a', 1) })",
			`'{"a":[1,null,"x\\""],"d":"1970-01-01T00:00:00.000Z","r":"a:1"}'`},
		{"return JSON.stringify({ a: [1], e: {} }, null, 1)", "'{\\n \"a\": [\\n  1\\n ],\\n \"e\": {}\\n}'"},
		{"return JSON.stringify({ a: 1, b: 2 }, ['b'])", `'{"b":2}'`},
		{"return JSON.stringify({ a: 1, b: 2 }, (k, v) => k === 'a' ? undefined : v)", `'{"b":2}'`},
		{"return [[1, [2, [3]]].flat(), [1, [2, [3]]].flat(Infinity)]", "[[1, 2, [3]], [1, 2, 3]]"},
		{"return ['abc'.repeat(2), 'a'.padStart(3, '-'), 'aXa'.replaceAll('a', 'b'), 'a-b'.split('-')]", "['abcabc', '--a', 'bXb', ['a', 'b']]"},
		{"return [new RegExp('a+').test('caat'), 'x1y2'.match(/\\d/g), new RegExp('a') instanceof RegExp, new Uint8Array(2) instanceof Uint8Array]",
			"[true, ['1', '2'], true, true]"},
		{"let s = 0; for (const x of [1, 2, 3]) s += x; return s", "6"},
		{"class A { #x = 1; get x() { return this.#x } }; return new A().x", "1"},
		// Nothing of the world outside.
		{"return [typeof console, typeof require, typeof process, typeof fetch, typeof setTimeout, typeof eval, typeof Function, typeof Proxy, typeof globalThis.surrealdb]",
			"['undefined', 'undefined', 'undefined', 'undefined', 'undefined', 'undefined', 'undefined', 'undefined', 'undefined']"},
		{"return [(() => {}).constructor, (async () => {}).constructor, (function* () {}).constructor]", "[NONE, NONE, NONE]"},
		// Errors.
		{"throw new Error('boom')", prefix + "An exception occurred: boom"},
		{"throw 'plain'", prefix + "An exception occurred: plain"},
		{"throw { toString() { throw 1 } }", prefix + "An exception occurred: an exception that cannot be shown"},
		{"return nope", prefix + "An exception occurred: nope is not defined"},
		{"return new Uuid('x')", prefix + "An exception occurred: Could not cast into `uuid` using input `'x'`"},
		{"return new Record(1, 2)", prefix + "An exception occurred: The table of a record is a int"},
		{"return () => 1", prefix + "A script cannot return a Function"},
		{"return Symbol('x')", prefix + "A script cannot return a Symbol"},
		{"return new Date(NaN)", prefix + "A script cannot return a Date that is not valid"},
		{"return new Promise(() => {})", prefix + "The script waits for a promise that nothing settles"},
		{"const a = []; a[0] = a; return a", prefix + "The values of the script are nested deeper than 100"},
		{"return { get x() { throw new Error('got') } }", prefix + "An exception occurred: got"},
		{"const f = () => f(); return f()", prefix + "An exception occurred: calls are nested deeper than 512"},
		{"(", prefix + "An exception occurred: SyntaxError"},
		{"x = 1", prefix + "An exception occurred: x is not defined"},
		{"globalThis.x = 1; return typeof x", "'number'"},
		{"return typeof x", "'undefined'"}, // nothing is left of the call before
		{"Array.prototype.push = null; Object.prototype.y = 1; return 1", "1"},
		{"return [[].push(1), ({}).y]", "[1, NONE]"},
	} {
		got, err := e.Run(t.Context(), tc.js, this, []value.Value{value.Int(7), value.Int(9)}, nil)
		text := got.Text()
		if err != nil {
			text = strings.TrimSuffix(err.Error(), "\n")
		}
		if text != tc.want && !(strings.HasSuffix(tc.want, "SyntaxError") && strings.HasPrefix(text, tc.want)) {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.js, text, tc.want)
		}
	}
}

// TestEveryKindComesBack: what a script is given and returns is what it was.
func TestEveryKindComesBack(t *testing.T) {
	e := engineOf(script.CallLimits{})
	for _, v := range []value.Value{
		value.None, value.Null, value.Bool(true), value.Int(1), value.Int(-1 << 63), value.Int(1<<63 - 1),
		value.Float(0.25),
		value.Str("ü\x00"), value.Str(""), value.BytesOf([]byte{0, 255}), value.BytesOf(nil), cast(t, "1.10",
			value.TypeDecimal),
		cast(t, "1w2d3ns", value.TypeDuration), cast(t, "2024-01-02T03:04:05.123456789Z", value.TypeDatetime),
		cast(t, "0001-01-01T00:00:00.000000001Z", value.TypeDatetime), cast(t, "018f0d3e-6f3b-7aaa-8aaa-1234567890ab",
			value.TypeUUID),
		value.Array(value.Int(1), value.Array()), value.SetOf([]value.Value{value.Int(1),
			value.Str("a")}), obj(value.Field{Name: "a", Value: obj()}),
		value.PointOf(1, 2.5), value.TableOf("t"), value.Record("t",
			value.Array(value.Int(1))), value.FileOf(&value.File{Bucket: "b", Key: "/k"}),
		value.RangeOf(&value.Range{Start: value.Bound{Kind: value.Included, Value: value.Int(1)}}),
	} {
		for _, js := range []string{"return arguments[0]", "return this", "return [arguments[0]][0]"} {
			got, err := e.Run(t.Context(), js, v, []value.Value{v}, nil)
			if err != nil || got.Kind() != v.Kind() || !value.Equal(got, v) {
				t.Errorf("%s of %s: got %s, %v", js, v.Text(), got.Text(), err)
			}
		}
	}
	changed, err := e.Run(t.Context(), "const d = arguments[0]; d.setUTCFullYear(2030); return d", value.None,
		[]value.Value{cast(t, "2024-01-02T03:04:05.123456789Z", value.TypeDatetime)}, nil)
	if err != nil || changed.Text() != "d'2030-01-02T03:04:05.123Z'" {
		t.Errorf("a date that was changed: %s, %v", changed.Text(), err)
	}
	parts, err := e.Run(t.Context(), "const [r, g, t] = arguments; return [r.tb, r.id, `${r}`, g.type, g.coordinates, `${t}`]", value.None,
		[]value.Value{value.Record("t", value.Int(1)), value.PointOf(1, 2), value.TableOf("x")}, nil)
	if err != nil || parts.Text() != "['t', 1, 't:1', 'Point', [1, 2], 'x']" {
		t.Errorf("the parts: %s, %v", parts.Text(), err)
	}
}

// TestBounds: what a script may use ends, and the process goes on.
func TestBounds(t *testing.T) {
	limits := script.CallLimits{Time: time.Minute, Data: 1 << 20, Heap: 64 << 20, Pattern: 100 * time.Millisecond}
	e := engineOf(limits)
	limits.Time = 300 * time.Millisecond
	brief := engineOf(limits)
	for js, want := range map[string]string{
		"for (;;);":                                                  "The script took longer than 300ms",
		"for (;;) await null":                                        "The script took longer than 300ms",
		"try { for (;;); } finally { return 1 }":                     "The script took longer than 300ms",
		"throw { toString() { for (;;); } }":                         "an exception that cannot be shown",
		"return { get x() { for (;;); } }":                           "The script took longer than 300ms",
		"let s = 'x'; for (;;) s += s":                               "The script ",
		"const a = []; for (;;) a.push({ a: {} })":                   "The script ",
		"return 'x'.repeat(1e9)":                                     "a text would be longer than",
		"return 'x'.padEnd(1e9)":                                     "a text would be longer than",
		"return 'x'.repeat(1e5).replaceAll('x', 'y'.repeat(1e5))":    "a text would be longer than",
		"return 'x'.repeat(1e3).replaceAll('x', '$`$`$`')":           "a text would be longer than",
		"return Array(1e9).fill(1)":                                  "a list would be longer than",
		"return [...Array(1e9)]":                                     "a list would be longer than",
		"return Array(1e9).join('')":                                 "a list would be longer than",
		"return `${Array(1e9)}`":                                     "a list would be longer than",
		"return Array.from({ length: 1e9 })":                         "a list would be longer than",
		"return Math.max.apply(null, { length: 1e9 })":               "a list would be longer than",
		"return new Uint8Array(1e10)":                                "a text would be longer than",
		"return new ArrayBuffer(1e10)":                               "a text would be longer than",
		"return Array(1e6)":                                          "The values of the script are larger than 1048576 bytes",
		"return new Uint8Array(1).constructor.from({ length: 1e9 })": "would be longer than",
		"let o = {}; for (let i = 0; i < 1e4; i++) o = { o }; return JSON.stringify(o)":  "would be longer than",
		"let o = { toJSON() { return { o } } }; return JSON.stringify(o)":                "would be longer than",
		"return JSON.stringify({}, (k, v) => ({ v }))":                                   "would be longer than",
		"let o = [1]; for (let i = 0; i < 50; i++) o = [o, o]; return JSON.stringify(o)": "The script took longer",
		"return JSON.parse('['.repeat(1e6))":                                             "a path into JSON would be longer than 100",
		"let a = []; for (let i = 0; i < 1e4; i++) a = [a]; return `${a}`":               "calls are nested deeper",
		"let a = []; for (let i = 0; i < 1e4; i++) a = [a]; return a.flat(Infinity)":     "calls are nested deeper",
		"return new RegExp('('.repeat(1e5))":                                             "would be longer than",
	} {
		run := e.Run
		if strings.HasPrefix(want, "The script ") || strings.HasPrefix(want, "an exception") {
			run = brief.Run
		}
		_, err := run(t.Context(), js, value.None, nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", js, err, want)
		}
	}
	if _, err := e.Run(t.Context(), "return /^(a|a)*(?=c)$/.test('a'.repeat(100))", value.None, nil, nil); err != nil {
		t.Errorf("a pattern that backtracks: %v", err) // it finds nothing once its time is up
	}
	if _, err := e.Run(t.Context(), "return 1", value.Str(strings.Repeat("x", 2<<20)), nil, nil); err == nil {
		t.Error("an argument that is too large is taken")
	}
	if _, err := e.Run(t.Context(), strings.Repeat(" ", 65<<10), value.None, nil, nil); err == nil {
		t.Error("a script that is too long is run")
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := e.Run(ctx, "for (;;);", value.None, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// TestGrowth: values that double, and lists that grow, end by the memory that they take, long before their time is up;
// garbage does not count.
func TestGrowth(t *testing.T) {
	e := engineOf(script.CallLimits{Time: time.Minute, Heap: 64 << 20})
	for _, js := range []string{
		"let s = 'x'; for (;;) s += s",
		"let s = 'é'; for (;;) s = s + s",
		"let a = [1]; for (;;) { a.push({ a }); if (a.length % 2) a = [a, a.slice()] }",
		"const a = []; for (;;) a.push('abcdefgh'.repeat(1000) + a.length)",
	} {
		_, err := e.Run(t.Context(), js, value.None, nil, nil)
		if err == nil || !strings.Contains(err.Error(), "The script needs more than 67108864 bytes of memory") {
			t.Errorf("%s: got %v", js, err)
		}
	}
	got, err := e.Run(t.Context(), "let n = 0; for (let i = 0; i < 300; i++) n += ('x'.repeat(1e6) + i).length; return n", value.None, nil, nil)
	if err != nil || got.Int() != 300_000_790 {
		t.Errorf("garbage: got %s, %v", got.Text(), err)
	}
}

// TestBigInts: they are there for scripts that have any, and no step makes, or reads, more of one than is allowed. A
// shift ended the process.
func TestBigInts(t *testing.T) {
	e := engineOf(script.CallLimits{})
	most := value.Int(1<<63 - 1)
	for _, tc := range []struct {
		js   string
		arg  value.Value
		want string
	}{
		{"return typeof globalThis['Big' + 'Int64Array'] + typeof globalThis['Big' + 'Int'] + typeof DataView.prototype['getBig' + 'Int64']", value.None, "'undefinedundefinedundefined'"},
		{"const a = arguments[0]; return [typeof a, a - 1n, `${a}`]", most, "['bigint', 9223372036854775806, '9223372036854775807']"},
		{"const a = arguments[0]; return a * 2n === 18446744073709551614n && a == '9223372036854775807' && a > 5 && !(a < 5.5)", most, "true"},
		{"let a = 2n; a *= 3n; a **= 3n; a <<= 2n; a >>= 1n; const o = { a, b: { c: 7n } }; o.a *= 2n; o.b['c'] **= 2n; return [a, o.a, o.b.c, 2 ** 3 * 2, 1 << 4, -9 >> 1, 2n ** 64n >> 3n, '3' * '4']", value.None, "[432, 864, 49, 16, 16, -5, 2305843009213693952, 12]"},
		{"return [BigInt('12') * BigInt(3), BigInt.asIntN(8, 255n), typeof Object(1n), 5n instanceof BigInt, [3n, 1n, 2n].sort().map((x) => x ** 2n)]", value.None, "[36, -1, 'object', false, [1, 4, 9]]"},
		{"return [{ valueOf() { return 3n } } * 2n, { [Symbol.toPrimitive](h) { return h.length } } * 2, [5] * 2, new Date(7) * 1, null * 1, 0n ** 0n, (-1n) ** 99999999n, 0n << 99999999999n]", value.None, "[6, 12, 10, 7, 0, 1, -1, 0]"},
		{"class A { #x = 2n; f() { this.#x = this.#x * 3n; return this.#x } } return new A().f()", value.None, "6"},
		{"class A { #x = 2n; f() { return this.#x *= 3n } } return new A().f()", value.None, "ERR SyntaxError"},
		{"return 2n * 2", value.None, "ERR "},
		{"return 1n << 10000000000000n", value.None, "ERR a BigInt would have more than 1048576 bits"},
		{"return 1n >> -10000000000000n", value.None, "ERR a BigInt would have more"},
		{"return 2n ** 10000000000000n", value.None, "ERR a BigInt would have more"},
		{"const a = arguments[0]; return a ** a", most, "ERR a BigInt would have more"},
		{"let o = { x: 3n }; o.x **= 99999999999n", value.None, "ERR a BigInt would have more"},
		{"let b = 3n; for (;;) b *= b", value.None, "ERR a BigInt would have more"},
		{"return BigInt.asUintN(1e15, -1n)", value.None, "ERR a BigInt would have more"},
		{"return BigInt('9'.repeat(1e6))", value.None, "ERR a BigInt would have more"},
		{"return '9'.repeat(1e6) == 1n", value.None, "ERR a BigInt would have more"},
		{"return 1n < { toString() { return '9'.repeat(1e6) } }", value.None, "ERR a BigInt would have more"},
		{"globalThis[' <<'] = (a, b) => 5; return 1n << 2n", value.None, "ERR "},
		{"return [' ', '*'].map((x) => x + '10n').length * 2", value.None, "4"},
	} {
		got, err := e.Run(t.Context(), tc.js, value.None, []value.Value{tc.arg}, nil)
		text := got.Text()
		if err != nil {
			text = "ERR " + strings.TrimPrefix(err.Error(), "Problem with embedded script function. An exception occurred: ")
		}
		if text != tc.want && !(err != nil && strings.HasPrefix(text, tc.want)) {
			t.Errorf("%s:\ngot  %.300s\nwant %s", tc.js, text, tc.want)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	e := engineOf(script.CallLimits{})
	args := []value.Value{value.Int(1), obj(value.Field{Name: "a", Value: value.Str("x")})}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Run(b.Context(), "return arguments[0] + 1", value.None, args, nil); err != nil {
			b.Fatal(err)
		}
	}
}
