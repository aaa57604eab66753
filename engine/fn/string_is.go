package fn

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func stringIsFuncs() []entry {
	return methodsOn(kindSet(value.KindString), []entry{
		{sig: "string::is_alpha(text: string) -> bool", impl: isText(all(isLetter)),
			doc: "Whether there are characters and all are letters."},
		{sig: "string::is_alphanum(text: string) -> bool",
			impl: isText(all(func(r rune) bool { return isLetter(r) || isNumeric(r) })),
			doc:  "Whether there are characters and all are letters or numbers."},
		{sig: "string::is_ascii(text: string) -> bool",
			impl: isText(all(func(r rune) bool { return r < utf8.RuneSelf })),
			doc:  "Whether there are characters and all are ASCII."},
		{sig: "string::is_datetime(text: string, format?: string) -> bool", impl: stringIsDatetime,
			doc: "Whether the text is a datetime, or fits a format of date and time."},
		{sig: "string::is_domain(text: string) -> bool", impl: isText(isDomain),
			doc: "Whether the text is a domain name."},
		{sig: "string::is_email(text: string) -> bool", impl: isText(isEmail),
			doc: "Whether the text is an email address."},
		{sig: "string::is_hexadecimal(text: string) -> bool", impl: isText(all(isHex)),
			doc: "Whether there are characters and all are hexadecimal digits."},
		{sig: "string::is_ip(text: string) -> bool",
			impl: isText(func(s string) bool { return isIPv4(s) || isIPv6(s) }),
			doc:  "Whether the text is an IPv4 or IPv6 address."},
		{sig: "string::is_ipv4(text: string) -> bool", impl: isText(isIPv4),
			doc: "Whether the text is an IPv4 address."},
		{sig: "string::is_ipv6(text: string) -> bool", impl: isText(isIPv6),
			doc: "Whether the text is an IPv6 address without a zone."},
		{sig: "string::is_latitude(text: string) -> bool", impl: isText(func(s string) bool { return isDegrees(s, 90) }),
			doc: "Whether the text is a number from -90 to 90."},
		{sig: "string::is_longitude(text: string) -> bool", impl: isText(func(s string) bool { return isDegrees(s, 180) }),
			doc: "Whether the text is a number from -180 to 180."},
		{sig: "string::is_numeric(text: string) -> bool", impl: isText(all(isNumeric)),
			doc: "Whether there are characters and all are numeric."},
		{sig: "string::is_record(text: string, table?: any) -> bool", impl: stringIsRecord,
			doc: "Whether the text is a record id, and of the table."},
		{sig: "string::is_semver(text: string) -> bool", impl: isText(isSemver),
			doc: "Whether the text is a semantic version of three parts."},
		{sig: "string::is_ulid(text: string) -> bool", impl: isText(isULID), doc: "Whether the text is a ULID."},
		{sig: "string::is_url(text: string) -> bool", impl: isText(isURL), doc: "Whether the text is an absolute URL."},
		{sig: "string::is_uuid(text: string) -> bool", impl: isText(isUUID),
			doc: "Whether the text is a UUID: plain, without dashes, in braces or as a URN."},
	})
}

// isText makes an Impl of a test of a text.
func isText(test func(string) bool) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		return value.Bool(test(args[0].Str())), nil
	}
}

// all is a test that a text has characters and all of them pass.
func all(pass func(rune) bool) func(string) bool {
	return func(s string) bool {
		for _, r := range s {
			if !pass(r) {
				return false
			}
		}
		return s != ""
	}
}

// isLetter is the Unicode property Alphabetic.
func isLetter(r rune) bool {
	return unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Other_Alphabetic, r)
}

// isNumeric is the Unicode category N.
func isNumeric(r rune) bool { return unicode.IsNumber(r) }

func isHex(r rune) bool {
	return r-'0' < 10 && r >= '0' || r|0x20 >= 'a' && r|0x20 <= 'f'
}

// ipShaped spares most texts that are no address the parser, whose errors cost.
func ipShaped(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isHex(rune(c)) && c != '.' && c != ':' {
			return false
		}
	}
	return len(s) >= 2 && len(s) <= 45
}

func isIPv4(s string) bool {
	if !ipShaped(s) {
		return false
	}
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is4()
}

func isIPv6(s string) bool {
	if !ipShaped(s) { // a zone is not
		return false
	}
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

// isDegrees is a sign, digits, and a point with digits, within ±limit.
func isDegrees(s string, limit float64) bool {
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 {
		return false
	}
	whole, frac, point := strings.Cut(digits, ".")
	if !decimalDigits(whole) || point && !decimalDigits(frac) {
		return false
	}
	f, err := strconv.ParseFloat(s, 64)
	return err == nil && f >= -limit && f <= limit
}

// isUUID accepts the forms with dashes, without, in braces and as a URN.
func isUUID(s string) bool {
	if _, err := value.ParseUUID(s); err == nil {
		return true
	}
	return uuid.Validate(s) == nil && s[0] != 'U'
}

// isULID is 26 letters and digits of Crockford's alphabet.
func isULID(s string) bool {
	_, ok := parseULID(s)
	return ok
}

func stringIsRecord(c Call, args []value.Value) (value.Value, error) {
	p, ok := c.Host.(value.RecordParser)
	if !ok {
		return value.Bool(false), nil
	}
	id, err := p.ParseRecord(args[0].Str())
	if err != nil || len(args) == 1 {
		return value.Bool(err == nil), nil
	}
	if k := args[1].Kind(); k != value.KindString && k != value.KindTable {
		return value.None, errs.Internal("Incorrect arguments for function string::is_record()(). Expected an optional string or table type for the second argument")
	}
	return value.Bool(id.Record().Table == args[1].Str()), nil
}
