package pgtype

import (
	"math"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// unit is what a number in the text of an interval counts.
type unit uint8

const (
	noUnit unit = iota
	microsecond
	millisecond
	second
	minute
	hour
	day
	week
	month
	year
	decade
	century
	millennium
	noneBeforeAgo
)

// unitNames are the names of units, with and without an s at their end.
var unitNames = map[string]unit{
	"microsecond": microsecond, "usec": microsecond, "us": microsecond, "useconds": microsecond, "usecond": microsecond,
	"millisecond": millisecond, "msec": millisecond, "ms": millisecond, "msecond": millisecond,
	"second": second, "sec": second, "s": second, "minute": minute, "min": minute, "m": minute,
	"hour": hour, "hr": hour, "h": hour, "day": day, "d": day, "week": week, "w": week,
	"month": month, "mon": month, "year": year, "yr": year, "y": year, "decade": decade, "dec": decade,
	"century": century, "cent": century, "c": century, "centuries": century,
	"millennium": millennium, "mil": millennium, "millennia": millennium,
}

// microsOfUnit are the units that are times, in microseconds, and monthsOfUnit those that are months.
var (
	microsOfUnit = map[unit]int64{microsecond: 1, millisecond: 1000, second: MicrosPerSecond,
		minute: 60 * MicrosPerSecond, hour: 3600 * MicrosPerSecond}
	monthsOfUnit = map[unit]int64{month: 1, year: monthsPerYear, decade: 10 * monthsPerYear,
		century: 100 * monthsPerYear, millennium: 1000 * monthsPerYear}
)

// unitOf is the unit of a name.
func unitOf(name string) (unit, bool) {
	name = strings.ToLower(name)
	u, ok := unitNames[name]
	if !ok && len(name) > 2 {
		u, ok = unitNames[strings.TrimSuffix(name, "s")]
	}
	return u, ok
}

// Fields are the units that the type of an interval names, such as DAY TO SECOND. The zero Fields name none.
type Fields struct{ from, to unit }

// FieldsOf are the fields of that names; to is "" where there is one. ok is false where an interval has none such.
func FieldsOf(from, to string) (f Fields, ok bool) {
	f.from = unitNames[from]
	if to == "" {
		f.to = f.from
		return f, true
	}
	f.to = unitNames[to]
	return f, f.to != noUnit && f.from > f.to && (f.from != year || f.to == month) && f.from != month
}

// To reports whether a unit is the smallest of f.
func (f Fields) To(name string) bool { return f.to != noUnit && f.to == unitNames[name] }

// intervalText reads the text of an interval.
type intervalText struct {
	fields Fields
	span   Span
	seen   uint32 // the units that were read
	years  int64  // of 32 bits
	micros int64  // the sum of the times
	ago    bool   // all of it is to be negated
	failed error  // not nil: a part is out of range
}

// parseInterval reads an interval: "1 year 3 days 04:05:06", "1.5 hours", "P3DT4H", "4h".
func parseInterval(s string) (value.Value, error) {
	span, err := ParseSpan(s, Fields{})
	if err != nil {
		return value.None, err
	}
	return span.Value(), nil
}

// ParseSpan reads an interval whose type has the fields f: they say what a number without a unit counts, and smaller
// parts are dropped.
func ParseSpan(s string, f Fields) (Span, error) {
	t := strings.TrimSpace(s)
	x := &intervalText{fields: f}
	ok := false
	if strings.HasPrefix(t, "P") {
		ok = x.iso(t[1:])
	} else {
		ok = x.words(t)
	}
	ok = ok && x.whole()
	switch {
	case x.failed != nil:
		return Span{}, x.failed
	case !ok:
		if d, err := value.ParseDuration(t); err == nil && f == (Fields{}) { // of the language
			return SpanOf(value.DurationOf(d))
		}
		return Span{}, badText(sqlstate.InvalidDatetime, Interval, s)
	}
	return x.span.Cut(f), nil
}

// Cut drops what the fields of a type have not.
func (s Span) Cut(f Fields) Span {
	switch {
	case f == (Fields{}):
		return s
	case f.to >= month:
		months := s.Months
		if f.to == year {
			months -= months % monthsPerYear
		}
		return Span{Months: months}
	case f.to == day:
		s.Micros = 0
	case f.to != second:
		s.Micros -= s.Micros % microsOfUnit[f.to]
	}
	return s
}

// words reads numbers with their units, from the last to the first.
func (x *intervalText) words(s string) bool {
	tokens, ok := intervalTokens(s)
	if !ok {
		return false
	}
	u, ago := noUnit, false
	for i := len(tokens) - 1; i >= 0; i-- {
		t := tokens[i]
		switch {
		case strings.Contains(t, ":"):
			if !x.clock(t) {
				return false
			}
			u = day
		case t[0] >= 'A':
			if strings.EqualFold(t, "ago") {
				ago, u = true, noneBeforeAgo
				continue
			}
			if u, ok = unitOf(t); !ok {
				return false
			}
		default:
			if u == noUnit {
				u = x.usual()
			}
			if u, ok = x.number(t, u); !ok {
				return false
			}
		}
	}
	x.ago = ago
	return x.seen != 0
}

// whole puts the parts together; it notes what is out of range.
func (x *intervalText) whole() bool {
	months := x.years*monthsPerYear + int64(x.span.Months)
	x.span.Months, x.span.Micros = int32(months), x.micros
	if months != int64(x.span.Months) {
		x.failed = IntervalOverflow()
		return false
	}
	if x.ago {
		x.span, x.failed = x.span.Negate()
	}
	return x.failed == nil
}

// usual is the unit of a number without one.
func (x *intervalText) usual() unit {
	if x.fields.to == noUnit {
		return second
	}
	return x.fields.to
}

// intervalTokens cuts a text into numbers, with the times of day and years with months among them, and words.
func intervalTokens(s string) (tokens []string, ok bool) {
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' || c == '.' }
	isLetter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
	for i := 0; i < len(s); {
		start := i
		switch c := s[i]; {
		case isLetter(c):
			for i < len(s) && isLetter(s[i]) {
				i++
			}
		case isDigit(c) || c == '+' || c == '-':
			i++
			if c == '+' || c == '-' {
				for i < len(s) && s[i] == ' ' {
					i++
				}
				if i == len(s) || s[i] < '0' || s[i] > '9' {
					return nil, false
				}
			}
			for i < len(s) && (isDigit(s[i]) || s[i] == ':' || s[i] == '-') {
				i++
			}
		case strings.IndexByte(" \t\n\r\v\f,@", c) >= 0:
			i++
			continue
		default:
			return nil, false
		}
		tokens = append(tokens, strings.ReplaceAll(s[start:i], " ", ""))
	}
	return tokens, true
}

// see notes units; ok is false where one of them was read before.
func (x *intervalText) see(units ...unit) bool {
	for _, u := range units {
		if x.seen&(1<<u) != 0 {
			return false
		}
		x.seen |= 1 << u
	}
	return true
}

// clock reads a time of day with a sign: hours, minutes and seconds, or minutes and seconds with a fraction.
func (x *intervalText) clock(t string) bool {
	negative := t[0] == '-'
	parts := strings.Split(strings.TrimLeft(t, "+-"), ":")
	last := parts[len(parts)-1]
	whole, frac, isFrac := strings.Cut(last, ".")
	parts[len(parts)-1] = whole
	if len(parts) > 3 || isFrac && strings.Trim(frac, "0123456789") != "" {
		return false
	}
	if len(parts) == 2 && (isFrac || x.fields.from == minute && x.fields.to == second) {
		parts = append([]string{"0"}, parts...)
	}
	var n [3]int64
	for i, p := range parts {
		if p == "" && i == 2 && !isFrac {
			continue
		}
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return false
		}
		var err error
		if n[i], err = strconv.ParseInt(p, 10, 64); err != nil || i > 0 && n[i] > 59 {
			if i == 2 && n[i] == 60 && err == nil {
				continue
			}
			return x.overflow()
		}
	}
	hours, rest := n[0], (n[1]*60+n[2])*MicrosPerSecond+int64(math.RoundToEven(fractionOf(frac)*MicrosPerSecond))
	if negative {
		hours, rest = -hours, -rest
	}
	x.micros = 0 // parts of days behind it do not count
	return x.see(hour, minute, second, millisecond, microsecond) && x.count(hour, hours, 0) && x.add(rest)
}

