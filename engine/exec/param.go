package exec

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// param is the value of $name: the record at hand, a parameter in sight, one of the session, one that DEFINE PARAM
// made. An unknown one is NONE; outside of a database it is an error. $this, $self and $parent are never a variable
// where they are a record.
//
// SECURITY: inside a definition (PERMISSIONS, VALUE, ASSERT, events, …) what the caller has set comes last, after
// DEFINE PARAM, and never under a name that definitions use for the record at hand: a caller could answer for the
// database.
func (r *Run) param(ctx context.Context, env *Env, name string) (value.Value, error) {
	if len(name) == len("this") || len(name) == len("parent") {
		if v, ok := env.atHand(name); ok {
			return v, nil
		}
	}
	if r.defining > 0 {
		if v, ok := env.lookupBelow(r.Base, name); ok {
			return v, nil
		}
	} else if v, ok := env.Lookup(name); ok {
		return v, nil
	}
	return r.paramBeyond(ctx, name)
}

// paramBeyond is param for a name that is not in sight. It is apart because param is called for almost every value.
func (r *Run) paramBeyond(ctx context.Context, name string) (value.Value, error) {
	switch name {
	case "this":
		return value.None, nil
	case "auth":
		return r.Sess.Auth.Principal.Record, nil
	case "token":
		r.Personal = true
		return r.Sess.Auth.Principal.Claims, nil
	case "access":
		if a := r.Sess.Auth.Principal.Access; a != "" {
			return value.Str(a), nil
		}
		return value.None, nil
	case "session":
		r.Personal = true
		return r.Sess.Value(), nil
	}
	if r.defining == 0 {
		if v, ok := r.sessionVar(name); ok {
			return v, nil
		}
	}
	if r.defining == 0 && name != "self" {
		if err := r.inUse(); err != nil {
			return value.None, err
		}
	}
	if v, ok, err := r.definedParam(ctx, name); ok || err != nil || r.defining == 0 {
		return v, err
	}
	if ofTheRecord(name) && !(r.signing && r.defining == 1) { // a clause of an access method has no record at hand
		return value.None, nil
	}
	if v, ok := r.Base.Lookup(name); ok {
		return v, nil
	}
	v, _ := r.sessionVar(name)
	return v, nil
}

// ofTheRecord reports whether name is one that definitions have for the record at hand.
func ofTheRecord(name string) bool {
	switch name {
	case "value", "before", "after", "event", "input", "this", "self", "parent":
		return true
	}
	return false
}

// atHand is the record that $this, $self or $parent stands for; false where there is none, and for all other names.
func (e *Env) atHand(name string) (value.Value, bool) {
	switch name {
	case "this", "self":
		for f := e; f != nil; f = f.up {
			if f.hasDoc && f.linked {
				return RecordOf(f.doc), true
			}
			if f.hasDoc {
				return f.doc, true
			}
		}
	case "parent":
		v := e.Parent()
		return v, !v.IsNone()
	}
	return value.None, false
}

// inUse is an error without a namespace or a database in use: nothing says what a parameter is.
func (r *Run) inUse() error {
	switch {
	case r.Auth.NS == "":
		return errs.Validation("Specify a namespace to use")
	case r.Auth.DB == "":
		return errs.Validation("Specify a database to use")
	}
	return nil
}

// sessionVar is a variable that was set on the connection.
func (r *Run) sessionVar(name string) (value.Value, bool) {
	for i := range r.Sess.Vars {
		if r.Sess.Vars[i].Name == name {
			return r.Sess.Vars[i].Value, true
		}
	}
	return value.None, false
}

// definedParam is the value of a DEFINE PARAM that the run may see; false where there is none.
func (r *Run) definedParam(ctx context.Context, name string) (v value.Value, ok bool, err error) {
	if r.Auth.NS == "" || r.Auth.DB == "" {
		return value.None, false, nil
	}
	db, err := r.Database()
	if err != nil {
		return value.None, false, nil
	}
	d, err := r.Cat.Def(db.Inner(), ast.DefParam, name)
	if err != nil || d == nil {
		return value.None, false, err
	}
	p, ok := d.Stmt.(*ast.DefineParam)
	if !ok {
		return value.None, false, nil
	}
	if r.Auth.Principal.Level != auth.RootUser { // those see every definition as it is
		if err := r.permit(ctx, p.Permission, "You don't have permission to view the $%s parameter", name); err != nil {
			return value.None, false, err
		}
	}
	// SECURITY: the value is that of the version that is read, who may see it is a matter of now.
	if d, err = r.Cat.DefAt(db.Inner(), ast.DefParam, name, r.at); err != nil || d == nil {
		return value.None, false, err
	}
	p, _ = d.Stmt.(*ast.DefineParam)
	if lit, ok := p.Value.(*ast.Literal); ok {
		return lit.Value, true, nil
	}
	err = r.InDefinition(auth.By(d.By), func() error {
		v, err = r.Value(ctx, r.Base, p.Value)
		return err
	})
	return v, true, err
}

// Value returns the object that $session shows.
func (s *SessionState) Value() value.Value {
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

// Expired reports whether the session's identity has run out by clock.
func (s *SessionState) Expired(clock func() time.Time) bool {
	e := s.Auth.Principal.Expiry
	return s.Auth.Principal.Level != auth.Guest && e != 0 && clock().Unix() >= e
}
