package daemon

import (
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
)

// Capabilities: a name beats a general rule, that beats --allow-all and --deny-all, those beat the defaults; of equals the
// denial wins.
func TestCapabilityPrecedence(t *testing.T) {
	type flags map[string]string
	for _, tc := range []struct {
		name  string
		flags flags
		yes   string // what is allowed: function, net target, route, method or flag, each with its kind
		no    string
	}{
		{"defaults", flags{}, "func:string::len func:http::get rpc:query http:sql query:guest", "net:example.com script guests exp:files"},
		{"--allow-all", flags{"allow-all": "true"}, "func:x net:example.com rpc:query http:sql query:record script guests", "exp:files"},
		{"--deny-all", flags{"deny-all": "true"}, "", "func:x net:y rpc:query http:sql query:system script guests exp:files"},
		{"general over global", flags{"deny-all": "true", "allow-scripting": "true", "allow-net": ""}, "script net:y", "func:x rpc:query guests"},
		{"general over global, other way", flags{"allow-all": "true", "deny-net": "", "deny-guests": "true"}, "func:x script", "net:y guests"},
		{"names over global", flags{"deny-all": "true", "allow-net": "example.com", "allow-funcs": "string"}, "net:example.com func:string::len", "net:y func:array::len rpc:ping"},
		{"names over general", flags{"deny-funcs": "", "allow-funcs": "string::len"}, "func:string::len", "func:string::lowercase func:array::len"},
		{"denied names over global", flags{"allow-all": "true", "deny-funcs": "http"}, "func:string::len net:y", "func:http::get"},
		{"denied names over general", flags{"allow-net": "", "deny-net": "10.0.0.1"}, "net:y", "net:10.0.0.1"},
		{"both named", flags{"allow-rpc": "query,ping", "deny-rpc": "query"}, "rpc:ping", "rpc:query rpc:select"},
		{"both general", flags{"allow-funcs": "", "deny-funcs": ""}, "", "func:x"},
		{"both global", flags{"allow-all": "true", "deny-all": "true"}, "", "func:x net:y guests script"},
		{"both flags", flags{"allow-guests": "true", "deny-guests": "true"}, "", "guests"},
		{"a denied family", flags{"allow-funcs": "string::len", "deny-funcs": "string"}, "", "func:string::len"},
		{"a denied function of a family", flags{"allow-funcs": "string", "deny-funcs": "string::len"}, "func:string::lowercase", "func:string::len func:array::len"},
		{"functions of users", flags{"allow-funcs": "fn"}, "func:fn::a", "func:string::len"},
		{"routes", flags{"deny-http": "rpc,export"}, "http:sql", "http:rpc http:export"},
		{"only some routes", flags{"allow-http": "sql"}, "http:sql", "http:rpc"},
		{"classes", flags{"deny-arbitrary-query": "guest,record"}, "query:system", "query:guest query:record"},
		{"texts", flags{"allow-eval-query": "system"}, "eval:system", "eval:record eval:guest"},
		{"all texts but those of guests", flags{"allow-eval-query": "", "deny-eval-query": "guest"}, "eval:system eval:record", "eval:guest"},
		{"no texts by --allow-all", flags{"allow-all": "true"}, "query:guest", "eval:system eval:record eval:guest"},
		{"experiments", flags{"allow-experimental": "files"}, "exp:files", "exp:other"},
		{"all experiments", flags{"allow-experimental": ""}, "exp:files exp:other", ""},
	} {
		cfg := config.Default()
		for name, v := range tc.flags {
			set(t, cfg, name, v)
		}
		for _, list := range []struct {
			text string
			want bool
		}{{tc.yes, true}, {tc.no, false}} {
			for _, what := range words(list.text) {
				if got := allowed(cfg, what); got != list.want {
					t.Errorf("%s: %s is %v", tc.name, what, got)
				}
			}
		}
	}
}

func set(t *testing.T, cfg *config.Config, flag, text string) {
	t.Helper()
	for _, s := range config.Table(cfg) {
		if s.Flag == flag {
			if err := s.Value.Set(text); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no flag %s", flag)
}

func words(text string) []string { return strings.Fields(text) }

func allowed(cfg *config.Config, what string) bool {
	c := capabilities(cfg)
	kind, name, _ := strings.Cut(what, ":")
	switch kind {
	case "func":
		return c.MayCall(name) == nil
	case "net":
		return c.Net.Allows(name)
	case "rpc":
		return c.RPC.Allows(name)
	case "http":
		return c.HTTP.Allows(name)
	case "query":
		return c.Query.Allows(name)
	case "eval":
		return c.Eval.Allows(name)
	case "exp":
		return c.MayTry(name) == nil
	case "script":
		return c.Scripting
	}
	return c.Guests
}
