package catalog

import (
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
	"github.com/nacredb/nacre/engine/value"
)

// Function finds a function of the catalogs or of the session; nil where there is none.
func (c *Catalog) Function(name string) *sql.Function {
	if f := c.sessionFunction(name); f != nil {
		return f
	}
	if f := c.definitionFunction(name); f != nil {
		return f
	}
	return plainFunctions[name]
}

func fixed(oid pgtype.OID, v value.Value) *sql.Function {
	return sql.Returns(oid, 0, -1, func(*sql.Call) (value.Value, error) { return v, nil })
}

// nulls is fixed for a function that gives its value for NULLs, too.
func nulls(f *sql.Function) *sql.Function {
	f.Nulls = true
	return f
}

func textOf(min, max int, f func(c *sql.Call) string) *sql.Function {
	return sql.Returns(pgtype.Text, min, max, func(c *sql.Call) (value.Value, error) { return str(f(c)), nil })
}

// plainFunctions need nothing of the catalogs: what the product has no part of is empty, false or 0.
var plainFunctions map[string]*sql.Function

func init() {
	plainFunctions = map[string]*sql.Function{
		"format_type": {Min: 1, Max: 2, Nulls: true, Args: []pgtype.OID{pgtype.Oid, pgtype.Int4},
			Type: func([]pgtype.OID) pgtype.OID { return pgtype.Text }, Eval: func(c *sql.Call) (value.Value, error) {
				if c.Args[0].IsNone() {
					return value.None, nil
				}
				return str(pgtype.Format(uint32(c.Int(0)))), nil
			}},
		"pg_encoding_to_char": sql.Returns(pgtype.Name, 1, 1, func(c *sql.Call) (value.Value, error) {
			if c.Int(0) == 6 {
				return str("UTF8"), nil
			}
			return str(""), nil
		}),
		"pg_char_to_encoding": sql.Returns(pgtype.Int4, 1, 1, func(c *sql.Call) (value.Value, error) {
			if strings.EqualFold(c.Str(0), "utf8") || strings.EqualFold(c.Str(0), "utf-8") {
				return num(6), nil
			}
			return num(-1), nil
		}),
		"pg_size_pretty": textOf(1, 1, func(c *sql.Call) string { return pretty(c.Int(0)) }),
		"pg_sleep": sql.Returns(pgtype.Void, 1, 1, func(c *sql.Call) (value.Value, error) {
			t := time.NewTimer(time.Duration(c.Args[0].AsFloat() * float64(time.Second)))
			defer t.Stop()
			select {
			case <-t.C:
				return str(""), nil
			case <-c.Ctx.Done():
				return value.None, c.Ctx.Err()
			}
		}, pgtype.Float8),
		"pg_get_keywords": {Max: 0, Set: true, Type: func([]pgtype.OID) pgtype.OID { return pgtype.Record },
			Fields: []sql.Column{{Name: "word", OID: pgtype.Text}, {Name: "catcode", OID: pgtype.Char},
				{Name: "barelabel", OID: pgtype.Bool},
				{Name: "catdesc", OID: pgtype.Text}, {Name: "baredesc", OID: pgtype.Text}}, Eval: keywords},
		"pg_partition_ancestors": {Min: 1, Max: 1, Set: true, As: "relid",
			Type: func([]pgtype.OID) pgtype.OID { return pgtype.RegClass }, Args: []pgtype.OID{pgtype.RegClass},
			Eval: func(c *sql.Call) (value.Value, error) { return value.ArrayOf([]value.Value{c.Args[0]}), nil }},
		"pg_available_extensions": {Set: true, Type: func([]pgtype.OID) pgtype.OID { return pgtype.Record },
			Fields: []sql.Column{{Name: "name", OID: pgtype.Name}, {Name: "default_version", OID: pgtype.Text},
				{Name: "comment", OID: pgtype.Text}},
			Eval: func(*sql.Call) (value.Value, error) { return value.ArrayOf(nil), nil }},
	}
	for name, f := range map[string]*sql.Function{
		"pg_is_in_recovery": fixed(pgtype.Bool, no), "txid_current": fixed(pgtype.Int8, num(1)),
		"pg_current_xact_id":       fixed(pgtype.Int8, num(1)),
		"txid_current_if_assigned": fixed(pgtype.Int8, value.None), "pg_my_temp_schema": fixed(pgtype.Oid, num(0)),
		"pg_is_other_temp_schema": fixed(pgtype.Bool, no), "getdatabaseencoding": fixed(pgtype.Name, str("UTF8")),
		"pg_client_encoding": fixed(pgtype.Name, str("UTF8")), "pg_get_partkeydef": fixed(pgtype.Text, value.None),
		"pg_get_triggerdef": fixed(pgtype.Text, value.None), "pg_get_ruledef": fixed(pgtype.Text, value.None),
		"pg_get_function_sqlbody": fixed(pgtype.Text, value.None), "pg_get_serial_sequence": fixed(pgtype.Text,
			value.None),
		"pg_get_statisticsobjdef_columns": fixed(pgtype.Text, value.None),
		"pg_get_statisticsobjdef":         fixed(pgtype.Text, value.None),
		"pg_relation_is_publishable":      fixed(pgtype.Bool, no), "shobj_description": nulls(fixed(pgtype.Text,
			value.None)),
		"pg_stat_get_numscans": fixed(pgtype.Int8, num(0)), "pg_stat_get_live_tuples": fixed(pgtype.Int8, num(0)),
		"pg_stat_get_dead_tuples":       fixed(pgtype.Int8, num(0)),
		"pg_stat_get_last_analyze_time": fixed(pgtype.Timestamptz, value.None),
		"pg_relation_filenode":          fixed(pgtype.Oid, value.None), "pg_relation_filepath": fixed(pgtype.Text, value.None),
		"pg_tablespace_location": fixed(pgtype.Text, str("")), "pg_tablespace_size": fixed(pgtype.Int8, num(0)),
		"pg_advisory_lock": fixed(pgtype.Void, str("")), "pg_advisory_lock_shared": fixed(pgtype.Void, str("")),
		"pg_advisory_xact_lock": fixed(pgtype.Void, str("")), "pg_advisory_unlock": fixed(pgtype.Bool, yes),
		"pg_advisory_unlock_shared": fixed(pgtype.Bool, yes), "pg_try_advisory_lock": fixed(pgtype.Bool, yes),
		"pg_try_advisory_xact_lock": fixed(pgtype.Bool, yes), "pg_advisory_unlock_all": fixed(pgtype.Void, str("")),
		"pg_export_snapshot": fixed(pgtype.Text, str("0")), "inet_server_addr": fixed(pgtype.Inet, value.None),
		"inet_server_port": fixed(pgtype.Int4, value.None), "inet_client_port": fixed(pgtype.Int4, value.None),
		"row_security_active": fixed(pgtype.Bool, no), "pg_collation_for": fixed(pgtype.Text, value.None),
		"pg_options_to_table": {Max: -1, Nulls: true, Set: true,
			Type:   func([]pgtype.OID) pgtype.OID { return pgtype.Record },
			Fields: []sql.Column{{Name: "option_name", OID: pgtype.Text}, {Name: "option_value", OID: pgtype.Text}},
			Eval:   func(*sql.Call) (value.Value, error) { return value.ArrayOf(nil), nil }},
		"aclexplode": {Max: -1, Nulls: true, Set: true, Type: func([]pgtype.OID) pgtype.OID { return pgtype.Record },
			Fields: []sql.Column{{Name: "grantor", OID: pgtype.Oid}, {Name: "grantee", OID: pgtype.Oid},
				{Name: "privilege_type", OID: pgtype.Text},
				{Name: "is_grantable", OID: pgtype.Bool}}, Eval: func(*sql.Call) (value.Value,
				error) {
				return value.ArrayOf(nil), nil
			}},
		"acldefault": nulls(fixed(pgtype.ACLItemArray, value.None)),
	} {
		plainFunctions[name] = f
	}
	for _, kind := range []string{"table", "type", "function", "collation", "operator", "opclass", "opfamily",
		"conversion", "ts_config", "ts_dict",
		"ts_parser", "ts_template", "statistics_obj"} {
		plainFunctions["pg_"+kind+"_is_visible"] = fixed(pgtype.Bool, yes)
	}
}

