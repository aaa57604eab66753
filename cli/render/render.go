// Package render prints query answers for people and programs: surql, pretty, json, ndjson, csv,
// table and vertical. It writes data only; counts and timings are the caller's.
package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/value"
)

// Format is a way to print a value.
type Format string

// The formats.
const (
	Surql    Format = "surql"    // one literal a line
	Pretty   Format = "pretty"   // literals over several lines
	JSON     Format = "json"     // one JSON document an answer, indented
	NDJSON   Format = "ndjson"   // one JSON document an answer, on one line
	CSV      Format = "csv"      // rows of objects, with a header
	Table    Format = "table"    // rows of objects in columns
	Vertical Format = "vertical" // a block of field: value lines a row
)

// Formats lists all formats, for help and completion.
func Formats() []string {
	return []string{string(Surql), string(Pretty), string(JSON), string(NDJSON), string(CSV), string(Table),
		string(Vertical)}
}

// Parse finds a format by name.
func Parse(name string) (Format, error) {
	if slices.Contains(Formats(), name) {
		return Format(name), nil
	}
	return "", fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(Formats(), ", "))
}

// Value writes v in format f, ending with a line feed.
func Value(w io.Writer, f Format, v value.Value) error {
	switch f {
	case JSON:
		var out bytes.Buffer
		if err := json.Indent(&out, value.AppendJSON(nil, v), "", "  "); err != nil {
			return fmt.Errorf("indent an answer: %w", err)
		}
		return line(w, out.Bytes())
	case NDJSON:
		return line(w, value.AppendJSON(nil, v))
	case Pretty:
		return line(w, appendPretty(nil, v, 0))
	case CSV:
		return writeCSV(w, v)
	case Table:
		if rows, ok := rowsOf(v); ok {
			return writeTable(w, rows)
		}
	case Vertical:
		if rows, ok := rowsOf(v); ok {
			return writeVertical(w, rows)
		}
	}
	return line(w, []byte(v.Text()))
}

// Tabular reports whether v is a non-empty list of objects whose fields are all scalars.
func Tabular(v value.Value) bool {
	rows, ok := rowsOf(v)
	if !ok {
		return false
	}
	for _, r := range rows {
		for _, f := range r.Fields() {
			switch f.Value.Kind() {
			case value.KindArray, value.KindObject, value.KindSet:
				return false
			}
		}
	}
	return true
}

func line(w io.Writer, b []byte) error {
	_, err := w.Write(append(b, '\n'))
	return err
}

// rowsOf gives the objects of a non-empty list of objects, or a single object as one row.
func rowsOf(v value.Value) ([]*value.Object, bool) {
	switch v.Kind() {
	case value.KindObject:
		return []*value.Object{v.Object()}, true
	case value.KindArray:
		rows := make([]*value.Object, 0, v.Len())
		for _, e := range v.Elems() {
			if e.Kind() != value.KindObject {
				return nil, false
			}
			rows = append(rows, e.Object())
		}
		return rows, len(rows) > 0
	}
	return nil, false
}

// columns are the field names of all rows: id first, the others in order of name.
func columns(rows []*value.Object) []string {
	seen := map[string]bool{}
	for _, r := range rows {
		for _, f := range r.Fields() {
			seen[f.Name] = true
		}
	}
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	slices.SortFunc(out, func(a, b string) int {
		if (a == "id") != (b == "id") {
			if a == "id" {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return out
}

// cell is the text of one field: strings bare, a missing one empty.
func cell(o *value.Object, name string) string {
	v, ok := o.Get(name)
	if !ok || v.IsNone() {
		return ""
	}
	if v.Kind() == value.KindString {
		return v.Str()
	}
	return v.Text()
}

func writeCSV(w io.Writer, v value.Value) error {
	out := csv.NewWriter(w)
	rows, ok := rowsOf(v)
	if !ok {
		var fields []string
		if v.Kind() == value.KindArray {
			for _, e := range v.Elems() {
				fields = append(fields, e.Text())
			}
		} else {
			fields = []string{v.Text()}
		}
		for _, f := range fields {
			if err := out.Write([]string{f}); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	}
	cols := columns(rows)
	if err := out.Write(cols); err != nil {
		return err
	}
	record := make([]string, len(cols))
	for _, r := range rows {
		for i, c := range cols {
			record[i] = cell(r, c)
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// maxCell is the width in characters that a table cell is cut to.
const maxCell = 60

func writeTable(w io.Writer, rows []*value.Object) error {
	cols := columns(rows)
	width := make([]int, len(cols))
	cells := make([][]string, len(rows))
	for i, c := range cols {
		width[i] = utf8.RuneCountInString(c)
	}
	for i, r := range rows {
		cells[i] = make([]string, len(cols))
		for j, c := range cols {
			cells[i][j] = clip(cell(r, c))
			width[j] = max(width[j], utf8.RuneCountInString(cells[i][j]))
		}
	}
	var out bytes.Buffer
	writeRow(&out, cols, width)
	for j := range cols {
		if j > 0 {
			out.WriteString("-+-")
		}
		out.WriteString(strings.Repeat("-", width[j]))
	}
	out.WriteByte('\n')
	for _, r := range cells {
		writeRow(&out, r, width)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func writeRow(out *bytes.Buffer, cells []string, width []int) {
	for j, c := range cells {
		if j > 0 {
			out.WriteString(" | ")
		}
		out.WriteString(c)
		if j < len(cells)-1 {
			out.WriteString(strings.Repeat(" ", width[j]-utf8.RuneCountInString(c)))
		}
	}
	out.WriteByte('\n')
}

// clip cuts a cell to maxCell characters and makes it one line.
func clip(s string) string {
	s = strings.NewReplacer("\n", "⏎", "\r", "", "\t", " ").Replace(s)
	if utf8.RuneCountInString(s) <= maxCell {
		return s
	}
	return string([]rune(s)[:maxCell-1]) + "…"
}

func writeVertical(w io.Writer, rows []*value.Object) error {
	var out bytes.Buffer
	for i, r := range rows {
		fmt.Fprintf(&out, "*** %d ***\n", i+1)
		names := columns([]*value.Object{r})
		wide := 0
		for _, n := range names {
			wide = max(wide, utf8.RuneCountInString(n))
		}
		for _, n := range names {
			fmt.Fprintf(&out, "%s%s: %s\n", strings.Repeat(" ", wide-utf8.RuneCountInString(n)), n, cell(r, n))
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

// appendPretty is the literal of v over several lines, two blanks a level; what fits in a line stays in one.
func appendPretty(dst []byte, v value.Value, depth int) []byte {
	const fits = 72
	text := v.Text()
	if len(text)+2*depth <= fits {
		return append(dst, text...)
	}
	indent := func(n int) {
		dst = append(dst, '\n')
		for range n {
			dst = append(dst, "  "...)
		}
	}
	switch v.Kind() {
	case value.KindArray:
		dst = append(dst, '[')
		for i, e := range v.Elems() {
			if i > 0 {
				dst = append(dst, ',')
			}
			indent(depth + 1)
			dst = appendPretty(dst, e, depth+1)
		}
		indent(depth)
		return append(dst, ']')
	case value.KindObject:
		dst = append(dst, '{')
		for i, f := range v.Object().Fields() {
			if i > 0 {
				dst = append(dst, ',')
			}
			indent(depth + 1)
			dst = value.AppendKey(dst, f.Name)
			dst = append(dst, ": "...)
			dst = appendPretty(dst, f.Value, depth+1)
		}
		indent(depth)
		return append(dst, '}')
	}
	return append(dst, text...)
}
