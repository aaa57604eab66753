package value

// Years that a datetime may have.
const (
	minYear = -262143
	maxYear = 262142

	minDatetimeSecs = -8334601228800
	maxDatetimeSecs = 8210266876799

	secondsPerDay = 86400
)

// MinDatetime and MaxDatetime are the ends of the calendar.
var (
	MinDatetime = Datetime{Secs: minDatetimeSecs}
	MaxDatetime = Datetime{Secs: maxDatetimeSecs, Nanos: 999_999_999}
)

// Civil is a datetime taken apart, in UTC.
type Civil struct {
	Year                             int
	Month, Day, Hour, Minute, Second int
	Nanos                            uint32
}

// Civil takes d apart (proleptic Gregorian calendar).
func (d Datetime) Civil() Civil {
	days, secs := floorDiv(d.Secs, secondsPerDay)
	c := civilFromDays(days)
	c.Hour, c.Minute, c.Second = int(secs/3600), int(secs/60%60), int(secs%60)
	c.Nanos = d.Nanos
	return c
}

// Datetime puts c together. It fails where a part is out of its range or the year beyond the calendar.
func (c Civil) Datetime() (Datetime, bool) {
	if c.Year < minYear || c.Year > maxYear || c.Month < 1 || c.Month > 12 || c.Day < 1 ||
		c.Day > daysIn(c.Year, c.Month) ||
		c.Hour < 0 || c.Hour > 23 || c.Minute < 0 || c.Minute > 59 || c.Second < 0 || c.Second > 59 ||
		c.Nanos > 999_999_999 {
		return Datetime{}, false
	}
	secs := daysFromCivil(c.Year, c.Month, c.Day)*secondsPerDay + int64(c.Hour*3600+c.Minute*60+c.Second)
	return Datetime{Secs: secs, Nanos: c.Nanos}, true
}

// inCalendar reports whether d is a year that can be written.
func (d Datetime) inCalendar() bool { return d.Secs >= minDatetimeSecs && d.Secs <= maxDatetimeSecs }

// daysFromCivil counts days since 1970-01-01. The year begins in March, so that leap days come last.
func daysFromCivil(year, month, day int) int64 {
	if month <= 2 {
		year--
	}
	era, yoe := floorDiv(int64(year), 400)
	doy := int64((153*((month+9)%12)+2)/5 + day - 1)
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return era*146097 + doe - 719468
}

func civilFromDays(days int64) Civil {
	era, doe := floorDiv(days+719468, 146097)
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	c := Civil{Day: int(doy - (153*mp+2)/5 + 1), Month: int((mp+2)%12) + 1, Year: int(yoe + era*400)}
	if c.Month <= 2 {
		c.Year++
	}
	return c
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// floorDiv is division with a remainder that is never negative (d > 0).
func floorDiv(n, d int64) (q, r int64) {
	q, r = n/d, n%d
	if r < 0 {
		q, r = q-1, r+d
	}
	return q, r
}
