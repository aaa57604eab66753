package daemon_test

import (
	"encoding/binary"
	"strings"
	"testing"
)

// graphQL opens a WebSocket of GraphQL in test/test.
func (s *server) graphQL(protocol string, headers ...string) *socket {
	s.t.Helper()
	k := s.upgradeAt("/graphql", protocol, append([]string{"Service-NS: test", "Service-DB: test"}, headers...)...)
	if k.resp.StatusCode != 101 {
		s.t.Fatalf("upgrade: %s", k.resp.Status)
	}
	return k
}

func (k *socket) tell(text string) { k.write(frame(opText, true, []byte(text))) }

// expect reads the next message, which must be want.
func (k *socket) expect(want string) {
	k.t.Helper()
	if _, got := k.message(); string(got) != want {
		k.t.Errorf("got %s\nwant %s", got, want)
	}
}

// closes reads the close frame, which must have a code.
func (k *socket) closes(code uint16) {
	k.t.Helper()
	for {
		op, b, err := k.read()
		if err != nil {
			k.t.Fatal(err)
		}
		if op == opClose {
			if got := binary.BigEndian.Uint16(b); got != code {
				k.t.Errorf("closed with %d %s, want %d", got, b[2:], code)
			}
			return
		}
	}
}

const initDone = `{"type":"connection_ack"}`

// Both sub-protocols: the first one that the client names, queries, mutations, events, and their ends.
func TestGraphQLSubprotocols(t *testing.T) {
	s := start(t)
	setup(t, s, graphQLSetup)
	for _, p := range []struct{ offer, speaks, start, next, stop string }{
		{"graphql-transport-ws", "graphql-transport-ws", "subscribe", "next", "complete"},
		{"graphql-ws", "graphql-ws", "start", "data", "stop"},
		{"x, graphql-ws, graphql-transport-ws", "graphql-ws", "start", "data", "stop"},
		{"", "", "subscribe", "next", "complete"},
	} {
		t.Run(p.offer, func(t *testing.T) {
			setup(t, s, "DELETE note:3; UPDATE note:1 SET text = 'a'")
			k := s.graphQL(p.offer, rootAuth)
			if got := k.resp.Header.Get("Sec-WebSocket-Protocol"); got != p.speaks {
				t.Errorf("speaks %q", got)
			}
			k.tell(`{"type":"connection_init"}`)
			k.expect(initDone)
			k.tell(`{"id":"q","type":"` + p.start + `","payload":{"query":"{ notes { text } }"}}`)
			k.expect(`{"type":"` + p.next + `","id":"q","payload":{"data":{"notes":[{"text":"a"},{"text":"b"}]}}}`)
			k.expect(`{"type":"complete","id":"q"}`)
			k.tell(`{"id":"s","type":"` + p.start + `","payload":{"query":"subscription { note(where:{text:{ne:\"no\"}}) { id text } }"}}`)
			eventually(t, "a live query", func() bool { return s.stats().LiveQueries == 1 })
			k.tell(`{"id":"m","type":"` + p.start + `","payload":{"query":"mutation { createNote(data:{id:\"3\",text:\"c\"}) { id } }"}}`)
			got := map[string]bool{}
			for range 3 {
				_, b := k.message()
				got[string(b)] = true
			}
			for _, want := range []string{`{"type":"` + p.next + `","id":"m","payload":{"data":{"createNote":{"id":"note:3"}}}}`,
				`{"type":"complete","id":"m"}`, `{"type":"` + p.next + `","id":"s","payload":{"data":{"note":{"id":"note:3","text":"c"}}}}`} {
				if !got[want] {
					t.Errorf("%s is missing in %v", want, got)
				}
			}
			setup(t, s, "UPDATE note:1 SET text = 'no'; UPDATE note:1 SET text = 'yes'; DELETE note:3")
			k.expect(`{"type":"` + p.next + `","id":"s","payload":{"data":{"note":{"id":"note:1","text":"yes"}}}}`)
			k.expect(`{"type":"` + p.next + `","id":"s","payload":{"data":{"note":{"id":"note:3","text":"c"}}}}`)
			k.tell(`{"id":"s","type":"` + p.stop + `"}`)
			eventually(t, "the end of the live query", func() bool { return s.stats().LiveQueries == 0 })
			k.tell(`{"id":"e","type":"` + p.start + `","payload":{"query":"{ nope }"}}`)
			if _, b := k.message(); !strings.HasPrefix(string(b), `{"type":"error","id":"e","payload":[{"message":"Unknown field`) {
				t.Errorf("got %s", b)
			}
			k.tell(`{"type":"ping"}`)
			k.expect(`{"type":"pong"}`)
			k.tell(`{"type":"connection_terminate"}`)
			k.closes(1000)
		})
	}
}

