// Package auth says who is asking and what they may do: principals, roles, password hashes, tokens,
// capabilities.
//
// Identity travels as an explicit *Authority argument, never in a context. The package decides; it does
// not read or write records, and every failed login looks the same from outside.
package auth

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Redacted stands in answers for a secret.
const Redacted = "[REDACTED]"

// Level is where a principal is defined. A higher level reaches everything below it.
type Level uint8

// The levels. Guests have no identity; record users live in one database.
const (
	Guest Level = iota
	RecordUser
	DatabaseUser
	NamespaceUser
	RootUser
)

// Roles is a set of roles of a system user.
type Roles uint8

// The roles: VIEWER reads, EDITOR also writes data and schema, OWNER also users and access methods.
const (
	Viewer Roles = 1 << iota
	Editor
	Owner
)

// RoleNames are the names of the roles in r, highest first, as tokens carry them.
func (r Roles) RoleNames() []string {
	var names []string
	for _, x := range roleTable {
		if r&x.role != 0 {
			names = append(names, x.text)
		}
	}
	return names
}

// ParseRoles reads role names in any case; an unknown one is false.
func ParseRoles(names []string) (Roles, bool) {
	var r Roles
next:
	for _, n := range names {
		for _, x := range roleTable {
			if equalFold(n, x.text) {
				r |= x.role
				continue next
			}
		}
		return 0, false
	}
	return r, true
}

var roleTable = [...]struct {
	role Roles
	text string
}{{Owner, "Owner"}, {Editor, "Editor"}, {Viewer, "Viewer"}}

func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i]|0x20 != b[i]|0x20 {
			return false
		}
	}
	return true
}

// Principal is an authenticated identity. The zero Principal is a guest. It is immutable.
type Principal struct {
	Level  Level
	NS, DB string      // where it is defined; "" above
	Name   string      // of a system user
	Roles  Roles       // of a system user
	Record value.Value // the record id of a record user, else NONE
	Access string      // the access method that let it in, or ""
	Claims value.Value // the token's claims as $token shows them, or NONE
	Expiry int64       // Unix seconds at which the session ends; 0: never
	Proof  string      // of a system user: the password hash that it signed in by
	Grant  string      // the id of the bearer grant that let it in, or ""
	Stored bool        // of a record user: its record was there
	Token  Token       // the access token that stands for it: the one that it came by, or was given; zero: none
}

// Same reports whether p and other are one user. It does not compare their current rights.
func (p *Principal) Same(other *Principal) bool {
	return p.Level == other.Level && p.NS == other.NS && p.DB == other.DB && p.Name == other.Name &&
		p.Access == other.Access &&
		value.Equal(p.Record, other.Record)
}

// RootOwner is the identity of the engine itself and of sessions without authentication.
func RootOwner() Principal { return Principal{Level: RootUser, Roles: Owner} }

// IsOwner reports whether p is an OWNER of the level that it is defined at.
func (p *Principal) IsOwner() bool { return p.IsSystem() && p.Roles&Owner != 0 }

// IsRootOwner reports whether p is an OWNER of the root.
func (p *Principal) IsRootOwner() bool { return p.Level == RootUser && p.Roles&Owner != 0 }

// IsSystem reports whether p is a root, namespace or database user: those are ruled by roles, all others by
// the PERMISSIONS of definitions.
func (p *Principal) IsSystem() bool { return p.Level >= DatabaseUser }

// Reaches reports whether p's level contains the namespace and database ("" asks for the level above).
func (p *Principal) Reaches(ns, db string) bool {
	switch p.Level {
	case RootUser:
		return true
	case NamespaceUser:
		return ns != "" && p.NS == ns
	case DatabaseUser, RecordUser:
		return ns != "" && db != "" && p.NS == ns && p.DB == db
	}
	return false
}

// Authority is who runs a statement, where, under which capabilities, and in which stored code. It is passed down
// explicitly and never changed once a statement runs.
type Authority struct {
	Principal Principal
	NS, DB    string // the place in use; "" for none
	Caps      *Capabilities
	Code      Code // what stored code leaves of these rights; zero while the text of a client runs
}

// Action is the operation of a statement on a definition.
type Action uint8

// The actions.
const (
	View Action = iota
	Edit
)

// Resource is the kind of thing that an action is about; users and access methods need an OWNER.
type Resource uint8

// The resources.
const (
	ResourceAny Resource = iota
	ResourceActor
)

// Allow checks that env's principal may do a to a resource at level base of the place in use. The error is the
// one that users see.
func (env *Authority) Allow(a Action, base ast.Base, res Resource) error {
	if !env.Code.allow(a, base, res) {
		return Denied()
	}
	p := &env.Principal
	var ns, db string
	switch base {
	case ast.BaseNamespace:
		ns = env.NS
	case ast.BaseDatabase, ast.BaseNone:
		ns, db = env.NS, env.DB
	}
	if !p.IsSystem() || !p.Reaches(ns, db) || !p.Roles.may(a, res) {
		return Denied()
	}
	return nil
}

func (r Roles) may(a Action, res Resource) bool {
	switch {
	case r&Owner != 0:
		return true
	case r&Editor != 0:
		return a == View || res != ResourceActor
	case r&Viewer != 0:
		return a == View
	}
	return false
}

// CanRead reports whether env may read all data of the place in use without looking at permissions.
func (env *Authority) CanRead() bool {
	p := &env.Principal
	return p.IsSystem() && p.Roles != 0 && p.Reaches(env.NS, env.DB)
}

// CanWrite reports whether env may write all data of the place in use without looking at permissions.
func (env *Authority) CanWrite() bool {
	p := &env.Principal
	return p.IsSystem() && p.Roles&(Editor|Owner) != 0 && p.Reaches(env.NS, env.DB)
}

// MayUse refuses places outside the level of a user of a namespace or database.
func (env *Authority) MayUse() error {
	p := &env.Principal
	if p.NS != "" && env.NS != "" && p.NS != env.NS {
		return errs.NotAllowed("You don't have permission to change to the %s namespace", env.NS)
	}
	if p.DB != "" && env.DB != "" && p.DB != env.DB {
		return errs.NotAllowed("You don't have permission to change to the %s database", env.DB)
	}
	return nil
}

// MayImport reports whether p may write all data of any place that it reaches: who may not, may not import, for imports
// skip the clauses and permissions of fields.
func (p *Principal) MayImport() bool { return p.IsSystem() && p.Roles&(Editor|Owner) != 0 }

// Denied is the refusal of a statement.
func Denied() *errs.Error {
	return errs.NotAllowed("IAM error: Not enough permissions to perform this action")
}
