package value

import "fmt"

// ParseDatetime reads what <datetime> accepts, which is the inside of a d'…' literal.
func ParseDatetime(s string) (Datetime, error) {
	d, err := ReadDatetime(s)
	if err != nil {
		return Datetime{}, err
	}
	return d, nil
}

// ReadDatetime reads the inside of a d'…' literal: YYYY-MM-DD, alone (midnight UTC) or with
// Thh:mm:ss[.fraction] and Z or ±hh:mm. The year has 4 to 7 digits and an optional sign. What follows
// the zone is ignored.
func ReadDatetime(s string) (Datetime, *SyntaxError) {
	r := datetimeReader{s: s}
	var c Civil
	c.Year = r.year()
	r.expect('-')
	c.Month = r.section(1, 12)
	r.expect('-')
	c.Day = r.section(1, 31)
	if _, ok := c.Datetime(); !ok {
		r.fail("Invalid Datetime date: date outside of valid range", 0, r.at)
	}
	if r.err != nil {
		return Datetime{}, r.err
	}
	if r.at < len(s) {
		r.time(&c)
		at := r.at
		shift := r.zone()
		d, _ := c.Datetime()
		if d.Secs += shift; r.err == nil && !d.inCalendar() {
			r.fail("Invalid Datetime, timezone was outside of the range of valid datetimes", at, r.at)
		}
		if r.err != nil {
			return Datetime{}, r.err
		}
		return d, nil
	}
	d, _ := c.Datetime()
	return d, nil
}

// datetimeReader walks over the text. After an error it stands still.
type datetimeReader struct {
	s      string
	at     int
	timeAt int // where the time part starts, with its T
	err    *SyntaxError
}

// fail records the first error, about the bytes from..to.
func (r *datetimeReader) fail(msg string, from, to int) {
	if r.err == nil {
		r.err = &SyntaxError{Msg: msg, Offset: from, Len: to - from}
	}
}

func (r *datetimeReader) failChar(format string) {
	if r.err == nil {
		r.err = badChar(r.s, r.at, format)
	}
}

// year reads 4 to 7 digits with an optional sign.
func (r *datetimeReader) year() int {
	sign := 1
	if r.at < len(r.s) && (r.s[r.at] == '+' || r.s[r.at] == '-') {
		if r.s[r.at] == '-' {
			sign = -1
		}
		r.at++
	}
	n := r.digits(4)
	for i := 4; i < 7 && r.at < len(r.s) && isDigit(r.s[r.at]); i++ {
		n = n*10 + int(r.s[r.at]-'0')
		r.at++
	}
	return sign * n
}

// digits reads exactly n digits.
func (r *datetimeReader) digits(n int) int {
	v := 0
	for range n {
		if r.err != nil {
			return 0
		}
		if r.at == len(r.s) {
			r.fail("Expected end of datetime, expected datetime digit character", r.at, r.at)
			return 0
		}
		if !isDigit(r.s[r.at]) {
			r.failChar("Invalid datetime, expected digit character found `%c`")
			return 0
		}
		v = v*10 + int(r.s[r.at]-'0')
		r.at++
	}
	return v
}

// section reads two digits within lo..hi.
func (r *datetimeReader) section(lo, hi int) int {
	v := r.digits(2)
	if r.err == nil && (v < lo || v > hi) {
		r.fail("Invalid datetime digit section, section not within allowed range", r.at-2, r.at)
		r.err.Label = fmt.Sprintf("This section must be within %d..=%d", lo, hi)
	}
	return v
}

func (r *datetimeReader) expect(c byte) {
	switch {
	case r.err != nil:
	case r.at == len(r.s):
		r.fail(fmt.Sprintf("Expected end of string, expected datetime seperator character `%c`", c), r.at, r.at)
	case r.s[r.at] != c:
		r.failChar("Unexpected character `%c`, expected datetime seperator characters `" + string(rune(c)) + "`")
	default:
		r.at++
	}
}

// time reads Thh:mm:ss[.fraction].
func (r *datetimeReader) time(c *Civil) {
	r.timeAt = r.at
	switch r.s[r.at] {
	case 'T', 't', ' ':
		r.at++
	default:
		r.failChar("Unexpected character `%c`, expected time seperator `T`")
		return
	}
	from := r.at
	c.Hour = r.section(0, 24)
	r.expect(':')
	c.Minute = r.section(0, 59)
	r.expect(':')
	c.Second = r.section(0, 60)
	c.Nanos = r.fraction()
	if _, ok := c.Datetime(); !ok {
		r.fail("Invalid Datetime time: time outside of valid range", from, r.at)
	}
}

// fraction reads .digits as nanoseconds. Beyond nine digits the last one decides the rounding, as in
// the reference.
func (r *datetimeReader) fraction() uint32 {
	if r.err != nil || r.at == len(r.s) || r.s[r.at] != '.' {
		return 0
	}
	r.at++
	from := r.at
	var n uint32
	for ; r.at < len(r.s) && isDigit(r.s[r.at]); r.at++ {
		if r.at-from < 9 {
			n = n*10 + uint32(r.s[r.at]-'0')
		}
	}
	count := r.at - from
	if count == 0 {
		r.fail("Invalid datetime nanoseconds, expected at least a single digit", r.at, r.at)
	}
	for i := count; i < 9; i++ {
		n *= 10
	}
	if count > 9 && r.s[r.at-1] >= '5' {
		n++
	}
	return n
}

// zone reads Z or ±hh:mm and gives the seconds to add for UTC.
func (r *datetimeReader) zone() int64 {
	if r.err != nil {
		return 0
	}
	if r.at == len(r.s) {
		r.fail("Invalid end of datetime, expected datetime timezone", r.at, r.at)
		return 0
	}
	sign := int64(-1)
	switch r.s[r.at] {
	case 'Z', 'z':
		r.at++
		return 0
	case '-':
		sign = 1
	case '+':
	default:
		r.failChar("Unexpected character `%c`, expected `Z` or a timezone offset.")
		if r.err.Offset == r.at { // upstream underlines the whole time
			r.err.Offset, r.err.Len = r.timeAt, r.at+r.err.Len-r.timeAt
		}
		return 0
	}
	r.at++
	h := r.section(0, 23)
	r.expect(':')
	m := r.section(0, 59)
	return sign * int64(h*3600+m*60)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
