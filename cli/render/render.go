// Package render prints query answers for people and programs: surql, pretty, json, ndjson, csv,
// table and vertical. It writes data only; counts and timings are the caller's.
package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/nacredb/nacre/engine/value"
)

// Format is a way to print a value.
type Format string

// The formats.
const (
	Surql    Format = "surql"    // one literal a line
	Pretty   Format = "pretty"   // literals over several lines
	JSON     Format = "json"     // one JSON document an answer, indented
	Compact  Format = "compact"  // one JSON document an answer, on one line
	NDJSON   Format = "ndjson"   // one JSON document an element of an answer that is a list, on one line
	CSV      Format = "csv"      // rows of objects with a header, values without quotes of the language
	Table    Format = "table"    // rows of objects in columns
	Vertical Format = "vertical" // a block of field: value lines a row
)

// Formats lists all formats, for help and completion.
func Formats() []string {
	return []string{string(Surql), string(Pretty), string(JSON), string(Compact), string(NDJSON), string(CSV),
		string(Table), string(Vertical)}
}

// Parse finds a format by name.
func Parse(name string) (Format, error) {
	if slices.Contains(Formats(), name) {
		return Format(name), nil
	}
	return "", fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(Formats(), ", "))
}

// Value writes v in format f, ending with a line feed.
func Value(w io.Writer, f Format, v value.Value) error { return Columns(w, f, v, nil) }

// Columns is Value with the fields named in first before the others, where the format has columns.
func Columns(w io.Writer, f Format, v value.Value, first []string) error {
	switch f {
	case JSON:
		var out bytes.Buffer
		if err := json.Indent(&out, value.AppendJSON(nil, v), "", "  "); err != nil {
			return fmt.Errorf("indent an answer: %w", err)
		}
		return textLine(w, VisibleJSON(out.String()))
	case Compact:
		return textLine(w, VisibleJSON(string(value.AppendJSON(nil, v))))
	case NDJSON:
		return writeNDJSON(w, v)
	case Pretty:
		return textLine(w, Visible(string(appendPretty(nil, v, 0)), true))
	case CSV:
		return writeCSV(w, v, first)
	case Table:
		if rows, ok := rowsOf(v); ok {
			return writeTable(w, rows, first)
		}
	case Vertical:
		if rows, ok := rowsOf(v); ok {
			return writeVertical(w, rows, first)
		}
	}
	return textLine(w, Visible(v.Text(), true)) // an escape of the language: it is the same value
}

