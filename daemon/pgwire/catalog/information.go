package catalog

import (
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/engine/value"
)

func yesNo(b bool) value.Value {
	if b {
		return str("YES")
	}
	return str("NO")
}

func (c *Catalog) isName(w *writer) { w.add(cells{"catalog_name": str(c.schema.Database)}) }

func (c *Catalog) isTables(w *writer) {
	add := func(schema, name, kind string, insertable bool) {
		w.add(cells{"table_catalog": str(c.schema.Database), "table_schema": str(schema), "table_name": str(name),
			"table_type":         str(kind),
			"is_insertable_into": yesNo(insertable), "is_typed": str("NO")})
	}
	for _, t := range c.schema.Tables {
		if t.View == "" {
			add(public, t.Name, "BASE TABLE", true)
		}
	}
	for _, d := range definitions().list {
		kind := "BASE TABLE"
		if d.view {
			kind = "VIEW"
		}
		add(d.schema, d.name, kind, false)
	}
}

// dataType is the name of a type in information_schema.
func dataType(oid pgtype.OID) string {
	if pgtype.IsArray(oid) && !pgtype.IsVector(oid) {
		return "ARRAY"
	}
	return pgtype.Format(oid)
}

func (c *Catalog) isColumns(w *writer) {
	add := func(schema, table, name string, n int, oid pgtype.OID, notNull bool, def string, computed, updatable bool) {
		row := cells{"table_catalog": str(c.schema.Database), "table_schema": str(schema), "table_name": str(table),
			"column_name":      str(name),
			"ordinal_position": num(n), "column_default": orNull(def), "is_nullable": yesNo(!notNull),
			"data_type":   str(dataType(oid)),
			"udt_catalog": str(c.schema.Database), "udt_schema": str(pgCatalog), "dtd_identifier": str(itoa(n)),
			"is_self_referencing": str("NO"),
			"is_identity":         str("NO"), "identity_cycle": str("NO"), "is_generated": str("NEVER"),
			"is_updatable": yesNo(updatable)}
		if t := pgtype.Lookup(oid); t != nil {
			row["udt_name"] = str(t.Name)
		}
		switch oid {
		case pgtype.Int8:
			row["numeric_precision"], row["numeric_precision_radix"], row["numeric_scale"] = num(64), num(2), num(0)
		case pgtype.Int4, pgtype.Oid:
			row["numeric_precision"], row["numeric_precision_radix"], row["numeric_scale"] = num(32), num(2), num(0)
		case pgtype.Int2:
			row["numeric_precision"], row["numeric_precision_radix"], row["numeric_scale"] = num(16), num(2), num(0)
		case pgtype.Float8:
			row["numeric_precision"], row["numeric_precision_radix"] = num(53), num(2)
		case pgtype.Numeric:
			row["numeric_precision_radix"] = num(10)
		case pgtype.Text, pgtype.Varchar:
			row["character_octet_length"] = num(1073741824)
		case pgtype.Timestamptz, pgtype.Interval:
			row["datetime_precision"] = num(6)
		}
		if computed {
			row["is_generated"], row["generation_expression"] = str("ALWAYS"), orNull(def)
		}
		w.add(row)
	}
	for _, t := range c.schema.Tables {
		for i, col := range t.Columns {
			add(public, t.Name, col.Name, i+1, col.OID, col.NotNull, col.Default, col.Computed, true)
		}
	}
	for _, d := range definitions().list {
		for i, col := range d.cols {
			add(d.schema, d.name, col.Name, i+1, col.OID, d.notNull[i], "", false, false)
		}
	}
}

func itoa(n int) string { return num(n).Text() }

func (c *Catalog) isSchemata(w *writer) {
	for _, s := range schemas {
		w.add(cells{"catalog_name": str(c.schema.Database), "schema_name": str(s.name), "schema_owner": str(c.s.User)})
	}
}

func (c *Catalog) isViews(w *writer) {
	for _, d := range definitions().list {
		if d.view {
			w.add(cells{"table_catalog": str(c.schema.Database), "table_schema": str(d.schema),
				"table_name":   str(d.name),
				"check_option": str("NONE"), "is_updatable": str("NO"), "is_insertable_into": str("NO")})
		}
	}
}

var constraintTypes = map[string]string{"p": "PRIMARY KEY", "u": "UNIQUE", "f": "FOREIGN KEY", "c": "CHECK"}

func (c *Catalog) isConstraints(w *writer) {
	for _, k := range c.constr {
		w.add(cells{"constraint_catalog": str(c.schema.Database), "constraint_schema": str(public),
			"constraint_name": str(k.name),
			"table_catalog":   str(c.schema.Database), "table_schema": str(public), "table_name": str(k.table.Name),
			"constraint_type": str(constraintTypes[k.kind]), "is_deferrable": str("NO"),
			"initially_deferred": str("NO"),
			"enforced":           str("YES"), "nulls_distinct": str("YES")})
	}
}

