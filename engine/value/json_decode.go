package value

import (
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/decimal"
)

// DecodeJSON reads one JSON value from the front of b, after white space, and gives what follows
// it. Numbers without fraction and exponent are ints as long as they fit, all others floats unless
// lim wants decimals; of equal names the last one wins. Errors are *DecodeError (bad syntax, nesting
// beyond lim, text that is not UTF-8, numbers beyond a float) and those of lim.ParseObject.
func DecodeJSON(b []byte, lim DecodeLimits) (v Value, rest []byte, err error) {
	d := jsonDecoder{b: b, depth: lim.depth(), DecodeLimits: lim}
	d.space()
	v, err = d.value()
	if err != nil {
		return None, nil, err
	}
	return v, b[d.pos:], nil
}

// DecodeJSONValue reads b as exactly one JSON value, with white space around it at most.
func DecodeJSONValue(b []byte, lim DecodeLimits) (Value, error) {
	d := jsonDecoder{b: b, depth: lim.depth(), DecodeLimits: lim}
	d.space()
	v, err := d.value()
	if err != nil {
		return None, err
	}
	if d.space(); d.pos < len(b) {
		return None, d.fail("bytes after the value")
	}
	return v, nil
}

type jsonDecoder struct {
	DecodeLimits
	b     []byte
	pos   int
	depth int // levels left
	count int // elements and fields so far
}

func (d *jsonDecoder) fail(reason string) error {
	return &DecodeError{Format: "JSON", Offset: d.pos, Reason: reason}
}

func (d *jsonDecoder) space() {
	for d.pos < len(d.b) {
		switch d.b[d.pos] {
		case ' ', '\n', '\r', '\t':
			d.pos++
		default:
			return
		}
	}
}

// next is the byte at pos, 0 at the end.
func (d *jsonDecoder) next() byte {
	if d.pos < len(d.b) {
		return d.b[d.pos]
	}
	return 0
}

func (d *jsonDecoder) value() (Value, error) {
	switch c := d.next(); {
	case c == '"':
		s, err := d.text()
		if err != nil {
			return None, err
		}
		if d.ParseText != nil {
			if v, ok := d.ParseText(s); ok {
				return v, nil
			}
		}
		return Str(s), nil
	case c == '{':
		return d.object()
	case c == '[':
		return d.array()
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	case c == 't':
		return Bool(true), d.word("true")
	case c == 'f':
		return Bool(false), d.word("false")
	case c == 'n':
		return Null, d.word("null")
	case d.pos >= len(d.b):
		return None, d.fail("unexpected end")
	default:
		return None, d.fail("unexpected character")
	}
}

func (d *jsonDecoder) word(w string) error {
	if len(d.b)-d.pos < len(w) || string(d.b[d.pos:d.pos+len(w)]) != w {
		return d.fail("unexpected character")
	}
	d.pos += len(w)
	return nil
}

// one counts an element or a field.
func (d *jsonDecoder) one() error {
	if d.count++; d.count > d.MaxValues && d.MaxValues > 0 {
		return d.fail("too many values")
	}
	return nil
}

func (d *jsonDecoder) array() (Value, error) {
	if d.depth--; d.depth < 0 {
		return None, d.fail("nested too deep")
	}
	d.pos++
	var out []Value
	for d.space(); d.next() != ']' || len(out) > 0; d.space() {
		if err := d.one(); err != nil {
			return None, err
		}
		v, err := d.value()
		if err != nil {
			return None, err
		}
		out = append(out, v)
		d.space()
		if d.next() == ',' {
			d.pos++
			continue
		}
		if d.next() != ']' {
			return None, d.fail("expected , or ]")
		}
		break
	}
	d.pos++
	d.depth++
	return ArrayOf(out), nil
}

func (d *jsonDecoder) object() (Value, error) {
	if d.depth--; d.depth < 0 {
		return None, d.fail("nested too deep")
	}
	d.pos++
	var out []Field
	for d.space(); d.next() != '}' || len(out) > 0; d.space() {
		if err := d.one(); err != nil {
			return None, err
		}
		f, err := d.field()
		if err != nil {
			return None, err
		}
		out = append(out, f)
		d.space()
		if d.next() == ',' {
			d.pos++
			continue
		}
		if d.next() != '}' {
			return None, d.fail("expected , or }")
		}
		break
	}
	d.pos++
	d.depth++
	o := NewObject(out...)
	if d.ParseObject != nil {
		return d.ParseObject(o)
	}
	return ObjectOf(o), nil
}

