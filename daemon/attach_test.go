package daemon_test

import (
	"strings"
	"testing"
)

// When two HTTP clients attach the same id, the second does not get into the session of the first, even if it ignores
// the error.
func TestAttachedIDsAreNotShared(t *testing.T) {
	for name, first := range map[string]string{
		"signed in": `"method":"signin","params":[{"user":"root","pass":"root"}]`,
		"anonymous": `"method":"let","params":["secret","canary7"]`,
	} {
		s := start(t, unlimited)
		const id = `,"session":"00000000-0000-4000-8000-00000000000c"}`
		call := func(m string, headers ...string) string {
			return s.do("POST", "/rpc", `{"id":1,`+m+id, append(headers, "Content-Type: application/json")...).body
		}
		for _, m := range []string{`"method":"attach"`, first} {
			if got := call(m); strings.Contains(got, "error") {
				t.Fatalf("%s: %s", name, got)
			}
		}
		if got := call(`"method":"attach"`); !strings.Contains(got, "Session already exists") {
			t.Errorf("%s: the second attach: %s", name, got)
		}
		for _, m := range []string{`"method":"query","params":["RETURN [$secret, $auth, 1]"]`, `"method":"info"`, `"method":"signin","params":[{"user":"root","pass":"root"}]`} {
			if got := call(m); !strings.Contains(got, "Session not found") {
				t.Errorf("%s: the second goes on by %s: %s", name, m, got)
			}
		}
		if got := call(`"method":"attach"`); strings.Contains(got, "error") {
			t.Errorf("%s: the id is free again: %s", name, got)
		}
		if got := call(`"method":"query","params":["RETURN $secret"]`, rootAuth); strings.Contains(got, "canary7") {
			t.Errorf("%s: the new session has what the old one had: %s", name, got)
		}
	}
	s := start(t, unlimited)
	k := s.dial("json")
	const own = `{"id":1,"method":"attach","session":"00000000-0000-4000-8000-00000000000d"}`
	k.say(own)
	if got := k.say(own); !strings.Contains(got, "Session already exists") {
		t.Errorf("twice on a socket: %s", got)
	}
	if got := k.say(`{"id":1,"method":"let","params":["x",1],"session":"00000000-0000-4000-8000-00000000000d"}`); strings.Contains(got, "error") {
		t.Errorf("a socket's own session goes on: %s", got)
	}
}
