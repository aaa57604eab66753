package fn

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/nacredb/nacre/engine/value"
)

func parseFuncs() []entry {
	return []entry{
		{sig: "parse::email::host(email: string) -> option<string>", impl: parseEmailHost,
			doc: "The host of an email address, NONE for another text."},
		{sig: "parse::email::user(email: string) -> option<string>", impl: parseEmailUser,
			doc: "The user of an email address, NONE for another text."},
		{sig: "parse::url::domain(url: string) -> option<string>", impl: urlPart((*webURL).domainPart),
			doc: "The host name of a URL; NONE for an address."},
		{sig: "parse::url::fragment(url: string) -> option<string>", impl: urlPart((*webURL).fragmentPart),
			doc: "What is behind the # of a URL."},
		{sig: "parse::url::host(url: string) -> option<string>", impl: urlPart((*webURL).hostPart),
			doc: "The host of a URL."},
		{sig: "parse::url::path(url: string) -> option<string>", impl: urlPart((*webURL).pathPart),
			doc: "The path of a URL."},
		{sig: "parse::url::port(url: string) -> option<int>", impl: urlPart((*webURL).portPart),
			doc: "The port of a URL, or that of its scheme."},
		{sig: "parse::url::query(url: string) -> option<string>", impl: urlPart((*webURL).queryPart),
			doc: "What is behind the ? of a URL."},
		{sig: "parse::url::scheme(url: string) -> option<string>", impl: urlPart((*webURL).schemePart),
			doc: "The scheme of a URL in lower case."},
	}
}

func urlPart(part func(*webURL) value.Value) Impl {
	return func(_ Call, args []value.Value) (value.Value, error) {
		u, ok := parseWebURL(args[0].Str())
		if !ok {
			return value.None, nil
		}
		return part(u), nil
	}
}

func optional(s string, present bool) value.Value {
	if !present {
		return value.None
	}
	return value.Str(s)
}

func (u *webURL) domainPart() value.Value   { return optional(u.host, u.isDomain) }
func (u *webURL) hostPart() value.Value     { return optional(u.host, u.hasHost) }
func (u *webURL) pathPart() value.Value     { return value.Str(u.path) }
func (u *webURL) schemePart() value.Value   { return value.Str(u.scheme) }
func (u *webURL) queryPart() value.Value    { return optional(u.query, u.hasQuery) }
func (u *webURL) fragmentPart() value.Value { return optional(u.fragment, u.hasFragment) }

func (u *webURL) portPart() value.Value {
	port := u.port
	if port < 0 {
		port = defaultPort(u.scheme)
	}
	if port < 0 {
		return value.None
	}
	return value.Int(int64(port))
}

// splitEmail is the user and host of an email address; the brackets of an address literal are taken off.
func splitEmail(s string) (user, host string, ok bool) {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || len(s) > 320 {
		return "", "", false
	}
	user, host = s[:at], s[at+1:]
	if !validMailbox(user) {
		return "", "", false
	}
	if literal, ok := strings.CutPrefix(host, "["); ok {
		literal, closed := strings.CutSuffix(literal, "]")
		_, err := netip.ParseAddr(literal)
		return user, literal, closed && err == nil
	}
	return user, host, isDomain(host)
}

// validMailbox is words with dots between, or a quoted text.
func validMailbox(s string) bool {
	if len(s) >= 2 && s[0] == '"' && s[len(s)-1] == '"' {
		return validQuoted(s[1 : len(s)-1])
	}
	for word := range strings.SplitSeq(s, ".") {
		if word == "" {
			return false
		}
		for _, r := range word {
			if r < utf8.RuneSelf && !isAlnum(byte(r)) && !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r) {
				return false
			}
		}
	}
	return true
}

func validQuoted(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			if i++; i == len(s) {
				return false
			}
		case s[i] == '"' || s[i] < ' ' || s[i] == 0x7f:
			return false
		}
	}
	return true
}

func isEmail(s string) bool {
	_, _, ok := splitEmail(s)
	return ok
}

func parseEmailHost(_ Call, args []value.Value) (value.Value, error) {
	_, host, ok := splitEmail(args[0].Str())
	return optional(host, ok), nil
}

func parseEmailUser(_ Call, args []value.Value) (value.Value, error) {
	user, _, ok := splitEmail(args[0].Str())
	return optional(user, ok), nil
}

// isDomain is labels of letters, digits and inner hyphens, the last of them no number, perhaps with a dot at the end.
// Names beyond ASCII count by what they are mapped to.
func isDomain(s string) bool {
	if !isASCII(s) {
		ascii, err := idna.Lookup.ToASCII(s)
		if err != nil {
			return false
		}
		s = ascii
	}
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := 0; i < len(label); i++ {
			if !isAlnum(label[i]) && label[i] != '-' {
				return false
			}
		}
		last = label
	}
	return !decimalDigits(last)
}