// writeNDJSON writes the elements of a list a line each, and other values on one line.
func writeNDJSON(w io.Writer, v value.Value) error {
	list := []value.Value{v}
	if v.Kind() == value.KindArray {
		list = v.Elems()
	}
	var out bytes.Buffer
	for _, e := range list {
		out.WriteString(VisibleJSON(string(value.AppendJSON(nil, e))))
		out.WriteByte('\n')
	}
	_, err := w.Write(out.Bytes())
	return err
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

func textLine(w io.Writer, text string) error {
	_, err := io.WriteString(w, text+"\n")
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

// columns are the field names of all rows: those of first in their order, then id, then the others in order of name.
func columns(rows []*value.Object, first []string) []string {
	seen := map[string]bool{}
	for _, r := range rows {
		for _, f := range r.Fields() {
			seen[f.Name] = true
		}
	}
	out := make([]string, 0, len(seen))
	for _, name := range append(slices.Clone(first), "id") {
		if seen[name] {
			out = append(out, name)
			delete(seen, name)
		}
	}
	return append(out, slices.Sorted(maps.Keys(seen))...)
}

// cell is the text of one field; a missing one is empty.
func cell(o *value.Object, name string) string {
	v, ok := o.Get(name)
	if !ok || v.IsNone() {
		return ""
	}
	return bare(v)
}

// bare is a value as other programs and people write it: texts, times and ids without quotes, numbers without a suffix.
// What has parts is a literal of the language.
func bare(v value.Value) string {
	if v.Kind() == value.KindFloat {
		return strings.TrimSuffix(v.Text(), "f")
	}
	return value.ToString(v)
}

// field is a value in CSV: what has parts is JSON.
func field(v value.Value) string {
	switch v.Kind() {
	case value.KindArray, value.KindSet, value.KindObject, value.KindGeometry:
		return string(value.AppendJSON(nil, v))
	case value.KindNone, value.KindNull:
		return ""
	}
	return bare(v)
}

func writeCSV(w io.Writer, v value.Value, first []string) error {
	out := csv.NewWriter(w)
	rows, ok := rowsOf(v)
	if !ok {
		var fields []string
		if v.Kind() == value.KindArray {
			for _, e := range v.Elems() {
				fields = append(fields, field(e))
			}
		} else {
			fields = []string{field(v)}
		}
		for _, f := range fields {
			if err := out.Write([]string{f}); err != nil {
				return err
			}
		}
		out.Flush()
		return out.Error()
	}
	cols := columns(rows, first)
	if err := out.Write(cols); err != nil {
		return err
	}
	record := make([]string, len(cols))
	for _, r := range rows {
		for i, c := range cols {
			v, _ := r.Get(c)
			record[i] = field(v)
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

// grid is the heads and cells of a table, with the width of each column in places of the screen.
func grid(rows []*value.Object, first []string) (heads []string, cells [][]string, width []int, right []bool) {
	cols := columns(rows, first)
	width, right = make([]int, len(cols)), make([]bool, len(cols))
	cells = make([][]string, len(rows))
	heads = make([]string, len(cols))
	for i, c := range cols {
		heads[i], right[i] = clip(c), true
		width[i] = uniseg.StringWidth(heads[i])
	}
	for i, r := range rows {
		cells[i] = make([]string, len(cols))
		for j, c := range cols {
			cells[i][j] = clip(cell(r, c))
			width[j] = max(width[j], uniseg.StringWidth(cells[i][j]))
			if v, ok := r.Get(c); ok && !v.IsNone() {
				right[j] = right[j] && number(v)
			}
		}
	}
	return heads, cells, width, right
}

func number(v value.Value) bool {
	switch v.Kind() {
	case value.KindInt, value.KindFloat, value.KindDecimal:
		return true
	}
	return false
}

// TableWidth is how many places of the screen v takes as a table; 0 where it is none.
func TableWidth(v value.Value) int {
	rows, ok := rowsOf(v)
	if !ok {
		return 0
	}
	_, _, width, _ := grid(rows, nil)
	sum := 3 * (len(width) - 1)
	for _, w := range width {
		sum += w
	}
	return sum
}

func writeTable(w io.Writer, rows []*value.Object, first []string) error {
	heads, cells, width, right := grid(rows, first)
	var out bytes.Buffer
	writeRow(&out, heads, width, make([]bool, len(heads)))
	for j := range heads {
		if j > 0 {
			out.WriteString("-+-")
		}
		out.WriteString(strings.Repeat("-", width[j]))
	}
	out.WriteByte('\n')
	for _, r := range cells {
		writeRow(&out, r, width, right)
	}
	_, err := w.Write(out.Bytes())
	return err
}

// writeRow writes cells in their columns, numbers to the right.
func writeRow(out *bytes.Buffer, cells []string, width []int, right []bool) {
	for j, c := range cells {
		if j > 0 {
			out.WriteString(" | ")
		}
		blank := strings.Repeat(" ", width[j]-uniseg.StringWidth(c))
		switch {
		case right[j]:
			out.WriteString(blank + c)
		case j < len(cells)-1:
			out.WriteString(c + blank)
		default:
			out.WriteString(c)
		}
	}
	out.WriteByte('\n')
}

// clip cuts a cell to maxCell places and makes it one line. Control characters of the data must not reach the terminal:
// they are shown as escapes.
func clip(s string) string {
	s = Visible(s, false)
	if uniseg.StringWidth(s) <= maxCell {
		return s
	}
	var out strings.Builder
	room := maxCell - 1
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if room -= g.Width(); room < 0 {
			break
		}
		out.WriteString(g.Str())
	}
	return out.String() + "…"
}

// Visible shows the characters of a text that drive a terminal as escapes: control characters, and those that turn the
// direction of writing. Line feeds and tabs stay where keepLines is set.
func Visible(s string, keepLines bool) string {
	if strings.IndexFunc(s, drives) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case !drives(r), keepLines && (r == '\n' || r == '\t'):
			out.WriteRune(r)
		case r == '\n':
			out.WriteRune('⏎')
		case r == '\t':
			out.WriteByte(' ')
		case r == '\r':
			out.WriteString(`\r`)
		default:
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
	}
	return out.String()
}

// VisibleJSON shows such characters of a JSON text as escapes of JSON: it is the same value. JSON itself has none below
// U+0020 in its strings.
func VisibleJSON(text string) string {
	beyond := func(r rune) bool { return r >= 0x7f && drives(r) }
	if strings.IndexFunc(text, beyond) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if beyond(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// drives says whether a character changes the terminal or the order of what follows it.
func drives(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

func writeVertical(w io.Writer, rows []*value.Object, first []string) error {
	var out bytes.Buffer
	for i, r := range rows {
		fmt.Fprintf(&out, "*** %d ***\n", i+1)
		names := columns([]*value.Object{r}, first)
		wide := 0
		for _, n := range names {
			wide = max(wide, uniseg.StringWidth(Visible(n, false)))
		}
		for _, n := range names {
			shown := Visible(n, false)
			pad := strings.Repeat(" ", wide-uniseg.StringWidth(shown))
			fmt.Fprintf(&out, "%s%s: %s\n", pad, shown, Visible(cell(r, n), true))
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
