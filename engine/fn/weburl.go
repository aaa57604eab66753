package fn

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// webURL is an absolute URL as browsers read it (the WHATWG standard): special schemes take backslashes, hosts are
// mapped to lower-case ASCII, numbers are addresses, paths are normalised, and what may not stand there is
// percent-encoded.
type webURL struct {
	scheme      string
	host        string // "[…]" for IPv6; "" when hasHost is false
	hasHost     bool
	isDomain    bool // the host is a name, not an address
	port        int  // explicit, else -1
	path        string
	query       string
	fragment    string
	hasQuery    bool
	hasFragment bool
}

// defaultPort is the port of a scheme, -1 when it has none.
func defaultPort(scheme string) int {
	switch scheme {
	case "http", "ws":
		return 80
	case "https", "wss":
		return 443
	case "ftp":
		return 21
	}
	return -1
}

func specialScheme(s string) bool { return s == "file" || defaultPort(s) >= 0 }

// parseWebURL reads an absolute URL.
func parseWebURL(s string) (*webURL, bool) {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	s = strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, s)
	u := &webURL{port: -1}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || !validScheme(scheme) {
		return nil, false
	}
	u.scheme = strings.ToLower(scheme)
	special := specialScheme(u.scheme)
	if rest, u.fragment, u.hasFragment = strings.Cut(rest, "#"); u.hasFragment {
		u.fragment = percentEncode(u.fragment, " \"<>`")
	}
	if rest, u.query, u.hasQuery = strings.Cut(rest, "?"); u.hasQuery {
		set := " \"#<>"
		if special {
			set += "'"
		}
		u.query = percentEncode(u.query, set)
	}
	switch {
	case u.scheme == "file":
		return u, u.parseFile(rest)
	case special:
		rest = strings.TrimLeft(rest, `/\`)
		end := strings.IndexAny(rest, `/\`)
		if end < 0 {
			end = len(rest)
		}
		u.path = normalPath(rest[end:], true)
		return u, u.parseAuthority(rest[:end], true)
	case strings.HasPrefix(rest, "//"):
		authority, path, slash := strings.Cut(rest[2:], "/")
		if slash {
			u.path = normalPath("/"+path, false)
		}
		return u, u.parseAuthority(authority, false)
	case strings.HasPrefix(rest, "/"):
		u.path = normalPath(rest, false)
	default:
		u.path = percentEncode(rest, "")
	}
	return u, true
}

func validScheme(s string) bool {
	if s == "" || s[0]|0x20-'a' >= 26 {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !isAlnum(s[i]) && strings.IndexByte("+-.", s[i]) < 0 {
			return false
		}
	}
	return true
}

func (u *webURL) parseFile(rest string) bool {
	slashes := len(rest) - len(strings.TrimLeft(rest, `/\`))
	if slashes == 2 {
		rest = rest[2:]
		end := strings.IndexAny(rest, `/\`)
		if end < 0 {
			end = len(rest)
		}
		if host := rest[:end]; len(host) != 2 || host[1] != ':' { // not a drive letter
			rest = rest[end:]
			if host != "" && !u.parseHost(host, true) {
				return false
			}
			if u.host == "localhost" {
				u.host, u.hasHost, u.isDomain = "", false, false
			}
		}
	} else if slashes > 2 {
		rest = rest[slashes-1:]
	}
	u.path = normalPath(rest, true)
	return true
}

func (u *webURL) parseAuthority(s string, special bool) bool {
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		if s = s[at+1:]; s == "" {
			return false
		}
	}
	host, port := s, ""
	if colon := strings.LastIndexByte(s, ':'); colon > strings.LastIndexByte(s, ']') {
		host, port = s[:colon], s[colon+1:]
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || !decimalDigits(port) {
			return false
		}
		u.port = int(n)
	}
	if host == "" {
		return !special && port == ""
	}
	return u.parseHost(host, special)
}

func (u *webURL) parseHost(host string, special bool) bool {
	u.hasHost = true
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !closed || err != nil || !addr.Is6() || addr.Zone() != "" {
			return false
		}
		u.host = "[" + addr.String() + "]"
		return true
	}
	if !special {
		if strings.ContainsAny(host, forbiddenHost) {
			return false
		}
		u.host, u.isDomain = percentEncode(host, ""), true
		if isIPv4(host) {
			u.isDomain = true // of a scheme that is not special even an address is a name
		}
		return true
	}
	decoded, ok := percentDecode(host)
	if !ok {
		return false
	}
	ascii, err := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false),
		idna.CheckHyphens(false),
		idna.VerifyDNSLength(false), idna.BidiRule(), idna.CheckJoiners(true)).ToASCII(decoded)
	if err != nil || ascii == "" || strings.ContainsAny(ascii, forbiddenHost+"%\x7f") || hasControl(ascii) {
		return false
	}
	if endsInNumber(ascii) {
		addr, ok := parseWebIPv4(ascii)
		u.host = addr
		return ok
	}
	u.host, u.isDomain = ascii, true
	return true
}

const forbiddenHost = "\x00\t\n\r #/:<>?@[\\]^|"

func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' {
			return true
		}
	}
	return false
}

func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if decimalDigits(last) {
		return true
	}
	_, ok := parseIPv4Number(last)
	return ok
}

// parseIPv4Number reads a decimal, 0 octal or 0x hexadecimal number.
func parseIPv4Number(s string) (uint64, bool) {
	base := 10
	switch {
	case s == "":
		return 0, false
	case len(s) >= 2 && (s[:2] == "0x" || s[:2] == "0X"):
		if s, base = s[2:], 16; s == "" {
			return 0, true
		}
	case len(s) >= 2 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 64)
	return n, err == nil && s[0] != '+' && s[0] != '_'
}

// parseWebIPv4 reads one to four numbers; the last one fills the rest of the address.
func parseWebIPv4(host string) (string, bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return "", false
	}
	var addr uint64
	for i, part := range parts {
		n, ok := parseIPv4Number(part)
		if !ok {
			return "", false
		}
		if i == len(parts)-1 {
			if n >= 1<<(8*(5-len(parts))) {
				return "", false
			}
			addr += n
		} else {
			if n > 255 {
				return "", false
			}
			addr += n << (8 * (3 - i))
		}
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}).String(), true
}

// normalPath resolves dot segments and encodes what may not stand in a path.
func normalPath(s string, special bool) string {
	if special {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	s = strings.TrimPrefix(s, "/")
	var out []string
	segments := strings.Split(s, "/")
	for i, seg := range segments {
		last := i == len(segments)-1
		switch strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(seg, "%2e", "."), "%2E", ".")) {
		case ".":
			if last {
				out = append(out, "")
			}
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, percentEncode(seg, " \"#<>?`{}"))
		}
	}
	return "/" + strings.Join(out, "/")
}

// percentEncode encodes controls, what is not ASCII, and the characters of set.
func percentEncode(s, set string) string {
	var b strings.Builder
	b.Grow(len(s))
	const digits = "0123456789ABCDEF"
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c >= 0x7f || strings.IndexByte(set, c) >= 0 {
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func percentDecode(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, true
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(rune(s[i+1])) && isHex(rune(s[i+2])) {
			n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return "", false
			}
			out = append(out, byte(n))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return string(out), true
}

func isURL(s string) bool {
	_, ok := parseWebURL(s)
	return ok
}