// fractionOf is the number that digits behind a point are.
func fractionOf(digits string) float64 {
	if digits == "" {
		return 0
	}
	f, err := strconv.ParseFloat("0."+digits, 64)
	if err != nil {
		return 0 // no more than digits come
	}
	return f
}

// number reads a number of units, or years and months. It gives the unit of a number before it that has none.
func (x *intervalText) number(t string, u unit) (next unit, ok bool) {
	sign := int64(1)
	if t[0] == '-' {
		sign = -1
	}
	t = strings.TrimLeft(t, "+-")
	if years, months, both := strings.Cut(t, "-"); both {
		return month, x.yearsAndMonths(years, months, sign)
	}
	whole, frac, _ := strings.Cut(t, ".")
	if whole+frac == "" || strings.Trim(frac, "0123456789") != "" {
		return u, false
	}
	n := int64(0)
	if whole != "" {
		var err error
		if n, err = strconv.ParseInt(whole, 10, 64); err != nil {
			return u, x.overflow()
		}
	}
	seen := []unit{u}
	if u == second && fractionOf(frac) != 0 {
		seen = []unit{second, millisecond, microsecond}
	}
	if u == noneBeforeAgo || !x.see(seen...) || !x.count(u, sign*n, float64(sign)*fractionOf(frac)) {
		return u, false
	}
	if u == hour {
		u = day
	}
	return u, true
}

