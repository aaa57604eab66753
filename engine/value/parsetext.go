package value

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError is a literal that does not read. Offset and Len say which bytes of the text are at
// fault (Len 0: the end), Label annotates them; the parser turns it into its own excerpt.
type SyntaxError struct {
	Msg    string
	Offset int
	Len    int
	Label  string
}

// Error implements error.
func (e *SyntaxError) Error() string { return e.Msg }

var (
	errNumber   = errors.New("not a number")
	errDuration = errors.New("not a duration")
	errUUID     = errors.New("not a uuid")
)

// ParseInt reads what <int> accepts: decimal digits with an optional sign, within 64 bits.
func ParseInt(s string) (int64, error) {
	for i := range len(s) { // strconv keeps a copy of what it refuses
		if c := s[i]; (c < '0' || c > '9') && (i > 0 || c != '-' && c != '+') {
			return 0, errNumber
		}
	}
	return strconv.ParseInt(s, 10, 64)
}

// ParseFloat reads what <float> accepts: digits with optional sign, point and exponent, or nan, inf
// and infinity in any case with an optional sign. What is too large becomes infinite.
func ParseFloat(s string) (float64, error) {
	if len(s) > len("+infinity") && !plainNumber(s) {
		return 0, errNumber // strconv would keep a copy of it
	}
	if strings.ContainsAny(s, "_xXpP") {
		return 0, errNumber
	}
	if len(s) == 4 && (s[0] == '-' || s[0] == '+') && strings.EqualFold(s[1:], "nan") {
		return math.NaN(), nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return f, err
}

// plainNumber reports whether s has only characters of a decimal number, with one point and one exponent at most.
func plainNumber(s string) bool {
	points, exponents := 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
		case c == '.':
			points++
		case c == 'e' || c == 'E':
			exponents++
		case (c == '-' || c == '+') && (i == 0 || s[i-1]|0x20 == 'e'):
		default:
			return false
		}
		if points > 1 || exponents > 1 {
			return false
		}
	}
	return true
}

// ParseNumber reads what <number> accepts: an int, else a float.
func ParseNumber(s string) (Value, error) {
	if i, err := ParseInt(s); err == nil {
		return Int(i), nil
	}
	f, err := ParseFloat(s)
	if err != nil {
		return None, err
	}
	return Float(f), nil
}

// ParseDuration reads a duration: numbers with units ns us µs ms s m h d w y, in any order, added up.
// Underscores may stand between digits.
func ParseDuration(s string) (Duration, error) {
	var sum Duration
	s = strings.TrimSpace(s)
	if s == "" {
		return sum, errDuration
	}
	for s != "" {
		n, rest, err := durationDigits(s)
		if err != nil {
			return sum, err
		}
		unit := durationUnit(rest)
		if unit.name == "" {
			return sum, errDuration
		}
		part, ok := unit.times(n)
		if ok {
			sum, ok = sum.Add(part)
		}
		if !ok {
			return sum, ErrDurationOverflow
		}
		s = rest[len(unit.name):]
	}
	return sum, nil
}

// Texts of durations that are too long, as the parser reports them.
var (
	ErrDurationOverflow = error(&SyntaxError{Msg: "Invalid duration, value overflowed maximum allowed value"})
	ErrDurationDigits   = error(&SyntaxError{Msg: "Invalid token, failed to parse duration digits: number too large to fit in target type"})
)

func durationDigits(s string) (n uint64, rest string, err error) {
	i := 0
	for ; i < len(s) && (s[i] >= '0' && s[i] <= '9' || i > 0 && s[i] == '_'); i++ {
		if s[i] == '_' {
			continue
		}
		d := uint64(s[i] - '0')
		if n > (math.MaxUint64-d)/10 {
			return 0, "", ErrDurationDigits
		}
		n = n*10 + d
	}
	if i == 0 {
		return 0, "", errDuration
	}
	return n, s[i:], nil
}

// unit is a unit of time: whole seconds, or a part of one.
type unit struct {
	name  string
	secs  uint64
	nanos uint64
}

func durationUnit(s string) unit {
	for _, u := range [...]unit{
		{"ns", 0, 1}, {"us", 0, nanosPerMicro}, {"µs", 0, nanosPerMicro}, {"ms", 0, nanosPerMilli},
		{"s", 1, 0}, {"m", 60, 0}, {"h", 3600, 0}, {"d", secondsPerDay, 0}, {"w", 7 * secondsPerDay, 0},
		{"y", 365 * secondsPerDay, 0},
	} {
		if strings.HasPrefix(s, u.name) {
			return u
		}
	}
	return unit{}
}

func (u unit) times(n uint64) (Duration, bool) {
	if u.secs == 0 {
		per := nanosPerSecond / u.nanos
		return Duration{Secs: n / per, Nanos: uint32(n % per * u.nanos)}, true
	}
	if n > math.MaxUint64/u.secs {
		return Duration{}, false
	}
	return Duration{Secs: n * u.secs}, true
}

// ParseUUID reads what <uuid> accepts: 32 hex digits plain, in 8-4-4-4-12 form, that form in braces,
// or after urn:uuid:.
func ParseUUID(s string) (UUID, error) {
	switch {
	case len(s) == 32:
		var u UUID
		for i := range u {
			hi, ok1 := hexDigit(s[2*i])
			lo, ok2 := hexDigit(s[2*i+1])
			if !ok1 || !ok2 {
				return UUID{}, errUUID
			}
			u[i] = hi<<4 | lo
		}
		return u, nil
	case len(s) == 38 && s[0] == '{' && s[37] == '}':
		s = s[1:37]
	case len(s) == 45 && s[:9] == "urn:uuid:":
		s = s[9:]
	}
	if len(s) != 36 {
		return UUID{}, errUUID
	}
	u, err := ReadUUID(s)
	if err != nil {
		return UUID{}, errUUID
	}
	return u, nil
}

// ReadUUID reads the inside of a u'…' literal: 8-4-4-4-12 form. What follows is ignored.
func ReadUUID(s string) (UUID, *SyntaxError) {
	var u UUID
	at := 0
	for i := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			if at == len(s) {
				return u, &SyntaxError{Msg: "Unexpected end of string, expected UUID token to finish", Offset: at}
			}
			if s[at] != '-' {
				return u, badChar(s, at, "Unexpected character `%c`, expected byte seperator `-`")
			}
			at++
		}
		for range 2 {
			if at == len(s) {
				return u, &SyntaxError{Msg: "Unexpected end of string, expected UUID token to finish", Offset: at}
			}
			h, ok := hexDigit(s[at])
			if !ok {
				return u, badChar(s, at, "Unexpected character `%c` expected hexidecimal digit")
			}
			u[i] = u[i]<<4 | h
			at++
		}
	}
	return u, nil
}

func badChar(s string, at int, format string) *SyntaxError {
	r, n := utf8.DecodeRuneInString(s[at:])
	return &SyntaxError{Msg: fmt.Sprintf(format, r), Offset: at, Len: n}
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
