package fn

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine/value"
)

func semverFuncs() []entry {
	return methodsOn(kindSet(value.KindString), []entry{
		{sig: "string::semver::compare(a: string, b: string) -> int", impl: semverCompare,
			doc: "-1, 0 or 1 as the first version is less, equal or greater; build metadata counts."},
		{sig: "string::semver::major(version: string) -> int", impl: semverPart(0), doc: "The major number."},
		{sig: "string::semver::minor(version: string) -> int", impl: semverPart(1), doc: "The minor number."},
		{sig: "string::semver::patch(version: string) -> int", impl: semverPart(2), doc: "The patch number."},
		{sig: "string::semver::inc::major(version: string) -> string", impl: semverInc(0),
			doc: "The next major version; suffixes stay."},
		{sig: "string::semver::inc::minor(version: string) -> string", impl: semverInc(1),
			doc: "The next minor version; suffixes stay."},
		{sig: "string::semver::inc::patch(version: string) -> string", impl: semverInc(2),
			doc: "The next patch version; suffixes stay."},
		{sig: "string::semver::set::major(version: string, number: int) -> string", impl: semverSet(0),
			doc: "With another major number."},
		{sig: "string::semver::set::minor(version: string, number: int) -> string", impl: semverSet(1),
			doc: "With another minor number."},
		{sig: "string::semver::set::patch(version: string, number: int) -> string", impl: semverSet(2),
			doc: "With another patch number."},
	})
}

// semver is a version major.minor.patch[-pre][+build].
type semver struct {
	num        [3]uint64
	pre, build string
}

func parseSemver(s string) (semver, bool) {
	var v semver
	s, build, hasBuild := strings.Cut(s, "+")
	s, pre, hasPre := strings.Cut(s, "-")
	if hasBuild && !semverIdents(build, true) || hasPre && !semverIdents(pre, false) {
		return v, false
	}
	v.pre, v.build = pre, build
	for i := range v.num {
		part, rest, more := strings.Cut(s, ".")
		if more != (i < 2) || !decimalDigits(part) || len(part) > 1 && part[0] == '0' {
			return v, false
		}
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return v, false
		}
		v.num[i], s = n, rest
	}
	return v, true
}

// semverIdents checks identifiers with dots between. Numeric ones have no leading zeros unless zeros says so.
func semverIdents(s string, zeros bool) bool {
	for ident := range strings.SplitSeq(s, ".") {
		if ident == "" || !zeros && len(ident) > 1 && ident[0] == '0' && decimalDigits(ident) {
			return false
		}
		for i := 0; i < len(ident); i++ {
			if !isAlnum(ident[i]) && ident[i] != '-' {
				return false
			}
		}
	}
	return true
}

func isSemver(s string) bool {
	_, ok := parseSemver(s)
	return ok
}

// String is the version's text.
func (v semver) String() string {
	var b []byte
	for i, n := range v.num {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, n, 10)
	}
	if v.pre != "" {
		b = append(append(b, '-'), v.pre...)
	}
	if v.build != "" {
		b = append(append(b, '+'), v.build...)
	}
	return string(b)
}

func (v semver) cmp(w semver) int {
	for i := range v.num {
		if c := cmp.Compare(v.num[i], w.num[i]); c != 0 {
			return c
		}
	}
	if v.pre != w.pre {
		switch {
		case v.pre == "":
			return 1
		case w.pre == "":
			return -1
		}
		if c := compareIdents(v.pre, w.pre); c != 0 {
			return c
		}
	}
	if v.build == w.build {
		return 0
	}
	return compareIdents(v.build, w.build)
}

// compareIdents compares identifiers one by one: numbers by value and before words, the shorter list first.
func compareIdents(a, b string) int {
	for a != "" && b != "" {
		x, restA, _ := strings.Cut(a, ".")
		y, restB, _ := strings.Cut(b, ".")
		if c := compareIdent(x, y); c != 0 {
			return c
		}
		a, b = restA, restB
	}
	return cmp.Compare(len(a), len(b))
}

func compareIdent(x, y string) int {
	nx, ny := decimalDigits(x), decimalDigits(y)
	switch {
	case nx && ny:
		if c := compareDigits(x, y); c != 0 {
			return c
		}
		return cmp.Compare(len(x), len(y))
	case nx:
		return -1
	case ny:
		return 1
	}
	return cmp.Compare(x, y)
}

// compareDigits compares two runs of digits as numbers of any length.
func compareDigits(x, y string) int {
	x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
	if c := cmp.Compare(len(x), len(y)); c != 0 {
		return c
	}
	return cmp.Compare(x, y)
}

func (c Call) version(v value.Value) (semver, error) {
	sv, ok := parseSemver(v.Str())
	if !ok {
		return sv, c.incorrect("Invalid semantic version")
	}
	return sv, nil
}

func semverCompare(c Call, args []value.Value) (value.Value, error) {
	a, ok := parseSemver(args[0].Str())
	if !ok {
		return value.None, c.incorrect("Invalid semantic version string for left argument")
	}
	b, ok := parseSemver(args[1].Str())
	if !ok {
		return value.None, c.incorrect("Invalid semantic version string for right argument")
	}
	return value.Int(int64(a.cmp(b))), nil
}

func semverPart(part int) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		v, err := c.version(args[0])
		return value.Int(int64(v.num[part])), err
	}
}

func semverInc(part int) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		v, err := c.version(args[0])
		if err != nil {
			return value.None, err
		}
		v.num[part]++
		for i := part + 1; i < len(v.num); i++ {
			v.num[i] = 0
		}
		return value.Str(v.String()), nil
	}
}

func semverSet(part int) Impl {
	return func(c Call, args []value.Value) (value.Value, error) {
		v, err := c.version(args[0])
		if err != nil {
			return value.None, err
		}
		v.num[part] = uint64(args[1].Int())
		return value.Str(v.String()), nil
	}
}

// decimalDigits reports whether s is one or more of 0 to 9.
func decimalDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
