package daemon_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/grpc"

	"github.com/nacredb/nacre/daemon/config"
)

// attackDir has a script for each attack; the README there says how they are written.
const attackDir = "../testdata/attack"

// attackMemory is what the heap may have grown by after an attack is over.
const attackMemory = 48 << 20

// TestAttacks plays every script against a server of its own. Afterwards the server answers as before, has no goroutine
// and not much memory more, and has logged no panic.
func TestAttacks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(attackDir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			script, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a := &attack{t: t, vars: map[string]string{"root": rootAuth}, files: map[string]string{}, sockets: map[string]*socket{}, conns: map[string]*grpc.ClientConn{}}
			for _, f := range script.Files {
				a.files[f.Name] = string(f.Data)
			}
			for n, line := range strings.Split(string(script.Comment), "\n") {
				a.line = n + 1
				if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
					a.run(line)
				}
			}
			if a.s == nil {
				t.Fatal("the script does nothing")
			}
			a.over()
		})
	}
}

// attack is a script in play.
type attack struct {
	t       *testing.T
	line    int
	options []func(*config.Config)
	s       *server
	vars    map[string]string
	files   map[string]string
	sockets map[string]*socket
	conns   map[string]*grpc.ClientConn
	last    string // answer
	before  load
}

// load is what a server occupies.
type load struct {
	goroutines int
	heap       uint64
}

// measure counts the goroutines, without the idle workers of sockets and of HTTP/2, which a server keeps a bounded number
// of, and without those of the client of a cluster.
func measure() load {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	stacks := make([]byte, 4<<20)
	text := string(stacks[:runtime.Stack(stacks, true)])
	idle := 0
	for g := range strings.SplitSeq(text, "\n\n") {
		if strings.Contains(g, "ws.(*workers).work(") && strings.Contains(g, "[chan receive") && !strings.Contains(g, ".serve(") ||
			strings.Contains(g, "h2.(*workers).work(") && strings.Contains(g, "[select") && !strings.Contains(g, "stream).run(") ||
			ofCluster(g) {
			idle++
		}
	}
	return load{runtime.NumGoroutine() - idle, m.HeapAlloc}
}

func (a *attack) failf(format string, args ...any) {
	a.t.Helper()
	a.t.Errorf("line %d: %s", a.line, fmt.Sprintf(format, args...))
}

// server is the server, started with the options so far.
func (a *attack) server() *server {
	if a.s == nil {
		a.s = start(a.t, append([]func(*config.Config){unlimited}, a.options...)...)
		a.s.do("GET", "/health", "")
		a.vars["address"] = a.s.Addr().String()
		_, a.vars["port"], _ = net.SplitHostPort(a.vars["address"])
		a.before = measure()
	}
	return a.s
}

var attackWords = regexp.MustCompile(`'[^']*'|\S+`)

// run does one line.
func (a *attack) run(line string) {
	a.t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch verb {
	case "server":
		a.option(rest)
	case "sql":
		setup(a.t, a.server(), a.server().shareBuckets("test", "test", a.text(rest)))
	case "login":
		name, fields, _ := strings.Cut(rest, " ")
		r := a.server().do("POST", "/signin", a.expand(fields), "Accept: application/json")
		var got struct{ Token, Refresh string }
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.Token == "" {
			a.t.Fatalf("line %d: %s", a.line, r.body)
		}
		a.vars[name], a.vars[name+"_refresh"] = got.Token, got.Refresh
	case "request":
		a.request(rest)
	case "raw":
		a.last = a.raw(escapes.Replace(strings.ReplaceAll(a.text(rest), "\n", "\r\n")))
	case "socket":
		words := a.words(rest)
		a.sockets[words[0]] = a.server().upgradeAt(words[1], words[2], words[3:]...)
		a.last = a.sockets[words[0]].resp.Status
	case "grpc":
		a.grpc(rest)
	case "postgres":
		a.postgres(rest)
	case "say":
		name, text, _ := strings.Cut(rest, " ")
		a.last = a.sockets[name].say(a.expand(text))
	case "close":
		if conn := a.conns[rest]; conn != nil {
			_ = conn.Close()
			break
		}
		_ = a.sockets[rest].conn.Close()
	case "take":
		name, pattern, _ := strings.Cut(rest, " ")
		m := regexp.MustCompile(pattern).FindStringSubmatch(a.last)
		if m == nil {
			a.t.Fatalf("line %d: no %s in %s", a.line, pattern, a.last)
		}
		a.vars[name] = m[len(m)-1]
	case "has":
		if want := escapes.Replace(a.expand(rest)); !strings.Contains(a.steady(), want) {
			a.failf("%q is not in %.4000q", want, a.last)
		}
	case "lacks":
		if not := escapes.Replace(a.expand(rest)); strings.Contains(a.steady(), not) {
			a.failf("%q is in %.4000q", not, a.last)
		}
	default:
		a.t.Fatalf("line %d: unknown word %s", a.line, verb)
	}
}

// chance is what differs from one run to the next: it may hold any short text by accident.
var chance = regexp.MustCompile(`"time":"[^"]*",?|(?m:^X-Request-Id: [0-9a-f-]{36}|^Date: [^\r\n]*|^Content-Length: \d+)`)

// steady is the last answer without durations, dates, sizes and request ids.
func (a *attack) steady() string { return chance.ReplaceAllString(a.last, "") }

