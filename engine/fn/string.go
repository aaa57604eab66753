package fn

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func stringFuncs() []entry {
	return methodsOn(kindSet(value.KindString), []entry{
		{sig: "string::capitalize(text: string) -> string", impl: onText(capitalize),
			doc: "Upper-cases the first character of each word."},
		{sig: "string::concat(...parts: any) -> string", impl: stringConcat,
			doc: "The texts of all arguments, one after the other."},
		{sig: "string::contains(text: string, part: string) -> bool", impl: stringContains,
			doc: "Whether the text holds the part."},
		{sig: "string::ends_with(text: string, part: string) -> bool", impl: stringEndsWith,
			doc: "Whether the text ends with the part."},
		{sig: "string::html::encode(text: string) -> string", impl: stringHTMLEncode,
			doc: "Encodes every character that could end an HTML text or attribute."},
		{sig: "string::html::sanitize(html: string) -> string", impl: stringHTMLSanitize,
			doc: "Drops unsafe elements and attributes from HTML, adds rel to links and closes what is open."},
		{sig: "string::join(separator: any, ...parts: any) -> string", impl: stringJoin,
			doc: "The texts of the arguments after the first with the first between."},
		{sig: "string::len(text: string) -> int", impl: stringLen,
			doc: "The number of Unicode characters (scalar values)."},
		{sig: "string::lowercase(text: string) -> string", impl: onText(lowercase), doc: "In lower case."},
		{sig: "string::matches(text: string, pattern: any) -> bool", impl: stringMatches,
			doc: "Whether the regular expression matches somewhere in the text."},
		{sig: "string::repeat(text: string, count: int) -> string", impl: stringRepeat,
			doc: "count copies of the text."},
		{sig: "string::replace(text: string, search: any, replacement: string) -> string", impl: stringReplace,
			doc: "Replaces every occurrence of a text or match of a regex by a literal text."},
		{sig: "string::reverse(text: string) -> string", impl: onText(reverse),
			doc: "The characters in reverse order."},
		{sig: "string::slice(text: string, start?: any, end?: int) -> string", impl: stringSlice,
			doc: "The characters from start to before end, or in a range; negative positions count from the end."},
		{sig: "string::slug(text: string) -> string", impl: onText(slug),
			doc: "In lower-case ASCII with dashes, fit for a URL."},
		{sig: "string::split(text: string, separator: string) -> array<string>", impl: stringSplit,
			doc: "The parts between the separators."},
		{sig: "string::starts_with(text: string, part: string) -> bool", impl: stringStartsWith,
			doc: "Whether the text starts with the part."},
		{sig: "string::trim(text: string) -> string", impl: onText(strings.TrimSpace),
			doc: "Without white space at both ends."},
		{sig: "string::uppercase(text: string) -> string", impl: onText(uppercase), doc: "In upper case."},
		{sig: "string::words(text: string) -> array<string>", impl: stringWords,
			doc: "The parts between white space."},
	})
}

