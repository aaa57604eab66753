package daemon_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacredb/nacre/daemon/config"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

var updateMatrix = flag.Bool("update", false, "rewrite the verdicts of testdata/matrix.txt with what the server does: for review")

const matrixFile = "testdata/matrix.txt"

// row is an action of the matrix, with the verdict for each principal.
type row struct {
	line     int // of the file
	section  string
	action   string
	place    string   // where the principal works: "" for its own place, else "ns/db"
	before   []string // statements of the root owner that make the scene
	changes  string   // a query of the root owner whose answer differs after an action that was allowed; "" for reads
	verdicts string   // one character a principal
}

// The verdicts. A request that is not allowed must neither show the canary nor change anything.
const (
	allowed   = '+'
	nothing   = '0' // answered, with nothing in it or nothing done: permissions of tables and fields
	denied    = '-' // Not enough permissions to perform this action
	forbidden = 'p' // You don't have permission to …: a place, a function, a parameter, an endpoint
	invalid   = 'v' // refused for every principal
	unknown   = 'n' // as if it were not there
	anonymous = 'a' // Anonymous access not allowed
	refused   = 'x' // no such identity any more
	absent    = '.' // not tried
)

// matrix is the file: principals and rows.
type matrix struct {
	principals []string
	rows       []row
	text       []string
}

func readMatrix(t testing.TB) *matrix {
	t.Helper()
	b, err := os.ReadFile(matrixFile)
	if err != nil {
		t.Fatal(err)
	}
	m := &matrix{}
	section, place, scene := "", "", []string(nil)
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 0; lines.Scan(); n++ {
		line := lines.Text()
		m.text = append(m.text, line)
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch {
		case line == "" || line[0] == '#':
		case word == "principals":
			m.principals = strings.Fields(rest)
		case line[0] == '[':
			section, place, scene = strings.Trim(line, "[]"), "n/d", nil
		case line[0] == ' ' && len(m.rows) > 0 && (word == "before" || word == "changes"):
			r := &m.rows[len(m.rows)-1]
			if word == "before" {
				r.before = append(r.before, rest)
			} else {
				r.changes = rest
			}
		case word == "place":
			if place = rest; rest == "own" {
				place = ""
			}
		case word == "scene":
			scene = append(scene, rest)
		default:
			grid, action, ok := strings.Cut(line, "|")
			verdicts := strings.ReplaceAll(grid, " ", "")
			if !ok || len(verdicts) != len(m.principals) {
				t.Fatalf("%s:%d: %d verdicts for %d principals", matrixFile, n+1, len(verdicts), len(m.principals))
			}
			m.rows = append(m.rows, row{line: n, section: section, action: strings.TrimSpace(action), place: place,
				before: slices.Clone(scene), verdicts: verdicts})
		}
	}
	return m
}

