package fn

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine/value"
)

func stringIsDatetime(_ Call, args []value.Value) (value.Value, error) {
	if len(args) == 2 {
		return value.Bool(fitsTimeFormat(args[0].Str(), args[1].Str())), nil
	}
	_, err := value.ParseDatetime(args[0].Str())
	return value.Bool(err == nil), nil
}

// timeFields holds the parts of a time found in a text; -1 (year: unset) for missing ones.
type timeFields struct {
	year, century, yearOfCentury       int
	hasYear                            bool
	month, dom, yday                   int
	isoYear, isoWeek, weekday          int // weekday from 1 for Monday
	hasISOYear                         bool
	hour, hour12, minute, second, half int
	hasUnix                            bool
}

// fitsTimeFormat reports whether s is a date and a time of day in a format of % specifiers.
func fitsTimeFormat(s, format string) bool {
	f := timeFields{century: -1, yearOfCentury: -1, month: -1, dom: -1, yday: -1, isoWeek: -1, weekday: -1,
		hour: -1, hour12: -1, minute: -1, second: -1, half: -1}
	rest, ok := f.read(s, format, 0)
	return ok && rest == "" && f.complete()
}

// complete reports whether the fields name one existing date and a time.
func (f *timeFields) complete() bool {
	if f.hasUnix {
		return true
	}
	date, ok := f.date()
	if !ok || f.weekday > 0 && isoWeekday(date) != int64(f.weekday) {
		return false
	}
	hour := f.hour
	if hour < 0 && f.hour12 > 0 && f.half >= 0 {
		hour = f.hour12%12 + 12*f.half
	}
	return hour >= 0 && f.minute >= 0
}

func (f *timeFields) date() (time.Time, bool) {
	year, ok := f.year, f.hasYear
	if !ok && f.yearOfCentury >= 0 {
		ok = true
		switch {
		case f.century >= 0:
			year = f.century*100 + f.yearOfCentury
		case f.yearOfCentury < 70:
			year = 2000 + f.yearOfCentury
		default:
			year = 1900 + f.yearOfCentury
		}
	}
	switch {
	case ok && f.month > 0 && f.dom > 0:
		d := time.Date(year, time.Month(f.month), f.dom, 0, 0, 0, 0, time.UTC)
		return d, d.Day() == f.dom
	case ok && f.yday > 0:
		d := time.Date(year, 1, f.yday, 0, 0, 0, 0, time.UTC)
		return d, d.Year() == year
	case f.hasISOYear && f.isoWeek > 0 && f.weekday > 0:
		// January 4th is always in the first week.
		first := time.Date(f.isoYear, 1, 4, 0, 0, 0, 0, time.UTC)
		d := first.AddDate(0, 0, 7*(f.isoWeek-1)+f.weekday-int(isoWeekday(first)))
		y, w := d.ISOWeek()
		return d, y == f.isoYear && w == f.isoWeek
	}
	return time.Time{}, false
}

// read takes what format describes off the front of s.
func (f *timeFields) read(s, format string, depth int) (string, bool) {
	for format != "" {
		r, n := utf8.DecodeRuneInString(format)
		switch {
		case unicode.IsSpace(r):
			s, format = strings.TrimLeftFunc(s, unicode.IsSpace), format[n:]
		case r != '%':
			if !strings.HasPrefix(s, format[:n]) {
				return s, false
			}
			s, format = s[n:], format[n:]
		default:
			sp, rest, ok := cutSpecifier(format[1:])
			if !ok {
				return s, false
			}
			format = rest
			if c := composite(sp.letter); c != "" && depth == 0 {
				s, ok = f.read(s, c, 1)
			} else {
				s, ok = f.readPart(s, sp)
			}
			if !ok {
				return s, false
			}
		}
	}
	return s, true
}

// number takes up to width digits off s, after white space, into n; they must be from low to high.
func number(s string, width, low, high int, n *int) (string, bool) {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	v, i := 0, 0
	for i < len(s) && i < width && s[i]-'0' < 10 {
		v = v*10 + int(s[i]-'0')
		i++
	}
	*n = v
	return s[i:], i > 0 && v >= low && v <= high
}

// signed is a number that may have a sign; with a sign it may be longer than width.
func signed(s string, width int, n *int) (string, bool) {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	sign := 1
	switch {
	case strings.HasPrefix(s, "-"):
		sign, s, width = -1, s[1:], 6
	case strings.HasPrefix(s, "+"):
		s, width = s[1:], 6
	}
	s, ok := number(s, width, 0, 999999, n)
	*n *= sign
	return s, ok
}

