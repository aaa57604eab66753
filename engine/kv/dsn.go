package kv

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Sync says when a commit becomes durable: with each one, never (but at checkpoints), or, when
// positive, at this interval.
type Sync time.Duration

// The named sync modes.
const (
	SyncEvery Sync = 0
	SyncNever Sync = -1
)

// String is the form that a DSN takes.
func (s Sync) String() string {
	switch {
	case s == SyncEvery:
		return "every"
	case s < 0:
		return "never"
	default:
		return time.Duration(s).String()
	}
}

// Isolation says what the commits of a store on a cluster validate.
type Isolation int

// The isolation levels. Serializable is what the stores in files and memory always have.
const (
	Serializable      Isolation = iota // all that was read: single keys and ranges
	SnapshotIsolation                  // single keys only: a key that appears in a range meanwhile is not seen
)

// DSN is a parsed address of a store.
type DSN struct {
	Kind      string        // "memory", "bolt" or "tikv"
	Path      string        // bolt: the directory; tikv: the placement drivers, host:port, with commas in between
	Prefix    string        // tikv: tells databases in one cluster apart
	Isolation Isolation     // tikv
	Timeout   time.Duration // tikv: for one request to the cluster; 0: the default
	GC        time.Duration // tikv: how long old versions are kept; 0: the default, negative: they are not collected
	Sync      Sync          // bolt
	Versioned bool          // keep the history of records
	Retention time.Duration
	Notice    string // to be shown once, or empty: the address was taken in another sense
}

const accepted = "memory, bolt://PATH, file:PATH, a bare path, rocksdb:PATH, surrealkv:PATH, " +
	"tikv://HOST:PORT[,HOST:PORT…][/PREFIX]"

// ParseDSN reads an address. Errors name what is accepted.
func ParseDSN(dsn string) (DSN, error) {
	scheme, rest, hasScheme := cutScheme(dsn)
	rest, query, _ := strings.Cut(rest, "?")
	d := DSN{Kind: "bolt", Path: rest}
	switch {
	case dsn == "":
		return DSN{}, fmt.Errorf("store address is empty: accepted are %s", accepted)
	case !hasScheme && (rest == "memory" || rest == "mem"), scheme == "mem", scheme == "memory":
		d.Kind, d.Path = "memory", ""
	case scheme == "rocksdb", scheme == "surrealkv", scheme == "surrealkv+versioned":
		d.Notice = fmt.Sprintf("%s: is served by the bolt engine, in a format of its own", scheme)
		d.Versioned = scheme == "surrealkv+versioned"
	case scheme == "tikv":
		d.Kind = "tikv"
		d.Path, d.Prefix, _ = strings.Cut(rest, "/")
	case !hasScheme, scheme == "bolt", scheme == "file":
	default:
		return DSN{}, fmt.Errorf("store address %q: unknown scheme %q: accepted are %s", dsn, scheme, accepted)
	}
	if d.Kind != "memory" && d.Path == "" {
		return DSN{}, fmt.Errorf("store address %q has no path", dsn)
	}
	if d.Kind == "tikv" {
		if err := d.checkCluster(); err != nil {
			return DSN{}, fmt.Errorf("store address %q: %w", dsn, err)
		}
	}
	if err := d.options(dsn, query); err != nil {
		return DSN{}, err
	}
	return d, nil
}

// cutScheme splits scheme:rest or scheme://rest. A single letter is a drive, not a scheme.
func cutScheme(dsn string) (scheme, rest string, ok bool) {
	i := strings.IndexByte(dsn, ':')
	if i < 2 || strings.ContainsAny(dsn[:i], `/\.?`) {
		return "", dsn, false
	}
	return strings.ToLower(dsn[:i]), strings.TrimPrefix(dsn[i+1:], "//"), true
}

func (d *DSN) options(dsn, query string) error {
	q, err := url.ParseQuery(query)
	if err != nil {
		return fmt.Errorf("store address %q: %w", dsn, err)
	}
	for k := range q {
		v := q.Get(k)
		switch k {
		case "sync":
			d.Sync, err = parseSync(v)
		case "versioned":
			d.Versioned, err = strconv.ParseBool(v)
		case "retention":
			d.Retention, err = parseRetention(v)
		case "isolation":
			d.Isolation, err = parseIsolation(v)
		case "timeout":
			d.Timeout, err = parseTimeout(v)
		case "gc":
			d.GC, err = parseGC(v)
		default:
			err = fmt.Errorf("unknown option: accepted are sync, versioned, retention, " +
				"and for tikv isolation, timeout, gc")
		}
		cluster := k == "isolation" || k == "timeout" || k == "gc"
		if err == nil && k != "versioned" && k != "retention" && cluster != (d.Kind == "tikv") {
			err = fmt.Errorf("a %s store has no such option", d.Kind)
		}
		if err != nil {
			return fmt.Errorf("store address %q: option %s: %w", dsn, k, err)
		}
	}
	return nil
}

// parseRetention reads a duration as Go has it, or a whole number of days, weeks or years of 365 days: 90d, 2w, 1y.
func parseRetention(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil && v != "" {
		unit := map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour,
			'y': 365 * 24 * time.Hour}[v[len(v)-1]]
		n, bad := strconv.ParseUint(v[:len(v)-1], 10, 32)
		if unit > 0 && bad == nil && n <= uint64(math.MaxInt64/unit) {
			d, err = time.Duration(n)*unit, nil
		}
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("want a duration like 72h, 90d, 2w or 1y, not %q", v)
	}
	return d, nil
}

// maxPrefix is the greatest length of a prefix: it is in every key.
const maxPrefix = 64

// prefixLetters lists the characters of a prefix.
const prefixLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

// checkCluster refuses addresses and prefixes that cannot be any.
func (d *DSN) checkCluster() error {
	for addr := range strings.SplitSeq(d.Path, ",") {
		host, port, err := net.SplitHostPort(addr)
		if n, bad := strconv.ParseUint(port, 10, 16); err != nil || host == "" || bad != nil || n == 0 {
			return fmt.Errorf("%q is no HOST:PORT of a placement driver", addr)
		}
	}
	if len(d.Prefix) > maxPrefix || strings.Trim(d.Prefix, prefixLetters) != "" {
		return fmt.Errorf("prefix %q: want at most %d letters, digits, '-', '_' and '.'", d.Prefix, maxPrefix)
	}
	return nil
}

func parseIsolation(v string) (Isolation, error) {
	switch v {
	case "serializable":
		return Serializable, nil
	case "snapshot":
		return SnapshotIsolation, nil
	}
	return 0, fmt.Errorf("want serializable or snapshot, not %q", v)
}

func parseTimeout(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d < 100*time.Millisecond {
		return 0, fmt.Errorf("want a duration of at least 100ms, not %q", v)
	}
	return d, nil
}

// MinGC is the shortest time for which a store on a cluster keeps old versions: statements and backups that are under
// way read them.
const MinGC = time.Hour

func parseGC(v string) (time.Duration, error) {
	if v == "off" {
		return -1, nil
	}
	d, err := parseRetention(v)
	if err != nil || d < MinGC {
		return 0, fmt.Errorf("want off or a duration of at least 1h, like 24h or 7d, not %q", v)
	}
	return d, nil
}

func parseSync(v string) (Sync, error) {
	switch v {
	case "every":
		return SyncEvery, nil
	case "never":
		return SyncNever, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("want every, never or a duration like 100ms, not %q", v)
	}
	return Sync(d), nil
}