func pretty(n int64) string {
	units := []string{"bytes", "kB", "MB", "GB", "TB"}
	i := 0
	for n >= 10240 && i < len(units)-1 {
		n = (n + 512) / 1024
		i++
	}
	return strconv.FormatInt(n, 10) + " " + units[i]
}

func keywords(*sql.Call) (value.Value, error) {
	var out []value.Value
	for _, w := range strings.Fields("all and any array as asc both case cast check collate column constraint create cross current_date " +
		"current_time current_timestamp current_user default desc distinct do else end except false fetch for foreign from full grant group " +
		"having ilike in inner intersect into is join lateral leading left like limit natural not null offset on only or order outer primary " +
		"references returning right select session_user some table then to trailing true union unique user using values when where window with") {
		out = append(out, value.ArrayOf([]value.Value{str(w), str("R"), no, str("reserved"), str("requires AS")}))
	}
	return value.ArrayOf(out), nil
}

// sessionFunction finds the functions about the session.
func (c *Catalog) sessionFunction(name string) *sql.Function {
	s := c.s
	switch name {
	case "version":
		return fixed(pgtype.Text, str(s.Version))
	case "current_database", "current_catalog":
		return fixed(pgtype.Name, str(c.schema.Database))
	case "current_schema":
		return fixed(pgtype.Name, str(public))
	case "current_schemas":
		return sql.Returns(pgtype.NameArray, 1, 1, func(k *sql.Call) (value.Value, error) {
			if k.Args[0].Bool() {
				return strs([]string{pgCatalog, public}), nil
			}
			return strs([]string{public}), nil
		}, pgtype.Bool)
	case "current_user", "session_user", "user", "current_role", "getpgusername":
		return fixed(pgtype.Name, str(s.User))
	case "pg_backend_pid":
		return fixed(pgtype.Int4, num(s.PID))
	case "pg_postmaster_start_time", "pg_conf_load_time":
		return fixed(pgtype.Timestamptz, timeOf(s.Start))
	case "inet_client_addr":
		return fixed(pgtype.Inet, orNull(s.Client))
	case "current_setting":
		return sql.Returns(pgtype.Text, 1, 2, func(k *sql.Call) (value.Value, error) {
			v, ok := s.Setting(k.Str(0))
			if !ok && (len(k.Args) < 2 || !k.Args[1].Bool()) {
				return value.None, sqlstate.New(sqlstate.UndefinedObject, "unrecognized configuration parameter %q",
					k.Str(0))
			}
			if !ok {
				return value.None, nil
			}
			return str(v), nil
		}, pgtype.Text, pgtype.Bool)
	case "set_config":
		return sql.Returns(pgtype.Text, 3, 3, func(k *sql.Call) (value.Value, error) {
			if err := s.SetSetting(k.Str(0), k.Str(1), k.Args[2].Bool()); err != nil {
				return value.None, err
			}
			v, _ := s.Setting(k.Str(0))
			return str(v), nil
		}, pgtype.Text, pgtype.Text, pgtype.Bool)
	case "pg_show_all_settings":
		d := definitions().byName["pg_catalog.pg_settings"]
		return &sql.Function{Set: true, Type: func([]pgtype.OID) pgtype.OID { return pgtype.Record }, Fields: d.cols,
			Eval: func(*sql.Call) (value.Value, error) {
				var out []value.Value
				for _, row := range c.read(d) {
					out = append(out, value.ArrayOf(row))
				}
				return value.ArrayOf(out), nil
			}}
	case "pg_notify":
		return sql.Returns(pgtype.Void, 2, 2, func(k *sql.Call) (value.Value, error) {
			return str(""), s.Notify(k.Str(0), k.Str(1))
		}, pgtype.Text)
	case "pg_listening_channels":
		return &sql.Function{Set: true, Type: func([]pgtype.OID) pgtype.OID { return pgtype.Text },
			Eval: func(*sql.Call) (value.Value, error) { return strs(s.Channels()), nil }}
	case "pg_cancel_backend", "pg_terminate_backend":
		return sql.Returns(pgtype.Bool, 1, 2, func(k *sql.Call) (value.Value, error) {
			return value.Bool(s.Cancel(uint32(k.Int(0)), name == "pg_terminate_backend")), nil
		}, pgtype.Int4)
	}
	if strings.HasPrefix(name, "has_") && strings.HasSuffix(name, "_privilege") || name == "pg_has_role" {
		return sql.Returns(pgtype.Bool, 1, 4, func(k *sql.Call) (value.Value, error) {
			return value.Bool(c.may(k)),
				nil
		})
	}
	return nil
}

