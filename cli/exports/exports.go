// Package exports reads what other memory systems export (mem0, Zep, Letta) and gives facts, conversations and
// documents for
// the agent memory service. Times, sessions and users are kept.
package exports

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/client/memory"
)

// Formats lists the formats that Read knows.
var Formats = []string{"mem0", "zep", "letta"}

// Memories is an export: what is to be stored, and the scopes that it needs.
type Memories struct {
	Scopes        []string
	Facts         []memory.Fact
	Conversations []Talk
}

// Talk is turns that are stored by one call. Continues is whether they go into the session of the one before.
type Talk struct {
	memory.Conversation
	Continues bool
}

// maxTurns is how many turns one call may store.
const maxTurns = 1000

// Read reads an export of a format.
func Read(format string, b []byte) (*Memories, error) {
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("the file is not JSON: %w", err)
	}
	m := &Memories{}
	switch format {
	case "mem0":
		m.mem0(doc)
	case "zep":
		m.zep(doc)
	case "letta":
		m.letta(doc)
	default:
		return nil, fmt.Errorf("unknown format %q: want one of %s", format, strings.Join(Formats, ", "))
	}
	if len(m.Facts)+len(m.Conversations) == 0 {
		return nil, fmt.Errorf("nothing in the file looks like an export of %s", format)
	}
	sort.Strings(m.Scopes)
	return m, nil
}

type object = map[string]any

// list is the objects of v: a list itself, or the first list that stands under one of the names.
func list(v any, names ...string) (out []object) {
	l, ok := v.([]any)
	if o, is := v.(object); is && !ok {
		for _, n := range names {
			if l, ok = o[n].([]any); ok {
				break
			}
		}
	}
	for _, e := range l {
		if o, ok := e.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// str is the first text under one of the names.
func str(o object, names ...string) string {
	for _, n := range names {
		if s, ok := o[n].(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

func at(o object, names ...string) time.Time {
	s := str(o, names...)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05",
		time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

var badSegment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[^\p{L}\p{N}._@-]+`)
})

// scope is the scope of a user, registered once.
func (m *Memories) scope(user string) []string {
	user = strings.Trim(badSegment().ReplaceAllString(user, "-"), "-")
	if user == "" || user == "." || user == ".." {
		return nil
	}
	if len(user) > 100 {
		user = user[:100]
	}
	path := "user/" + strings.ToValidUTF8(user, "")
	for _, s := range m.Scopes {
		if s == path {
			return []string{path}
		}
	}
	m.Scopes = append(m.Scopes, path)
	return []string{path}
}

func label(key, value string) string {
	return key + "=" + strings.TrimSpace(strings.NewReplacer("\n", " ", "=", "-").Replace(value))
}

// mem0 is a list of memories of users.
func (m *Memories) mem0(doc any) {
	for _, o := range list(doc, "results", "memories", "data") {
		text := str(o, "memory", "text", "data")
		if text == "" {
			continue
		}
		f := memory.Fact{Text: text, Infer: "none", At: at(o, "created_at", "updated_at"),
			Scopes: m.scope(str(o, "user_id"))}
		for _, n := range []string{"agent_id", "run_id"} {
			if v := str(o, n); v != "" {
				f.Labels = append(f.Labels, label(n, v))
			}
		}
		if cs, ok := o["categories"].([]any); ok {
			for _, c := range cs[:min(len(cs), 8)] {
				if c, ok := c.(string); ok && c != "" {
					f.Labels = append(f.Labels, label("category."+fmt.Sprint(len(f.Labels)), c))
				}
			}
		}
		m.Facts = append(m.Facts, f)
	}
}

// role folds the roles of other systems.
func role(s string) string {
	switch s = strings.ToLower(s); s {
	case "assistant", "ai", "bot", "agent":
		return "assistant"
	case "system", "tool":
		return s
	case "function":
		return "tool"
	}
	return "user"
}

// content is the text of a message: a text, or a list of parts.
func content(o object) string {
	if s := str(o, "content", "text", "message"); s != "" {
		return s
	}
	var parts []string
	for _, p := range list(o["content"]) {
		if s := str(p, "text"); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

// talk adds a conversation in calls of at most maxTurns turns.
func (m *Memories) talk(messages []object, user, session string) {
	c := Talk{Conversation: memory.Conversation{Infer: "none", Scopes: m.scope(user)}}
	if session != "" {
		c.Metadata = map[string]any{"imported_session": session}
	}
	add := func() {
		if len(c.Messages) > 0 {
			m.Conversations = append(m.Conversations, c)
			c.Messages, c.Continues = nil, true
		}
	}
	for _, o := range messages {
		text := content(o)
		if text == "" {
			continue
		}
		r := role(str(o, "role_type", "role"))
		speaker := str(o, "name")
		if given := str(o, "role"); speaker == "" && str(o, "role_type") != "" && role(given) == "user" &&
			given != "user" {
			speaker = given // Zep keeps the name of the speaker in role
		}
		c.Messages = append(c.Messages, memory.Message{Role: r, Content: text, Speaker: speaker,
			At: at(o, "created_at", "timestamp", "date")})
		if len(c.Messages) == maxTurns {
			add()
		}
	}
	add()
}

// zep is sessions with messages, and facts.
func (m *Memories) zep(doc any) {
	for _, s := range list(doc, "sessions", "threads") {
		m.talk(list(s["messages"]), str(s, "user_id"), str(s, "session_id", "thread_id", "uuid", "id"))
	}
	if o, ok := doc.(object); ok {
		m.talk(list(o["messages"]), str(o, "user_id"), str(o, "session_id"))
		for _, f := range append(list(o["facts"]), list(o["edges"])...) {
			if text := str(f, "fact", "content"); text != "" {
				m.Facts = append(m.Facts, memory.Fact{Text: text, Infer: "none", At: at(f, "valid_at", "created_at"),
					Scopes: m.scope(str(o, "user_id"))})
			}
		}
	}
}

// letta is an agent, or a list of agents, with blocks of core memory, messages and archived passages.
func (m *Memories) letta(doc any) {
	agents := list(doc, "agents")
	if o, ok := doc.(object); ok && len(agents) == 0 {
		agents = []object{o}
	}
	for _, a := range agents {
		name := str(a, "name", "id")
		var labels []string
		if name != "" {
			labels = []string{label("agent", name)}
		}
		for _, key := range []string{"core_memory", "blocks", "memory_blocks"} {
			for _, b := range list(a[key], "blocks") {
				if v := str(b, "value"); v != "" {
					m.Facts = append(m.Facts, memory.Fact{Text: v, Infer: "none", At: at(b, "created_at"),
						Labels: append(append([]string{}, labels...), label("block", str(b, "label")))})
				}
			}
		}
		for _, key := range []string{"passages", "archival_memory", "archival_passages"} {
			for _, p := range list(a[key]) {
				if v := str(p, "text", "content"); v != "" {
					m.Facts = append(m.Facts, memory.Fact{Text: v, Infer: "none", At: at(p, "created_at"),
						Labels: labels})
				}
			}
		}
		m.talk(list(a["messages"]), "", name)
	}
}
