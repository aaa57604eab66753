package pgwire

import (
	_ "embed"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
)

//go:embed settings.tsv
var settingsFile string

// setting is a row of pg_settings.
type setting struct {
	name, value, unit, category, context, kind string
	low, high                                  string
	choices                                    []string
	boot                                       string
}

// settingTable is every setting that the server knows, in order, and by its name in lower case.
type settingTable struct {
	list   []*setting
	byName map[string]*setting
}

var knownSettings = sync.OnceValue(func() *settingTable { return readSettings(settingsFile) })

func readSettings(text string) *settingTable {
	t := &settingTable{byName: map[string]*setting{}}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n")[1:] {
		f := strings.Split(line, "\t")
		s := &setting{name: f[0], value: f[1], unit: f[2], category: f[3], context: f[4], kind: f[5], low: f[6],
			high: f[7], boot: f[9]}
		if f[8] != "" {
			for _, c := range strings.Split(strings.Trim(f[8], "[]"), ",") {
				s.choices = append(s.choices, strings.Trim(c, " '"))
			}
		}
		t.list = append(t.list, s)
		t.byName[strings.ToLower(s.name)] = s
	}
	return t
}

// reported are the settings that a client is told of at the start and whenever they change.
var reported = []string{"server_version", "server_encoding", "client_encoding", "DateStyle", "IntervalStyle",
	"TimeZone", "integer_datetimes",
	"standard_conforming_strings", "is_superuser", "session_authorization", "application_name",
	"default_transaction_read_only",
	"in_hot_standby"}

// longestSetting is how long the value of a setting may be, mostCustom how many settings of their own clients may keep.
const (
	longestSetting = 4096
	mostCustom     = 256
)

// dialect is the language of the statements of a connection.
type dialect uint8

const (
	surrealQL dialect = iota
	isoGQL
	plainSQL
)

var dialects = map[string]dialect{"serviceql": surrealQL, "surrealql": surrealQL, "surql": surrealQL, "gql": isoGQL,
	"sql": plainSQL}

// settings holds the settings of a connection. The fields after values follow from it.
type settings struct {
	c       *conn
	values  map[string]string // by name in lower case; what is not in it has its default
	initial map[string]string // what RESET goes back to
	told    map[string]string // what the client knows of the reported ones
	locals  map[string]string // values to go back to at the end of the transaction
	before  map[string]string // values at the start of the transaction, for its rollback

	dialect           dialect
	statementTimeout  time.Duration
	idleSession       time.Duration
	idleInTransaction time.Duration
	readOnly          bool // transactions that are not said to write
	paramText         bool
	resultJSON        bool
	minMessages       int
	touched           bool         // a setting may be another than the client was told
	toldOwner         bool         // the client was told that its user is an owner of the root
	paramOIDs         []pgtype.OID // what the client says of the parameters of the text that is parsed
}

func (s *settings) init(c *conn) {
	s.c, s.minMessages = c, severityRank("NOTICE")
}

// absent marks in locals a setting that had its default.
const absent = "\x00"

// find is a setting's row; settings with a point in their name belong to clients.
func find(name string) (*setting, error) {
	lower := strings.ToLower(name)
	if lower == "timezone" || lower == "time zone" {
		lower = "timezone"
	}
	if row := knownSettings().byName[lower]; row != nil {
		return row, nil
	}
	if prefix, rest, ok := strings.Cut(name, "."); ok && prefix != "" && rest != "" && len(name) <= 128 {
		return &setting{name: name, kind: "string", context: "user", category: "Customized Options"}, nil
	}
	return nil, sqlstate.New(sqlstate.UndefinedObject, "unrecognized configuration parameter %q", name)
}

// get is the value of a setting.
func (s *settings) get(name string) (string, error) {
	row, err := find(name)
	if err != nil {
		return "", err
	}
	lower := strings.ToLower(row.name)
	if v, ok := s.values[lower]; ok {
		return v, nil
	}
	switch lower {
	case "server_version":
		return serverVersion + " (nacre " + s.c.srv.Version + ")", nil
	case "is_superuser":
		if s.c.session != nil {
			if s.c.session.IsRootOwner() {
				return "on", nil
			}
		}
	case "session_authorization":
		return s.c.user, nil
	case "ssl":
		if s.c.secured {
			return "on", nil
		}
	case "transaction_read_only":
		if s.c.tx.readOnly || !s.c.tx.open() && s.readOnly {
			return "on", nil
		}
		return "off", nil
	}
	if strings.Contains(lower, ".") {
		return "", sqlstate.New(sqlstate.UndefinedObject, "unrecognized configuration parameter %q", name)
	}
	return row.value, nil
}