// may reports whether a privilege is one that the user has: those who only read have no other.
func (c *Catalog) may(k *sql.Call) bool {
	if !c.s.ReadOnly {
		return true
	}
	switch strings.ToLower(strings.TrimSpace(k.Str(len(k.Args) - 1))) {
	case "select", "usage", "connect", "execute", "member":
		return true
	}
	return false
}

// definitionFunction finds the functions that give the definition of something.
func (c *Catalog) definitionFunction(name string) *sql.Function {
	optional := func(min, max int, f func(k *sql.Call) string) *sql.Function {
		return sql.Returns(pgtype.Text, min, max, func(k *sql.Call) (value.Value, error) { return orNull(f(k)), nil })
	}
	switch name {
	case "pg_get_userbyid":
		return sql.Returns(pgtype.Name, 1, 1, func(k *sql.Call) (value.Value, error) {
			return str(strings.Trim(c.ObjectName(pgtype.RegRole, k.Int(0)), `"`)), nil
		})
	case "pg_get_expr":
		return optional(2, 3, func(k *sql.Call) string { return k.Str(0) })
	case "pg_get_constraintdef":
		return optional(1, 2, func(k *sql.Call) string {
			for _, x := range c.constr {
				if int64(x.oid) == k.Int(0) {
					return c.constraintDef(x)
				}
			}
			return ""
		})
	case "pg_get_indexdef":
		return optional(1, 3, c.indexText)
	case "pg_get_viewdef":
		return optional(1, 2, func(k *sql.Call) string {
			if t := c.byOID[uint32(k.Int(0))]; t != nil {
				return t.View
			}
			return ""
		})
	case "pg_get_functiondef", "pg_get_function_arguments", "pg_get_function_identity_arguments",
		"pg_get_function_result":
		return optional(1, 1, func(k *sql.Call) string { return c.functionText(name, uint32(k.Int(0))) })
	case "obj_description":
		return optional(1, 2, func(k *sql.Call) string { return c.comment(uint32(k.Int(0)), 0) })
	case "col_description":
		return optional(2, 2, func(k *sql.Call) string { return c.comment(uint32(k.Int(0)), int(k.Int(1))) })
	case "pg_relation_size", "pg_total_relation_size", "pg_table_size", "pg_indexes_size", "pg_database_size":
		return sql.Returns(pgtype.Int8, 1, 2, func(*sql.Call) (value.Value, error) { return num(8192), nil })
	case "to_regclass", "to_regtype", "to_regproc", "to_regnamespace", "to_regrole":
		oid := map[string]pgtype.OID{"to_regclass": pgtype.RegClass, "to_regtype": pgtype.RegType,
			"to_regproc":      pgtype.RegProc,
			"to_regnamespace": pgtype.RegNamespace, "to_regrole": pgtype.RegRole}[name]
		return sql.Returns(oid, 1, 1, func(k *sql.Call) (value.Value, error) {
			id, err := c.Object(oid, k.Str(0))
			if err != nil {
				return value.None, nil // that is what the function is for
			}
			return num(id), nil
		}, pgtype.Text)
	}
	return nil
}

