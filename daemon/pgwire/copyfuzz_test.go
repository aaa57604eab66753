package pgwire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// copyRows reads data as the messages of a client do that ends one at each of cuts.
func copyRows(f *copyForm, data []byte, cuts ...int) (rows []string, err error) {
	var buf []byte
	head, from := f.format != "binary", 0
	for i, cut := range append(cuts, len(data)) {
		last := i == len(cuts)
		buf = append(buf, data[from:cut]...)
		from = cut
		if last && f.format == "binary" { // the end of the data makes no row of what is left
			last = len(buf) == 0
		}
		for used := true; used && len(buf) > 0; {
			if !head {
				n, err := binaryHeader(buf)
				if err != nil {
					return rows, err
				}
				buf, head, used = buf[n:], n > 0, n > 0
				continue
			}
			fields, n, end, err := f.nextRow(nil, buf, last)
			if err != nil {
				return rows, err
			}
			if n > len(buf) {
				return rows, fmt.Errorf("a row of %d bytes in %d", n, len(buf))
			}
			if end {
				return append(rows, "end"), nil
			}
			if used = n > 0; used {
				row := ""
				for _, x := range fields {
					row += fmt.Sprintf("%t %q;", x.null, x.b)
				}
				rows = append(rows, row)
			}
			buf = buf[n:]
		}
	}
	return rows, nil
}

// The rows of a COPY are the same however the client cuts its data, errors are those of the wire, and what is written
// by COPY … TO is read again as it was.
func FuzzCopy(f *testing.F) {
	for _, s := range []string{"a\t1\n\\N\t\\N\n\\.\n", "a\\tb\\\\\\x41\\101\tc\r\nd",
		"name,n\n\"a\"\"b\",1\r\n\"x\ny\",\n", "\"open", "\\.", "\"\"\"", ",\r",
		binarySignature + "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01a\xff\xff\xff\xff\xff\xff",
		binarySignature + "\x00\x00\x00\x00\x00\x00\x00\x02xx\xff\xff"} {
		f.Add([]byte(s), uint8(0), uint16(1), uint16(2), byte(0), byte(0))
		f.Add([]byte(s), uint8(1), uint16(3), uint16(7), byte('|'), byte('\\'))
		f.Add([]byte(s), uint8(2), uint16(20), uint16(25), byte(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, format uint8, a, b uint16, delimiter, escape byte) {
		given := map[string]string{"format": []string{"text", "csv", "binary"}[format%3]}
		if delimiter != 0 {
			given["delimiter"] = string([]byte{delimiter})
		}
		if escape != 0 && given["format"] == "csv" {
			given["escape"] = string([]byte{escape})
		}
		var form copyForm
		if form.apply(given, nil) != nil {
			return
		}
		whole, err := copyRows(&form, data)
		if e := (*sqlstate.Error)(nil); err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		first := int(a) % (len(data) + 1)
		parts, cutErr := copyRows(&form, data, first, first+int(b)%(len(data)-first+1))
		if fmt.Sprint(whole, err) != fmt.Sprint(parts, cutErr) {
			t.Fatalf("%v\nin one piece %q %v\nin three     %q %v", given, whole, err, parts, cutErr)
		}
		if given["format"] == "binary" {
			return
		}
		cells := bytes.SplitN(data, []byte{0}, 3)
		cols, row, want := make([]column, len(cells)), make([]value.Value, len(cells)), ""
		for i, c := range cells {
			cols[i].oid = pgtype.Text
			if row[i] = value.Str(string(c)); i == 2 {
				row[i] = value.None
			}
			want += fmt.Sprintf("%t %q;", i == 2, map[bool]string{false: string(c)}[i == 2])
		}
		out := &copyOut{c: &conn{}, form: &form, cols: cols, quote: make([]bool, len(cols))}
		for i := range row {
			out.value(i, row[i])
		}
		written := append(out.c.out, '\n')
		got, err := copyRows(&form, slices.Concat(written, written))
		null := strings.Contains(fmt.Sprint(got), "true")
		if err != nil || len(got) != 2 || got[0] != got[1] || !sameCells(&form, got[0], want, null) {
			t.Fatalf("%v: %q is read as %q, want %q twice (%v)", given, written, got, want, err)
		}
	})
}

// sameCells compares a row that was read with what was written; the text of a NULL does not matter.
func sameCells(f *copyForm, got, want string, null bool) bool {
	if null {
		got = strings.Replace(got, fmt.Sprintf("true %q;", unescape([]byte(f.null))), `true "";`, 1)
	}
	return got == want
}

// Options that contradict each other are refused with the codes of PostgreSQL.
func TestCopyOptionsThatContradict(t *testing.T) {
	type options map[string]string
	for _, tc := range []struct {
		given options
		want  sqlstate.Code
	}{
		{options{"format": "text", "delimiter": "1"}, sqlstate.InvalidParameter},
		{options{"format": "text", "delimiter": "a"}, sqlstate.InvalidParameter},
		{options{"format": "text", "delimiter": "."}, sqlstate.InvalidParameter},
		{options{"format": "text", "delimiter": `\`}, sqlstate.InvalidParameter},
		{options{"format": "text", "delimiter": "Z"}, ""},
		{options{"format": "csv", "delimiter": "1"}, ""},
		{options{"format": "csv", "delimiter": `"`}, sqlstate.InvalidParameter},
		{options{"format": "csv", "quote": ","}, sqlstate.InvalidParameter},
		{options{"format": "text", "quote": "x"}, sqlstate.FeatureNotSupported},
		{options{"format": "text", "escape": "x"}, sqlstate.FeatureNotSupported},
		{options{"format": "text", "null": "a,b", "delimiter": ","}, sqlstate.FeatureNotSupported},
		{options{"format": "csv", "null": `a"`}, sqlstate.FeatureNotSupported},
		{options{"format": "csv", "null": "x"}, ""},
		{options{"format": "text", "null": "a\nb"}, sqlstate.InvalidParameter},
		{options{"format": "binary", "null": "x"}, sqlstate.SyntaxError},
		{options{"format": "binary", "delimiter": ","}, sqlstate.SyntaxError},
	} {
		var form copyForm
		err := form.apply(tc.given, nil)
		e, _ := errors.AsType[*sqlstate.Error](err)
		if got := sqlstate.Code(""); e != nil {
			if got = e.Code; got != tc.want {
				t.Errorf("%v: %v, want %q", tc.given, err, tc.want)
			}
		} else if err != nil || tc.want != "" {
			t.Errorf("%v: %v, want %q", tc.given, err, tc.want)
		}
	}
}