// serverVersion is the version of PostgreSQL whose catalogs clients find.
const serverVersion = "15.0"

// set changes a setting. local: up to the end of the transaction.
func (s *settings) set(name, v string, local bool) error {
	row, err := find(name)
	if err != nil {
		return err
	}
	if v, err = s.check(row, v); err != nil {
		return err
	}
	lower := strings.ToLower(row.name)
	if local {
		if !s.c.tx.open() {
			s.c.notice("WARNING", sqlstate.NoTransaction, "SET LOCAL can only be used in transaction blocks")
			return nil
		}
		if s.locals == nil {
			s.locals = map[string]string{}
		}
		if _, there := s.locals[lower]; !there {
			old, ok := s.values[lower]
			if !ok {
				old = absent
			}
			s.locals[lower] = old
		}
	}
	return s.put(lower, v)
}

func (s *settings) put(lower, v string) error {
	if _, there := s.values[lower]; !there && len(s.values) >= mostCustom {
		return sqlstate.New(sqlstate.TooMuch, "too many settings on this connection")
	}
	if s.values == nil {
		s.values = map[string]string{}
	}
	s.values[lower] = v
	s.apply(lower, v)
	return nil
}

// start sets what a client has asked for as it connected. What is not known is ignored.
func (s *settings) start(name, v string) error {
	row, err := find(name)
	if err != nil || row.context == "internal" || row.context == "postmaster" || row.context == "sighup" {
		return nil
	}
	if err := s.set(name, v, false); err != nil {
		return err
	}
	s.initial = maps.Clone(s.values)
	return nil
}

// check refuses values that a setting cannot have, and gives those that it can in their usual form.
func (s *settings) check(row *setting, v string) (string, error) {
	invalid := sqlstate.New(sqlstate.InvalidParameter, "invalid value for parameter %q: %q", row.name, v)
	lower := strings.ToLower(row.name)
	if len(v) > longestSetting {
		return "", sqlstate.New(sqlstate.TooMuch, "the value of %q is too long", row.name)
	}
	switch {
	case row.context != "user" && row.context != "superuser":
		return "", sqlstate.New("55P02", "parameter %q cannot be changed", row.name)
	case lower == "dialect":
		if _, ok := dialects[strings.ToLower(v)]; !ok {
			return "", sqlstate.New(sqlstate.InvalidText, "unrecognized dialect: %s", v)
		}
		return strings.ToLower(v), nil
	case lower == "client_encoding":
		switch strings.ToUpper(strings.Trim(v, "' ")) {
		case "UTF8", "UTF-8", "UNICODE", "SQL_ASCII":
			return "UTF8", nil
		}
		return "", sqlstate.New(sqlstate.FeatureNotSupported, "the encoding %q is not supported: use UTF8", v)
	case lower == "standard_conforming_strings":
		if b, err := pgtype.Parse(pgtype.Bool, v, nil); err != nil || !b.Bool() {
			return "", invalid
		}
		return "on", nil
	case lower == "datestyle":
		return "ISO, MDY", nil // the only one that there is
	case lower == "intervalstyle":
		return "postgres", nil
	case lower == "timezone":
		zone, err := pgtype.LoadZone(v)
		if err != nil {
			return "", err
		}
		return zone.String(), nil
	case lower == "session_authorization", lower == "role":
		if v != s.c.user && !strings.EqualFold(v, "default") && !strings.EqualFold(v, "none") {
			return "", sqlstate.New(sqlstate.Denied, "permission denied to set role %q", v)
		}
		return v, nil
	}
	return checkKind(row, v, invalid)
}

func checkKind(row *setting, v string, invalid error) (string, error) {
	switch row.kind {
	case "bool":
		b, err := pgtype.Parse(pgtype.Bool, v, nil)
		if err != nil {
			return "", sqlstate.New(sqlstate.InvalidParameter, "parameter %q requires a Boolean value", row.name)
		}
		if b.Bool() {
			return "on", nil
		}
		return "off", nil
	case "enum":
		if i := slices.IndexFunc(row.choices, func(c string) bool { return strings.EqualFold(c, v) }); i >= 0 {
			return row.choices[i], nil
		}
		return "", invalid
	case "integer":
		n, ok := inUnit(strings.TrimSpace(v), row.unit)
		low, _ := strconv.ParseInt(row.low, 10, 64)
		high, _ := strconv.ParseInt(row.high, 10, 64)
		if !ok || n < low || n > high {
			return "", invalid
		}
		if row.unit == "ms" && n != 0 {
			return (time.Duration(n) * time.Millisecond).String(), nil
		}
		return strconv.FormatInt(n, 10), nil
	}
	return v, nil
}

