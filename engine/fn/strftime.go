package fn

import (
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func timeFormat(c Call, args []value.Value) (value.Value, error) {
	var buf [64]byte
	out, ok := appendTime(buf[:0], calendar(args[0].Datetime()), args[1].Str(), 0)
	if !ok {
		return value.None, errs.Internal(
			"Incorrect arguments for method time::format(). `%s` is not a valid time formatting string", args[1].Str())
	}
	if len(out) > maxOutput {
		return value.None, c.tooLarge()
	}
	return value.Str(string(out)), nil
}

// specifier is one % sequence of a format: its letter, with a padding (-, _ or 0), a number of digits (%3f) or a point
// or colons before it.
type specifier struct {
	letter byte
	pad    byte // 0 for the letter's own
	digits int  // of %3f and %.3f, else 0
	point  bool
	colons int
}

// cutSpecifier reads the specifier after a %; false when there is none.
func cutSpecifier(s string) (sp specifier, rest string, ok bool) {
	if s == "" {
		return sp, s, false
	}
	switch s[0] {
	case '-', '_', '0':
		sp.pad, s = s[0], s[1:]
	case '.':
		sp.point, s = true, s[1:]
		fallthrough
	case '3', '6', '9':
		if s != "" && strings.IndexByte("369", s[0]) >= 0 {
			sp.digits, s = int(s[0]-'0'), s[1:]
		}
		if s == "" || s[0] != 'f' {
			return sp, s, false
		}
	case ':':
		for s != "" && s[0] == ':' {
			sp.colons, s = sp.colons+1, s[1:]
		}
		if sp.colons > 3 || s == "" || s[0] != 'z' {
			return sp, s, false
		}
	}
	if s == "" {
		return sp, s, false
	}
	sp.letter = s[0]
	return sp, s[1:], sp.pad == 0 || strings.IndexByte("YCyGgmdeHkIlMSjUWVsf", sp.letter) >= 0 && sp.letter != 'f'
}

// composites are the formats that a letter stands for.
func composite(letter byte) string {
	switch letter {
	case 'D', 'x':
		return "%m/%d/%y"
	case 'F':
		return "%Y-%m-%d"
	case 'v':
		return "%e-%b-%Y"
	case 'R':
		return "%H:%M"
	case 'T', 'X':
		return "%H:%M:%S"
	case 'r':
		return "%I:%M:%S %p"
	case 'c':
		return "%a %b %e %H:%M:%S %Y"
	case '+':
		return "%Y-%m-%dT%H:%M:%S%.f%:z"
	}
	return ""
}

// appendTime writes t, which is in UTC, in a format; false for a specifier that does not exist. Composites nest once.
func appendTime(dst []byte, t time.Time, format string, depth int) ([]byte, bool) {
	for format != "" {
		at := strings.IndexByte(format, '%')
		if at < 0 {
			return append(dst, format...), true
		}
		dst = append(dst, format[:at]...)
		sp, rest, ok := cutSpecifier(format[at+1:])
		if !ok {
			return dst, false
		}
		format = rest
		if c := composite(sp.letter); c != "" && depth == 0 {
			dst, ok = appendTime(dst, t, c, 1)
		} else {
			dst, ok = appendPart(dst, t, sp)
		}
		if !ok || len(dst) > maxOutput {
			return dst, ok
		}
	}
	return dst, true
}

// pad writes n with at least width digits, filled as the specifier says or else with fill.
func (sp specifier) appendInt(dst []byte, n, width int, fill byte) []byte {
	switch sp.pad {
	case '-':
		width = 0
	case '_':
		fill = ' '
	case '0':
		fill = '0'
	}
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], int64(n), 10)
	for i := len(text); i < width; i++ {
		dst = append(dst, fill)
	}
	return append(dst, text...)
}

// appendYear writes a year with four digits, and a sign when it is negative or longer.
func (sp specifier) appendYear(dst []byte, year int) []byte {
	if year < 0 {
		return sp.appendInt(append(dst, '-'), -year, 4, '0')
	}
	if year > 9999 {
		dst = append(dst, '+')
	}
	return sp.appendInt(dst, year, 4, '0')
}

func floorMod(n, d int) int { return ((n % d) + d) % d }

