// Package doctor looks for what commonly goes wrong around a server: the machine, the folder of the store, the settings
// and the way to the server. It changes nothing but a small file that it writes and removes to time the disk.
package doctor

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/nacredb/nacre/daemon/config"
)

// Level says how bad a finding is.
type Level string

// The levels, from good to bad.
const (
	OK      Level = "ok"
	Note    Level = "note"
	Warning Level = "warning"
	Failure Level = "failure"
)

// Finding is the outcome of one check.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"` // what to do
}

// Options say what is looked at.
type Options struct {
	Version string   // of this binary
	Environ []string // the settings of a server started here
	Store   string   // folder of a store, or where one will be; "" for none
	Server  string   // address; "" for none
	Now     time.Time
}

// Examine makes all checks.
func Examine(ctx context.Context, o Options) []Finding {
	build := fmt.Sprintf("nacre %s, %s on %s/%s", o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	out := []Finding{{"version", OK, build, ""}, clock(o.Now), openFiles()}
	out = append(out, settings(o.Environ)...)
	if o.Store != "" {
		out = append(out, store(o.Store)...)
	}
	if o.Server != "" {
		out = append(out, server(ctx, o.Server)...)
	}
	return out
}

// Worst is the worst level of findings.
func Worst(list []Finding) Level {
	worst := OK
	for _, l := range []Level{Note, Warning, Failure} {
		for _, f := range list {
			if f.Level == l {
				worst = l
			}
		}
	}
	return worst
}

// released is a day before which no clock is right.
var released = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func clock(now time.Time) Finding {
	if now.Before(released) {
		return Finding{"clock", Failure, "the clock says " + now.Format(time.RFC3339),
			"set it: tokens, TLS and time::now() need the right time"}
	}
	return Finding{"clock", OK, now.UTC().Format(time.RFC3339), ""}
}

// settings are the risky ones among those that the environment gives a server.
func settings(environ []string) []Finding {
	c := config.Default()
	warnings, err := config.Load(config.Table(c), func(string) bool { return false }, config.Sources{Environ: environ})
	if err != nil {
		return []Finding{{"settings", Failure, err.Error(), "nacre start would refuse it: mend the variable or the file"}}
	}
	var out []Finding
	for _, w := range warnings {
		out = append(out, Finding{"settings", Warning, w, "it means nothing: look at nacre start --help for its name"})
	}
	risky := func(is bool, level Level, text, hint string) {
		if is {
			out = append(out, Finding{"settings", level, text, hint})
		}
	}
	open := !local(c.Bind)
	risky(c.Unauthenticated, Failure, "unauthenticated is on: everybody who reaches the server owns it",
		"leave it out, and make a user with NACRE_USER and NACRE_PASS")
	risky(open && c.WebCert == "", Warning,
		"the server listens on "+c.Bind+" without TLS: passwords cross the network in clear",
		"set web-crt and web-key, or put a proxy with TLS before it")
	risky(c.AllowAll, Warning, "allow-all is on: scripts, network and files are open to every user",
		"allow what is needed by name")
	risky(c.Pass != "" && weak(c.User, c.Pass), Warning, "the password of the first user is easy to guess",
		"choose a long random one")
	if len(out) == 0 {
		out = append(out, Finding{"settings", OK, "nothing risky in the environment", ""})
	}
	return out
}

// weak reports whether a password is one of those that are tried first.
func weak(user, pass string) bool {
	for _, p := range []string{user, "root", "admin", "password", "secret", "changeme", "nacre"} {
		if p == pass {
			return true
		}
	}
	return len(pass) < 8
}