// write puts new verdicts in the place of the old ones.
func (m *matrix) write(t testing.TB) {
	t.Helper()
	for i := range m.rows {
		r := &m.rows[i]
		grid, action, _ := strings.Cut(m.text[r.line], "|")
		b, k := []byte(grid), 0
		for j := range b {
			if b[j] != ' ' {
				b[j] = r.verdicts[k]
				k++
			}
		}
		m.text[r.line] = string(b) + "|" + action
	}
	if err := os.WriteFile(matrixFile, []byte(strings.Join(m.text, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// scene is a server with the definitions of the matrix, and the root owner in the same process.
type scene struct {
	*server
	root  *engine.Session
	live  *engine.Session // whose live query others try to kill
	users map[string]credentials
}

// credentials are how a principal comes in.
type credentials struct {
	signin string // the fields of /signin; "" for an anonymous client
	token  string
	ns, db string // where it is defined
}

const canary = "canary7"

// hashOfP is a hash of the password p that costs next to nothing.
const hashOfP = "$argon2id$v=19$m=8,t=1,p=1$YWFhYWFhYWE$R+EBtZV2YaUaAaoBUg8+RQ"

// matrixSetup makes n/d, n/other and m/d with the same definitions, and users of every level and role.
const matrixSetup = `
DEFINE TABLE hidden PERMISSIONS NONE; CREATE hidden:1 SET c = 'canary7', n = 1;
DEFINE TABLE open PERMISSIONS FULL; CREATE open:1 SET c = 'canary7', n = 1;
DEFINE TABLE mine PERMISSIONS FOR select, create, update, delete WHERE owner = $auth.id; CREATE mine:1 SET owner = user:1, c = 'canary7'; CREATE mine:2 SET owner = user:2, c = 'other';
DEFINE TABLE part PERMISSIONS FULL; DEFINE FIELD c ON part PERMISSIONS NONE; CREATE part:1 SET c = 'canary7', d = 1;
DEFINE TABLE wall TYPE RELATION PERMISSIONS NONE; RELATE open:1->wall:1->open:1 SET c = 'canary7';
DEFINE TABLE gate TYPE RELATION PERMISSIONS FULL;
DEFINE TABLE feed CHANGEFEED 1d PERMISSIONS FULL; CREATE feed:1 SET c = 'canary7';
DEFINE TABLE sight AS SELECT c FROM hidden;
DEFINE INDEX ix ON hidden FIELDS n; DEFINE FIELD f ON hidden; DEFINE EVENT ev ON hidden THEN {};
DEFINE FUNCTION fn::free() { 'canary7' }; DEFINE FUNCTION fn::shut() { 'canary7' } PERMISSIONS NONE;
DEFINE FUNCTION fn::peek() { RETURN SELECT * FROM hidden }; DEFINE FUNCTION fn::poke() { CREATE hidden:poked; RETURN 'done' };
DEFINE FUNCTION fn::deep() { DEFINE TABLE deep }; DEFINE FUNCTION fn::whose() { 'canary7' } PERMISSIONS WHERE $auth.id = user:1;
DEFINE PARAM $free VALUE 'canary7'; DEFINE PARAM $shut VALUE 'canary7' PERMISSIONS NONE;
DEFINE ANALYZER an TOKENIZERS blank; DEFINE SEQUENCE sq;
DEFINE BUCKET bk BACKEND 'memory' PERMISSIONS FULL; DEFINE BUCKET bs BACKEND 'memory' PERMISSIONS NONE;
f"bk:/a".put('canary7'); f"bs:/a".put('canary7');
DEFINE API "/free" FOR get THEN { { body: 'canary7' } }; DEFINE API "/shut" FOR get PERMISSIONS NONE THEN { { body: 'canary7' } };
DEFINE API "/peek" FOR get THEN { { body: (SELECT * FROM hidden) } }; DEFINE API "/poke" FOR post THEN { CREATE hidden:poked; { body: 'done' } };
DEFINE CONFIG API PERMISSIONS FULL;
DEFINE USER dv ON DATABASE PASSHASH '` + hashOfP + `' ROLES VIEWER; DEFINE USER de ON DATABASE PASSHASH '` + hashOfP + `' ROLES EDITOR; DEFINE USER do ON DATABASE PASSHASH '` + hashOfP + `' ROLES OWNER;
DEFINE TABLE user PERMISSIONS FOR select WHERE id = $auth.id; CREATE user:1 SET pass = 'p'; CREATE user:2 SET pass = 'q';
DEFINE ACCESS acc ON DATABASE TYPE RECORD SIGNUP (CREATE user SET pass = $pass) SIGNIN (SELECT * FROM user WHERE pass = $pass) DURATION FOR TOKEN 1h, FOR SESSION 1h;
DEFINE ACCESS keys ON DATABASE TYPE BEARER FOR USER;
`

const matrixSetupNamespace = `DEFINE USER nv ON NAMESPACE PASSHASH '` + hashOfP + `' ROLES VIEWER; DEFINE USER ne ON NAMESPACE PASSHASH '` + hashOfP + `' ROLES EDITOR;
DEFINE USER no ON NAMESPACE PASSHASH '` + hashOfP + `' ROLES OWNER; DEFINE ACCESS keys ON NAMESPACE TYPE BEARER FOR USER;`

const matrixSetupRoot = `DEFINE USER rv ON ROOT PASSHASH '` + hashOfP + `' ROLES VIEWER; DEFINE USER re ON ROOT PASSHASH '` + hashOfP + `' ROLES EDITOR;
DEFINE USER ro ON ROOT PASSHASH '` + hashOfP + `' ROLES OWNER; DEFINE ACCESS keys ON ROOT TYPE BEARER FOR USER;
DEFINE CONFIG OVERWRITE DEFAULT NAMESPACE n DATABASE d;`

func newScene(t testing.TB, guests bool) *scene {
	t.Helper()
	s := &scene{server: start(t, unlimited, func(c *config.Config) {
		c.AllowGuests = guests
		c.AllowExperimental = config.ParseNames("files")
		c.Limits.AttachedSessions = 1000
		c.PostgresBind = "127.0.0.1:0"
	})}
	s.root, s.live = s.Engine().RootSession(), s.Engine().RootSession()
	s.live.Notify(func(*engine.Notification) error { return nil })
	t.Cleanup(s.live.Close)
	for _, place := range [][2]string{{"n", "d"}, {"n", "other"}, {"m", "d"}} {
		s.must("USE NS " + place[0] + " DB " + place[1] + "; " + s.shareBuckets(place[0], place[1], matrixSetup))
		for _, name := range []string{"free", "shut", "whose"} {
			if _, err := s.root.ImportModel(t.Context(), strings.NewReader(modelFile(t, name))); err != nil {
				t.Fatal(err)
			}
		}
		s.must(`DEFINE MODEL OVERWRITE ml::shut<1.0.0> PERMISSIONS NONE;
			DEFINE MODEL OVERWRITE ml::whose<1.0.0> PERMISSIONS WHERE $auth.id = user:1`)
	}
	s.must("USE NS n DB d; " + matrixSetupNamespace + "USE NS m; " + matrixSetupNamespace + matrixSetupRoot)
	s.users = map[string]credentials{
		"an": {}, "gu": {},
		"ru": {signin: `"ns":"n","db":"d","ac":"acc","pass":"p"`, ns: "n", db: "d"},
		"rx": {signin: `"ns":"n","db":"other","ac":"acc","pass":"p"`, ns: "n", db: "other"},
		"dv": {signin: `"ns":"n","db":"d","user":"dv","pass":"p"`, ns: "n", db: "d"},
		"de": {signin: `"ns":"n","db":"d","user":"de","pass":"p"`, ns: "n", db: "d"},
		"do": {signin: `"ns":"n","db":"d","user":"do","pass":"p"`, ns: "n", db: "d"},
		"dx": {signin: `"ns":"n","db":"other","user":"do","pass":"p"`, ns: "n", db: "other"},
		"nv": {signin: `"ns":"n","user":"nv","pass":"p"`, ns: "n"},
		"ne": {signin: `"ns":"n","user":"ne","pass":"p"`, ns: "n"},
		"no": {signin: `"ns":"n","user":"no","pass":"p"`, ns: "n"},
		"nx": {signin: `"ns":"m","user":"no","pass":"p"`, ns: "m"},
		"rv": {signin: `"user":"rv","pass":"p"`}, "re": {signin: `"user":"re","pass":"p"`}, "ro": {signin: `"user":"ro","pass":"p"`},
	}
	for name, u := range s.users {
		if u.signin == "" {
			continue
		}
		r := s.do("POST", "/signin", "{"+u.signin+"}", "Accept: text/plain")
		if r.StatusCode != 200 {
			t.Fatalf("%s: %s", name, r.body)
		}
		u.token = r.body
		s.users[name] = u
	}
	s.users["ex"] = s.gone(t)
	return s
}

// gone are the credentials of a user that was removed after it got its token.
func (s *scene) gone(t testing.TB) credentials {
	t.Helper()
	s.must("USE NS n DB d; DEFINE USER gone ON DATABASE PASSHASH '" + hashOfP + "' ROLES OWNER")
	u := credentials{signin: `"ns":"n","db":"d","user":"gone","pass":"p"`, ns: "n", db: "d"}
	u.token = s.do("POST", "/signin", "{"+u.signin+"}", "Accept: text/plain").body
	s.must("USE NS n DB d; REMOVE USER gone ON DATABASE")
	return u
}

// must runs statements of the root owner and gives the text of their answers.
func (s *scene) must(text string) string {
	s.t.Helper()
	results, err := s.root.Execute(s.t.Context(), text, nil)
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	var out strings.Builder
	for _, r := range results {
		if r.Err != nil {
			s.t.Fatalf("%s: %v", text, r.Err)
		}
		out.WriteString(r.Value.Text() + "\n")
	}
	return out.String()
}

// liveID makes sure that somebody else's live query is there.
func (s *scene) liveID() string {
	s.t.Helper()
	ns, db := "n", "d"
	if err := s.live.Use(s.t.Context(), &ns, &db); err != nil {
		s.t.Fatal(err)
	}
	results, err := s.live.Execute(s.t.Context(), "LIVE SELECT * FROM open", nil)
	if err != nil || results[0].Err != nil {
		s.t.Fatal(err, results)
	}
	return results[0].Value.UUID().String()
}

// kill ends the live query that an action was about; false where the action has done that already.
func (s *scene) kill(action string) bool {
	s.t.Helper()
	results, err := s.root.Execute(s.t.Context(), "USE NS n DB d; KILL u'"+liveLike.FindString(action)+"'", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return results[1].Err == nil
}

var liveLike = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// outcome is what a principal sees of an action.
type outcome struct {
	status int    // of HTTP, where it failed as a whole; else 0
	kind   string // of the error, where the door tells it
	msg    string // "" for success
	answer string // of the last statement, in the language's form or the door's own
	empty  bool   // the answer is [], NONE or null
	raw    string // every byte that came back
}

// verdict is the character for an outcome; changed says whether the scene is another one now.
func (o *outcome) verdict(r *row, changed bool) byte {
	switch msg := o.msg; {
	case strings.Contains(r.action, "{live}") && msg == "" && changed:
		return allowed
	case msg == "" && (r.changes != "" && changed || r.changes == "" && !o.empty):
		return allowed
	case msg == "":
		return nothing
	case strings.Contains(msg, "Anonymous access not allowed"):
		return anonymous
	case strings.Contains(msg, "Not enough permissions to perform this action"):
		return denied
	case strings.Contains(msg, "You don't have permission to"), o.status == 403:
		return forbidden
	case strings.Contains(msg, "There was a problem with authentication"), strings.Contains(msg, "The session has expired"):
		return refused
	case strings.Contains(msg, "is a protected variable"):
		return invalid
	case strings.Contains(msg, "does not exist"), strings.Contains(msg, "Cannot execute KILL"), o.status == 404:
		return unknown
	}
	return '?'
}

// consistent describes what is wrong with an outcome under any verdict, or gives "".
func (o *outcome) consistent(v byte, changed bool) string {
	switch {
	case v == '?':
		return "an answer of another kind"
	case v != allowed && changed:
		return "it changed something"
	case v != allowed && strings.Contains(o.raw, canary):
		return "it shows what is hidden"
	case strings.IndexByte("-pax", v) >= 0 && o.kind != "" && o.kind != "NotAllowed":
		return "the error is of kind " + o.kind
	case v == refused && o.status != 0 && o.status != 401, v == denied && o.status != 0 && o.status != 403, v == forbidden && o.status != 0 && o.status != 403:
		return fmt.Sprintf("the status is %d", o.status)
	}
	return ""
}

// TestMatrix: every principal, every action, every door. The verdicts stand in testdata/matrix.txt; each door has to agree.
func TestMatrix(t *testing.T) {
	m := readMatrix(t)
	closed, open := newScene(t, false), newScene(t, true)
	cells := 0
	got := make([][]byte, len(m.rows))
	for i := range got {
		got[i] = []byte(m.rows[i].verdicts)
	}
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			skipOfOneServer(t)
			closed.t, open.t = t, t
			for p, name := range m.principals {
				s := closed
				if name == "gu" {
					s = open
				}
				cells += d.walk(t, s, m, p, name, got)
			}
		})
	}
	closed.t, open.t = t, t
	t.Logf("%d actions, %d principals, %d doors, %d cells", len(m.rows), len(m.principals), len(doors), cells)
	if *updateMatrix {
		for i := range m.rows {
			m.rows[i].verdicts = string(got[i])
		}
		m.write(t)
	}
}

// walk tries every action that a door has, as one principal.
func (d *door) walk(t *testing.T, s *scene, m *matrix, p int, name string, got [][]byte) (cells int) {
	if strings.HasPrefix(d.name, postgresDoor) && !slices.Contains(strings.Fields(byPassword), name) {
		return 0
	}
	who := s.users[name]
	var c *caller
	for i := range m.rows {
		r := &m.rows[i]
		want := r.verdicts[p]
		if r.section != d.section || want == absent {
			continue
		}
		if c == nil || c.broken {
			c = &caller{s: s, d: d, who: who}
		}
		action := s.shareBuckets("n", "d", r.action)
		for _, b := range r.before {
			s.must("USE NS n DB d; " + s.shareBuckets("n", "d", b))
		}
		watched := strings.Contains(action, "{live}")
		if watched {
			action = strings.ReplaceAll(action, "{live}", s.liveID())
		}
		was := ""
		if r.changes != "" {
			was = s.must("USE NS n DB d; " + r.changes)
		}
		o := d.act(c, r, action)
		changed := r.changes != "" && s.must("USE NS n DB d; "+r.changes) != was
		if watched {
			changed = !s.kill(action)
		}
		v := o.verdict(r, changed)
		if wrong := o.consistent(v, changed); wrong != "" {
			t.Errorf("%s by %s: %s: %s", action, name, wrong, o.raw)
		}
		if *updateMatrix {
			got[i][p] = v
		} else if v != want {
			t.Errorf("line %d: %s by %s: got %c, want %c: %.300s", r.line+1, action, name, v, want, o.raw)
		}
		cells++
	}
	if c != nil && c.leave != nil {
		c.leave()
	}
	return cells
}

// emptyValue reports whether an answer says nothing: no rows, or none with anything in them.
func emptyValue(v value.Value) bool {
	if v.Kind() == value.KindArray {
		return !slices.ContainsFunc(v.Elems(), func(e value.Value) bool { return !e.IsNullish() })
	}
	return v.IsNullish()
}
