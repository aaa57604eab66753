package load

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

// Format is the form of a file.
type Format string

// The formats. Statements are not rows: package load does not read them.
const (
	Statements Format = "surql"
	CSV        Format = "csv"
	TSV        Format = "tsv"
	JSON       Format = "json"
	NDJSON     Format = "ndjson"
)

// Formats are the names of all formats.
func Formats() []string {
	return []string{string(Statements), string(CSV), string(TSV), string(JSON), string(NDJSON)}
}

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	if !slices.Contains(Formats(), name) {
		return "", fmt.Errorf("unknown format %q (%s)", name, strings.Join(Formats(), ", "))
	}
	return Format(name), nil
}

// Detect is the format that the name of a file tells, whether it is packed or not; statements where it tells none.
func Detect(path string) Format {
	base := strings.ToLower(filepath.Base(path))
	for _, packed := range [...]string{".gz", ".zst", ".zstd"} {
		base = strings.TrimSuffix(base, packed)
	}
	switch filepath.Ext(base) {
	case ".csv":
		return CSV
	case ".tsv", ".tab":
		return TSV
	case ".json":
		return JSON
	case ".ndjson", ".jsonl":
		return NDJSON
	}
	return Statements
}

// maxRow is the longest row in bytes.
const maxRow = 64 << 20

// CSVOptions say how CSV and TSV are read. Columns are the names of the fields; nil: the first row has them. Text keeps
// every field that Shape.Types does not name as text, where otherwise numbers and booleans are recognised.
type CSVOptions struct {
	Columns []string
	Text    bool
}

// NewReader reads rows in a format other than Statements from r.
func NewReader(r io.Reader, f Format, shape Shape, opt CSVOptions) Reader {
	switch f {
	case CSV, TSV:
		return newTable(r, f, shape, opt)
	case NDJSON:
		return &lineReader{in: bufio.NewReaderSize(r, 256<<10), shape: shape}
	}
	return &objectReader{in: bufio.NewReaderSize(r, 256<<10), shape: shape, line: 1}
}

// table reads CSV (RFC 4180) and TSV.
type table struct {
	in      *csv.Reader
	bytes   *bounded
	shape   Shape
	opt     CSVOptions
	columns []string
}

func newTable(r io.Reader, f Format, shape Shape, opt CSVOptions) *table {
	in := bufio.NewReaderSize(r, 256<<10)
	if mark, err := in.Peek(3); err == nil && string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3) // of what Peek gave
	}
	b := &bounded{in, 0}
	t := &table{in: csv.NewReader(b), bytes: b, shape: shape, opt: opt, columns: opt.Columns}
	t.in.FieldsPerRecord = -1
	if f == TSV {
		t.in.Comma = '\t'
		t.in.LazyQuotes = true
	}
	return t
}

// bounded ends a row that has no end: an unclosed quote would otherwise collect the rest of the file.
type bounded struct {
	r   io.Reader
	row int
}

var errLong = fmt.Errorf("the row is longer than %d MiB: a quote may be missing", maxRow>>20)

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.row > maxRow {
		return 0, errLong
	}
	n, err := b.r.Read(p)
	b.row += n
	return n, err
}

// Next implements Reader.
func (t *table) Next() (Row, error) {
	if t.columns == nil {
		head, _, err := t.row()
		if err != nil {
			return Row{}, err
		}
		if err := checkColumns(head); err != nil {
			return Row{}, err
		}
		t.columns = head
	}
	cells, line, err := t.row()
	if err != nil {
		return Row{}, err
	}
	if len(cells) > len(t.columns) {
		return Row{}, &RowError{line, fmt.Errorf("it has %d fields, but there are %d columns", len(cells), len(t.columns))}
	}
	fields := make([]value.Field, 0, len(cells))
	for i, text := range cells {
		name := t.columns[i]
		typ := t.shape.Types[name]
		switch {
		case typ == "string", typ != "" && text != "":
			fields = append(fields, value.Field{Name: name, Value: value.Str(text)}) // record reads it
		case text == "": // no value
		case t.opt.Text:
			fields = append(fields, value.Field{Name: name, Value: value.Str(text)})
		default:
			fields = append(fields, value.Field{Name: name, Value: guess(text)})
		}
	}
	o, err := t.shape.record(value.NewObject(fields...))
	if err != nil {
		return Row{}, &RowError{line, err}
	}
	return Row{line, o}, nil
}

