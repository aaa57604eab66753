package text

import (
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Moment is a time that a text names: the interval from From until before To.
type Moment struct {
	From, To   time.Time
	Start, End int  // bytes of the text
	Relative   bool // it depends on when the text was said
}

var months, weekdays = calendar()

var smallNumbers = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
	"seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "couple of": 2, "a couple of": 2, "a couple": 2,
	"few": 3, "a few": 3, "several": 4}

const (
	monthWords   = `january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec`
	dayWords     = `monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun`
	countWords   = `\d{1,3}|a couple of|couple of|a couple|a few|few|several|an|a|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve`
	seasonWords  = `spring|summer|autumn|fall|winter`
	ordinalTail  = `(?:st|nd|rd|th)?`
	relativeHead = `last|past|previous|this past|this|next|coming|the following|the previous|the next`
)

// Kinds of words that patterns need, as bits. A pattern whose words a text does not hold is not tried: expressions are
// slow, and most texts name no time.
const (
	hasNumber  uint16 = 1 << iota // digits
	hasYear                       // at least four digits
	hasMonth                      // the name of a month
	hasWeekday                    // the name of a weekday
	hasSeason                     // the name of a season
	hasUnit                       // day, week, month, year
	hasDay                        // yesterday, tonight and the like
	hasHead                       // last, next and the like
	hasAgo                        // ago, back, earlier, before
	hasIn                         // in
	hasLater                      // later, from now
)

var dateWords = sync.OnceValue(wordKinds)

func wordKinds() map[string]uint16 {
	kinds := map[string]uint16{"in": hasIn, "later": hasLater, "now": hasLater, "ago": hasAgo, "back": hasAgo,
		"earlier": hasAgo, "before": hasAgo}
	for bit, words := range map[uint16]string{hasMonth: monthWords, hasWeekday: dayWords, hasSeason: seasonWords,
		hasUnit: "day|days|week|weeks|weekend|weekends|month|months|year|years",
		hasDay:  "yesterday|tomorrow|today|tonight|night|morning|afternoon|evening",
		hasHead: "last|past|previous|this|next|coming|following"} {
		for _, w := range strings.Split(words, "|") {
			kinds[w] |= bit
		}
	}
	return kinds
}

// kindsOf are the kinds of words that a text in lower case holds.
func kindsOf(s string) (have uint16) {
	kinds := dateWords()
	for i := 0; i < len(s); {
		j := i
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			for j < len(s) && s[j] >= 'a' && s[j] <= 'z' {
				j++
			}
			have |= kinds[s[i:j]]
		case c >= '0' && c <= '9':
			for j < len(s) && s[j] >= '0' && s[j] <= '9' {
				j++
			}
			if have |= hasNumber; j-i >= 4 {
				have |= hasYear
			}
			// An ordinal tail or a unit may follow at once: it begins a word of its own here.
		default:
			j++
		}
		i = j
	}
	return have
}

type datePattern struct {
	re    *regexp.Regexp
	read  func(m []string, ref time.Time) (from, to time.Time, ok bool)
	rel   bool
	needs uint16
}

// datePatterns are tried in order; what an earlier one found, a later one does not read again.
var datePatterns = sync.OnceValue(func() []datePattern {
	return []datePattern{
		{dateRE(`(\d{4})-(\d{2})-(\d{2})`), readISO, false, hasYear},
		{dateRE(`(\d{1,2})` + ordinalTail + `(?: of)? (` + monthWords + `)\.?,? (\d{4})`), readDMY, false,
			hasMonth | hasYear},
		{dateRE(`(` + monthWords + `)\.? (\d{1,2})` + ordinalTail + `,? (\d{4})`), readMDY, false, hasMonth | hasYear},
		{dateRE(`(\d{1,2})/(\d{1,2})/(\d{4})`), readSlashes, false, hasYear},
		{dateRE(`(` + monthWords + `)\.?,? (\d{4})`), readMY, false, hasMonth | hasYear},
		{dateRE(`(\d{1,2})` + ordinalTail + `(?: of)? (` + monthWords + `)`), readDM, true, hasMonth | hasNumber},
		{dateRE(`(` + monthWords + `)\.? (\d{1,2})` + ordinalTail), readMD, true, hasMonth | hasNumber},
		{dateRE(`(?:the )?day before yesterday`), shiftDays(-2), true, hasDay},
		{dateRE(`(?:the )?day after tomorrow`), shiftDays(2), true, hasDay},
		{dateRE(`yesterday|last night`), shiftDays(-1), true, hasDay},
		{dateRE(`today|tonight|this morning|this afternoon|this evening`), shiftDays(0), true, hasDay},
		{dateRE(`tomorrow`), shiftDays(1), true, hasDay},
		{dateRE(`the other day`), readOtherDay, true, hasUnit},
		{dateRE(`(` + countWords + `) (day|week|weekend|month|year)s? (?:ago|back|earlier|before)`), readAgo, true, hasUnit | hasAgo},
		{dateRE(`in (` + countWords + `) (day|week|month|year)s?(?: time)?`), readIn, true, hasUnit | hasIn},
		{dateRE(`(` + countWords + `) (day|week|month|year)s? (?:later|from now)`), readIn, true, hasUnit | hasLater},
		{dateRE(`(` + relativeHead + `) (day|week|weekend|month|year)`), readRelative, true, hasHead | hasUnit},
		{dateRE(`(` + relativeHead + `) (` + dayWords + `)`), readWeekday, true, hasHead | hasWeekday},
		{dateRE(`(` + relativeHead + `) (` + monthWords + `)`), readRelMonth, true, hasHead | hasMonth},
		{dateRE(`(` + relativeHead + `) (` + seasonWords + `)`), readSeason, true, hasHead | hasSeason},
		{dateRE(`on ()(` + dayWords + `)`), readWeekday, true, hasWeekday},
		{dateRE(`(?:in|since|during|until|by|early|late|mid) (` + monthWords + `)`), readMonth, true, hasMonth},
		{dateRE(`(?:in|since|during|until|by|of|year) (\d{4})`), readYear, false, hasYear},
	}
})