var millis = map[string]float64{"us": 1e-3, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}

// inUnit reads a whole number, with a unit of time where the setting has one.
func inUnit(v, unit string) (int64, bool) {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return n, true
	}
	if unit != "ms" {
		return 0, false
	}
	i := strings.IndexFunc(v, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i <= 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(v[:i], 64)
	per, ok := millis[strings.TrimSpace(v[i:])]
	if err != nil || !ok || f*per > math.MaxInt32 {
		return 0, false
	}
	return int64(math.Round(f * per)), true
}

// apply makes a setting work.
func (s *settings) apply(lower, v string) {
	s.touched = true
	duration := func() time.Duration {
		d, err := time.ParseDuration(v)
		if err != nil {
			return 0
		}
		return d
	}
	switch lower {
	case "dialect":
		s.c.styled++
		s.dialect = dialects[v]
	case "timezone":
		s.c.styled++
		s.c.style.Zone = nil
		if zone, err := pgtype.LoadZone(v); err == nil && zone != time.UTC {
			s.c.style.Zone = zone
		}
	case "bytea_output":
		s.c.styled++
		s.c.style.Escape = v == "escape"
	case "statement_timeout":
		s.statementTimeout = duration()
	case "idle_session_timeout":
		s.idleSession = duration()
	case "idle_in_transaction_session_timeout":
		s.idleInTransaction = duration()
	case "default_transaction_read_only":
		s.readOnly = v == "on"
	case "param_type":
		s.paramText = v == "text"
	case "result_types":
		s.resultJSON = v == "jsonb"
	case "client_min_messages":
		s.minMessages = severityRank(v)
	}
}

// reset gives a setting the value that it had as the client connected.
func (s *settings) reset(name string) error {
	row, err := find(name)
	if err != nil {
		return err
	}
	lower := strings.ToLower(row.name)
	v, ok := s.initial[lower]
	if !ok {
		s.unset(lower)
		return nil
	}
	return s.put(lower, v)
}

func (s *settings) unset(lower string) {
	delete(s.values, lower)
	if row := knownSettings().byName[lower]; row != nil {
		s.apply(lower, row.value)
	}
}

func (s *settings) resetAll() { s.replace(s.initial) }

// replace makes all settings those of values.
func (s *settings) replace(values map[string]string) {
	for lower := range maps.Clone(s.values) {
		if _, ok := values[lower]; !ok {
			s.unset(lower)
		}
	}
	for lower, v := range values {
		if s.values[lower] != v {
			_ = s.put(lower, v) // it was one before
		}
	}
}

// begin and ended are called as a transaction begins and ends: what a transaction that is rolled back has set is
// undone.
func (s *settings) begin() { s.before = maps.Clone(s.values) }

func (s *settings) ended(committed bool) {
	if !committed {
		s.replace(s.before)
	} else {
		for lower, old := range s.locals {
			if old == absent {
				s.unset(lower)
			} else {
				_ = s.put(lower, old) // it was there before
			}
		}
	}
	s.locals, s.before = nil, nil
}

// severities in their order; client_min_messages names the least that a client wants.
var severities = []string{"debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"}

func severityRank(name string) int { return slices.Index(severities, strings.ToLower(name)) }

// quiet reports whether the client does not want notices of a severity.
func (s *settings) quiet(severity string) bool { return severityRank(severity) < s.minMessages }

// report tells the client the value of a setting.
func (c *conn) report(name string) {
	v, err := c.settings.get(name)
	if err != nil {
		return
	}
	if c.settings.told == nil {
		c.settings.told = make(map[string]string, len(reported))
	}
	c.settings.told[name] = v
	c.send(&pgproto3.ParameterStatus{Name: name, Value: wireText(v)})
}

// reportChanges tells the client of the settings that it must know of and does not.
func (s *settings) reportChanges() {
	owner := s.c.session != nil && s.c.session.IsRootOwner()
	if !s.touched && owner == s.toldOwner {
		return
	}
	s.touched, s.toldOwner = false, owner
	for _, name := range reported {
		if v, err := s.get(name); err == nil && s.told[name] != v {
			s.c.report(name)
		}
	}
}
