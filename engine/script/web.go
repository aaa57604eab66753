package script

import (
	"net/url"

	"github.com/nacredb/nacre/engine/value"
)

// send is fetch without its classes: an object with method, url, headers, body and manual gives one with status, text,
// url, headers and body.
func (c *call) send(args []value.Value) (value.Value, error) {
	o := args[0].Object()
	text := func(name string) string {
		v, _ := o.Get(name)
		return value.ToString(v)
	}
	body, _ := o.Get("body")
	manual, _ := o.Get("manual")
	r := Request{Method: text("method"), URL: text("url"), Manual: value.Truthy(manual)}
	if body.Kind() == value.KindBytes {
		r.Body = body.Bytes()
	}
	headers, _ := o.Get("headers")
	if headers.Kind() == value.KindArray {
		for _, h := range headers.Elems() {
			if h.Kind() == value.KindArray && h.Len() == 2 {
				r.Headers = append(r.Headers, [2]string{value.ToString(h.Elems()[0]), value.ToString(h.Elems()[1])})
			}
		}
	}
	answer, err := c.host.Send(r)
	if err != nil {
		return value.None, err
	}
	if len(answer.Body) > c.e.limits.Data {
		return value.None, failed("The values of the script are larger than %d bytes", c.e.limits.Data)
	}
	var list []value.Value
	for _, h := range answer.Headers {
		list = append(list, value.Array(value.Str(h[0]), value.Str(h[1])))
	}
	return value.ObjectOf(value.NewObject(
		value.Field{Name: "body", Value: value.BytesOf(answer.Body)},
		value.Field{Name: "headers", Value: value.ArrayOf(list)},
		value.Field{Name: "status", Value: value.Int(int64(answer.Status))},
		value.Field{Name: "text", Value: value.Str(answer.Text)},
		value.Field{Name: "url", Value: value.Str(answer.URL)},
	)), nil
}

// parseURL takes a URL apart; nil where it is none. A base makes relative ones whole.
func parseURL(text, base string) map[string]any {
	u, err := url.Parse(text)
	if err == nil && base != "" {
		var b *url.URL
		if b, err = url.Parse(base); err == nil {
			u = b.ResolveReference(u)
		}
	}
	if err != nil || u.Scheme == "" {
		return nil
	}
	part := func(mark, s string) string {
		if s == "" {
			return ""
		}
		return mark + s
	}
	if u.Path == "" && u.Host != "" {
		u.Path = "/"
	}
	password, _ := u.User.Password()
	return map[string]any{"href": u.String(), "protocol": u.Scheme + ":", "host": u.Host, "hostname": u.Hostname(),
		"port": u.Port(), "pathname": u.EscapedPath(), "search": part("?", u.RawQuery),
		"hash": part("#", u.EscapedFragment()), "origin": u.Scheme + "://" + u.Host, "username": u.User.Username(),
		"password": password}
}
