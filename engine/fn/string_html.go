package fn

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

func stringHTMLEncode(c Call, args []value.Value) (value.Value, error) {
	s := args[0].Str()
	var b strings.Builder
	b.Grow(len(s) + len(s)/4)
	from := 0
	for i := 0; i < len(s); i++ {
		code := htmlCode(s[i])
		if code == "" {
			continue
		}
		b.WriteString(s[from:i])
		b.WriteString(code)
		from = i + 1
	}
	if from == 0 {
		return args[0], nil
	}
	b.WriteString(s[from:])
	if b.Len() > max(maxOutput, len(s)) {
		return value.None, c.tooLarge()
	}
	return value.Str(b.String()), nil
}

// htmlCode returns the escape of a byte in text and in attributes, quoted or not; "" for itself.
func htmlCode(b byte) string {
	switch b {
	case '&':
		return "&amp;"
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '"':
		return "&quot;"
	case '\'':
		return "&apos;"
	case '`':
		return "&grave;"
	case '/':
		return "&#47;"
	case '=':
		return "&#61;"
	case ' ':
		return "&#32;"
	case '\t':
		return "&#9;"
	case '\n':
		return "&#10;"
	case '\f':
		return "&#12;"
	case '\r':
		return "&#13;"
	case 0:
		return "&#65533;"
	}
	return ""
}

// maxHTMLDepth bounds how deep elements of a sanitised text may nest.
const maxHTMLDepth = 256

func stringHTMLSanitize(c Call, args []value.Value) (value.Value, error) {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(args[0].Str()), body)
	if err != nil {
		return value.None, errs.Internal("The HTML could not be parsed")
	}
	var b strings.Builder
	for _, n := range nodes {
		if !sanitizeNode(&b, n, 0) {
			return value.None, c.incorrect("The HTML is nested too deeply.")
		}
	}
	return value.Str(b.String()), nil
}

// sanitizeNode writes what is safe of n; false when it nests too deeply.
func sanitizeNode(b *strings.Builder, n *html.Node, depth int) bool {
	if depth > maxHTMLDepth {
		return false
	}
	switch n.Type {
	case html.TextNode:
		writeHTMLText(b, n.Data, false)
		return true
	case html.ElementNode:
	default:
		return true
	}
	if n.Namespace != "" || n.DataAtom == atom.Script || n.DataAtom == atom.Style {
		return true
	}
	safe := safeElement(n.DataAtom)
	if safe {
		writeHTMLTag(b, n)
		if voidElement(n.DataAtom) {
			return true
		}
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		if !sanitizeNode(b, child, depth+1) {
			return false
		}
	}
	if safe {
		b.WriteString("</" + n.Data + ">")
	}
	return true
}

func writeHTMLTag(b *strings.Builder, n *html.Node) {
	b.WriteString("<" + n.Data)
	for _, a := range n.Attr {
		if a.Namespace != "" || !safeAttribute(n.DataAtom, a.Key) || urlAttribute(a.Key) && !safeURL(a.Val) {
			continue
		}
		b.WriteString(" " + a.Key + `="`)
		writeHTMLText(b, a.Val, true)
		b.WriteByte('"')
	}
	if n.DataAtom == atom.A {
		b.WriteString(` rel="noopener noreferrer"`)
	}
	b.WriteByte('>')
}

func writeHTMLText(b *strings.Builder, s string, attribute bool) {
	for _, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '\u00a0':
			b.WriteString("&nbsp;")
		case r == '"' && attribute:
			b.WriteString("&quot;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		default:
			b.WriteRune(r)
		}
	}
}

func safeElement(a atom.Atom) bool {
	switch a {
	case atom.A, atom.Abbr, atom.Acronym, atom.Area, atom.Article, atom.Aside, atom.B, atom.Bdi, atom.Bdo,
		atom.Blockquote, atom.Br, atom.Caption, atom.Center, atom.Cite, atom.Code, atom.Col, atom.Colgroup, atom.Data,
		atom.Dd, atom.Del, atom.Details, atom.Dfn, atom.Div, atom.Dl, atom.Dt, atom.Em, atom.Figcaption, atom.Figure,
		atom.Footer, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr, atom.I,
		atom.Img, atom.Ins, atom.Kbd, atom.Li, atom.Map, atom.Mark, atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Q,
		atom.Rp, atom.Rt, atom.Rtc, atom.Ruby, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong,
		atom.Sub, atom.Summary, atom.Sup, atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Time,
		atom.Tr, atom.Tt, atom.U, atom.Ul, atom.Var, atom.Wbr:
		return true
	}
	return false
}

func voidElement(a atom.Atom) bool {
	switch a {
	case atom.Area, atom.Br, atom.Col, atom.Hr, atom.Img, atom.Wbr:
		return true
	}
	return false
}

// safeAttribute says whether an element may keep an attribute.
func safeAttribute(element atom.Atom, name string) bool {
	var names string
	switch element {
	case atom.A:
		names = " href hreflang "
	case atom.Bdo:
		names = " dir "
	case atom.Blockquote, atom.Q:
		names = " cite "
	case atom.Col, atom.Colgroup:
		names = " align char charoff span "
	case atom.Del, atom.Ins:
		names = " cite datetime "
	case atom.Hr:
		names = " align size width "
	case atom.Img:
		names = " align alt height src width "
	case atom.Ol:
		names = " start "
	case atom.Table:
		names = " align char charoff summary "
	case atom.Tbody, atom.Tfoot, atom.Thead, atom.Tr:
		names = " align char charoff "
	case atom.Td:
		names = " align char charoff colspan headers rowspan "
	case atom.Th:
		names = " align char charoff colspan headers rowspan scope "
	}
	return name == "lang" || name == "title" || strings.Contains(names, " "+name+" ")
}

func urlAttribute(name string) bool { return name == "href" || name == "src" || name == "cite" }

// safeURL says whether a link may stay: a relative one, or one whose scheme starts no code.
func safeURL(s string) bool {
	// Browsers skip these inside a scheme.
	s = strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, s)
	end := strings.IndexAny(s, ":/?#")
	if end < 0 || s[end] != ':' {
		return true
	}
	switch strings.ToLower(s[:end]) {
	case "bitcoin", "ftp", "ftps", "geo", "http", "https", "im", "irc", "ircs", "magnet", "mailto", "mms", "mx", "news",
		"nntp", "openpgp4fpr", "sip", "sms", "smsto", "ssh", "tel", "url", "webcal", "wtai", "xmpp":
		return true
	}
	return false
}