func (x *intervalText) yearsAndMonths(years, months string, sign int64) bool {
	y, err := strconv.ParseInt(years, 10, 32)
	if err != nil {
		return false
	}
	m, err := strconv.ParseInt(months, 10, 32)
	switch {
	case err != nil:
		return false
	case m < 0 || m >= monthsPerYear:
		return x.overflow()
	}
	return x.see(month) && x.months(sign*(y*monthsPerYear+m))
}

// count adds n units and a fraction of one.
func (x *intervalText) count(u unit, n int64, frac float64) bool {
	if per := microsOfUnit[u]; per != 0 {
		if n > math.MaxInt64/per || n < math.MinInt64/per {
			return x.overflow()
		}
		return x.add(n*per) && x.add(nearest(frac*float64(per)))
	}
	switch u {
	case day:
		return x.days(n) && x.partOfDays(frac)
	case week:
		if n > math.MaxInt32 || n < math.MinInt32 {
			return x.overflow()
		}
		return x.days(n*7) && x.partOfDays(frac*7)
	case month:
		return x.months(n) && x.partOfDays(frac*daysPerMonth)
	}
	per := monthsOfUnit[u]
	if n > math.MaxInt32 || n < math.MinInt32 {
		return x.overflow()
	}
	if x.years += n * per / monthsPerYear; x.years != int64(int32(x.years)) {
		return x.overflow()
	}
	return x.months(int64(math.RoundToEven(frac * float64(per))))
}

// nearest is f as a whole number: of two that are as near the one that is nearer to 0.
func nearest(f float64) int64 {
	n := math.Trunc(f)
	switch rest := f - n; {
	case rest > 0.5:
		n++
	case rest < -0.5:
		n--
	}
	return int64(n)
}

// partOfDays adds whole days, and time for what is left of one.
func (x *intervalText) partOfDays(f float64) bool {
	whole := math.Trunc(f)
	return x.days(int64(whole)) && x.add(nearest((f-whole)*MicrosPerDay))
}

func (x *intervalText) add(micros int64) bool {
	sum := x.micros + micros
	if (sum > x.micros) != (micros > 0) {
		return x.overflow()
	}
	x.micros = sum
	return true
}

func (x *intervalText) days(n int64) bool {
	n += int64(x.span.Days)
	x.span.Days = int32(n)
	return n == int64(x.span.Days) || x.overflow()
}

func (x *intervalText) months(n int64) bool {
	n += int64(x.span.Months)
	x.span.Months = int32(n)
	return n == int64(x.span.Months) || x.overflow()
}

func fieldOverflow() error { return sqlstate.New("22015", "interval field value out of range") }

// overflow notes that a part is out of range.
func (x *intervalText) overflow() bool {
	x.failed = fieldOverflow()
	return false
}

// iso reads 1Y2M3DT4H5M6.7S, where an M before the T is a month, and 1-2-3T4:05:06.7, or a part of one.
func (x *intervalText) iso(s string) bool {
	inTime, begins, n := false, true, 0
	for ; s != ""; n++ {
		if s[0] == 'T' {
			inTime, begins, s = true, true, s[1:]
			continue
		}
		if part := s[:len(s)-len(strings.TrimLeft(s, "0123456789.:-"))]; begins && (part == s || s[len(part)] == 'T') {
			if !x.plainPart(part, inTime) {
				return false
			}
			s = s[len(part):]
			continue
		}
		begins = false
		i := 0
		for i < len(s) && strings.IndexByte("0123456789.-+", s[i]) >= 0 {
			i++
		}
		if i == 0 || i == len(s) {
			return false
		}
		u := map[byte]unit{'Y': year, 'M': month, 'W': week, 'D': day}[s[i]]
		if inTime {
			u = map[byte]unit{'H': hour, 'M': minute, 'S': second}[s[i]]
		}
		sign, text := 1.0, s[:i]
		switch text[0] {
		case '-':
			sign, text = -1, text[1:]
		case '+':
			text = text[1:]
		}
		whole, frac, _ := strings.Cut(text, ".")
		w, err := strconv.ParseInt("0"+whole, 10, 64)
		if u == noUnit || err != nil || whole+frac == "" || strings.Trim(whole+frac, "0123456789") != "" {
			return false
		}
		if !x.count(u, int64(sign)*w, sign*fractionOf(frac)) {
			return false
		}
		s = s[i+1:]
	}
	return n > 0
}

// plainPart reads years, months and days, or hours, minutes and seconds.
func (x *intervalText) plainPart(s string, inTime bool) bool {
	if inTime && strings.Contains(s, ":") {
		return x.clock(s)
	}
	units := []unit{year, month, day}
	if inTime {
		units = []unit{hour}
	}
	parts := strings.Split(s, "-")
	if len(parts) > len(units) {
		return false
	}
	for i, p := range parts {
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return false
		}
		if !x.see(units[i]) || !x.count(units[i], n, 0) {
			return false
		}
	}
	return true
}
