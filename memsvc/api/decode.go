package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/place"
	"github.com/nacredb/nacre/memsvc/problem"
)

// Limits of requests.
const (
	maxBody      = 8 << 20   // bytes of a JSON body
	maxText      = 256 << 10 // bytes of one turn or fact
	maxQuery     = 8 << 10   // bytes of a question
	maxBatch     = 1000      // messages of a batch
	maxLabels    = 32
	maxLabelSize = 256
	maxDepthJSON = 64 // levels of a JSON body
)

// decode reads a JSON body into a struct with snake_case tags. camelCase is taken for every field.
func (c *call) decode(into any) error {
	b, err := c.body(maxBody)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(b)) == 0 {
		b = []byte("{}")
	}
	return decodeJSON(b, into)
}

func decodeJSON(b []byte, into any) error {
	if tooDeep(b) {
		return problem.Invalid("", "The body is nested deeper than %d levels", maxDepthJSON)
	}
	fields, err := members(b)
	if err != nil {
		return problem.Invalid("", "The body is not a JSON object")
	}
	for i := range fields {
		fields[i] = snakeMember(fields[i])
	}
	fields = one(fields)
	if err = jsonProblem(json.Unmarshal(object(fields), into)); err != nil {
		return ofField(err, fields, into)
	}
	return nil
}

// ofField gives a problem that a value of its own type found the name of its field: such a type does not know it.
func ofField(err error, fields []member, into any) error {
	p := problem.As(err)
	if p == nil || p.Field != "" {
		return err
	}
	for _, f := range fields {
		fresh := reflect.New(reflect.TypeOf(into).Elem()).Interface()
		if json.Unmarshal(object([]member{f}), fresh) != nil {
			return problem.Invalid(f.key, "%s: %s", f.key, p.Detail)
		}
	}
	return err
}

func jsonProblem(err error) error {
	var bad *json.UnmarshalTypeError
	var p *problem.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	case errors.As(err, &bad):
		return problem.Invalid(bad.Field, "%s: want %s, not %s", bad.Field,
			kindName(bad.Type.Kind().String()), bad.Value)
	}
	return problem.Invalid("", "The body cannot be read")
}

func kindName(k string) string {
	switch {
	case strings.HasPrefix(k, "int"):
		return "a whole number"
	case strings.HasPrefix(k, "float"):
		return "a number"
	case k == "bool":
		return "true or false"
	case k == "slice":
		return "a list"
	case k == "string":
		return "a text"
	}
	return "an object"
}

// tooDeep looks at the brackets outside of texts only.
func tooDeep(b []byte) bool {
	depth, text := 0, false
	for i := 0; i < len(b); i++ {
		switch ch := b[i]; {
		case text && ch == '\\':
			i++
		case ch == '"':
			text = !text
		case text:
		case ch == '{' || ch == '[':
			if depth++; depth > maxDepthJSON {
				return true
			}
		case ch == '}' || ch == ']':
			depth--
		}
	}
	return false
}

// freeForm are fields whose keys belong to the caller.
var freeForm = map[string]bool{"metadata": true, "config": true, "grants": true, "path": true}

// member is a field of a JSON object.
type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("not a JSON object")

// members are the fields of an object, in their order.
func members(b []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	var out []member
	for dec.More() {
		t, err := dec.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, errNoObject
		}
		m := member{key: key}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	return out, nil
}

// snakeMember gives a field its name in snake_case, and the fields in it, too.
func snakeMember(m member) member {
	was := m.key
	if m.key = snake(was); !freeForm[m.key] {
		m.value = snakeValue(m.value)
	}
	if m.key != was {
		m.key = "\x00" + m.key // one may give way to the field of that very name
	}
	return m
}

// one leaves one field of each name: the one that was in snake_case, else the last one.
func one(fields []member) []member {
	plain := map[string]bool{}
	for _, f := range fields {
		plain[f.key] = true
	}
	out := fields[:0]
	for _, f := range fields {
		if name, renamed := strings.CutPrefix(f.key, "\x00"); !renamed || !plain[name] {
			f.key = name
			out = append(out, f)
		}
	}
	return out
}

func object(fields []member) json.RawMessage {
	b := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(f.key)
		if err != nil {
			panic(err) // never happens: a text has a JSON form
		}
		b = append(append(append(b, key...), ':'), f.value...)
	}
	return append(b, '}')
}

func snakeValue(v json.RawMessage) json.RawMessage {
	switch v = bytes.TrimSpace(v); {
	case len(v) > 0 && v[0] == '{':
		fields, err := members(v)
		if err != nil {
			return v
		}
		for i := range fields {
			fields[i] = snakeMember(fields[i])
		}
		return object(one(fields))
	case len(v) > 0 && v[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(v, &list) != nil {
			return v
		}
		out := []byte{'['}
		for i, e := range list {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, snakeValue(e)...)
		}
		return append(out, ']')
	}
	return v
}

