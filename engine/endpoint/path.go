package endpoint

import (
	"net/url"
	"strings"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/parse"
	"github.com/nacredb/nacre/engine/value"
)

// segment is one part of the path of an API: /name, /:name, /:name<type> or /*name.
type segment struct {
	kind segmentKind
	name string
	typ  *value.Type // of a parameter; nil when not given
}

// segmentKind orders segments by how exactly they match.
type segmentKind uint8

const (
	segmentRest segmentKind = iota
	segmentParam
	segmentStatic
)

// pathPart is one part of the path of a request: as untyped parameters show it, and without its escapes.
type pathPart struct{ shown, plain string }

// escapedParts are the parts of a path as api::invoke takes it: untyped parameters show its escapes.
func escapedParts(path string) ([]pathPart, error) {
	split, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	parts := make([]pathPart, len(split))
	for i, s := range split {
		parts[i] = pathPart{s, unescaped(s)}
	}
	return parts, nil
}

// splitPath is the segments of a path; a slash at the end does not count.
func splitPath(path string) ([]string, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, badPath("Segment should start with /")
	}
	path = strings.Trim(path, "/")
	if path == "" {
		return nil, nil
	}
	return strings.Split(path, "/"), nil
}

// parsePattern reads the path of a definition.
func parsePattern(path string) ([]segment, error) {
	if path == "" {
		return nil, badPath("Path cannot be empty")
	}
	var out []segment
	for rest := path; rest != ""; {
		if rest[0] != '/' {
			return nil, badPath("Segment should start with /")
		}
		if rest = strings.TrimLeft(rest, "/"); rest == "" {
			break
		}
		s, after, err := parseSegment(rest)
		if err != nil {
			return nil, err
		}
		if s.kind == segmentRest && after != "" {
			return nil, badPath("Path not finished")
		}
		out, rest = append(out, s), after
	}
	return out, nil
}

// parseSegment reads what follows a slash: the segment, and what is left of the path.
func parseSegment(text string) (s segment, rest string, err error) {
	symbol := text[0]
	switch symbol {
	case ':', '*':
		text = text[1:]
	case '\\':
		if text = text[1:]; text == "" || text[0] != ':' && text[0] != '*' {
			return s, "", badPath("Expected an instruction symbol `:` or `*` to follow after an escape character")
		}
	}
	n := 0
	for n < len(text) && isPathByte(text[n]) {
		n++
	}
	s.name, rest = text[:n], text[n:]
	switch {
	case symbol == '*' && n == 0, symbol == ':' && n == 0:
		return s, "", badPath("Expected a name or content for this segment")
	case symbol == '*':
		s.kind = segmentRest
	case symbol == ':':
		s.kind = segmentParam
		if strings.HasPrefix(rest, "<") {
			s.typ, rest, err = parseSegmentType(rest)
		}
	case n == 0:
		return s, "", badPath("Path not finished")
	default:
		s.kind = segmentStatic
	}
	return s, rest, err
}

// parseSegmentType reads the <type> of a parameter.
func parseSegmentType(text string) (t *value.Type, rest string, err error) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '<':
			depth++
		case '>':
			depth--
		}
		if depth > 0 {
			continue
		}
		if t, err = parse.Type(text[1:i]); err != nil {
			return nil, "", badPath(errs.As(err).Msg)
		}
		return t, text[i+1:], nil
	}
	return nil, "", badPath("Kind segment did not close")
}

// isPathByte reports whether a byte may stand in a segment: those of RFC 3986 that need no escape.
func isPathByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return strings.IndexByte("-._~!$&'()*+,;=:@", c) >= 0
}

func badPath(what string) error {
	return errs.Internal("The string could not be parsed into a path: %s", what)
}

// CheckPath implements exec.Endpoints.
func (Caller) CheckPath(path string) error {
	_, err := parsePattern(path)
	return err
}

// matchPattern gives the parameters of a path that fits a pattern.
func matchPattern(pattern []segment, parts []pathPart, p value.RecordParser) (*value.Object, bool) {
	var params []value.Field
	for i, s := range pattern {
		if i >= len(parts) {
			return nil, false
		}
		switch s.kind {
		case segmentStatic:
			if parts[i].plain != s.name {
				return nil, false
			}
		case segmentParam:
			v := value.Str(parts[i].shown)
			if s.typ != nil {
				var err error
				if v, err = value.Cast(value.Str(parts[i].plain), s.typ, p); err != nil {
					return nil, false
				}
			}
			params = append(params, value.Field{Name: s.name, Value: v})
		case segmentRest:
			rest := make([]value.Value, 0, len(parts)-i)
			for _, part := range parts[i:] {
				rest = append(rest, value.Str(part.shown))
			}
			return value.NewObject(append(params, value.Field{Name: s.name, Value: value.ArrayOf(rest)})...), true
		}
	}
	return value.NewObject(params...), len(pattern) == len(parts)
}

func unescaped(part string) string {
	if s, err := url.PathUnescape(part); err == nil {
		return s
	}
	return part
}

// moreExact reports whether pattern a is to be tried before b: static segments before parameters before the rest.
func moreExact(a, b []segment) bool {
	for i := range min(len(a), len(b)) {
		if a[i].kind != b[i].kind {
			return a[i].kind > b[i].kind
		}
	}
	return len(a) > len(b)
}

// route is an API definition that answers a request.
type route struct {
	any    *ast.APIAction // the settings for all methods
	action *ast.APIAction // the one with the handler; may be any
	params *value.Object
	by     catalog.Definer
}

// findRoute finds the most exact definition whose path fits and that handles the method; nil when there is none.
func findRoute(r *exec.Run, db *catalog.Database, parts []pathPart, method string) (*route, error) {
	defs, err := r.Cat.Defs(db.Inner(), ast.DefAPI)
	if err != nil {
		return nil, err
	}
	var best *route
	var bestPattern []segment
	for _, d := range defs {
		pattern, err := parsePattern(d.Name)
		if err != nil {
			continue // a definition that cannot be reached
		}
		params, fits := matchPattern(pattern, parts, r.Ex)
		if !fits || best != nil && !moreExact(pattern, bestPattern) {
			continue
		}
		if found := actionFor(d.Stmt.(*ast.DefineAPI), method); found != nil {
			found.params, found.by = params, d.By
			best, bestPattern = found, pattern
		}
	}
	return best, nil
}

// actionFor is the action of an API that handles a method; nil when none has a handler for it.
func actionFor(api *ast.DefineAPI, method string) *route {
	out := &route{}
	for i := range api.Actions {
		a := &api.Actions[i]
		for _, m := range a.Methods {
			switch m {
			case "any":
				out.any = a
			case method:
				out.action = a
			}
		}
	}
	if out.action == nil || out.action.Then == nil {
		out.action = out.any
	}
	if out.action == nil || out.action.Then == nil {
		return nil
	}
	return out
}
