package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine/errs"
)

// Revisions of the protocol.
const (
	newest    = "2025-11-25" // that begins with a handshake
	stateless = "2026-07-28"
	onlyBatch = "2025-03-26" // the one that has batches
)

// revisions are all of them, the newest first.
var revisions = []string{stateless, newest, "2025-06-18", onlyBatch, "2024-11-05"}

// Product is the name of the server.
const Product = "nacre"

// Supported reports whether version is a revision that begins with a handshake.
func Supported(version string) bool {
	return version != stateless && slices.Contains(revisions, version)
}

// Batches reports whether the client of s may send several messages at once.
func (s *Session) Batches() bool { return s.Version == onlyBatch }

func (s *Server) capabilities() object {
	return object{"tools": object{}, "resources": object{}, "prompts": object{}, "completions": object{}}
}

func serverInfo() object { return object{"name": Product, "title": "nacre", "version": rpc.Version} }

// listen ends a subscription as soon as it has begun: the lists of this server do not change, so there is nothing to
// tell. Each message of a subscription names the request that asked for it.
func listen(_ context.Context, q *request) (object, error) {
	var wanted map[string]json.RawMessage
	if json.Unmarshal(q.Params["notifications"], &wanted) != nil || wanted == nil {
		return nil, badParams("subscriptions/listen needs the object `notifications`")
	}
	q.ahead = object{"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
		"params": object{"notifications": object{}, "_meta": object{subscriptionMeta: q.ID}}}
	return object{"_meta": object{subscriptionMeta: q.ID}}, nil
}

// initialize begins a session. The transport gives it its Session by Begin; what is known of the client is not kept.
func initialize(_ context.Context, q *request) (object, error) {
	if q.sess == nil {
		return nil, badParams("The transport begins no session")
	}
	return object{"protocolVersion": q.sess.Version, "capabilities": q.srv.capabilities(), "serverInfo": serverInfo(),
		"instructions": q.srv.instructions()}, nil
}

// Agreed is the revision that the answer to initialize names: the client's, where it is known. The error is a Fault.
func Agreed(m *Message) (string, error) {
	version, ok := m.text("protocolVersion")
	if !ok {
		return "", badParams("`protocolVersion` of initialize must be a text")
	}
	if Supported(version) {
		return version, nil
	}
	return newest, nil
}

func discover(_ context.Context, q *request) (object, error) {
	return object{"supportedVersions": revisions, "capabilities": q.srv.capabilities(), "serverInfo": serverInfo(),
		"instructions": q.srv.instructions()}, nil
}

// Status is the HTTP status of the answer to a request that stands alone.
func (r *Reply) Status() int {
	switch {
	case r.Fault == nil:
		return http.StatusOK
	case r.Fault.Code == CodeMethod:
		return http.StatusNotFound
	case r.Fault.Code == CodeParams, r.Fault.Code == CodeVersion, r.Fault.Code == CodeHeader:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// CheckAlone refuses a request that stands alone and does not say what it must, or whose headers say something else
// than its body. header is nil where there are none. The error is a Fault.
func (m *Message) CheckAlone(header func(string) string) error {
	var version string
	if json.Unmarshal(m.Meta[versionMeta], &version) != nil || version == "" {
		return badParams("`_meta` must have the text `%s`", versionMeta)
	}
	if header != nil && header("MCP-Protocol-Version") != version {
		return mismatch("MCP-Protocol-Version", versionMeta)
	}
	if version != stateless {
		return &Fault{Code: CodeVersion, Message: "Unsupported protocol version",
			Data: object{"supported": revisions, "requested": errs.Brief(version, 64)}}
	}
	var caps map[string]json.RawMessage
	if raw, ok := m.Meta[capabilityMeta]; !ok || json.Unmarshal(raw, &caps) != nil || caps == nil {
		return badParams("`_meta` must have the object `%s`", capabilityMeta)
	}
	if header == nil {
		return nil
	}
	return m.checkHeaders(header)
}

// checkHeaders compares the headers that name the method and its subject with the body.
func (m *Message) checkHeaders(header func(string) string) error {
	if got := header("Mcp-Method"); got != m.Method {
		return mismatch("Mcp-Method", "method")
	}
	field := map[string]string{"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}[m.Method]
	if field == "" {
		return nil
	}
	want, _ := m.text(field)
	if got := header("Mcp-Name"); decodeHeader(got) != want {
		return mismatch("Mcp-Name", field)
	}
	return nil
}

func mismatch(header, field string) *Fault {
	return &Fault{Code: CodeHeader, Message: "The header " + header + " must be equal to `" + field + "` of the body"}
}

// decodeHeader reads a header value, which is in base64 where it is not ASCII: =?base64?…?=
func decodeHeader(v string) string {
	inner, ok := strings.CutPrefix(v, "=?base64?")
	if !ok {
		return v
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return v
	}
	b, err := base64.StdEncoding.DecodeString(inner)
	if err != nil {
		return v
	}
	return string(b)
}