func (c *Catalog) isKeys(w *writer) {
	for _, k := range c.constr {
		if k.kind == "c" {
			continue
		}
		for i, n := range k.cols {
			row := cells{"constraint_catalog": str(c.schema.Database), "constraint_schema": str(public),
				"constraint_name": str(k.name),
				"table_catalog":   str(c.schema.Database), "table_schema": str(public), "table_name": str(k.table.Name),
				"column_name": str(k.table.Columns[n-1].Name), "ordinal_position": num(i + 1)}
			if k.kind == "f" {
				row["position_in_unique_constraint"] = num(i + 1)
			}
			w.add(row)
		}
	}
}

func (c *Catalog) isUsage(w *writer) {
	for _, k := range c.constr {
		table, cols := k.table, k.cols
		if k.kind == "f" {
			table, cols = c.byOID[k.foreign], []int{1}
		}
		for _, n := range cols {
			w.add(cells{"table_catalog": str(c.schema.Database), "table_schema": str(public),
				"table_name":  str(table.Name),
				"column_name": str(table.Columns[n-1].Name), "constraint_catalog": str(c.schema.Database),
				"constraint_schema": str(public),
				"constraint_name":   str(k.name)})
		}
	}
}

func (c *Catalog) isReferences(w *writer) {
	for _, k := range c.constr {
		if k.kind != "f" {
			continue
		}
		w.add(cells{"constraint_catalog": str(c.schema.Database), "constraint_schema": str(public),
			"constraint_name":           str(k.name),
			"unique_constraint_catalog": str(c.schema.Database), "unique_constraint_schema": str(public),
			"unique_constraint_name": str(c.byOID[k.foreign].Name + "_pkey"), "match_option": str("NONE"),
			"update_rule": str("NO ACTION"),
			"delete_rule": str("NO ACTION")})
	}
}

func (c *Catalog) isChecks(w *writer) {
	for _, k := range c.constr {
		if k.kind == "c" {
			w.add(cells{"constraint_catalog": str(c.schema.Database), "constraint_schema": str(public),
				"constraint_name": str(k.name),
				"check_clause":    str(k.check)})
		}
	}
}

func (c *Catalog) isSequences(w *writer) {
	for _, name := range c.schema.Sequences {
		w.add(cells{"sequence_catalog": str(c.schema.Database), "sequence_schema": str(public),
			"sequence_name": str(name),
			"data_type":     str("bigint"), "numeric_precision": num(64), "start_value": str("1"),
			"minimum_value": str("1"), "increment": str("1"),
			"cycle_option": str("NO")})
	}
}

func (c *Catalog) isRoutines(w *writer) {
	for _, f := range c.schema.Functions {
		w.add(cells{"specific_catalog": str(c.schema.Database), "specific_schema": str(public),
			"specific_name":   str(f.Name + "_" + itoa(int(f.OID))),
			"routine_catalog": str(c.schema.Database), "routine_schema": str(public), "routine_name": str(f.Name),
			"routine_type": str("FUNCTION"),
			"data_type":    str(dataType(f.Returns)), "routine_body": str("EXTERNAL"), "routine_definition": str(f.Source),
			"external_language": str("SURREALQL")})
	}
}

func (c *Catalog) isParameters(w *writer) {
	for _, f := range c.schema.Functions {
		for i, name := range f.Args {
			w.add(cells{"specific_catalog": str(c.schema.Database), "specific_schema": str(public),
				"specific_name": str(f.Name + "_" + itoa(int(f.OID))), "ordinal_position": num(i + 1),
				"parameter_mode": str("IN"),
				"parameter_name": str(name), "data_type": str(dataType(f.Types[i]))})
		}
	}
}

func (c *Catalog) isCharacterSets(w *writer) {
	w.add(cells{"character_set_name": str("UTF8"), "character_repertoire": str("UCS"), "form_of_use": str("UTF8"),
		"default_collate_catalog": str(c.schema.Database), "default_collate_schema": str(pgCatalog),
		"default_collate_name": str("C.UTF-8")})
}

func (c *Catalog) isGrants(w *writer) {
	privileges := []string{"INSERT", "SELECT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER"}
	if c.s.ReadOnly {
		privileges = []string{"SELECT"}
	}
	for _, t := range c.schema.Tables {
		for _, p := range privileges {
			w.add(cells{"grantor": str(c.s.User), "grantee": str(c.s.User), "table_catalog": str(c.schema.Database),
				"table_schema": str(public),
				"table_name":   str(t.Name), "privilege_type": str(p), "is_grantable": yesNo(c.s.Superuser),
				"with_hierarchy": yesNo(p == "SELECT")})
		}
	}
}

func (c *Catalog) isElements(w *writer) {
	for _, t := range c.schema.Tables {
		for i, col := range t.Columns {
			elem := pgtype.ElemOf(col.OID)
			if elem == 0 {
				continue
			}
			w.add(cells{"object_catalog": str(c.schema.Database), "object_schema": str(public),
				"object_name": str(t.Name), "object_type": str("TABLE"),
				"collection_type_identifier": str(itoa(i + 1)), "data_type": str(dataType(elem)),
				"udt_catalog": str(c.schema.Database),
				"udt_schema":  str(pgCatalog), "udt_name": str(strings.TrimPrefix(pgtype.Lookup(elem).Name, "_")),
				"dtd_identifier": str("a" + itoa(i+1))})
		}
	}
}

func (c *Catalog) isRoles(w *writer) {
	for _, u := range c.people() {
		w.add(cells{"role_name": str(u.Name)})
	}
}
