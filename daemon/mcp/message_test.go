package mcp_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/mcp"
	"github.com/nacredb/nacre/daemon/rpc"
)

// FuzzDecode holds that every body is messages or a typed error of JSON-RPC, and that an answer to it is JSON on one
// line.
func FuzzDecode(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":{"query":"RETURN 1"}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"result":{}}]`,
		`{"jsonrpc":"2.0","id":null}`, `[]`, `{}`, ``,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":` +
			`"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":1e3,"method":"ping","params":null}`,
		strings.Repeat("[", 1000), "\xff", `{"id":1,"id":2}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		list, batch, err := mcp.Decode(body, rpc.Decoding(100))
		if fault, ok := errors.AsType[*mcp.Fault](err); err != nil {
			codes := []int{mcp.CodeParse, mcp.CodeRequest, mcp.CodeParams}
			if !ok || !slices.Contains(codes, fault.Code) || fault.Message == "" {
				t.Fatalf("%q: %v", body, err)
			}
			checkLine(t, mcp.Fail(fault))
			return
		}
		if len(list) == 0 || !batch && len(list) != 1 {
			t.Fatalf("%q: %d messages", body, len(list))
		}
		for _, m := range list {
			if m.ID != nil && m.Method != "" {
				checkLine(t, &mcp.Reply{ID: m.ID, Result: map[string]any{}})
			}
			if m.Alone {
				_ = m.CheckAlone(nil)
				_ = m.CheckAlone(func(string) string { return "=?base64?!?=" })
			}
			if _, err := mcp.Agreed(m); err != nil {
				if _, ok := errors.AsType[*mcp.Fault](err); !ok {
					t.Fatal(err)
				}
			}
		}
	})
}

func checkLine(t *testing.T, r *mcp.Reply) {
	for _, line := range r.Messages() {
		if !json.Valid(line) || strings.ContainsAny(string(line), "\n\r") {
			t.Fatalf("an answer is not JSON on one line: %q", line)
		}
	}
}
