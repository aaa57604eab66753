package access

import (
	"context"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/catalog"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/value"
)

// Revoked is the refusal of a session whose identity is no more.
func Revoked() *errs.Error {
	return &errs.Error{Kind: errs.KindNotAllowed, Msg: "The identity of the session was revoked",
		Detail: &errs.Detail{Kind: "Auth", Inner: &errs.Detail{Kind: "SessionRevoked"}}}
}

// Still gives p as it is by now: with the roles that its user has. The error is Revoked where the user or access method
// is gone, the password is another, the token or the grant was revoked, or the record of the user was deleted.
func (a *Authenticator) Still(ctx context.Context, p auth.Principal) (auth.Principal, error) {
	st := a.ex.System()
	st.Auth.NS, st.Auth.DB = p.NS, p.DB
	err := a.ex.Read(ctx, &st, func(r *exec.Run) error {
		if gone, err := revoked(r, p.Token); gone || err != nil {
			return orRevoked(err)
		}
		if p.Access != "" {
			if err := (&run{r, &a.keys}).stillGranted(&p); err != nil {
				return err
			}
		}
		if p.Stored && r.Sess.Auth.DB != "" {
			if v, err := r.Fetch(ctx, p.Record.Record()); err != nil || v.IsNone() {
				return orRevoked(err)
			}
		}
		if p.Name == "" || p.Proof == "" {
			return nil
		}
		d, err := r.Cat.Actor(ast.DefUser, p.Name, p.NS, p.DB)
		if err != nil || d == nil {
			return orRevoked(err)
		}
		u, ok := d.Stmt.(*ast.DefineUser)
		if !ok || u.PassHash != p.Proof {
			return Revoked()
		}
		if p.Roles, ok = auth.ParseRoles(u.Roles); !ok {
			return Revoked()
		}
		return nil
	})
	return p, err
}

func orRevoked(err error) error {
	if err != nil {
		return err
	}
	return Revoked()
}

// stillGranted checks the access method of p, and the grant.
func (r *run) stillGranted(p *auth.Principal) error {
	d, err := r.Cat.Actor(ast.DefAccess, p.Access, p.NS, p.DB)
	if err != nil || d == nil {
		return orRevoked(err)
	}
	if p.Grant == "" {
		return nil
	}
	g, err := r.findGrant(d, p.Grant)
	if err != nil || g == nil || !g.at("revocation").IsNone() {
		return orRevoked(err)
	}
	return nil
}

// Known notes whether the record of a record user is there: a session whose record was never there does not end for
// that.
func (a *Authenticator) Known(ctx context.Context, p auth.Principal) (auth.Principal, error) {
	if p.Level != auth.RecordUser || p.Record.Kind() != value.KindRecord {
		return p, nil
	}
	a.ex.Catalog.Subjects()
	if err := a.mark(ctx, &p); err != nil {
		return p, err
	}
	st := a.ex.System()
	st.Auth.NS, st.Auth.DB = p.NS, p.DB
	err := a.ex.Read(ctx, &st, func(r *exec.Run) error {
		v, err := r.Fetch(ctx, p.Record.Record())
		p.Stored = !v.IsNone()
		return err
	})
	return p, err
}

// Resumed readies what watches over identities for one that was found earlier, perhaps by another process: it has not
// been looked up again.
func (a *Authenticator) Resumed(p *auth.Principal) {
	if p.Level == auth.RecordUser && p.Record.Kind() == value.KindRecord {
		a.ex.Catalog.Subjects()
	}
}

// mark notes, on a store that several processes share, that deletes in the table of the record user p concern sessions.
// It stands there before the record is read: a delete that has not seen the mark comes before that read, or is in
// conflict.
func (a *Authenticator) mark(ctx context.Context, p *auth.Principal) error {
	st := a.ex.System()
	st.Auth.NS, st.Auth.DB = p.NS, p.DB
	var in *catalog.Scope // of the table, while it is not marked
	err := a.ex.Read(ctx, &st, func(r *exec.Run) (err error) {
		if !r.Cat.Shared() {
			return nil
		}
		in, err = unmarked(r, p)
		return err
	})
	if in == nil || err != nil {
		return err
	}
	return a.ex.Write(ctx, &st, func(r *exec.Run) error {
		_, err := r.Cat.MarkSubjects(*in)
		return err
	})
}

// unmarked is the table of the record that p is; nil if it is marked, or is not there.
func unmarked(r *exec.Run, p *auth.Principal) (*catalog.Scope, error) {
	tb, err := r.Table(p.Record.Record().Table)
	if tb == nil || err != nil {
		return nil, err
	}
	in := tb.Inner()
	if marked, err := r.Cat.MarkedSubjects(in); marked || err != nil {
		return nil, err
	}
	return &in, nil
}
