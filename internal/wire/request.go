package wire

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Request is one call.
type Request struct {
	ID      value.Value // null, int, string, uuid or datetime; NONE where the request has none
	Method  string
	Params  []value.Value
	Session *value.UUID // attached session; nil is the connection's own
	Txn     *value.UUID // interactive transaction to run in
	Format  Format      // how it was written
}

// Weight is about how many bytes the parameters and the id of r keep in memory.
func (r *Request) Weight() int {
	n := value.Weight(r.ID) + len(r.Method)
	for _, p := range r.Params {
		n += value.Weight(p)
	}
	return n
}

// DecodeRequest reads a request. With an error, an *errs.Error to send, the request holds the id to answer to
// if there is one.
func DecodeRequest(b []byte, f Format, lim value.DecodeLimits) (Request, *errs.Error) {
	req := Request{Format: f}
	v, err := f.Decode(b, lim)
	if err != nil {
		return req, ParseError()
	}
	if v.Kind() != value.KindObject {
		return req, InvalidRequest()
	}
	o := v.Object()
	id, _ := o.Get("id")
	switch id.Kind() {
	case value.KindNone, value.KindNull, value.KindInt, value.KindString, value.KindUUID, value.KindDatetime:
		req.ID = id
	default:
		return req, InvalidRequest()
	}
	method, _ := o.Get("method")
	if method.Kind() != value.KindString {
		return req, InvalidRequest()
	}
	req.Method = method.Str()
	if params, _ := o.Get("params"); params.Kind() == value.KindArray {
		req.Params = params.Elems()
	}
	var ok bool
	if req.Session, ok = uuidField(o, "session"); !ok {
		return req, InvalidRequest()
	}
	if req.Txn, ok = uuidField(o, "txn"); !ok {
		return req, InvalidRequest()
	}
	return req, nil
}

// uuidField reads an optional uuid; NONE and NULL count as absent.
func uuidField(o *value.Object, name string) (*value.UUID, bool) {
	v, _ := o.Get(name)
	if v.IsNullish() {
		return nil, true
	}
	u, ok := UUID(v)
	if !ok {
		return nil, false
	}
	return &u, true
}

// UUID reads a uuid given as one or as its text.
func UUID(v value.Value) (value.UUID, bool) {
	switch v.Kind() {
	case value.KindUUID:
		return v.UUID(), true
	case value.KindString:
		u, err := value.ParseUUID(v.Str())
		return u, err == nil
	}
	return value.UUID{}, false
}
