package catalog

import (
	"strings"

	"github.com/nacredb/nacre/daemon/pgwire/pgtype"
	"github.com/nacredb/nacre/daemon/pgwire/sql"
	"github.com/nacredb/nacre/daemon/pgwire/sqlstate"
)

// Object finds the id of an object by the type that registers it and its name, which may be qualified and quoted.
func (c *Catalog) Object(oid pgtype.OID, name string) (int64, error) {
	if oid == pgtype.RegType {
		if id, ok := pgtype.Named(strings.ToLower(strings.TrimPrefix(strings.TrimSpace(name), "pg_catalog."))); ok {
			return int64(id), nil
		}
		if parts, err := sql.SplitName(name); err == nil {
			if id, ok := pgtype.Named(parts[len(parts)-1]); ok {
				return int64(id), nil
			}
		}
		return 0, sqlstate.New(sqlstate.UndefinedObject, "type %q does not exist", name)
	}
	if name == "-" {
		return 0, nil
	}
	parts, err := sql.SplitName(name)
	if err == nil && len(parts) == 3 { // the name of the database before it
		parts = parts[1:]
	}
	if err != nil || len(parts) > 2 {
		return 0, sqlstate.New("42602", "invalid name syntax: %q", name)
	}
	schema, name := "", parts[len(parts)-1]
	if len(parts) == 2 {
		schema = parts[0]
	}
	switch oid {
	case pgtype.RegClass:
		if id := c.class(schema, name); id != 0 {
			return int64(id), nil
		}
		return 0, sqlstate.New(sqlstate.UndefinedTable, "relation %q does not exist", strings.Join(parts, "."))
	case pgtype.RegNamespace:
		if id := schemaOID(name); id != 0 {
			return int64(id), nil
		}
		return 0, sqlstate.New(sqlstate.UnknownSchema, "schema %q does not exist", name)
	case pgtype.RegRole:
		for i, u := range c.people() {
			if u.Name == name {
				return int64(oidOwner + i*90), nil
			}
		}
		return 0, sqlstate.New(sqlstate.UndefinedObject, "role %q does not exist", name)
	case pgtype.RegProc, pgtype.RegProcedure:
		name, _, _ = strings.Cut(name, "(")
		for _, p := range c.proc {
			if p.name == name {
				return int64(p.oid), nil
			}
		}
		return 0, sqlstate.New(sqlstate.UndefinedFunction, "function %q does not exist", name)
	}
	return 0, sqlstate.New(sqlstate.UndefinedObject, "object %q does not exist", name)
}

// class is the id of a relation or index; 0 where there is none.
func (c *Catalog) class(schema, name string) uint32 {
	if schema == "" || schema == public {
		for _, t := range c.schema.Tables {
			if t.Name == name {
				return t.OID
			}
			for _, ix := range t.Indexes {
				if ix.Name == name {
					return ix.OID
				}
			}
		}
	}
	if schema == "" {
		schema = pgCatalog
	}
	if d := definitions().byName[schema+"."+name]; d != nil {
		return d.oid
	}
	return 0
}

// ObjectName is how an object of a registered type prints.
func (c *Catalog) ObjectName(oid pgtype.OID, id int64) string {
	n := uint32(id)
	if n == 0 {
		return "-"
	}
	switch oid {
	case pgtype.RegType:
		return pgtype.Format(n)
	case pgtype.RegClass:
		if t := c.byOID[n]; t != nil {
			return sql.QuoteIdent(t.Name)
		}
		if ix := c.index[n]; ix != nil {
			return sql.QuoteIdent(ix.Name)
		}
		for _, d := range definitions().list {
			if d.oid == n {
				if d.schema == information {
					return information + "." + d.name
				}
				return d.name
			}
		}
	case pgtype.RegNamespace:
		for _, s := range schemas {
			if s.oid == n {
				return s.name
			}
		}
	case pgtype.RegRole:
		for i, u := range c.people() {
			if uint32(oidOwner+i*90) == n {
				return sql.QuoteIdent(u.Name)
			}
		}
	case pgtype.RegProc, pgtype.RegProcedure:
		for _, p := range c.proc {
			if p.oid == n {
				return sql.QuoteIdent(p.name)
			}
		}
	}
	return num(n).Text()
}
