package pgwire

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
)

// textEscapes are the letters that stand for control characters in the text format.
var textEscapes = [256]byte{'\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't', '\v': 'v', '\\': '\\'}

// appendField writes a field that is not NULL; force has it quoted.
func (f *copyForm) appendField(dst, text []byte, force bool) []byte {
	if f.format == "text" {
		return f.appendEscaped(dst, text)
	}
	if !force && !f.quotes(text) {
		return append(dst, text...)
	}
	dst = append(dst, f.quote)
	for _, ch := range text {
		if ch == f.quote || ch == f.escape {
			dst = append(dst, f.escape)
		}
		dst = append(dst, ch)
	}
	return append(dst, f.quote)
}

// appendEscaped writes a field of the text format.
func (f *copyForm) appendEscaped(dst, text []byte) []byte {
	done := 0
	for i, ch := range text {
		e := textEscapes[ch]
		if e == 0 && ch != f.delimiter {
			continue
		}
		if e == 0 {
			e = ch
		}
		dst = append(append(dst, text[done:i]...), '\\', e)
		done = i + 1
	}
	return append(dst, text[done:]...)
}

// quotes reports whether a field of the csv format must be quoted.
func (f *copyForm) quotes(text []byte) bool {
	for _, ch := range text {
		if ch == f.delimiter || ch == f.quote || ch == '\n' || ch == '\r' {
			return true
		}
	}
	return string(text) == f.null || string(text) == `\.`
}

// copyField is a field of a row of COPY: its text, or its bytes in the binary format.
type copyField struct {
	b      []byte
	null   bool
	quoted bool
}

// take adds the first byte of b, and those after it up to one that means something, and reports how many they are. It
// shares the memory of b where they are the first.
func (f *copyField) take(b []byte, means func(byte) bool) int {
	n := 1
	for n < len(b) && !means(b[n]) {
		n++
	}
	if f.b == nil {
		f.b = b[:n:n]
	} else {
		f.b = append(f.b, b[:n]...)
	}
	return n
}

// nextRow takes a row from the start of b, and appends its fields to those given. n is how many bytes it is; 0: there
// is not a whole one yet, unless last says that no more comes. end: it is no row but the end of the data.
func (f *copyForm) nextRow(fields []copyField, b []byte, last bool) (_ []copyField, n int, end bool, err error) {
	switch f.format {
	case "binary":
		return f.nextBinary(fields, b)
	case "csv":
		return f.nextCSV(fields, b, last)
	}
	line, n := lineOf(b, last)
	if n == 0 {
		return fields, 0, false, nil
	}
	if string(line) == `\.` {
		return fields, n, true, nil
	}
	for rest := line; ; {
		var field copyField
		field, rest, end = f.textField(rest)
		fields = append(fields, field)
		if end {
			return fields, n, false, nil
		}
	}
}

// lineOf is the line at the start of b, without its end.
func lineOf(b []byte, last bool) (line []byte, n int) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		if !last {
			return nil, 0
		}
		return bytes.TrimSuffix(b, []byte{'\r'}), len(b)
	}
	return bytes.TrimSuffix(b[:i], []byte{'\r'}), i + 1
}

// textField takes a field up to the next delimiter; end: it is the last of its line.
func (f *copyForm) textField(b []byte) (field copyField, rest []byte, end bool) {
	raw := b
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' {
			i++
		} else if b[i] == f.delimiter {
			raw, rest = b[:i], b[i+1:]
			field.b = unescape(raw)
			field.null = string(raw) == f.null
			return field, rest, false
		}
	}
	field.b = unescape(raw)
	field.null = string(raw) == f.null
	return field, nil, true
}

// unescape resolves the backslashes of the text format.
func unescape(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out = append(out, b[i])
			continue
		}
		i++
		switch c := b[i]; {
		case strings.IndexByte("bfnrtv", c) >= 0:
			out = append(out, "\b\f\n\r\t\v"[strings.IndexByte("bfnrtv", c)])
		case c >= '0' && c <= '7':
			n := 0
			for j := 0; j < 3 && i < len(b) && b[i] >= '0' && b[i] <= '7'; j++ {
				n = n*8 + int(b[i]-'0')
				i++
			}
			i--
			out = append(out, byte(n))
		case c == 'x' && i+1 < len(b) && hexDigit(b[i+1]) >= 0:
			n := hexDigit(b[i+1])
			if i++; i+1 < len(b) && hexDigit(b[i+1]) >= 0 {
				n = n*16 + hexDigit(b[i+1])
				i++
			}
			out = append(out, byte(n))
		default:
			out = append(out, c)
		}
	}
	return out
}