func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// body reads the whole request once.
func (c *call) body(limit int64) ([]byte, error) {
	if c.read {
		return c.bytes, nil
	}
	b, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	var big *http.MaxBytesError
	if errors.As(err, &big) {
		return nil, problem.Of(http.StatusRequestEntityTooLarge, "payload-too-large",
			"The body is larger than %d bytes", limit)
	}
	if err != nil {
		return nil, problem.Invalid("", "The body broke off")
	}
	c.bytes, c.read = b, true
	return b, nil
}

// Time is a time in a request: RFC 3339, or a date.
type Time struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		return problem.Invalid("", "a time is a text of the form 2006-01-02T15:04:05Z")
	}
	if s == "" {
		return nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05",
		"2006-01-02T15:04", "2006-01-02"} {
		if v, err := time.Parse(layout, s); err == nil && v.Year() > 0 && v.Year() < 10000 {
			t.Time = v.UTC()
			return nil
		}
	}
	return problem.Invalid("", "%.40q is not a time of the form 2006-01-02T15:04:05Z", s)
}

// Place is a place in a request.
type Place struct{ place.Point }

// UnmarshalJSON implements json.Unmarshaler.
func (p *Place) UnmarshalJSON(b []byte) error {
	if err := p.Point.UnmarshalJSON(b); err != nil {
		return problem.Invalid("", "%v", err)
	}
	return nil
}

// point is the place, or nil where a request names none.
func (p *Place) point() *place.Point {
	if p == nil {
		return nil
	}
	return &p.Point
}

// Area is a part of the earth in a request.
type Area struct{ place.Area }

// UnmarshalJSON implements json.Unmarshaler.
func (a *Area) UnmarshalJSON(b []byte) error {
	if err := a.Area.UnmarshalJSON(b); err != nil {
		return problem.Invalid("", "%v", err)
	}
	return nil
}

// area is the area, or nil where a request names none.
func (a *Area) area() *place.Area {
	if a == nil {
		return nil
	}
	return &a.Area
}

// Labels are key=value texts, or an object of them.
type Labels []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *Labels) UnmarshalJSON(b []byte) error {
	var list []string
	var obj map[string]string
	switch {
	case json.Unmarshal(b, &list) == nil:
	case json.Unmarshal(b, &obj) == nil:
		for k, v := range obj {
			list = append(list, k+"="+v)
		}
	default:
		return problem.Invalid("labels", "labels: want a list of key=value texts, or an object")
	}
	if len(list) > maxLabels {
		return problem.Conflict("There are more than %d labels", maxLabels)
	}
	for _, s := range list {
		k, _, ok := strings.Cut(s, "=")
		if !ok || k == "" || strings.HasPrefix(k, "_") || len(s) > maxLabelSize {
			return problem.Invalid("labels", "labels: %.60q is not key=value with a key that does not begin with _", s)
		}
	}
	*l = list
	return nil
}

// Scopes is a set of scopes in a request.
type Scopes struct{ grant.Clauses }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Scopes) UnmarshalJSON(b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	cl, err := grant.ParseClauses(v)
	if err != nil {
		return problem.Invalid("scopes", "scopes: %v", err)
	}
	s.Clauses = cl
	return nil
}

// text checks a required text.
func text(field, s string, most int) error {
	switch {
	case strings.TrimSpace(s) == "":
		return problem.Invalid(field, "%s: required", field)
	case len(s) > most:
		return problem.Of(http.StatusRequestEntityTooLarge, "payload-too-large", "%s is longer than %d bytes",
			field, most)
	}
	return nil
}

// number reads a whole number of the query, at least low.
func (c *call) number(name string, def, low int) (int, error) {
	s := c.r.URL.Query().Get(name)
	if s == "" {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low {
		return 0, problem.Invalid(name, "%s: want a whole number, at least %d", name, low)
	}
	return n, nil
}

// page reads limit and offset of a list.
func (c *call) page() (limit, offset int, err error) {
	if limit, err = c.number("limit", c.s.cfg.PageSize, 1); err != nil {
		return
	}
	if limit > c.s.cfg.MaxList {
		return 0, 0, problem.Ceiling("limit", limit, c.s.cfg.MaxList)
	}
	offset, err = c.number("offset", 0, 0)
	return
}

// k is the number of hits to answer with.
func (c *call) k(k, limit *int) (int, error) {
	field, n := "k", min(10, c.s.cfg.MaxK)
	switch {
	case k != nil:
		n = *k
	case limit != nil:
		field, n = "limit", *limit
	}
	switch {
	case n < 1:
		return 0, problem.Invalid(field, "%s: want a whole number, at least 1", field)
	case n > c.s.cfg.MaxK:
		return 0, problem.Ceiling(field, n, c.s.cfg.MaxK)
	}
	return n, nil
}