// onText makes an Impl of a function from text to text whose result is not much longer than the argument.
func onText(f func(string) string) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		return value.Str(f(args[0].Str())), nil
	}
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func uppercase(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func lowercase(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func capitalize(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	start := true
	for _, r := range s {
		switch {
		case !start:
			b.WriteRune(r)
		case r >= 'a' && r <= 'z':
			b.WriteByte(byte(r) - 'a' + 'A')
		case r < utf8.RuneSelf:
			b.WriteByte(byte(r))
		default:
			b.WriteString(uppercase(string(r)))
		}
		start = unicode.IsSpace(r)
	}
	return b.String()
}

func reverse(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		_, n := utf8.DecodeLastRuneInString(s)
		b.WriteString(s[len(s)-n:])
		s = s[:len(s)-n]
	}
	return b.String()
}

func stringLen(_ Call, args []value.Value) (value.Value, error) {
	return value.Int(int64(utf8.RuneCountInString(args[0].Str()))), nil
}

func stringContains(_ Call, args []value.Value) (value.Value, error) {
	return value.Bool(strings.Contains(args[0].Str(), args[1].Str())), nil
}

func stringStartsWith(_ Call, args []value.Value) (value.Value, error) {
	return value.Bool(strings.HasPrefix(args[0].Str(), args[1].Str())), nil
}

func stringEndsWith(_ Call, args []value.Value) (value.Value, error) {
	return value.Bool(strings.HasSuffix(args[0].Str(), args[1].Str())), nil
}

// plainText is v as string::concat and array::join write it: as the language does, but without the
// quotes and prefixes of strings, datetimes and uuids.
func plainText(dst []byte, v value.Value) []byte {
	switch v.Kind() {
	case value.KindString:
		return append(dst, v.Str()...)
	case value.KindDatetime, value.KindUUID:
		// Their literals are d'…' and u'…'.
		at := len(dst)
		dst = v.AppendText(dst)
		return append(dst[:at], dst[at+2:len(dst)-1]...)
	}
	return v.AppendText(dst)
}

// joinTexts is the texts of vs with sep between, bounded by maxOutput.
func (c Call) joinTexts(vs []value.Value, sep string) (value.Value, error) {
	s := c.scratch()
	defer c.done(s)
	s.text = s.text[:0]
	for i, v := range vs {
		if i > 0 {
			s.text = append(s.text, sep...)
		}
		if s.text = plainText(s.text, v); len(s.text) > maxOutput {
			return value.None, c.tooLarge()
		}
	}
	return value.Str(string(s.text)), nil
}

func stringConcat(c Call, args []value.Value) (value.Value, error) { return c.joinTexts(args, "") }

func stringJoin(c Call, args []value.Value) (value.Value, error) {
	if args[0].Kind() == value.KindString {
		return c.joinTexts(args[1:], args[0].Str())
	}
	return c.joinTexts(args[1:], string(plainText(nil, args[0])))
}

func stringRepeat(c Call, args []value.Value) (value.Value, error) {
	s, n := args[0].Str(), args[1].Int()
	if n < 0 || (len(s) > 0 && n > int64(maxOutput/len(s))) {
		return value.None, c.tooLarge()
	}
	if len(s) == 0 {
		return args[0], nil
	}
	return value.Str(strings.Repeat(s, int(n))), nil
}

func stringReplace(c Call, args []value.Value) (value.Value, error) {
	s, with := args[0].Str(), args[2].Str()
	switch args[1].Kind() {
	case value.KindString:
		old := args[1].Str()
		n := strings.Count(s, old)
		if n == 0 {
			return args[0], nil
		}
		if len(s)+n*(len(with)-len(old)) > maxOutput {
			return value.None, c.tooLarge()
		}
		return value.Str(strings.ReplaceAll(s, old, with)), nil
	case value.KindRegex:
		return c.replaceRegex(s, args[1].Regex().Source, with)
	}
	return value.None, c.incorrect("Argument 2 was the wrong type. Expected a string but found %s", args[1].Brief())
}

func (c Call) replaceRegex(s, pattern, with string) (value.Value, error) {
	re, err := c.Func.table.regexes.compile(pattern)
	if err != nil {
		return value.None, errs.Internal("Invalid regex: %s", err)
	}
	if re.Effort(s) > value.MostReplace {
		return value.None, c.tooCostly()
	}
	size := len(s) // of the result; a match saves no more than itself
	out := re.Replace(s, func(match string) string {
		if size += len(with) - len(match); size > maxOutput+len(s) {
			return "" // too large in any case
		}
		return with
	})
	if size > maxOutput {
		return value.None, c.tooLarge()
	}
	return value.Str(out), nil
}

// tooCostly is the error of a search for a large pattern in a long text.
func (c Call) tooCostly() error {
	return c.incorrect("The pattern is too large for a text of this length.")
}

func stringMatches(c Call, args []value.Value) (value.Value, error) {
	re := (*value.Regex)(nil)
	switch args[1].Kind() {
	case value.KindRegex:
		re = args[1].Regex()
	case value.KindString:
		re, _ = c.Func.table.regexes.compile(args[1].Str())
	}
	switch {
	case re != nil && re.Effort(args[0].Str()) <= value.QuickEffort:
		return value.Bool(re.Match(args[0].Str())), nil
	case re != nil && re.Bears(args[0].Str()):
		searches := value.NewSearches(c.Host.Context().Err)
		found := searches.Match(re, args[0].Str())
		return value.Bool(found), searches.Err()
	case re != nil:
		return value.None, c.tooCostly()
	}
	return value.None, c.incorrect("Argument 2 was the wrong type. Could not cast into `regex` using input `%s`", args[1].Brief())
}

func stringSlice(c Call, args []value.Value) (value.Value, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	s := args[0].Str()
	from, to, bad := window(args[1], args[2:], utf8.RuneCountInString(s))
	if bad != nil {
		return value.None, c.badStart("array::slice", bad)
	}
	if from >= to {
		return value.Str(""), nil
	}
	start := runeOffset(s, from)
	return value.Str(s[start : start+runeOffset(s[start:], to-from)]), nil
}

// runeOffset is the offset in bytes of character n of s, which has at least n.
func runeOffset(s string, n int) int {
	at := 0
	for ; n > 0; n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

func stringSplit(_ Call, args []value.Value) (value.Value, error) {
	s, sep := args[0].Str(), args[1].Str()
	if sep == "" {
		out := make([]value.Value, 0, utf8.RuneCountInString(s)+2)
		out = append(out, value.Str(""))
		for i := 0; i < len(s); {
			_, n := utf8.DecodeRuneInString(s[i:])
			out = append(out, value.Str(s[i:i+n]))
			i += n
		}
		return value.ArrayOf(append(out, value.Str(""))), nil
	}
	out := make([]value.Value, 0, strings.Count(s, sep)+1)
	for {
		part, rest, more := strings.Cut(s, sep)
		out = append(out, value.Str(part))
		if !more {
			return value.ArrayOf(out), nil
		}
		s = rest
	}
}

func stringWords(_ Call, args []value.Value) (value.Value, error) {
	s := args[0].Str()
	n := 0
	for range strings.FieldsSeq(s) {
		n++
	}
	out := make([]value.Value, 0, n)
	for word := range strings.FieldsSeq(s) {
		out = append(out, value.Str(word))
	}
	return value.ArrayOf(out), nil
}
