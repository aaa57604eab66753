package config

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want int64
		bad  bool
	}{
		{in: "16384", want: 16384},
		{in: "16KiB", want: 16 << 10},
		{in: "4GB", want: 4 << 30},
		{in: "4gib", want: 4 << 30},
		{in: " 1 m ", want: 1 << 20},
		{in: "2t", want: 2 << 40},
		{in: "", bad: true},
		{in: "-1", bad: true},
		{in: "1.5M", bad: true},
		{in: "9999999999T", bad: true},
		{in: "12 parsecs", bad: true},
	} {
		got, err := ParseSize(tc.in)
		if tc.bad != (err != nil) || got != tc.want {
			t.Errorf("%q: got %d, %v, want %d", tc.in, got, err, tc.want)
		}
	}
}

func TestFormatSizeIsReadBack(t *testing.T) {
	for _, n := range []int64{0, 1, 1023, 1024, 16 << 10, 1<<20 + 1, 4 << 30, 1 << 41} {
		got, err := ParseSize(FormatSize(n))
		if err != nil || got != n {
			t.Errorf("%d: %s reads as %d, %v", n, FormatSize(n), got, err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want time.Duration
		bad  bool
	}{
		{in: "30s", want: 30 * time.Second},
		{in: "1h30m", want: 90 * time.Minute},
		{in: "1d12h", want: 36 * time.Hour},
		{in: "2w", want: 14 * 24 * time.Hour},
		{in: "1.5s", want: 1500 * time.Millisecond},
		{in: "250ms", want: 250 * time.Millisecond},
		{in: "none"},
		{in: "0"},
		{in: "-1s", bad: true},
		{in: "5", bad: true},
		{in: "1x", bad: true},
		{in: "300y300y", bad: true},
	} {
		got, err := ParseDuration(tc.in)
		if tc.bad != (err != nil) || !tc.bad && got != tc.want {
			t.Errorf("%q: got %v, %v, want %v", tc.in, got, err, tc.want)
		}
	}
}

func TestAllowed(t *testing.T) {
	for _, tc := range []struct {
		allow, deny string
		want        bool
	}{
		{allow: "all", deny: "none", want: true},
		{allow: "all", deny: "all", want: false},
		{allow: "sql", deny: "all", want: true},
		{allow: "all", deny: "sql", want: false},
		{allow: "sql", deny: "sql", want: false},
		{allow: "none", deny: "none", want: false},
		{allow: "rpc", deny: "none", want: false},
	} {
		if got := Allowed(ParseNames(tc.allow), ParseNames(tc.deny), "sql"); got != tc.want {
			t.Errorf("allow %s, deny %s: got %v", tc.allow, tc.deny, got)
		}
	}
}

func resolve(t *testing.T, environ []string, file map[string]string, flags ...string) (*Config, []*Setting, []string) {
	t.Helper()
	c := Default()
	table := Table(c)
	for _, f := range flags {
		name, v, _ := strings.Cut(f, "=")
		for _, s := range table {
			if s.Flag == name {
				if err := s.Value.Set(v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	flagged := func(name string) bool {
		for _, f := range flags {
			if strings.HasPrefix(f, name+"=") {
				return true
			}
		}
		return false
	}
	readFile := func(name string) ([]byte, error) {
		if name != "/run/secret" {
			return nil, errors.New("no such file")
		}
		return []byte("from-file\n"), nil
	}
	warnings, err := Resolve(table, flagged, Sources{Environ: environ, File: file, ReadFile: readFile})
	if err != nil {
		t.Fatal(err)
	}
	return c, table, warnings
}

func TestPrecedence(t *testing.T) {
	file := map[string]string{"bind": "file:1"}
	for _, tc := range []struct {
		name    string
		environ []string
		flags   []string
		want    string
	}{
		{name: "file over default", want: "file:1"},
		{name: "variable over file", environ: []string{"SURREAL_BIND=env:1"}, want: "env:1"},
		{name: "documented name over alias", environ: []string{"SURREAL_BIND=a:1", "SERVICE_BIND=b:1"}, want: "b:1"},
		{name: "own name over both", environ: []string{"SURREAL_BIND=a:1", "SERVICE_BIND=b:1", "NACRE_BIND=c:1"},
			want: "c:1"},
		{name: "flag over all", environ: []string{"NACRE_BIND=c:1"}, flags: []string{"bind=flag:1"}, want: "flag:1"},
	} {
		if c, _, _ := resolve(t, tc.environ, file, tc.flags...); c.Bind != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, c.Bind, tc.want)
		}
	}
}

func TestSecretsComeFromFilesAndAreNotShown(t *testing.T) {
	c, table, _ := resolve(t, []string{"SURREAL_PASS_FILE=/run/secret", "SURREAL_USER=root"}, nil)
	if c.Pass != "from-file" {
		t.Fatalf("got %q", c.Pass)
	}
	var out bytes.Buffer
	if err := Print(&out, table); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "from-file") || !strings.Contains(out.String(), "********") {
		t.Errorf("secret shown:\n%s", out.String())
	}
	if !strings.Contains(out.String(), "(SURREAL_USER)") {
		t.Errorf("origin missing:\n%s", out.String())
	}
}

func TestUnknownVariableIsAWarning(t *testing.T) {
	_, _, warnings := resolve(t, []string{"SURREAL_BNID=x", "OTHER=1"}, nil)
	_, _, own := resolve(t, []string{"NACRE_BNID=x", "NACRE_CONTEXT=c", "NACRE_PORT_8000_TCP=x",
		"NACRE_PASS_FILE=/run/secret"}, nil)
	if len(own) != 1 || !strings.Contains(own[0], "NACRE_BNID") {
		t.Errorf("got %q, want a warning about NACRE_BNID alone", own)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "SURREAL_BNID") {
		t.Errorf("got %q", warnings)
	}
}

func TestUnknownSettingInFileIsAnError(t *testing.T) {
	_, err := Resolve(Table(Default()), func(string) bool {
		return false
	}, Sources{File: map[string]string{"bnid": "x"}})
	if err == nil || !strings.Contains(err.Error(), "bnid") {
		t.Errorf("got %v", err)
	}
}

func TestBadVariableNamesItself(t *testing.T) {
	_, err := Resolve(Table(Default()), func(string) bool {
		return false
	}, Sources{Environ: []string{"SERVICE_HTTP_MAX_SQL_BODY_SIZE=big"}})
	if err == nil || !strings.Contains(err.Error(), "SERVICE_HTTP_MAX_SQL_BODY_SIZE") {
		t.Errorf("got %v", err)
	}
}

// Every limit of the interface document is there under its documented name with its documented default.
func TestDocumentedLimits(t *testing.T) {
	want := map[string]string{
		"SERVICE_HTTP_MAX_SQL_BODY_SIZE": "1MiB", "SERVICE_HTTP_MAX_RPC_BODY_SIZE": "4MiB",
		"SERVICE_HTTP_MAX_API_BODY_SIZE": "4MiB", "SERVICE_HTTP_MAX_KEY_BODY_SIZE": "16KiB",
		"SERVICE_HTTP_MAX_SIGNIN_BODY_SIZE": "1KiB", "SERVICE_HTTP_MAX_SIGNUP_BODY_SIZE": "1KiB",
		"SERVICE_HTTP_MAX_IMPORT_BODY_SIZE":  "4GiB",
		"SERVICE_WEBSOCKET_MAX_MESSAGE_SIZE": "128MiB", "SERVICE_MAX_TRANSACTIONS_PER_CONNECTION": "64",
		"SERVICE_MAX_TRANSACTIONS_PER_SESSION": "64",
	}
	for _, s := range Table(Default()) {
		for _, v := range s.Variables() {
			if w, ok := want[v]; ok {
				if s.Value.String() != w {
					t.Errorf("%s: got %s, want %s", v, s.Value.String(), w)
				}
				delete(want, v)
			}
		}
	}
	for v := range want {
		t.Errorf("%s is missing", v)
	}
}

func TestFlagsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Table(Default()) {
		names := append([]string{s.Flag}, s.Also...)
		if s.Short != "" {
			names = append(names, "-"+s.Short)
		}
		for _, n := range names {
			if n != "" && seen[n] {
				t.Errorf("%s twice", n)
			}
			seen[n] = true
		}
	}
}

func load(file string, environ ...string) (*Config, []*Setting, error) {
	c := Default()
	table := Table(c)
	read := func(name string) ([]byte, error) {
		if name != "nacre.toml" {
			return nil, errors.New("no such file")
		}
		return []byte(file), nil
	}
	_, err := Load(table, func(string) bool {
		return false
	}, Sources{Environ: append(environ, "SERVICE_CONFIG=nacre.toml"), ReadFile: read})
	return c, table, err
}

func TestConfigurationFile(t *testing.T) {
	c, table, err := load(`# comment
bind = "0.0.0.0:9000"
strict = true
auth-rate-limit = 5
query_timeout = "30s"
http_max_sql_body_size = "2MiB"
websocket-max-queue-size = 4096
deny-net = ["10.0.0.0/8", "example.com"]
allow-funcs = []
allow-origin = ["https://a.example", "https://b.example"]
pass = "hidden"
slow-log-threshold = "1s"
`, "NACRE_SLOW_LOG_THRESHOLD=2s")
	if err != nil {
		t.Fatal(err)
	}
	if c.Bind != "0.0.0.0:9000" || !c.Strict || c.AuthRate != 5 || c.QueryTimeout != 30*time.Second ||
		c.Limits.SQLBody != 2<<20 ||
		c.Limits.WebSocketQueue != 4096 || c.SlowThreshold != 2*time.Second || c.AllowFunctions.All ||
		len(c.AllowFunctions.List) != 0 {
		t.Errorf("got %+v", c)
	}
	if got := c.DenyNet.String() + " " + strings.Join(c.AllowOrigin,
		" "); got != "10.0.0.0/8,example.com https://a.example https://b.example" {
		t.Error(got)
	}
	var out bytes.Buffer
	if err := Print(&out, table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.0.0.0:9000", "(file)", "(SERVICE_CONFIG)", "(NACRE_SLOW_LOG_THRESHOLD)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s is missing in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "hidden") {
		t.Error("a secret is shown")
	}
}

func TestConfigurationFileErrors(t *testing.T) {
	for _, tc := range []struct{ name, file, want string }{
		{"unknown setting", `bnid = "x"`, `unknown setting "bnid"`},
		{"not TOML", "bind = \n", "nacre.toml, line 1"},
		{"twice in TOML", "bind = \"a\"\nbind = \"b\"", "nacre.toml, line 2"},
		{"two spellings", "query-timeout = \"1s\"\nquery_timeout = \"2s\"", "query-timeout is set twice"},
		{"two names", "allow-funcs = []\ncaps-allow-func = []", "are the same setting"},
		{"a section", "[limits]\nbind = \"x\"", "is a section"},
		{"a time", "bind = 2024-01-01T00:00:00Z", "must not be a time"},
		{"a list of numbers", "deny-net = [1]", "list of texts"},
		{"a wrong value", `query-timeout = "soon"`, "query-timeout: file"},
		{"a file inside a file", `config = "other.toml"`, "cannot name another"},
		{"too large", "#" + strings.Repeat("x", 1<<20), "too large"},
	} {
		if _, _, err := load(tc.file); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v", tc.name, err)
		}
	}
	_, err := Load(Table(Default()), func(string) bool {
		return false
	}, Sources{Environ: []string{"NACRE_CONFIG=/nowhere/x.toml"}})
	if err == nil || !strings.Contains(err.Error(), "/nowhere/x.toml") {
		t.Errorf("no such file: %v", err)
	}
}

func TestBucketFolders(t *testing.T) {
	sep := string(filepath.ListSeparator)
	for text, want := range map[string][]string{"": nil, "/a": {"/a"}, "/a" + sep + "/b c": {"/a", "/b c"},
		"/a, /b," + sep: {"/a", "/b"}} {
		var got []string
		v := foldersValue{&got}
		if err := v.Set(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if err := v.Set(v.String()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is not read back: %q, %v", text, got, err)
		}
	}
}

func TestSupervisorOf(t *testing.T) {
	for _, tc := range []struct {
		name    string
		environ []string
		want    Supervisor
	}{
		{"none", []string{"PATH=/bin"}, Supervisor{}},
		{"ready only", []string{"NOTIFY_SOCKET=/run/n"}, Supervisor{Socket: "/run/n"}},
		{"watchdog", []string{"NOTIFY_SOCKET=@n", "WATCHDOG_USEC=60000000", "WATCHDOG_PID=7"},
			Supervisor{"@n", time.Minute}},
		{"of another process", []string{"NOTIFY_SOCKET=@n", "WATCHDOG_USEC=60000000", "WATCHDOG_PID=8"},
			Supervisor{Socket: "@n"}},
		{"watchdog without socket", []string{"WATCHDOG_USEC=60000000"}, Supervisor{}},
		{"no number", []string{"NOTIFY_SOCKET=@n", "WATCHDOG_USEC=-1"}, Supervisor{Socket: "@n"}},
	} {
		if got := SupervisorOf(tc.environ, 7); got != tc.want {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}
