package sql

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

func regexpReplace(c *Call) (value.Value, error) {
	flags := c.Str(3)
	re, err := compileRegexp(c.Str(1), strings.Contains(flags, "i"))
	if err != nil {
		return value.None, err
	}
	with := strings.ReplaceAll(c.Str(2), "$", "$$")
	for i := range 10 {
		with = strings.ReplaceAll(with, `\`+strconv.Itoa(i), "${"+strconv.Itoa(i)+"}")
	}
	with = strings.ReplaceAll(with, `\&`, "${0}")
	s := c.Str(0)
	if strings.Contains(flags, "g") {
		return replaceAll(re, s, with)
	}
	m := re.FindStringSubmatchIndex(s)
	if m == nil {
		return c.Args[0], nil
	}
	return value.Str(s[:m[0]] + string(re.ExpandString(nil, with, s, m)) + s[m[1]:]), nil
}

// replaceAll replaces every match, as long as what it makes is not too long.
func replaceAll(re *regexp.Regexp, s, with string) (value.Value, error) {
	var out []byte
	at := 0
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		out = append(out, s[at:m[0]]...)
		out = re.ExpandString(out, with, s, m)
		at = m[1]
		if err := fits(len(out), longestText); err != nil {
			return value.None, err
		}
	}
	return value.Str(string(append(out, s[at:]...))), nil
}

func regexpMatches(c *Call) (value.Value, error) {
	flags := c.Str(2)
	re, err := compileRegexp(c.Str(1), strings.Contains(flags, "i"))
	if err != nil {
		return value.None, err
	}
	n := 1
	if strings.Contains(flags, "g") {
		n = -1
	}
	var out []value.Value
	for _, m := range re.FindAllStringSubmatch(c.Str(0), n) {
		if len(m) > 1 {
			m = m[1:]
		}
		var row []value.Value
		for _, s := range m {
			row = append(row, value.Str(s))
		}
		out = append(out, value.ArrayOf(row))
	}
	return value.ArrayOf(out), nil
}