func (c *Catalog) indexText(k *sql.Call) string {
	ix := c.index[uint32(k.Int(0))]
	if ix == nil {
		return ""
	}
	t := c.owner[ix.OID]
	n := int(k.Int(1))
	if len(k.Args) < 2 || n == 0 {
		return c.indexDef(ix, t)
	}
	if n < 1 || n > len(ix.Columns) {
		return ""
	}
	if at := ix.Columns[n-1]; at > 0 {
		return sql.QuoteIdent(t.Columns[at-1].Name)
	}
	return ix.Exprs[n-1]
}

func (c *Catalog) functionText(what string, oid uint32) string {
	for _, p := range c.proc {
		if p.oid != oid {
			continue
		}
		switch what {
		case "pg_get_function_result":
			return pgtype.Format(p.returns)
		case "pg_get_functiondef":
			return p.source
		}
		var args []string
		for i, a := range p.args {
			arg := pgtype.Format(a)
			if i < len(p.names) {
				arg = sql.QuoteIdent(p.names[i]) + " " + arg
			}
			args = append(args, arg)
		}
		if len(args) == 0 {
			return " "
		}
		return strings.Join(args, ", ")
	}
	return ""
}

func (c *Catalog) comment(oid uint32, n int) string {
	if t := c.byOID[oid]; t != nil {
		if n == 0 {
			return t.Comment
		}
		if n <= len(t.Columns) {
			return t.Columns[n-1].Comment
		}
	}
	for _, f := range c.schema.Functions {
		if f.OID == oid && n == 0 {
			return f.Comment
		}
	}
	return ""
}
