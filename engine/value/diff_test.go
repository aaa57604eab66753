package value

import (
	"regexp"
	"strings"
	"testing"
)

func goOn() error { return nil }

// Every recorded call of value::diff and value::patch with literal arguments.
func TestDiffVectors(t *testing.T) {
	re := regexp.MustCompile(`^RETURN value::(diff|patch)\((.*)\);$`)
	ran := 0
	for _, v := range loadVectors(t, "functions/value") {
		m := re.FindStringSubmatch(v.SQL)
		if m == nil || strings.HasPrefix(v.Error, "Incorrect arguments") {
			continue
		}
		args, err := readLiteral("[" + m[2] + "]")
		if err != nil || args.Len() != 2 {
			t.Errorf("%s: %v", v.SQL, err)
			continue
		}
		ran++
		a, b := args.Elems()[0], args.Elems()[1]
		if m[1] == "diff" {
			got, err := Diff(a, b, goOn)
			v.check(t, got, err)
			continue
		}
		got, err := Patch(a, a, b, goOn)
		v.check(t, got, err)
	}
	if ran < 55 {
		t.Errorf("only %d vectors could be read", ran)
	}
}

// More answers of the reference.
func TestDiffAndPatch(t *testing.T) {
	for in, want := range map[string]string{
		`{a:[1,2,3],b:{c:1}},{a:[1,9],b:1,d:2}`: `[{ op: 'replace', path: '/a/1', value: 9 }, { op: 'remove', path: '/a/2' }, { op: 'replace', path: '/b', value: 1 }, { op: 'add', path: '/d', value: 2 }]`,
		`[1,2,3,4],[1]`:                         `[{ op: 'remove', path: '/1' }, { op: 'remove', path: '/2' }, { op: 'remove', path: '/3' }]`,
		`{z:1,b:1,a:1},{c:1,y:1,a:2}`:           `[{ op: 'remove', path: '/b' }, { op: 'remove', path: '/z' }, { op: 'replace', path: '/a', value: 2 }, { op: 'add', path: '/c', value: 1 }, { op: 'add', path: '/y', value: 1 }]`,
		`{1,2},{1,3}`:                           `[{ op: 'replace', path: '', value: {1, 3} }]`,
		`{a:1},{a:1.0}`:                         `[]`,
	} {
		args, err := readLiteral("[" + in + "]")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Diff(args.Elems()[0], args.Elems()[1], goOn); err != nil || got.Text() != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		`{a:[1,2,3]},[{op:'remove',path:'/a/1'},{op:'replace',path:'/a/0',value:9},{op:'add',path:'/a/0',value:0},{op:'add',path:'/a/99',value:7},{op:'add',path:'/a/x',value:7}]`: `{ a: [0, 9, 3, 7] }`,
		`{a:[{b:1},{b:2}]},[{op:'replace',path:'/a/b',value:7}]`:                                                                     `{ a: [{ b: 7 }, { b: 7 }] }`,
		`{a:[1,2,3]},[{op:'add',path:'/a',value:7}]`:                                                                                 `{ a: [1, 2, 3, 7] }`,
		`{a:[1]},[{op:'add',path:'/a',value:[0]}]`:                                                                                   `{ a: [1, 0] }`,
		`{a:1},[{op:'move',from:'/zz',path:'/a'}]`:                                                                                   `{ a: NONE }`,
		`{a:{b:1}},[{op:'move',from:'/a/b',path:'/c/d'}]`:                                                                            `{ a: {  }, c: { d: 1 } }`,
		`{a:1},[{op:'replace',path:'/a/c',value:2}]`:                                                                                 `{ a: 1 }`,
		`{a:NONE},[{op:'replace',path:'/a/c',value:2}]`:                                                                              `{ a: { c: 2 } }`,
		`{a:1},[{op:'add',path:'/a~1b',value:7},{op:'add',path:'//h',value:1},{op:'add',path:'/i/',value:1}]`:                        `{ a: 1, "a~1b": 7, h: 1, i: { "": 1 } }`,
		`[1,2],[{op:'replace',path:'/0',value:7},{op:'add',path:'/-',value:8},{op:'add',path:'/1',value:9},{op:'remove',path:'/0'}]`: `[9, 2, 8]`,
	} {
		args, err := readLiteral("[" + in + "]")
		if err != nil {
			t.Fatal(err)
		}
		got, err := Patch(args.Elems()[0], args.Elems()[0], args.Elems()[1], goOn)
		if err != nil || got.Text() != want {
			t.Errorf("%s: got %s %v, want %s", in, got, err, want)
		}
	}
}

func TestAssignments(t *testing.T) {
	for _, c := range []struct{ cur, op, v, want string }{
		{"NONE", "+=", "'x'", "['x']"}, {"NONE", "+=", "[1, 1]", "[1, 1]"}, {"NONE", "+=", "1h", "1h"},
		{"NONE", "+=", "NONE", "[NONE]"}, {"1d", "+=", "1h", "1d1h"},
		{"1", "+=", "1.5", "2.5f"}, {"{1,}", "+=", "2", "{1, 2}"}, {"{1,}", "+=", "[2, 1]", "{1, 2}"},
		{"NONE", "+=", "{3,}", "{3,}"},
		{"{ a: 1 }", "+=", "{ b: 2 }", "{ a: 1, b: 2 }"}, {"[1]", "+=", "[[2]]", "[1, [2]]"},
		{"[1]", "+=", "{3,1}", "[1, 1, 3]"}, {"'a'", "+=", "'b'", "'ab'"},
		{"584942417355y", "+=", "584942417355y", "584942417355y3w5d7h15s999ms999µs999ns"}, {"1h", "-=", "30m", "30m"},
		{"NONE", "-=", "1.5", "-1.5f"}, {"NONE", "-=", "[1]", "NONE"}, {"[1,2,2,3,[2]]", "-=", "2", "[1, 3, [2]]"},
		{"[1,2,2,3,[2]]", "-=", "[2,3]", "[1, [2]]"}, {"[1]", "-=", "1.0", "[]"},
		{"{1,2}", "-=", "{2,}", "{1,}"}, {"[1,2]", "-=", "{2,}", "[1]"},
		{"NONE", "+?=", "[1,1]", "[1, 1]"}, {"NONE", "+?=", "1", "[1]"}, {"[1,2]", "+?=", "[2,3,3]", "[1, 2, 3]"},
		{"{1,2}", "+?=", "3", "{1, 2}"},
	} {
		cur, err1 := readLiteral(c.cur)
		v, err2 := readLiteral(c.v)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		var got Value
		var err error
		switch c.op {
		case "+=":
			got, err = AddAssign(cur, v)
		case "-=":
			got, err = SubAssign(cur, v)
		default:
			got = ExtendAssign(cur, v)
		}
		if err != nil || got.Text() != c.want {
			t.Errorf("%s %s %s: got %s %v, want %s", c.cur, c.op, c.v, got, err, c.want)
		}
	}
	for _, c := range [][2]Value{{Null, Int(1)}, {Int(1), Str("a")}, {Bool(true), Int(1)}} {
		if got, err := AddAssign(c[0], c[1]); err == nil {
			t.Errorf("%s += %s: got %s, want an error", c[0], c[1], got)
		}
	}
	if _, err := SubAssign(mustDuration(t, "1h"), mustDuration(t, "2h")); err == nil {
		t.Error("a negative duration")
	}
	if _, err := AddAssign(Int(1<<63-1), Int(1)); err == nil {
		t.Error("an int beyond its range")
	}
}
