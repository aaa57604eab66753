package value

import (
	"math"
	"strconv"
)

// AppendJSON appends v as JSON, the way HTTP and JSON-RPC answer: NONE, NaN and infinities are
// null, whole floats keep a fraction (1.0), decimals, times, uuids, tables and record ids are
// strings, sets are arrays, bytes are arrays of numbers, geometries are GeoJSON, and ranges, files,
// regexes and closures are strings in query syntax. Objects that are still encoded are written
// straight from their bytes.
func AppendJSON(dst []byte, v Value) []byte {
	switch v.Kind() {
	case KindNone, KindNull:
		return append(dst, "null"...)
	case KindBool:
		return strconv.AppendBool(dst, v.Bool())
	case KindInt:
		return strconv.AppendInt(dst, v.Int(), 10)
	case KindFloat:
		return jsonFloat(dst, v.Float())
	case KindString, KindTable:
		return jsonString(dst, v.Str())
	case KindArray, KindSet:
		return jsonElems(dst, v.Elems())
	case KindObject:
		return jsonObject(dst, v.Object())
	case KindDatetime:
		return append(v.Datetime().append(append(dst, '"')), '"')
	case KindUUID:
		return append(v.UUID().append(append(dst, '"')), '"')
	case KindDecimal:
		return append(v.Decimal().Append(append(dst, '"')), '"')
	case KindDuration:
		return append(v.Duration().append(append(dst, '"')), '"')
	case KindBytes:
		return jsonBytes(dst, v.Bytes())
	case KindGeometry:
		return jsonGeometry(dst, v.Geometry())
	case KindRecord:
		return jsonQuoteTail(v.Record().append(append(dst, '"')), len(dst)+1)
	default:
		return jsonQuoteTail(v.AppendText(append(dst, '"')), len(dst)+1)
	}
}

func jsonElems(dst []byte, elems []Value) []byte {
	dst = append(dst, '[')
	for i := range elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSON(dst, elems[i])
	}
	return append(dst, ']')
}

func jsonObject(dst []byte, o *Object) []byte {
	if o.enc != nil {
		return o.enc.appendJSON(dst)
	}
	dst = append(dst, '{')
	for i := range o.fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonString(dst, o.fields[i].Name), ':')
		dst = AppendJSON(dst, o.fields[i].Value)
	}
	return append(dst, '}')
}

// jsonFloat writes the shortest digits that read back as f, with a fraction or an exponent: plain
// between 1e-5 and 1e16, as the reference's clients are used to.
func jsonFloat(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, "null"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-5 || abs >= 1e16) {
		return jsonExponent(dst, f)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// jsonExponent writes 1e-7 and 1.5e300, where strconv has e-07 and e+300.
func jsonExponent(dst []byte, f float64) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	for i := start; i < len(dst); i++ {
		if dst[i] != 'e' {
			continue
		}
		from, to := i+1, i+1
		if dst[from] == '-' {
			to++
		}
		from++
		for from < len(dst)-1 && dst[from] == '0' {
			from++
		}
		return append(dst[:to], dst[from:]...)
	}
	return dst
}

func jsonBytes(dst, b []byte) []byte {
	dst = append(dst, '[')
	for i, c := range b {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(c), 10)
	}
	return append(dst, ']')
}

// jsonString appends s in quotes.
func jsonString(dst []byte, s string) []byte {
	return append(jsonEscaped(append(dst, '"'), s), '"')
}

// jsonEscaped appends s with quotes, backslashes and control characters escaped.
func jsonEscaped(dst []byte, s string) []byte {
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if jsonPlain(c) {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		default:
			const hex = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, s[from:]...)
}

func jsonPlain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' }

// jsonQuoteTail escapes what has been written from start on, and appends the closing quote.
func jsonQuoteTail(dst []byte, start int) []byte {
	for _, c := range dst[start:] {
		if !jsonPlain(c) {
			tail := string(dst[start:])
			dst = jsonEscaped(dst[:start], tail)
			break
		}
	}
	return append(dst, '"')
}

func jsonGeometry(dst []byte, g *Geometry) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, g.Kind.GeoJSON()...)
	if g.Kind == GeometryCollection {
		dst = append(dst, `","geometries":[`...)
		for i, item := range g.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonGeometry(dst, item)
		}
		return append(dst, "]}"...)
	}
	dst = append(dst, `","coordinates":`...)
	switch g.Kind {
	case GeometryPoint:
		dst = jsonPoint(dst, g.Point)
	case GeometryLine, GeometryMultiPoint:
		dst = jsonLine(dst, g.Line)
	case GeometryPolygon, GeometryMultiLine:
		dst = jsonLines(dst, g.Rings)
	default:
		dst = append(dst, '[')
		for i, p := range g.Polys {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = jsonLines(dst, p)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func jsonPoint(dst []byte, p Point) []byte {
	dst = append(jsonFloat(append(dst, '['), p.X), ',')
	return append(jsonFloat(dst, p.Y), ']')
}

func jsonLine(dst []byte, points []Point) []byte {
	dst = append(dst, '[')
	for i, p := range points {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonPoint(dst, p)
	}
	return append(dst, ']')
}

func jsonLines(dst []byte, lines [][]Point) []byte {
	dst = append(dst, '[')
	for i, l := range lines {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsonLine(dst, l)
	}
	return append(dst, ']')
}