func appendPart(dst []byte, t time.Time, sp specifier) ([]byte, bool) {
	year, month, dom := t.Date()
	hour12 := (t.Hour()+11)%12 + 1
	switch sp.letter {
	case 'Y':
		return sp.appendYear(dst, year), true
	case 'C':
		// Two digits only, counted in a byte: outside the years 0 to 9999 it is not a number, as in the reference.
		century := uint8((year - floorMod(year, 100)) / 100)
		if sp.pad == '-' && century < 10 {
			return append(dst, '0'+century), true
		}
		return append(dst, '0'+century/10, '0'+century%10), true
	case 'y':
		return sp.appendInt(dst, floorMod(year, 100), 2, '0'), true
	case 'G':
		iso, _ := t.ISOWeek()
		return sp.appendYear(dst, iso), true
	case 'g':
		iso, _ := t.ISOWeek()
		return sp.appendInt(dst, floorMod(iso, 100), 2, '0'), true
	case 'q':
		return sp.appendInt(dst, (int(month)+2)/3, 1, '0'), true
	case 'm':
		return sp.appendInt(dst, int(month), 2, '0'), true
	case 'b', 'h':
		return append(dst, month.String()[:3]...), true
	case 'B':
		return append(dst, month.String()...), true
	case 'd':
		return sp.appendInt(dst, dom, 2, '0'), true
	case 'e':
		return sp.appendInt(dst, dom, 2, ' '), true
	case 'a':
		return append(dst, t.Weekday().String()[:3]...), true
	case 'A':
		return append(dst, t.Weekday().String()...), true
	case 'w':
		return sp.appendInt(dst, int(t.Weekday()), 1, '0'), true
	case 'u':
		return sp.appendInt(dst, int(isoWeekday(t)), 1, '0'), true
	case 'U':
		return sp.appendInt(dst, (t.YearDay()+6-int(t.Weekday()))/7, 2, '0'), true
	case 'W':
		return sp.appendInt(dst, (t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2, '0'), true
	case 'V':
		_, week := t.ISOWeek()
		return sp.appendInt(dst, week, 2, '0'), true
	case 'j':
		return sp.appendInt(dst, t.YearDay(), 3, '0'), true
	case 'H':
		return sp.appendInt(dst, t.Hour(), 2, '0'), true
	case 'k':
		return sp.appendInt(dst, t.Hour(), 2, ' '), true
	case 'I':
		return sp.appendInt(dst, hour12, 2, '0'), true
	case 'l':
		return sp.appendInt(dst, hour12, 2, ' '), true
	case 'M':
		return sp.appendInt(dst, t.Minute(), 2, '0'), true
	case 'S':
		return sp.appendInt(dst, t.Second(), 2, '0'), true
	case 'f':
		return appendFraction(dst, t.Nanosecond(), sp), true
	case 's':
		return strconv.AppendInt(dst, t.Unix(), 10), true
	case 'P':
		return append(dst, strings.ToLower(t.Format("PM"))...), true
	case 'p':
		return append(dst, t.Format("PM")...), true
	case 'Z':
		return append(dst, "UTC"...), true
	case 'z':
		return append(dst, [...]string{"+0000", "+00:00", "+00:00:00", "+00"}[sp.colons]...), true
	case 't':
		return append(dst, '\t'), true
	case 'n':
		return append(dst, '\n'), true
	case '%':
		return append(dst, '%'), true
	}
	return dst, false
}

// appendFraction writes the fraction of a second: all nine digits, or the first few, or after a point as many groups of
// three as it needs.
func appendFraction(dst []byte, nanos int, sp specifier) []byte {
	digits := sp.digits
	if sp.point {
		if digits == 0 {
			switch {
			case nanos == 0:
				return dst
			case nanos%1e6 == 0:
				digits = 3
			case nanos%1e3 == 0:
				digits = 6
			}
		}
		dst = append(dst, '.')
	}
	if digits == 0 {
		digits = 9
	}
	var buf [9]byte
	for i := 8; i >= 0; i-- {
		buf[i] = '0' + byte(nanos%10)
		nanos /= 10
	}
	return append(dst, buf[:digits]...)
}
