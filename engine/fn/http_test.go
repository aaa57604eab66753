package fn_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
)

// webServer answers a few paths; /echo tells what it was sent.
func webServer(t *testing.T) *url.URL {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json":
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			fmt.Fprint(w, `{"a":[1,2.5,null]}`)
		case "/bytes":
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Write([]byte{0, 255})
		case "/echo":
			body := new(strings.Builder)
			r.Write(body)
			fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("Content-Type"), r.Header.Get("X-A"))
		case "/away":
			http.Redirect(w, r, "http://localhost.invalid/", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/large":
			w.Write(make([]byte, 11<<20))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestHTTP(t *testing.T) {
	u := webServer(t)
	l := &library{t, fn.Library(), host{net: fn.NetFilter{Allow: targets(u.Host)}}}
	headers := value.ObjectOf(value.NewObject(value.Field{Name: "X-A", Value: value.Int(7)}))
	body := value.ObjectOf(value.NewObject(value.Field{Name: "b", Value: value.Int(1)}))
	for _, tc := range []struct {
		method, path string
		args         []value.Value
		want         string
	}{
		{"get", "/json", nil, "{ a: [1, 2.5f, NULL] }"},
		{"get", "/bytes", nil, `b"00FF"`},
		{"get", "/echo", []value.Value{headers}, "'GET  7'"},
		{"post", "/echo", []value.Value{body, headers}, "'POST application/json 7'"},
		{"put", "/echo", []value.Value{value.Str("x")}, "'PUT text/plain; charset=utf-8 '"},
		{"patch", "/echo", []value.Value{value.BytesOf([]byte{1})}, "'PATCH application/octet-stream '"},
		{"delete", "/echo", nil, "'DELETE  '"},
		{"head", "/json", nil, "NONE"},
		{"get", "/none", nil, "There was an error processing a remote HTTP request: Not Found"},
		{"get", "/away", nil, "Access to network target 'localhost.invalid:80' is not allowed"},
		{"get", "/loop", nil, "There was an error processing a remote HTTP request: too many redirects"},
		{"get", "/large", nil, "There was an error processing a remote HTTP request: the answer is too large"},
	} {
		v, err := l.try("http::"+tc.method, append([]value.Value{value.Str(u.String() + tc.path)}, tc.args...)...)
		got := v.Text()
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s %s: got %s, want %s", tc.method, tc.path, got, tc.want)
		}
	}
}

func TestNetworkTargetsAreChecked(t *testing.T) {
	u := webServer(t)
	port := u.Port()
	for _, tc := range []struct {
		name   string
		filter fn.NetFilter
		url    string
		ok     bool
	}{
		{"nothing is allowed by default", fn.NetFilter{}, u.String(), false},
		{"everything", fn.NetFilter{Allow: fn.NetTargets{All: true}}, u.String(), true},
		{"the address", fn.NetFilter{Allow: targets("127.0.0.1")}, u.String(), true},
		{"a block", fn.NetFilter{Allow: targets("127.0.0.0/8")}, u.String(), true},
		{"another port", fn.NetFilter{Allow: targets("127.0.0.1:1")}, u.String(), false},
		{"a denied address", fn.NetFilter{Allow: fn.NetTargets{All: true}, Deny: targets("127.0.0.0/8")}, u.String(),
			false},
		{"a denied name", fn.NetFilter{Allow: fn.NetTargets{All: true}, Deny: targets("localhost")},
			"http://localhost:" + port, false},
		{"a denied name with a dot", fn.NetFilter{Allow: fn.NetTargets{All: true}, Deny: targets("localhost")},
			"http://LOCALHOST.:" + port, false},
		{"an address in other words", fn.NetFilter{Allow: targets("localhost", "2130706433", "0x7f.1")},
			"http://2130706433:" + port, false},
		{"a mapped address", fn.NetFilter{Allow: fn.NetTargets{All: true}, Deny: targets("127.0.0.0/8")},
			"http://[::ffff:127.0.0.1]:" + port, false},
		{"a name that leads inside", fn.NetFilter{Allow: targets("localhost")}, "http://localhost:" + port, false},
		{"a name and the inside", fn.NetFilter{Allow: targets("localhost", "127.0.0.0/8", "::1")},
			"http://localhost:" + port, true},
	} {
		l := &library{t, fn.Library(), host{net: tc.filter}}
		_, err := l.try("http::get", value.Str(tc.url+"/json"))
		if ok := err == nil; ok != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func targets(names ...string) fn.NetTargets {
	t := fn.NetTargets{Names: map[string]bool{}}
	for _, n := range names {
		t.Names[n] = true
	}
	return t
}
