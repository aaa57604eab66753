package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Value is one setting's place in a Config. It fits pflag.Value.
type Value interface {
	Set(text string) error
	String() string
	Type() string
}

type stringValue struct{ p *string }

func (v stringValue) Set(s string) error { *v.p = s; return nil }
func (v stringValue) String() string     { return *v.p }
func (v stringValue) Type() string       { return "string" }

type boolValue struct{ p *bool }

func (v boolValue) Set(s string) (err error) { *v.p, err = parseBool(s); return err }
func (v boolValue) String() string           { return strconv.FormatBool(*v.p) }
func (v boolValue) Type() string             { return "bool" }

// IsBoolFlag lets the flag stand without a value.
func (v boolValue) IsBoolFlag() bool { return true }

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "true", "yes", "on":
		return true, nil
	case "0", "false", "no", "off", "":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s)
}

type intValue struct{ p *int }

func (v intValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a count", s)
	}
	*v.p = n
	return nil
}
func (v intValue) String() string { return strconv.Itoa(*v.p) }
func (v intValue) Type() string   { return "count" }

type durationValue struct{ p *time.Duration }

func (v durationValue) Set(s string) (err error) { *v.p, err = ParseDuration(s); return err }
func (v durationValue) String() string {
	if *v.p == 0 {
		return "none"
	}
	return v.p.String()
}
func (v durationValue) Type() string { return "duration" }

// millisValue is a duration, or a number of milliseconds.
type millisValue struct{ durationValue }

// Set implements pflag.Value.
func (v millisValue) Set(s string) error {
	if n, err := strconv.ParseUint(s, 10, 32); err == nil {
		*v.p = time.Duration(n) * time.Millisecond
		return nil
	}
	return v.durationValue.Set(s)
}

// levelValue is the name of a log level, or "".
type levelValue struct{ p *string }

// Set implements pflag.Value.
func (v levelValue) Set(s string) error {
	switch strings.ToLower(s) {
	case "none", "full", "error", "warn", "info", "debug", "trace":
		*v.p = s
		return nil
	}
	return fmt.Errorf("unknown log level %q (none, full, error, warn, info, debug, trace)", s)
}
func (v levelValue) String() string { return *v.p }
func (v levelValue) Type() string   { return "string" }

// providerValue names the protocol that telemetry is sent by; "" for none.
type providerValue struct{ p *string }

// Set implements pflag.Value.
func (v providerValue) Set(s string) error {
	switch strings.ToLower(s) {
	case "none", "":
		*v.p = ""
		return nil
	case "otlp":
		*v.p = "otlp"
		return nil
	}
	return fmt.Errorf("unknown telemetry provider %q (none, otlp)", s)
}
func (v providerValue) String() string { return *v.p }
func (v providerValue) Type() string   { return "string" }

// ParseDuration reads "30s", "1h30m", "1d", "2w"; "none" and "0" are zero. A negative duration is refused.
func ParseDuration(s string) (time.Duration, error) {
	if s == "" || s == "0" || strings.EqualFold(s, "none") {
		return 0, nil
	}
	total := time.Duration(0)
	for rest := s; rest != ""; {
		i := strings.IndexFunc(rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
		if i <= 0 {
			return 0, fmt.Errorf("%q is not a duration such as 30s or 1h30m", s)
		}
		j := i + strings.IndexFunc(rest[i:]+"0", func(r rune) bool { return r >= '0' && r <= '9' })
		part, err := parsePart(rest[:i], rest[i:j])
		if err != nil || total+part < total {
			return 0, fmt.Errorf("%q is not a duration such as 30s or 1h30m", s)
		}
		total += part
		rest = rest[j:]
	}
	return total, nil
}

// parsePart reads one number and its unit; days and weeks are whole.
func parsePart(number, unit string) (time.Duration, error) {
	days := map[string]time.Duration{"d": 1, "w": 7, "y": 365}[unit]
	if days == 0 {
		return time.ParseDuration(number + unit)
	}
	n, err := strconv.ParseUint(number, 10, 15)
	return time.Duration(n) * days * 24 * time.Hour, err
}

type sizeValue struct{ p *int64 }

func (v sizeValue) Set(s string) (err error) { *v.p, err = ParseSize(s); return err }
func (v sizeValue) String() string           { return FormatSize(*v.p) }
func (v sizeValue) Type() string             { return "size" }

// ParseSize reads a count of bytes with an optional suffix in any case: k, kb, kib, m, …, t. All are powers of 1024.
func ParseSize(s string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	shift, ok := map[string]uint{"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30,
		"gb": 30, "gib": 30,
		"t": 40, "tb": 40, "tib": 40}[strings.TrimSpace(text[len(digits):])]
	n, err := strconv.ParseUint(digits, 10, 63)
	if !ok || err != nil || n > 1<<62>>shift {
		return 0, fmt.Errorf("%q is not a size such as 512KiB or 4GiB", s)
	}
	return int64(n << shift), nil
}

// FormatSize writes n with the largest suffix that divides it.
func FormatSize(n int64) string {
	for _, u := range [...]struct {
		shift uint
		name  string
	}{{40, "TiB"}, {30, "GiB"}, {20, "MiB"}, {10, "KiB"}} {
		if n != 0 && n&(1<<u.shift-1) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

type namesValue struct{ p *Names }

func (v namesValue) Set(s string) error { *v.p = ParseNames(s); return nil }
func (v namesValue) String() string     { return v.p.String() }
func (v namesValue) Type() string       { return "names" }

// foldersValue takes the system's separator of lists of paths too.
type foldersValue struct{ p *[]string }

func (v foldersValue) Set(s string) error {
	var out []string
	for _, list := range filepath.SplitList(s) {
		for folder := range strings.SplitSeq(list, ",") {
			if folder = strings.TrimSpace(folder); folder != "" {
				out = append(out, folder)
			}
		}
	}
	*v.p = out
	return nil
}
func (v foldersValue) String() string { return strings.Join(*v.p, string(filepath.ListSeparator)) }
func (v foldersValue) Type() string   { return "folders" }

type listValue struct{ p *[]string }

func (v listValue) Set(s string) error {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	*v.p = out
	return nil
}
func (v listValue) String() string { return strings.Join(*v.p, ",") }
func (v listValue) Type() string   { return "list" }