// What is no message of the sub-protocol closes the connection, with the code that says why.
func TestGraphQLSocketCodes(t *testing.T) {
	s := start(t)
	setup(t, s, graphQLSetup)
	for _, tc := range []struct {
		name string
		says []string
		code uint16
	}{
		{"no JSON", []string{"x"}, 4400},
		{"no type", []string{"{}"}, 4400},
		{"an unknown type", []string{`{"type":"x"}`}, 4400},
		{"too early", []string{`{"type":"subscribe","id":"1","payload":{"query":"{ a }"}}`}, 4401},
		{"twice", []string{`{"type":"connection_init"}`, `{"type":"connection_init"}`}, 4429},
		{"a bad token", []string{`{"type":"connection_init","payload":{"Authorization":"Bearer x"}}`}, 4403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := s.graphQL("graphql-transport-ws")
			for _, m := range tc.says {
				k.tell(m)
			}
			k.closes(tc.code)
		})
	}
	k := s.graphQL("graphql-transport-ws", rootAuth)
	k.tell(`{"type":"connection_init"}`)
	k.expect(initDone)
	for range 2 {
		k.tell(`{"type":"subscribe","id":"1","payload":{"query":"subscription { note { id } }"}}`)
	}
	k.closes(4409)
	eventually(t, "no live query", func() bool { return s.stats().LiveQueries == 0 })
	for _, headers := range [][]string{{rootAuth}, {rootAuth, "Service-NS: test"}, {rootAuth, "Service-NS: test", "Service-DB: other"}} {
		if k := s.upgradeAt("/graphql", "graphql-ws", headers...); k.resp.StatusCode != 400 {
			t.Errorf("%v: %s", headers, k.resp.Status)
		}
	}
}

// An identity comes with connection_init, and ends the subscription when it is gone.
func TestGraphQLSocketIdentity(t *testing.T) {
	s := start(t)
	setup(t, s, graphQLSetup+`; DEFINE USER v ON DATABASE PASSWORD 'p' ROLES VIEWER`)
	r := s.do("POST", "/signin", `{"ns":"test","db":"test","user":"v","pass":"p"}`, "Accept: application/json")
	_, token, _ := strings.Cut(r.body, `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	nobody := s.graphQL("graphql-transport-ws")
	nobody.tell(`{"type":"connection_init"}`)
	nobody.expect(initDone)
	nobody.tell(`{"id":"1","type":"subscribe","payload":{"query":"subscription { note { id } }"}}`)
	if _, b := nobody.message(); !strings.Contains(string(b), "Anonymous access not allowed") {
		t.Errorf("got %s", b)
	}
	k := s.graphQL("graphql-transport-ws")
	k.tell(`{"type":"connection_init","payload":{"headers":{"authorization":"Bearer ` + token + `"}}}`)
	k.expect(initDone)
	k.tell(`{"id":"1","type":"subscribe","payload":{"query":"subscription { note { text } }"}}`)
	eventually(t, "a live query", func() bool { return s.stats().LiveQueries == 1 })
	setup(t, s, "CREATE note:7 SET text = 'seen'")
	k.expect(`{"type":"next","id":"1","payload":{"data":{"note":{"text":"seen"}}}}`)
	setup(t, s, "REMOVE USER v ON DATABASE; CREATE note:8 SET text = 'unseen'")
	k.expect(`{"type":"complete","id":"1"}`)
	k.tell(`{"id":"2","type":"subscribe","payload":{"query":"{ notes { text } }"}}`)
	if _, b := k.message(); !strings.Contains(string(b), `"type":"error"`) || strings.Contains(string(b), "unseen") {
		t.Errorf("got %s", b)
	}
}