func dateRE(s string) *regexp.Regexp { return regexp.MustCompile(`\b(?:` + s + `)\b`) }

// calendar makes the names of months and weekdays, long and short.
func calendar() (map[string]time.Month, map[string]time.Weekday) {
	ms, ds := map[string]time.Month{}, map[string]time.Weekday{}
	for i := time.January; i <= time.December; i++ {
		n := strings.ToLower(i.String())
		ms[n], ms[n[:3]] = i, i
	}
	ms["sept"] = time.September
	for i := time.Sunday; i <= time.Saturday; i++ {
		n := strings.ToLower(i.String())
		ds[n], ds[n[:3]] = i, i
	}
	ds["tues"], ds["thur"], ds["thurs"] = time.Tuesday, time.Thursday, time.Thursday
	return ms, ds
}

// maxDated bounds how much of a text is read for dates.
const maxDated = 64 << 10

// Dates finds the times that a text names. ref is when it was said; relative ones count from there.
func Dates(s string, ref time.Time) []Moment {
	low := strings.ToLower(Clip(s, maxDated))
	if len(low) > len(s) {
		return nil
	}
	return dates(low, ref, kindsOf(low))
}

// dates tries the patterns whose words are among have.
func dates(low string, ref time.Time, have uint16) []Moment {
	var taken []bool
	var out []Moment
	for _, p := range datePatterns() {
		if p.needs&^have != 0 || p.rel && ref.IsZero() {
			continue
		}
		for _, at := range p.re.FindAllStringSubmatchIndex(low, 64) {
			if taken == nil {
				taken = make([]bool, len(low))
			}
			if overlaps(taken, at[0], at[1]) {
				continue
			}
			m := make([]string, len(at)/2)
			for i := range m {
				if at[2*i] >= 0 {
					m[i] = low[at[2*i]:at[2*i+1]]
				}
			}
			from, to, ok := p.read(m, day(ref))
			if !ok {
				continue
			}
			for i := at[0]; i < at[1]; i++ {
				taken[i] = true
			}
			out = append(out, Moment{from, to, at[0], at[1], p.rel})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Start < out[j].Start })
	return out
}

func overlaps(taken []bool, from, to int) bool {
	for i := from; i < to; i++ {
		if taken[i] {
			return true
		}
	}
	return false
}

func day(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

func date(y int, m time.Month, d int) (from, to time.Time, ok bool) {
	from = time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 0, 1), y >= 1000 && from.Month() == m && from.Day() == d
}

func num(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return smallNumbers[s]
}

func readISO(m []string, _ time.Time) (time.Time, time.Time, bool) {
	return date(num(m[1]), time.Month(num(m[2])), num(m[3]))
}

func readDMY(m []string, _ time.Time) (time.Time, time.Time, bool) {
	return date(num(m[3]), months[m[2]], num(m[1]))
}

func readMDY(m []string, _ time.Time) (time.Time, time.Time, bool) {
	return date(num(m[3]), months[m[1]], num(m[2]))
}

func readSlashes(m []string, _ time.Time) (time.Time, time.Time, bool) {
	return date(num(m[3]), time.Month(num(m[1])), num(m[2]))
}

func readMY(m []string, _ time.Time) (time.Time, time.Time, bool) {
	return span(time.Date(num(m[2]), months[m[1]], 1, 0, 0, 0, 0, time.UTC), 0, 1)
}

func readDM(m []string, ref time.Time) (time.Time, time.Time, bool) {
	from, to, ok := date(ref.Year(), months[m[2]], num(m[1]))
	return near(from, to, ref, ok)
}

func readMD(m []string, ref time.Time) (time.Time, time.Time, bool) {
	from, to, ok := date(ref.Year(), months[m[1]], num(m[2]))
	return near(from, to, ref, ok)
}