// option is a setting of the server to start.
func (a *attack) option(text string) {
	if a.s != nil {
		a.t.Fatalf("line %d: the server runs", a.line)
	}
	options := map[string]func(*config.Config){
		"guesses": func(c *config.Config) {
			c.AuthRate, c.AuthBurst, c.ClientIP = 1, 3, "X-Forwarded-For"
		},
		"unauthenticated": func(c *config.Config) { c.Unauthenticated = true },
		"postgres":        postgresListener,
		"guests":          func(c *config.Config) { c.AllowGuests = true },
		"files":           func(c *config.Config) { c.AllowExperimental = config.ParseNames("files") },
		"deep":            func(c *config.Config) { c.QueryTimeout = 5 * time.Second },
		"scripts": func(c *config.Config) {
			c.AllowScripting, c.QueryTimeout = true, 5*time.Second
		},
		"network": func(c *config.Config) { // the loopback but for one address, which stands for what is inside
			c.AllowNet, c.DenyNet = config.ParseNames("*"), config.ParseNames("127.0.0.2,10.0.0.0/8,::1")
		},
		"outside": func(c *config.Config) { // nothing of this machine may be reached
			c.AllowNet, c.DenyNet = config.ParseNames("*"), config.ParseNames("127.0.0.0/8,::1")
		},
	}
	if options[text] == nil {
		a.t.Fatalf("line %d: unknown option %s", a.line, text)
	}
	a.options = append(a.options, options[text])
}

// words takes a line apart; quotes hold a word together.
func (a *attack) words(line string) []string {
	words := attackWords.FindAllString(line, -1)
	for i, w := range words {
		words[i] = a.expand(strings.Trim(w, "'"))
	}
	return words
}

// text is a file of the script, or where there is none of that name the word itself.
func (a *attack) text(name string) string {
	if f, ok := a.files[name]; ok {
		name = f
	}
	return a.expand(name)
}

var attackVars = regexp.MustCompile(`\$\{(\w+)(?::([^}]*?)\*(\d+))?\}`)

// expand puts in variables: ${name}, and ${repeat:text*times}.
func (a *attack) expand(text string) string {
	return attackVars.ReplaceAllStringFunc(text, func(m string) string {
		p := attackVars.FindStringSubmatch(m)
		if p[1] == "repeat" {
			n, err := strconv.Atoi(p[3])
			if err != nil {
				a.t.Fatal(err)
			}
			return strings.Repeat(p[2], n)
		}
		v, ok := a.vars[p[1]]
		if !ok {
			a.t.Fatalf("line %d: no variable %s", a.line, p[1])
		}
		return v
	})
}

// request is STATUS METHOD PATH [HEADER…] [< BODY]; STATUS may be a list: 400,401.
func (a *attack) request(line string) {
	a.t.Helper()
	line, body, _ := strings.Cut(line, " < ")
	s, words := a.server(), a.words(line) // the server first: it gives variables
	if body = a.text(body); strings.HasPrefix(body, "@") {
		b, err := os.ReadFile(filepath.Join(modelDir, filepath.Clean("/"+body[1:])))
		if err != nil {
			a.t.Fatal(err)
		}
		body = string(b)
	}
	r := s.do(words[1], words[2], body, words[3:]...)
	if !slices.Contains(strings.Split(words[0], ","), strconv.Itoa(r.StatusCode)) {
		a.failf("%s: %d %.300s", line, r.StatusCode, r.body)
	}
	var head strings.Builder
	_ = r.Header.Write(&head) // to memory
	a.last = head.String() + "\r\n" + r.body
}

// escapes are bytes that a line of a script cannot have.
var escapes = strings.NewReplacer(`\0`, "\x00", `\n`, "\n", `\r`, "\r")

// raw sends bytes and gives all that comes back until the server closes or goes quiet.
func (a *attack) raw(text string) string {
	conn, err := net.Dial("tcp", a.server().Addr().String())
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, text); err != nil {
		return ""
	}
	if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		a.t.Fatal(err)
	}
	b, _ := io.ReadAll(conn) // a deadline ends it as well
	return string(b)
}

// over looks at what the attack has left behind.
func (a *attack) over() {
	a.t.Helper()
	for _, k := range a.sockets {
		_ = k.conn.Close()
	}
	a.s.http.CloseIdleConnections()
	a.s.unharmed(a.before)
}

// unharmed checks that the server answers, and that what it occupies goes back to about what it was.
func (s *server) unharmed(before load) {
	s.t.Helper()
	if r := s.do("GET", "/health", ""); r.StatusCode != 200 {
		s.t.Errorf("/health: %d", r.StatusCode)
	}
	if r := s.do("POST", "/sql", "RETURN 'alive'", at()...); !strings.Contains(r.body, "alive") {
		s.t.Errorf("/sql: %s", r.body)
	}
	k := s.dial("json")
	if got := k.say(`{"id":1,"method":"ping"}`); got != `{"id":1,"result":null}` {
		s.t.Errorf("ping: %s", got)
	}
	_ = k.conn.Close()
	var now load
	deadline := time.Now().Add(20 * time.Second)
	for {
		s.http.CloseIdleConnections()
		if now = measure(); now.goroutines <= before.goroutines+fewGoroutines && now.heap <= before.heap+attackMemory {
			return
		}
		if time.Now().After(deadline) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	s.t.Errorf("left behind: goroutines %d → %d, heap %d → %d MiB\n%s", before.goroutines, now.goroutines, before.heap>>20, now.heap>>20,
		stacks[:runtime.Stack(stacks, true)])
}

// fewGoroutines may come and go with the clock: of the store, of the heartbeat, of connections on their way out.
const fewGoroutines = 4