// row gives the cells of a row and its line.
func (t *table) row() ([]string, int, error) {
	t.bytes.row = 0
	cells, err := t.in.Read()
	var wrong *csv.ParseError
	switch {
	case errors.As(err, &wrong):
		return nil, 0, &RowError{wrong.StartLine, wrong.Err}
	case err != nil:
		return nil, 0, err
	}
	line, _ := t.in.FieldPos(0)
	return cells, line, nil
}

func checkColumns(names []string) error {
	seen := map[string]bool{}
	for i, n := range names {
		n = strings.TrimSpace(n)
		names[i] = n
		if n == "" || seen[n] {
			return fmt.Errorf("line 1: column %q is empty or there twice: name the columns with --columns", n)
		}
		seen[n] = true
	}
	return nil
}

// lineReader reads a JSON object a line; blank lines are left out.
type lineReader struct {
	in    *bufio.Reader
	shape Shape
	line  int
}

// Next implements Reader.
func (r *lineReader) Next() (Row, error) {
	for {
		text, err := r.take()
		if err != nil {
			return Row{}, err
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return object(text, r.line, &r.shape)
		}
	}
}

// take gives a line.
func (r *lineReader) take() ([]byte, error) {
	var whole []byte
	r.line++
	for {
		part, err := r.in.ReadSlice('\n')
		if len(whole)+len(part) > maxRow {
			return nil, fmt.Errorf("line %d is longer than %d MiB", r.line, maxRow>>20)
		}
		whole = append(whole, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(whole) > 0:
			return whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// object reads a row.
func object(text []byte, line int, shape *Shape) (Row, error) {
	v, err := value.DecodeJSONValue(text, value.DecodeLimits{})
	if err == nil && v.Kind() != value.KindObject {
		err = fmt.Errorf("a row is an object, not %s", v.Kind())
	}
	if err != nil {
		return Row{}, &RowError{line, err}
	}
	o, err := shape.record(v.Object())
	if err != nil {
		return Row{}, &RowError{line, err}
	}
	return Row{line, o}, nil
}

// objectReader reads the elements of a JSON array, or values one after another.
type objectReader struct {
	in    *bufio.Reader
	shape Shape
	line  int // at hand
}

// Next implements Reader.
func (r *objectReader) Next() (Row, error) {
	for {
		c, err := r.in.ReadByte()
		if err != nil {
			return Row{}, err
		}
		switch c {
		case '\n':
			r.line++
		case ' ', '\t', '\r', ',', '[', ']':
		default:
			line := r.line
			text, err := r.element(c)
			if err != nil {
				return Row{}, err
			}
			return object(text, line, &r.shape)
		}
	}
}

// element gives the bytes of a value that begins with c, up to its closing bracket, or the end of its line where it has
// none.
func (r *objectReader) element(c byte) ([]byte, error) {
	var text []byte
	depth, quoted, escaped := 0, false, false
	for {
		text = append(text, c)
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			depth--
		}
		if c == '\n' {
			r.line++
		}
		if depth <= 0 && !quoted && (c == '}' || c == ']' || c == '\n') {
			return text, nil
		}
		if len(text) > maxRow {
			return nil, fmt.Errorf("line %d: the row is longer than %d MiB: a bracket or a quote may be missing", r.line, maxRow>>20)
		}
		var err error
		if c, err = r.in.ReadByte(); errors.Is(err, io.EOF) {
			return text, nil // what is not whole does not decode
		} else if err != nil {
			return nil, err
		}
	}
}