// near moves a day without a year to the one closest to ref.
func near(from, to, ref time.Time, ok bool) (time.Time, time.Time, bool) {
	switch d := from.Sub(ref); {
	case d > 183*24*time.Hour:
		return from.AddDate(-1, 0, 0), to.AddDate(-1, 0, 0), ok
	case d < -183*24*time.Hour:
		return from.AddDate(1, 0, 0), to.AddDate(1, 0, 0), ok
	}
	return from, to, ok
}

func shiftDays(n int) func([]string, time.Time) (time.Time, time.Time, bool) {
	return func(_ []string, ref time.Time) (time.Time, time.Time, bool) {
		from := ref.AddDate(0, 0, n)
		return from, from.AddDate(0, 0, 1), true
	}
}

func readOtherDay(_ []string, ref time.Time) (time.Time, time.Time, bool) {
	return ref.AddDate(0, 0, -7), ref, true
}

func readAgo(m []string, ref time.Time) (time.Time, time.Time, bool) { return moved(m, ref, -1) }

func readIn(m []string, ref time.Time) (time.Time, time.Time, bool) { return moved(m, ref, 1) }

func moved(m []string, ref time.Time, sign int) (time.Time, time.Time, bool) {
	n := num(m[1]) * sign
	switch m[2] {
	case "day":
		from := ref.AddDate(0, 0, n)
		return from, from.AddDate(0, 0, 1), n != 0
	case "week":
		return span(monday(ref.AddDate(0, 0, 7*n)), 7, 0)
	case "weekend":
		return span(monday(ref.AddDate(0, 0, 7*n)).AddDate(0, 0, 5), 2, 0)
	case "month":
		return span(first(ref).AddDate(0, n, 0), 0, 1)
	}
	return span(time.Date(ref.Year()+n, 1, 1, 0, 0, 0, 0, time.UTC), 0, 12)
}

func span(from time.Time, days, months int) (time.Time, time.Time, bool) {
	return from, from.AddDate(0, months, days), from.Year() >= 1000
}

func monday(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }

func first(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }

// direction is -1 for last, 0 for this and 1 for next.
func direction(head string) int {
	switch {
	case strings.Contains(head, "last"), strings.Contains(head, "past"), strings.Contains(head, "previous"):
		return -1
	case strings.Contains(head, "next"), head == "coming", strings.Contains(head, "following"):
		return 1
	}
	return 0
}

func readRelative(m []string, ref time.Time) (time.Time, time.Time, bool) {
	n := direction(m[1])
	switch m[2] {
	case "day":
		return shiftDays(n)(m, ref)
	case "weekend":
		// On a Sunday or Monday, last weekend is the one that just ended.
		return span(monday(ref).AddDate(0, 0, 7*n+5), 2, 0)
	}
	return moved([]string{"", "1", m[2]}, shift(ref, m[2], n-1), 1)
}

// shift moves ref by n of a unit.
func shift(ref time.Time, unit string, n int) time.Time {
	switch unit {
	case "week":
		return ref.AddDate(0, 0, 7*n)
	case "month":
		return first(ref).AddDate(0, n, 0)
	}
	return time.Date(ref.Year()+n, 1, 1, 0, 0, 0, 0, time.UTC)
}

func readWeekday(m []string, ref time.Time) (time.Time, time.Time, bool) {
	diff := (int(weekdays[m[2]]) - int(ref.Weekday()) + 7) % 7
	if n := direction(m[1]); n < 0 || (n == 0 && m[1] != "this") {
		if diff -= 7; diff < -7 {
			diff += 7
		}
	} else if diff == 0 && n > 0 {
		diff = 7
	}
	from := ref.AddDate(0, 0, diff)
	return from, from.AddDate(0, 0, 1), true
}

func readRelMonth(m []string, ref time.Time) (time.Time, time.Time, bool) {
	mo, n := months[m[2]], direction(m[1])
	y := ref.Year()
	switch {
	case n < 0 && mo >= ref.Month():
		y--
	case n > 0 && mo <= ref.Month():
		y++
	}
	return span(time.Date(y, mo, 1, 0, 0, 0, 0, time.UTC), 0, 1)
}

func readMonth(m []string, ref time.Time) (time.Time, time.Time, bool) {
	from, to, ok := span(time.Date(ref.Year(), months[m[1]], 1, 0, 0, 0, 0, time.UTC), 0, 1)
	return near(from, to, ref, ok)
}

func readSeason(m []string, ref time.Time) (time.Time, time.Time, bool) {
	start := map[string]time.Month{"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[m[2]]
	from := time.Date(ref.Year(), start, 1, 0, 0, 0, 0, time.UTC)
	switch n := direction(m[1]); {
	case n < 0 && from.AddDate(0, 3, 0).After(ref):
		from = from.AddDate(-1, 0, 0)
	case n > 0 && from.Before(ref):
		from = from.AddDate(1, 0, 0)
	}
	return span(from, 0, 3)
}

func readYear(m []string, _ time.Time) (time.Time, time.Time, bool) {
	y := num(m[1])
	from, to, ok := span(time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC), 0, 12)
	return from, to, ok && y >= 1900 && y <= 2100
}
