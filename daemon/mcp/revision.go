package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/rpc"
)

// The revisions of the protocol.
const (
	newest     = "2025-11-25" // that begins with a handshake
	stateless  = "2026-07-28"
	firstBatch = "2025-03-26" // the one that has batches, and the one that is meant where none is named
)

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", newest, stateless}

// Product is the name of the server.
const Product = "nacre"

// Supported reports whether version is a revision that begins with a handshake.
func Supported(version string) bool {
	return version != stateless && slices.Contains(revisions, version)
}

// Batches reports whether clients of version may send several messages at once.
func Batches(version string) bool { return version == "" || version == firstBatch }

func (s *Server) capabilities() object {
	return object{"tools": object{}, "resources": object{}, "prompts": object{}, "completions": object{}}
}

func serverInfo() object { return object{"name": Product, "title": "nacre", "version": rpc.Version} }

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
	return object{"supportedVersions": []string{stateless}, "capabilities": q.srv.capabilities(),
		"serverInfo":   serverInfo(),
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

// CheckMeta refuses a request that stands alone and does not say what it must. The error is a Fault.
func (m *Message) CheckMeta() error {
	var version string
	if json.Unmarshal(m.Meta[versionMeta], &version) != nil || version == "" {
		return badParams("`_meta` must have the text `%s`", versionMeta)
	}
	if version != stateless {
		return &Fault{Code: CodeVersion, Message: "Unsupported protocol version",
			Data: object{"supported": revisions, "requested": version}}
	}
	var caps map[string]json.RawMessage
	if raw, ok := m.Meta[capabilityMeta]; !ok || json.Unmarshal(raw, &caps) != nil || caps == nil {
		return badParams("`_meta` must have the object `%s`", capabilityMeta)
	}
	return nil
}

// CheckHeaders refuses a request that stands alone whose headers say something else than its body. The error is a
// Fault.
func (m *Message) CheckHeaders(header func(string) string) error {
	var version string
	_ = json.Unmarshal(m.Meta[versionMeta], &version) // what is no text differs from every header
	if got := header("MCP-Protocol-Version"); got != version {
		return mismatch("MCP-Protocol-Version", versionMeta)
	}
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
