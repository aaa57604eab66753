package exec

import (
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/value"
)

// param is the value of $name: a parameter in sight, one of the session, one that DEFINE PARAM
// made. An unknown one is NONE.
func (r *Run) param(env *Env, name string) (value.Value, error) {
	if v, ok := env.Lookup(name); ok {
		return v, nil
	}
	switch name {
	case "this":
		return env.This(), nil
	case "parent":
		return env.Parent(), nil
	case "auth":
		return r.Sess.Auth.Principal.Record, nil
	case "token":
		r.personal = true
		return r.Sess.Auth.Principal.Claims, nil
	case "access":
		if a := r.Sess.Auth.Principal.Access; a != "" {
			return value.Str(a), nil
		}
		return value.None, nil
	case "session":
		r.personal = true
		return r.Sess.Value(), nil
	}
	for i := range r.Sess.Vars {
		if r.Sess.Vars[i].Name == name {
			return r.Sess.Vars[i].Value, nil
		}
	}
	return r.definedParam(name)
}

// definedParam is the value of a DEFINE PARAM that the run may see.
func (r *Run) definedParam(name string) (value.Value, error) {
	if r.Auth.NS == "" || r.Auth.DB == "" {
		return value.None, nil
	}
	db, err := r.Database()
	if err != nil {
		return value.None, nil
	}
	d, err := r.Cat.Def(db.Inner(), ast.DefParam, name)
	if err != nil || d == nil {
		return value.None, err
	}
	p, ok := d.Stmt.(*ast.DefineParam)
	if !ok {
		return value.None, nil
	}
	if r.Auth.Principal.Level != auth.RootUser { // those see every definition as it is
		if err := r.permit(p.Permission, "You don't have permission to view the $%s parameter", name); err != nil {
			return value.None, err
		}
	}
	return r.Value(r.Base, p.Value)
}

// Value is what $session shows.
func (s *Session) Value() value.Value {
	p := &s.Auth.Principal
	text := func(t string) value.Value {
		if t == "" {
			return value.None
		}
		return value.Str(t)
	}
	exp := value.None
	if p.Expiry != 0 {
		exp = value.DatetimeOf(value.Datetime{Secs: p.Expiry})
	}
	id := s.Name
	if id.IsNone() {
		id = s.ID
	}
	return value.ObjectOf(value.ObjectOfSorted([]value.Field{
		{Name: "ac", Value: text(p.Access)}, {Name: "db", Value: text(s.Auth.DB)}, {Name: "exp", Value: exp},
		{Name: "id", Value: id}, {Name: "ip", Value: s.IP}, {Name: "ns", Value: text(s.Auth.NS)},
		{Name: "or", Value: s.Orig}, {Name: "rd", Value: p.Record}, {Name: "tk", Value: p.Claims},
	}))
}

// Expired reports whether the session's identity has run out at t.
func (s *Session) Expired(t time.Time) bool {
	e := s.Auth.Principal.Expiry
	return s.Auth.Principal.Level != auth.Guest && e != 0 && t.Unix() >= e
}
