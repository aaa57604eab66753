package pgwire

import (
	"context"
	"slices"
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// control is a statement of the server's own that answers no rows.
type control struct {
	mends bool // a failed transaction does it, too
	// speaks is the dialect that the statement sets, "" for none: the rest of its text is read in that.
	speaks string
	do     func(ctx context.Context, c *conn) (tag string, err error)
}

func (k *control) columns(*conn) ([]column, bool, bool, error) { return nil, false, true, nil }

func (k *control) run(ctx context.Context, c *conn, _ *call) (string, error) { return k.do(ctx, c) }

func (k *control) heals() bool { return k.mends }

// tagged is a control that only answers its tag.
func tagged(tag string) *control {
	return &control{do: func(context.Context, *conn) (string, error) { return tag, nil }}
}

// controls read the statements that begin with a word. nil, nil: the statement is another one.
var controls map[string]func(c *conn, w *words) (work, error)

func init() {
	controls = map[string]func(c *conn, w *words) (work, error){
		"begin": readBegin, "start": readBegin, "commit": readCommit, "end": readCommit, "rollback": readRollback,
		"abort":  readRollback,
		"cancel": readRollback, "savepoint": readSavepoint, "release": readRelease, "set": readSet, "show": readShow,
		"reset":   readReset,
		"discard": readDiscard, "deallocate": readDeallocate, "declare": readDeclare, "fetch": readFetch,
		"move": readFetch, "close": readClose,
		"copy": readCopy, "listen": readListen, "unlisten": readUnlisten, "notify": readNotify, "prepare": readPrepare,
		"execute": readExecute, "alter": readAlter, "lock": readLock,
		"vacuum": readVacuum, "analyze": readVacuum, "checkpoint": readVacuum,
	}
}

// readAlter refuses what \password of psql sends: a verifier that the server would have to take on trust. ALTER of
// the language is another statement.
func readAlter(_ *conn, w *words) (work, error) {
	w.take()
	ofLanguage := slices.ContainsFunc(w.tokens, func(t sql.Token) bool { return t.Is("on") }) // ALTER USER u ON ROOT …
	if ofLanguage || !w.eat("user") && !w.eat("role") {
		return nil, nil
	}
	return nil, sqlstate.New(sqlstate.FeatureNotSupported, "ALTER USER and ALTER ROLE are not supported").
		Hinted("Use DEFINE USER OVERWRITE … PASSWORD '…'.")
}

func readBegin(_ *conn, w *words) (work, error) {
	tag := "BEGIN"
	if w.take().Text == "start" {
		if !w.eat("transaction") {
			return nil, nil
		}
		tag = "START TRANSACTION"
	}
	readOnly, _, ok := readModes(w.texts())
	if !ok {
		return nil, nil
	}
	level := levelOf(w.texts())
	return &control{do: func(ctx context.Context, c *conn) (string, error) {
		if err := c.begin(ctx, readOnly); err != nil || level == "" {
			return tag, err
		}
		return tag, c.settings.set("transaction_isolation", level, true)
	}}, nil
}

// texts are the words that were not taken yet.
func (w *words) texts() (out []string) {
	for _, t := range w.tokens[w.pos:] {
		out = append(out, t.Text)
	}
	return out
}

func readCommit(_ *conn, w *words) (work, error) {
	w.take()
	if w.eat("prepared") {
		return nil, twoPhase()
	}
	_, chain, ok := readModes(w.texts())
	if !ok {
		return nil, nil
	}
	return &control{mends: true, do: func(ctx context.Context, c *conn) (string, error) {
		return c.chained(ctx, chain,
			c.commit)
	}}, nil
}

func twoPhase() error {
	return sqlstate.New(sqlstate.FeatureNotSupported, "two-phase commit is not supported")
}

// chained ends a transaction, and begins another of the same kind where chain is set.
func (c *conn) chained(ctx context.Context, chain bool, end func(context.Context) (string, error)) (string, error) {
	reads, block := c.tx.readOnly, c.tx.block
	tag, err := end(ctx)
	if err == nil && chain && block {
		err = c.begin(ctx, &reads)
	}
	return tag, err
}

func readRollback(_ *conn, w *words) (work, error) {
	word := w.take().Text
	if w.eat("prepared") {
		return nil, twoPhase()
	}
	at := w.pos
	if !w.eat("transaction") {
		w.eat("work")
	}
	if word == "rollback" && w.eat("to") {
		w.eat("savepoint")
		name, err := w.name()
		if err != nil {
			return nil, err
		}
		return &control{mends: true, do: func(_ context.Context, c *conn) (string, error) {
			return "ROLLBACK",
				c.rollbackTo(name)
		}}, w.nothing()
	}
	w.pos = at
	_, chain, ok := readModes(w.texts())
	if !ok {
		return nil, nil
	}
	return &control{mends: true, do: func(ctx context.Context, c *conn) (string, error) {
		return c.chained(ctx, chain,
			c.rollback)
	}}, nil
}

func readSavepoint(_ *conn, w *words) (work, error) {
	w.take()
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	return &control{do: func(_ context.Context, c *conn) (string, error) { return "SAVEPOINT", c.savepoint(name) }},
		w.nothing()
}

func readRelease(_ *conn, w *words) (work, error) {
	w.take()
	w.eat("savepoint")
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	return &control{do: func(_ context.Context, c *conn) (string, error) { return "RELEASE", c.release(name) }},
		w.nothing()
}

// readSet reads SET in its many forms.
func readSet(_ *conn, w *words) (work, error) {
	w.take()
	local := false
	switch {
	case w.eat("local"):
		local = true
	case w.eat("session", "characteristics", "as", "transaction"):
		readOnly, _, ok := readModes(w.texts())
		if !ok {
			return nil, w.bad()
		}
		level := levelOf(w.texts())
		return &control{do: func(_ context.Context, c *conn) (string, error) {
			if level != "" {
				for _, name := range []string{"default_transaction_isolation", "transaction_isolation"} {
					if err := c.settings.set(name, level, false); err != nil {
						return "", err
					}
				}
			}
			if readOnly == nil {
				return "SET", nil
			}
			return "SET", c.settings.set("default_transaction_read_only", map[bool]string{true: "on",
				false: "off"}[*readOnly], false)
		}}, nil
	case w.eat("session", "authorization"):
		return setOne(w, "session_authorization", local)
	case w.eat("session"):
	case w.eat("transaction"):
		return readSetTransaction(w)
	case w.eat("constraints"):
		return tagged("SET CONSTRAINTS"), nil
	}
	switch {
	case w.eat("time", "zone"):
		return readTimeZone(w, local)
	case w.eat("names"):
		return setOne(w, "client_encoding", local)
	case w.eat("role"):
		return setOne(w, "role", local)
	case w.eat("xml", "option"):
		return setOne(w, "xmloption", local)
	}
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	for w.eat(".") {
		part, err := w.name()
		if err != nil {
			return nil, err
		}
		name += "." + part
	}
	if !w.eat("=") && !w.eat("to") {
		return nil, w.bad()
	}
	return setOne(w, name, local)
}

// setOne reads the values of a setting.
func setOne(w *words, name string, local bool) (work, error) {
	if w.eat("default") || w.over() && name == "client_encoding" {
		return &control{do: func(_ context.Context, c *conn) (string, error) {
			return "SET",
				c.settings.reset(name)
		}}, w.nothing()
	}
	var values []string
	for {
		v, err := settingValue(w)
		if err != nil {
			return nil, err
		}
		if values = append(values, v); !w.eat(",") {
			break
		}
	}
	v := strings.Join(values, ", ")
	k := &control{do: func(_ context.Context, c *conn) (string, error) {
		return "SET", c.settings.set(name, v, local)
	}}
	if name == "dialect" {
		k.speaks = v
	}
	return k, w.nothing()
}

// settingValue takes one value: a word, a string or a number with its sign.
func settingValue(w *words) (string, error) {
	t := w.take()
	switch {
	case t.Is("-"), t.Is("+"):
		n := w.take()
		if n.Kind != sql.Number {
			return "", w.bad()
		}
		return strings.TrimPrefix(t.Text, "+") + n.Text, nil
	case t.Kind == sql.Ident, t.Kind == sql.String, t.Kind == sql.Number:
		return t.Text, nil
	case t.Kind == sql.Quoted:
		if strings.Contains(t.Text, "$") {
			return `"` + t.Text + `"`, nil
		}
		return t.Text, nil
	}
	w.pos--
	return "", w.bad()
}

func readTimeZone(w *words, local bool) (work, error) {
	if w.eat("local") {
		return &control{do: func(_ context.Context, c *conn) (string, error) {
			return "SET",
				c.settings.reset("TimeZone")
		}}, w.nothing()
	}
	if w.eat("interval") {
		t := w.take()
		if t.Kind != sql.String {
			w.pos--
			return nil, w.bad()
		}
		w.pos = len(w.tokens) // HOUR TO MINUTE
		return &control{do: func(_ context.Context, c *conn) (string, error) {
			return "SET", c.settings.set("TimeZone", t.Text, local)
		}}, nil
	}
	return setOne(w, "TimeZone", local)
}

func readSetTransaction(w *words) (work, error) {
	if w.eat("snapshot") {
		return nil, sqlstate.New(sqlstate.FeatureNotSupported, "snapshots cannot be imported")
	}
	readOnly, _, ok := readModes(w.texts())
	if !ok {
		return nil, w.bad()
	}
	level := levelOf(w.texts())
	return &control{do: func(_ context.Context, c *conn) (string, error) {
		switch {
		case !c.tx.block:
			c.notice("WARNING", sqlstate.NoTransaction, "SET TRANSACTION can only be used in transaction blocks")
			return "SET", nil
		case readOnly != nil && *readOnly != c.tx.readOnly:
			return "", sqlstate.New(sqlstate.ActiveTransaction,
				"whether a transaction may write must be said as it begins")
		case level != "":
			return "SET", c.settings.set("transaction_isolation", level, true)
		}
		return "SET", nil
	}}, nil
}

// show is SHOW.
type show struct{ name string }

func readShow(_ *conn, w *words) (work, error) {
	w.take()
	switch {
	case w.eat("changes"):
		return nil, nil
	case w.eat("all"):
		return &showAll{}, w.nothing()
	case w.eat("time", "zone"):
		return &show{"TimeZone"}, w.nothing()
	case w.eat("transaction", "isolation", "level"):
		return &show{"transaction_isolation"}, w.nothing()
	case w.eat("session", "authorization"):
		return &show{"session_authorization"}, w.nothing()
	}
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	for w.eat(".") {
		part, err := w.name()
		if err != nil {
			return nil, err
		}
		name += "." + part
	}
	return &show{name}, w.nothing()
}

func (s *show) columns(*conn) ([]column, bool, bool, error) {
	row, err := find(s.name)
	if err != nil {
		return nil, false, false, err
	}
	return []column{{name: row.name, oid: pgtype.Text}}, true, true, nil
}

func (s *show) run(_ context.Context, c *conn, k *call) (string, error) {
	cols, _, _, err := s.columns(c)
	if err != nil {
		return "", err
	}
	v, err := c.settings.get(s.name)
	if err != nil {
		return "", err
	}
	if err := k.out.begin(cols); err != nil {
		return "", err
	}
	return "SHOW", k.out.row([]value.Value{value.Str(v)})
}

// showAll is SHOW ALL.
type showAll struct{}

func (*showAll) columns(*conn) ([]column, bool, bool, error) {
	return []column{{name: "name", oid: pgtype.Text}, {name: "setting", oid: pgtype.Text}, {name: "description",
		oid: pgtype.Text}}, true, true, nil
}

func (s *showAll) run(_ context.Context, c *conn, k *call) (string, error) {
	cols, _, _, _ := s.columns(c)
	if err := k.out.begin(cols); err != nil {
		return "", err
	}
	for _, row := range knownSettings().list {
		v, err := c.settings.get(row.name)
		if err != nil {
			return "", err
		}
		if err := k.out.row([]value.Value{value.Str(row.name), value.Str(v), value.Str(row.category)}); err != nil {
			return "", err
		}
	}
	return "SHOW", nil
}

func readReset(c *conn, w *words) (work, error) {
	w.take()
	name := ""
	switch {
	case w.eat("all"):
	case w.eat("time", "zone"):
		name = "TimeZone"
	case w.eat("session", "authorization"):
		name = "session_authorization"
	default:
		var err error
		if name, err = w.name(); err != nil {
			return nil, err
		}
		for w.eat(".") {
			part, err := w.name()
			if err != nil {
				return nil, err
			}
			name += "." + part
		}
	}
	speaks := ""
	if name == "" || name == "dialect" {
		if speaks = c.settings.initial["dialect"]; speaks == "" {
			speaks = "surrealql"
		}
	}
	return &control{speaks: speaks, do: func(_ context.Context, c *conn) (string, error) {
		if name == "" {
			c.settings.resetAll()
			return "RESET", nil
		}
		return "RESET", c.settings.reset(name)
	}}, w.nothing()
}

func readDiscard(_ *conn, w *words) (work, error) {
	w.take()
	what, err := w.name()
	if err != nil {
		return nil, err
	}
	switch what {
	case "plans", "temp", "temporary", "sequences":
		return tagged("DISCARD " + strings.ToUpper(what)), w.nothing()
	case "all":
	default:
		w.pos--
		return nil, w.bad()
	}
	return &control{do: func(_ context.Context, c *conn) (string, error) {
		if c.tx.block {
			return "", sqlstate.New(sqlstate.ActiveTransaction, "DISCARD ALL cannot run inside a transaction block")
		}
		c.closePortals()
		c.dropStatements()
		c.srv.notices.dropAll(c)
		c.settings.resetAll()
		return "DISCARD ALL", nil
	}}, w.nothing()
}

func readDeallocate(_ *conn, w *words) (work, error) {
	w.take()
	w.eat("prepare")
	if w.eat("all") {
		return &control{do: func(_ context.Context, c *conn) (string, error) {
			c.dropStatements()
			return "DEALLOCATE ALL", nil
		}}, w.nothing()
	}
	name, err := w.name()
	if err != nil {
		return nil, err
	}
	return &control{do: func(_ context.Context, c *conn) (string, error) {
		if c.statements[name] == nil {
			return "", noStatement(name)
		}
		c.dropStatement(name)
		return "DEALLOCATE", nil
	}}, w.nothing()
}

func readLock(_ *conn, w *words) (work, error) {
	w.take()
	if !w.eat("table") {
		return nil, nil
	}
	return &control{do: func(_ context.Context, c *conn) (string, error) {
		return "LOCK TABLE",
			c.inBlock("LOCK TABLE")
	}}, nil
}

// readVacuum reads the statements by which tools look after a store that needs it.
func readVacuum(_ *conn, w *words) (work, error) {
	return tagged(strings.ToUpper(w.take().Text)), nil
}
