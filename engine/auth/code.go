package auth

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/catalog"
)

// Code is the authority of the stored code that runs: the code of definitions, such as functions, clauses of fields and
// events. It only ever takes rights away from definitions and statements about them; DESIGN.md has the rule. The zero
// Code is the text of a client.
type Code struct {
	// Stored: the code of a definition runs. It reaches nothing above its database.
	Stored bool
	// Elevated: it reads and writes all data of its database, and only data, independent of the user who triggers it.
	Elevated bool
	// Roles are those that all definers of the code have in common, of Stored code.
	Roles Roles
}

// Elevated is the authority of events, permissions, views and the clauses of access methods.
var Elevated = Code{Stored: true, Elevated: true}

// By is the authority of code that runs with the rights of its caller and was stored by a definer.
func By(d catalog.Definer) Code { return Code{Stored: true, Roles: Roles(d.Roles).reached()} }

// Enter is the authority of the stored code inner that c triggers or calls. Inside of elevated code everything is.
func (c Code) Enter(inner Code) Code {
	if c.Stored {
		inner.Roles &= c.Roles
	}
	inner.Elevated = inner.Elevated || c.Elevated
	return inner
}

// Meet returns the rights that both of two authorities allow: a closure that one of them made, the other one calls.
func (c Code) Meet(other Code) Code {
	switch {
	case !other.Stored:
		other.Roles = c.Roles
	case c.Stored:
		other.Roles &= c.Roles
	}
	other.Stored = other.Stored || c.Stored
	other.Elevated = other.Elevated && c.Elevated
	return other
}

// Index is a number below Codes, another one for each Code.
func (c Code) Index() int {
	i := int(c.Roles)
	if c.Stored {
		i |= 8
	}
	if c.Elevated {
		i |= 16
	}
	return i
}

// Codes is how many values a Code has.
const Codes = 32

func (c Code) allow(a Action, base ast.Base, res Resource) bool {
	if !c.Stored {
		return true
	}
	return (base == ast.BaseDatabase || base == ast.BaseNone) && c.Roles.may(a, res)
}

// DataUser is the principal of elevated code, and of the engine's own work on a database: it may read and write all
// data of the database.
func DataUser(ns, db string) Principal {
	return Principal{Level: DatabaseUser, NS: ns, DB: db, Roles: Editor}
}

// Under is env inside of stored code.
func (env *Authority) Under(c Code) *Authority {
	e := *env
	e.Code = c
	if c.Elevated {
		e.Principal = DataUser(env.NS, env.DB)
	}
	return &e
}

// Definer is the authority of a definition that env makes: no code that it stores has more.
func (env *Authority) Definer() catalog.Definer {
	d := catalog.Definer{Base: env.Principal.base(), Roles: uint8(env.Principal.Roles.reached())}
	if env.Code.Stored {
		d.Base = ast.BaseDatabase
		d.Roles &= uint8(env.Code.Roles)
	}
	return d
}

func (p *Principal) base() ast.Base {
	switch p.Level {
	case RootUser:
		return ast.BaseRoot
	case NamespaceUser:
		return ast.BaseNamespace
	}
	return ast.BaseDatabase
}

// reached is r with the roles that are below those in r: what two such sets have in common is the lower one.
func (r Roles) reached() Roles {
	switch {
	case r&Owner != 0:
		return Owner | Editor | Viewer
	case r&Editor != 0:
		return Editor | Viewer
	}
	return r & Viewer
}
