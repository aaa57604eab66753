package daemon_test

import (
	"strings"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// The doors of GraphQL. Their actions are operations.

func (c *caller) graphQL(r *row, text string) outcome {
	body := value.AppendJSON(nil, value.ObjectOf(value.NewObject(value.Field{Name: "query", Value: value.Str(text)})))
	got := c.s.do("POST", "/graphql", string(body), c.headers(r.place, "Accept: application/json")...)
	if got.StatusCode != 200 {
		return ofHTTP(got)
	}
	return ofGraphQL(c.decode(got.body), got.body)
}

func (c *caller) graphQLCall(r *row, text string) outcome {
	body := string(request(c.s.t, wire.JSON, "graphql", value.Array(value.Str(text))))
	got := c.s.do("POST", "/rpc", body, c.headers(r.place, "Content-Type: application/json", "Accept: application/json")...)
	if got.StatusCode != 200 {
		return ofHTTP(got)
	}
	if o := ofRPC(c.s.t, []byte(got.body), wire.JSON, false); o.msg != "" {
		return o
	}
	result, _ := c.decode(got.body).Object().Get("result")
	return ofGraphQL(result, got.body)
}

func (c *caller) graphQLSocket(r *row, text string) outcome {
	k := c.s.upgradeAt("/graphql", "graphql-transport-ws", c.headers(r.place)...)
	defer k.conn.Close()
	if k.resp.StatusCode != 101 {
		return ofHTTP(reply{k.resp, readAll(k)})
	}
	k.tell(`{"type":"connection_init"}`)
	k.message()
	payload := value.ObjectOf(value.NewObject(value.Field{Name: "query", Value: value.Str(text)}))
	k.tell(`{"id":"1","type":"subscribe","payload":` + string(value.AppendJSON(nil, payload)) + `}`)
	_, b := k.message()
	v, _ := c.decode(string(b)).Object().Get("payload")
	if v.Kind() == value.KindArray { // it did not start
		v = value.ObjectOf(value.NewObject(value.Field{Name: "errors", Value: v}))
	}
	return ofGraphQL(v, string(b))
}

func (c *caller) decode(text string) value.Value {
	c.s.t.Helper()
	v, err := value.DecodeJSONValue([]byte(text), value.DecodeLimits{})
	if err != nil || v.Kind() != value.KindObject {
		c.s.t.Fatalf("%s: %v", text, err)
	}
	return v
}

// ofGraphQL is the outcome of an answer of GraphQL: its first error, or what its root fields have.
func ofGraphQL(v value.Value, raw string) outcome {
	o := outcome{raw: raw, empty: true}
	if errors, ok := v.Object().Get("errors"); ok && errors.Len() > 0 {
		msg, _ := errors.Elems()[0].Object().Get("message")
		o.msg = msg.Str()
		return o
	}
	data, _ := v.Object().Get("data")
	o.answer = data.Text()
	for _, f := range data.Object().Fields() {
		text := string(value.AppendJSON(nil, f.Value))
		o.empty = o.empty && (text == "null" || text == "[]" || strings.Contains(text, `"edges":[]`))
	}
	return o
}