func (d *jsonDecoder) field() (Field, error) {
	if d.next() != '"' {
		return Field{}, d.fail("expected a name")
	}
	name, err := d.text()
	if err != nil {
		return Field{}, err
	}
	if d.space(); d.next() != ':' {
		return Field{}, d.fail("expected :")
	}
	d.pos++
	d.space()
	v, err := d.value()
	return Field{name, v}, err
}

// number reads an int or a float.
func (d *jsonDecoder) number() (Value, error) {
	start := d.pos
	if d.next() == '-' {
		d.pos++
	}
	whole := true
	switch {
	case d.next() == '0':
		d.pos++
	case !d.digits():
		return None, d.fail("expected a digit")
	}
	if d.next() == '.' {
		whole = false
		if d.pos++; !d.digits() {
			return None, d.fail("expected a digit")
		}
	}
	if c := d.next(); c == 'e' || c == 'E' {
		whole = false
		d.pos++
		if c := d.next(); c == '+' || c == '-' {
			d.pos++
		}
		if !d.digits() {
			return None, d.fail("expected a digit")
		}
	}
	text := string(d.b[start:d.pos])
	if whole {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return Int(i), nil
		}
		if d.Decimals {
			if dec, err := decimal.Parse(text); err == nil {
				return DecimalOf(dec), nil
			}
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		d.pos = start
		return None, d.fail("number is out of range")
	}
	return Float(f), nil
}

// digits skips digits and reports whether there were any.
func (d *jsonDecoder) digits() bool {
	start := d.pos
	for c := d.next(); c >= '0' && c <= '9'; c = d.next() {
		d.pos++
	}
	return d.pos > start
}

// text reads a string at its opening quote.
func (d *jsonDecoder) text() (string, error) {
	d.pos++
	start := d.pos
	for {
		switch c := d.next(); {
		case c == '"':
			b := d.b[start:d.pos]
			if !utf8.Valid(b) {
				d.pos = start
				return "", d.fail("text is not UTF-8")
			}
			d.pos++
			return string(b), nil
		case c == '\\':
			return d.escaped(start)
		case d.pos >= len(d.b):
			return "", d.fail("unexpected end")
		case c < ' ':
			return "", d.fail("control character in text")
		}
		d.pos++
	}
}

// escaped reads the rest of a string with escapes; it began at start.
func (d *jsonDecoder) escaped(start int) (string, error) {
	out := append([]byte(nil), d.b[start:d.pos]...)
	for {
		c := d.next()
		switch {
		case c == '"':
			d.pos++
			if !utf8.Valid(out) {
				d.pos = start
				return "", d.fail("text is not UTF-8")
			}
			return string(out), nil
		case c == '\\':
			d.pos++
			var err error
			if out, err = d.escape(out); err != nil {
				return "", err
			}
			continue
		case d.pos >= len(d.b):
			return "", d.fail("unexpected end")
		case c < ' ':
			return "", d.fail("control character in text")
		}
		out = append(out, c)
		d.pos++
	}
}

// escape reads what follows a backslash.
func (d *jsonDecoder) escape(out []byte) ([]byte, error) {
	c := d.next()
	d.pos++
	switch c {
	case '"', '\\', '/':
		return append(out, c), nil
	case 'n':
		return append(out, '\n'), nil
	case 'r':
		return append(out, '\r'), nil
	case 't':
		return append(out, '\t'), nil
	case 'b':
		return append(out, '\b'), nil
	case 'f':
		return append(out, '\f'), nil
	case 'u':
		r, err := d.unicode()
		return utf8.AppendRune(out, r), err
	default:
		d.pos--
		return nil, d.fail("unknown escape")
	}
}

// unicode reads the four digits of \u, and a second \u where they are half of a pair.
func (d *jsonDecoder) unicode() (rune, error) {
	r, ok := d.hex4()
	if ok && utf16.IsSurrogate(r) {
		if ok = d.next() == '\\'; ok {
			d.pos++
			if ok = d.next() == 'u'; ok {
				d.pos++
				var low rune
				if low, ok = d.hex4(); ok {
					r = utf16.DecodeRune(r, low)
					ok = r != utf8.RuneError
				}
			}
		}
	}
	if !ok {
		return 0, d.fail("bad \\u escape")
	}
	return r, nil
}

func (d *jsonDecoder) hex4() (rune, bool) {
	if len(d.b)-d.pos < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(d.b[d.pos:d.pos+4]), 16, 16)
	d.pos += 4
	return rune(n), err == nil
}