// name takes one of names off s, whole or by its first three letters, in any case; n is its place from 1.
func name(s string, n *int, names func(i int) string, count int) (string, bool) {
	for i := 1; i <= count; i++ {
		full := names(i)
		if len(s) < 3 || !strings.EqualFold(s[:3], full[:3]) {
			continue
		}
		*n = i
		if len(s) >= len(full) && strings.EqualFold(s[:len(full)], full) {
			return s[len(full):], true
		}
		return s[3:], true
	}
	return s, false
}

func (f *timeFields) readPart(s string, sp specifier) (string, bool) {
	switch sp.letter {
	case 'Y':
		f.hasYear = true
		return signed(s, 4, &f.year)
	case 'C':
		return number(s, 2, 0, 99, &f.century)
	case 'y':
		return number(s, 2, 0, 99, &f.yearOfCentury)
	case 'G':
		f.hasISOYear = true
		return signed(s, 4, &f.isoYear)
	case 'm':
		return number(s, 2, 1, 12, &f.month)
	case 'b', 'B', 'h':
		return name(s, &f.month, func(i int) string { return time.Month(i).String() }, 12)
	case 'd', 'e':
		return number(s, 2, 1, 31, &f.dom)
	case 'j':
		return number(s, 3, 1, 366, &f.yday)
	case 'a', 'A':
		return name(s, &f.weekday, func(i int) string { return time.Weekday(i % 7).String() }, 7)
	case 'u':
		return number(s, 1, 1, 7, &f.weekday)
	case 'w':
		s, ok := number(s, 1, 0, 6, &f.weekday)
		if f.weekday == 0 {
			f.weekday = 7
		}
		return s, ok
	case 'V':
		return number(s, 2, 1, 53, &f.isoWeek)
	case 'U', 'W', 'g', 'q':
		var ignored int
		return number(s, 2, 0, 99, &ignored)
	case 'H', 'k':
		return number(s, 2, 0, 23, &f.hour)
	case 'I', 'l':
		return number(s, 2, 1, 12, &f.hour12)
	case 'M':
		return number(s, 2, 0, 59, &f.minute)
	case 'S':
		return number(s, 2, 0, 60, &f.second)
	case 'p', 'P':
		if len(s) < 2 || s[1]|0x20 != 'm' || s[0]|0x20 != 'a' && s[0]|0x20 != 'p' {
			return s, false
		}
		f.half = 0
		if s[0]|0x20 == 'p' {
			f.half = 1
		}
		return s[2:], true
	case 'f':
		return readFraction(s, sp)
	case 's':
		f.hasUnix = true
		digits := strings.TrimLeft(strings.TrimLeft(s, "+-"), "0123456789")
		return digits, len(digits) < len(s)
	case 'z':
		return readOffset(s)
	case 'Z':
		return strings.TrimLeftFunc(s, func(r rune) bool { return !unicode.IsSpace(r) }), true
	case 't', 'n':
		return strings.TrimLeftFunc(s, unicode.IsSpace), true
	case '%':
		rest, ok := strings.CutPrefix(s, "%")
		return rest, ok
	}
	return s, false
}

// readFraction takes digits; with a point in the specifier also the point, which may be missing altogether.
func readFraction(s string, sp specifier) (string, bool) {
	if sp.point {
		rest, ok := strings.CutPrefix(s, ".")
		if !ok {
			return s, sp.digits == 0
		}
		s = rest
	}
	rest := strings.TrimLeft(s, "0123456789")
	n := len(s) - len(rest)
	if sp.digits > 0 && !sp.point {
		return s[min(n, sp.digits):], n >= sp.digits
	}
	return rest, n > 0
}

// readOffset takes Z, or a sign with hours and minutes.
func readOffset(s string) (string, bool) {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	if s == "" {
		return s, false
	}
	if s[0] == 'Z' || s[0] == 'z' {
		return s[1:], true
	}
	if s[0] != '+' && s[0] != '-' {
		return s, false
	}
	var hours, minutes int
	s, ok := number(s[1:], 2, 0, 23, &hours)
	if !ok {
		return s, false
	}
	s = strings.TrimPrefix(s, ":")
	return number(s, 2, 0, 59, &minutes)
}