func hexDigit(c byte) int { return strings.IndexByte("0123456789abcdef", c|0x20&^(c&0x10<<1)) }

// nextCSV takes a record, which may have lines in quotes.
func (f *copyForm) nextCSV(fields []copyField, b []byte, last bool) (_ []copyField, n int, end bool, err error) {
	if line, n := lineOf(b, last); n > 0 && string(line) == `\.` {
		return fields, n, true, nil
	}
	var field copyField
	inQuotes := false
	finish := func() {
		field.null = !field.quoted && string(field.b) == f.null
		fields = append(fields, field)
		field = copyField{}
	}
	for i := 0; i < len(b); i++ {
		ch := b[i]
		switch {
		case inQuotes && ch == f.escape && i+1 < len(b) && (b[i+1] == f.quote || b[i+1] == f.escape) &&
			(f.escape != f.quote || b[i+1] == f.quote):
			i++
			field.b = append(field.b, b[i])
		case inQuotes && ch == f.quote:
			if f.escape == f.quote && i+1 == len(b) && !last {
				return fields, 0, false, nil // the next byte may be a quote, too
			}
			inQuotes = false
		case inQuotes:
			i += field.take(b[i:], func(c byte) bool { return c == f.quote || c == f.escape }) - 1
		case ch == f.quote:
			inQuotes, field.quoted = true, true
		case ch == f.delimiter:
			finish()
		case ch == '\n', ch == '\r' && i+1 < len(b) && b[i+1] == '\n':
			if ch == '\r' {
				i++
			}
			finish()
			return fields, i + 1, false, nil
		case ch == '\r' && i+1 == len(b) && !last:
			return fields, 0, false, nil
		default:
			i += field.take(b[i:], func(c byte) bool {
				return c == f.delimiter || c == f.quote || c == '\n' || c == '\r'
			}) - 1
		}
	}
	switch {
	case !last || len(b) == 0:
		return fields, 0, false, nil
	case inQuotes:
		return fields, 0, false, sqlstate.New(sqlstate.BadCopy, "unterminated CSV quoted field")
	}
	finish()
	return fields, len(b), false, nil
}

// nextBinary takes a row of the binary format.
func (f *copyForm) nextBinary(fields []copyField, b []byte) (_ []copyField, n int, end bool, err error) {
	if len(b) < 2 {
		return fields, 0, false, nil
	}
	count := int(int16(binary.BigEndian.Uint16(b)))
	if count < 0 {
		return fields, 2, true, nil
	}
	n = 2
	for range count {
		if len(b) < n+4 {
			return fields, 0, false, nil
		}
		size := int(int32(binary.BigEndian.Uint32(b[n:])))
		n += 4
		switch {
		case size == -1:
			fields = append(fields, copyField{null: true})
			continue
		case size < 0:
			return fields, 0, false, sqlstate.New(sqlstate.BadCopy, "unexpected field size in binary COPY data")
		case len(b) < n+size:
			return fields, 0, false, nil
		}
		fields = append(fields, copyField{b: b[n : n+size]})
		n += size
	}
	return fields, n, false, nil
}

// binaryHeader passes the header of the binary format; 0: there is not all of it yet.
func binaryHeader(b []byte) (int, error) {
	const size = len(binarySignature) + 8
	if len(b) < size {
		return 0, nil
	}
	flags, more := binary.BigEndian.Uint32(b[len(binarySignature):]),
		binary.BigEndian.Uint32(b[len(binarySignature)+4:])
	if string(b[:len(binarySignature)]) != binarySignature || flags>>16 != 0 || more > 1<<16 {
		return 0, sqlstate.New(sqlstate.BadCopy, "COPY file signature not recognized")
	}
	if len(b) < size+int(more) {
		return 0, nil
	}
	return size + int(more), nil
}
