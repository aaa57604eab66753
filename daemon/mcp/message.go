package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// object is a JSON object to be sent.
type object = map[string]any

// Message is a request, or without an ID a notification. A response of the client has no method.
type Message struct {
	ID     json.RawMessage // a text or a number; nil for a notification
	Method string
	Params map[string]json.RawMessage
	Meta   map[string]json.RawMessage // _meta of Params
	Alone  bool                       // it is of the revision without sessions
}

// The codes of errors.
const (
	CodeParse      = -32700
	CodeRequest    = -32600
	CodeMethod     = -32601
	CodeParams     = -32602
	CodeInternal   = -32603
	CodeNoResource = -32002 // of the revisions with a handshake
	CodeHeader     = -32020
	CodeVersion    = -32022
	maxMessages    = 64 // of a batch
	maxIDBytes     = 256
	versionMeta    = "io.modelcontextprotocol/protocolVersion"
	capabilityMeta = "io.modelcontextprotocol/clientCapabilities"
	serverMeta     = "io.modelcontextprotocol/serverInfo"
	// subscriptionMeta names the request that a message of a subscription belongs to.
	subscriptionMeta = "io.modelcontextprotocol/subscriptionId"
	internalMessage  = "An internal error occurred"
)

// Fault is an error of JSON-RPC: what is wrong with a request. Its text is for the client.
type Fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error implements error.
func (f *Fault) Error() string { return f.Message }

func internal() *Fault { return &Fault{Code: CodeInternal, Message: internalMessage} }

// badParams is a Fault about arguments.
func badParams(format string, args ...any) *Fault {
	return &Fault{Code: CodeParams, Message: errs.Validation(format, args...).Msg}
}

// public is the fault to send; what has no business outside is logged.
func (s *Server) public(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	s.Log.Error("MCP request failed", "err", err)
	return internal()
}

// Reply is the answer to one message.
type Reply struct {
	ID     json.RawMessage
	Result object
	Fault  *Fault

	ahead     object // a notification that goes before the answer; nil for none
	cancelled bool   // by the client, who wants no answer where the transport can do without
}

func (m *Message) answer(result object) *Reply { return &Reply{ID: m.ID, Result: result} }

func (m *Message) fail(err error) *Reply {
	f, ok := errors.AsType[*Fault](err)
	if !ok {
		f = internal()
	}
	return &Reply{ID: m.ID, Fault: f}
}

// Fail is the answer to a message that cannot be read.
func Fail(f *Fault) *Reply { return &Reply{ID: json.RawMessage("null"), Fault: f} }

// Several reports whether r is more than the answer: it can only be sent as a stream.
func (r *Reply) Several() bool { return r.ahead != nil }

// Messages returns the messages to send for r, in order.
func (r *Reply) Messages() [][]byte {
	if r.ahead == nil {
		return [][]byte{r.Append(nil)}
	}
	return [][]byte{encode(r.ahead), r.Append(nil)}
}

// Append appends the answer as JSON.
func (r *Reply) Append(dst []byte) []byte {
	body := object{"jsonrpc": "2.0", "id": r.ID}
	if r.Fault != nil {
		body["error"] = r.Fault
	} else {
		body["result"] = r.Result
	}
	return append(dst, encode(body)...)
}

// encode is v as JSON on one line. What the server sends always has a form.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// id is the key of a request among those of its session.
func (m *Message) id() string { return string(m.ID) }

// Decode reads a body: one message, or a batch. The error is a Fault.
func Decode(b []byte, lim value.DecodeLimits) (list []*Message, batch bool, err error) {
	if _, err := value.DecodeJSONValue(b, lim); err != nil {
		reason := "the message is not JSON"
		if bad, ok := errors.AsType[*value.DecodeError](err); ok {
			reason = bad.Reason
		}
		return nil, false, &Fault{Code: CodeParse, Message: "Parse error: " + reason}
	}
	b = bytes.TrimSpace(b)
	if b[0] != '[' {
		m, err := decodeOne(b)
		if err != nil {
			return nil, false, err
		}
		return []*Message{m}, false, nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(b, &raws); err != nil {
		return nil, true, &Fault{Code: CodeParse, Message: "Parse error"}
	}
	if len(raws) == 0 || len(raws) > maxMessages {
		return nil, true, invalid("A batch has between 1 and 64 messages")
	}
	for _, raw := range raws {
		m, err := decodeOne(raw)
		if err != nil {
			return nil, true, err
		}
		list = append(list, m)
	}
	return list, true, nil
}

func invalid(reason string) *Fault {
	return &Fault{Code: CodeRequest, Message: "Invalid request: " + reason}
}

func decodeOne(b []byte) (*Message, error) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(b, &fields) != nil || fields == nil {
		return nil, invalid("a message is an object")
	}
	if v := fields["jsonrpc"]; string(v) != `"2.0"` {
		return nil, invalid("`jsonrpc` must be \"2.0\"")
	}
	m := &Message{}
	if id, ok := fields["id"]; ok {
		if !plainID(id) {
			return nil, invalid("`id` must be a text or a whole number of at most 256 bytes")
		}
		m.ID = id
	}
	method, ok := fields["method"]
	if !ok {
		_, result := fields["result"]
		_, failed := fields["error"]
		if m.ID == nil || !result && !failed {
			return nil, invalid("`method` is missing")
		}
		m.ID = nil
		return m, nil // an answer to a request that this server never makes
	}
	if json.Unmarshal(method, &m.Method) != nil || method[0] != '"' {
		return nil, invalid("`method` must be a text")
	}
	if p, ok := fields["params"]; ok && string(p) != "null" {
		if json.Unmarshal(p, &m.Params) != nil {
			return nil, invalid("`params` must be an object")
		}
	}
	if meta, ok := m.Params["_meta"]; ok {
		if json.Unmarshal(meta, &m.Meta) != nil {
			return nil, &Fault{Code: CodeParams, Message: "`_meta` must be an object"}
		}
	}
	_, m.Alone = m.Meta[versionMeta]
	return m, nil
}

// plainID reports whether raw may be the id of a request.
func plainID(raw json.RawMessage) bool {
	if len(raw) > maxIDBytes || len(raw) == 0 {
		return false
	}
	if raw[0] == '"' {
		return true
	}
	return (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && !strings.ContainsAny(string(raw), ".eE")
}

// text is the text param name; "" where it is none.
func (m *Message) text(name string) (string, bool) {
	var s string
	raw, ok := m.Params[name]
	if !ok || len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}
