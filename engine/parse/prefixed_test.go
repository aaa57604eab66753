package parse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/ast"
)

// TestEscapesInPrefixedStrings checks that escapes are resolved before a prefix reads the text, and that errors point
// at the source: a character that came from an escape is marked over the whole escape.
func TestEscapesInPrefixedStrings(t *testing.T) {
	for _, tc := range []struct{ in, want, err string }{
		{in: `b"\u{41}F"`, want: `b"AF"`},
		{in: `b"0\u{7a}"`, err: "Unexpected character `z`, expected a hexidecimal digit [1:4] 6"},
		{in: `b"\x41"`, err: "Invalid escape sequence [1:3] 2 not a valid escape character"},
		{in: `b"\u{41}"`, err: "Unexpected end of byte-string, expected a hexidecimal digit [1:9] 1"},
		{in: `d"\u{32}024-05-06T07:08:09Z"`, want: `d'2024-05-06T07:08:09Z'`},
		{in: `d"2024\u{2f}05-06T07:08:09Z"`,
			err: "Unexpected character `/`, expected datetime seperator characters `-` [1:7] 6"},
		{in: `d"\u{32}0x4-05-06T07:08:09Z"`, err: "Invalid datetime, expected digit character found `x` [1:10] 1"},
		{in: `d"\u{32}024-13-06T07:08:09Z"`,
			err: "Invalid datetime digit section, section not within allowed range [1:13] 2 This section must be within 1..=12"},
		{in: `u"\u{30}18f0d3e-6f3b-7aaa-8aaa-1234567890ab"`, want: `u'018f0d3e-6f3b-7aaa-8aaa-1234567890ab'`},
		{in: `u"\u{7a}18f0d3e-6f3b-7aaa-8aaa-1234567890ab"`,
			err: "Unexpected character `z` expected hexidecimal digit [1:3] 6"},
		{in: `u"\u{30}18f0d3e-6f3b"`, err: "Unexpected end of string, expected UUID token to finish [1:21] 1"},
		{in: `f"bkt:/\u{61}b"`, want: `f"bkt:/ab"`},
		{in: `f"bkt\u{3a}\u{2f}ab"`, want: `f"bkt:/ab"`},
		{in: `f"bkt:/a\ b\'"`, want: `f"bkt:/a\ b\'"`},
		{in: `f"b\:c:/d"`, want: `f"b\:c:/d"`},
		{in: `f"bkt:/a\tb"`, err: "Unexpected character `\t`, file strings key's only allow alpha numeric characters " +
			"and `_`, `-`, `.`, and `/` [1:9] 2"},
		{in: `f"bk\u{20}t:/ab"`, err: "Unexpected character ` `, file strings buckets only allow alpha numeric " +
			"characters and `_`, `-`, and `.` [1:5] 6"},
		{in: `f"a\u{62}c"`, err: "Unexpected end of file string, missing bucket seperator `:/` [1:11] 1"},
		{in: `f"a:"`, err: "Unexpected end of file string, missing file string key. [1:5] 1"},
		{in: `f"a b"`, err: "Unexpected character ` `, file strings buckets only allow alpha numeric " +
			"characters and `_`, `-`, and `.` [1:4] 1"},
		{in: `f"\u{62}:x"`, err: "Unexpected character `x`, expected `/` [1:10] 1"},
		{in: `r"\u{70}en:1"`, want: `pen:1`},
		{in: `r"\u{70}en"`, err: "Unexpected end of file, expected : [1:11] 1"},
		{in: `r"pen:\u{22}"`, err: "Unexpected end of file, expected string to end. [1:7] 6 String starting here."},
		{in: `r"\u{70}en:[1, x y]"`, err: "Unexpected token `an identifier` expected delimiter `]` [1:18] 1" +
			" [1:12] 1 expected this delimiter to close"},
	} {
		x, err := Expr(tc.in, Options{})
		if got := failure(err); got != tc.err {
			t.Errorf("%s: error %q, want %q", tc.in, got, tc.err)
		} else if err == nil {
			if got := ast.Text(x); got != tc.want {
				t.Errorf("%s: got %s, want %s", tc.in, got, tc.want)
			}
		}
	}
}

// failure is the message of a parse error with the position, the length and the label of each excerpt.
func failure(err error) string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return ""
	}
	var b strings.Builder
	b.WriteString(e.Msg)
	for _, bl := range e.Blocks {
		line, col, _ := e.place(bl.Start)
		fmt.Fprintf(&b, " [%d:%d] %d", line, col, max(1, bl.End-bl.Start))
		if bl.Label != "" {
			b.WriteString(" " + bl.Label)
		}
	}
	return b.String()
}

// TestPrefixedAfterAFailure checks that a text that has failed already is not read on.
func TestPrefixedAfterAFailure(t *testing.T) {
	for _, in := range []string{`f"b:/k"`, `[f"b:/\u{61}"`} {
		if _, err := Expr(in, Options{NoFiles: true}); err == nil {
			t.Errorf("%s: no error", in)
		}
	}
}
