package parse

import (
	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/value"
)

func (p *parser) defineUser() ast.Statement {
	s := &ast.DefineUser{Mode: p.mode(), Name: p.name(), Base: p.onBase()}
	for p.err == nil && p.userClause(s) {
	}
	return s
}

// userClause parses one clause of DEFINE USER; false where there is none.
func (p *parser) userClause(s *ast.DefineUser) bool {
	switch p.tok.kind {
	case kwComment:
		p.advance()
		s.Comment = p.expr()
	case kwPassword:
		p.advance()
		s.Password, s.PassHash = p.literal(value.Str(p.strand())), ""
	case kwPasshash:
		p.advance()
		s.PassHash, s.Password = p.strand(), nil
	case kwRoles:
		p.advance()
		s.Roles = []string{p.role()}
		for p.err == nil && p.eat(tComma) {
			s.Roles = append(s.Roles, p.role())
		}
	case kwDuration:
		p.advance()
		if p.tok.kind != kwFor {
			p.unexpected("FOR")
		}
		p.durations(map[kind]*ast.Expr{kwToken: &s.TokenDuration, kwSession: &s.SessionDuration},
			"`TOKEN` or `SESSION`")
	default:
		return false
	}
	return true
}

// role is VIEWER, EDITOR or OWNER.
func (p *parser) role() string {
	for _, r := range []string{"VIEWER", "EDITOR", "OWNER"} {
		if p.isWord(r) {
			p.advance()
			return r
		}
	}
	if !p.tok.isIdent() {
		p.unexpected("an identifier")
		return ""
	}
	p.unexpected("an existent role")
	return ""
}

// durations is FOR TOKEN d, FOR SESSION d, … into the places of to.
func (p *parser) durations(to map[kind]*ast.Expr, want string) {
	for p.err == nil && p.eat(kwFor) {
		place := to[p.tok.kind]
		if place == nil {
			p.unexpected(want)
			return
		}
		p.advance()
		*place = p.durationOrNone()
		p.eat(tComma)
	}
}

// durationOrNone is a duration, a parameter, an expression in parentheses or NONE.
func (p *parser) durationOrNone() ast.Expr {
	switch p.tok.kind {
	case kwNone:
		p.advance()
		return p.literal(value.None)
	case tParam:
		return p.param()
	}
	return p.expr()
}

func (p *parser) defineAccess() ast.Statement {
	s := &ast.DefineAccess{Mode: p.mode(), Name: p.name(), Base: p.onBase(), Kind: ast.AccessRecord}
	for p.err == nil && p.accessClause(s) {
	}
	return s
}

// accessClause parses one clause of DEFINE ACCESS; false where there is none.
func (p *parser) accessClause(s *ast.DefineAccess) bool {
	switch p.tok.kind {
	case kwComment:
		p.advance()
		s.Comment = p.expr()
	case kwType:
		p.advance()
		return p.accessType(s)
	case kwAuthenticate:
		p.advance()
		s.Authenticate = p.expr()
	case kwDuration:
		p.advance()
		p.durations(map[kind]*ast.Expr{kwGrant: &s.GrantDuration, kwToken: &s.TokenDuration,
			kwSession: &s.SessionDuration},
			"GRANT, TOKEN or SESSIONS")
	default:
		return false
	}
	return true
}

func (p *parser) accessType(s *ast.DefineAccess) bool {
	switch p.tok.kind {
	case kwJwt:
		p.advance()
		s.Kind, s.JWT = ast.AccessJWT, p.jwt()
	case kwRecord:
		if s.Base != ast.BaseDatabase {
			p.unexpected("a valid access type at this level")
			return false
		}
		p.advance()
		s.Kind = ast.AccessRecord
		p.recordAccess(s)
	case kwBearer:
		p.advance()
		s.Kind = ast.AccessBearer
		p.bearerAccess(s)
	default:
		return false
	}
	return true
}

func (p *parser) recordAccess(s *ast.DefineAccess) {
	for p.err == nil {
		switch p.tok.kind {
		case kwSignup:
			p.advance()
			s.Signup = p.expr()
		case kwSignin:
			p.advance()
			s.Signin = p.expr()
		case kwWith:
			p.advance()
			switch p.tok.kind {
			case kwJwt:
				p.advance()
				s.JWT = p.jwt()
			case kwRefresh:
				p.advance()
				s.Refresh = true
			default:
				p.unexpected("JWT or REFRESH")
			}
		default:
			return
		}
	}
}

func (p *parser) bearerAccess(s *ast.DefineAccess) {
	p.expect(kwFor)
	switch p.tok.kind {
	case kwUser:
		s.BearerUser = true
	case kwRecord:
		if s.Base != ast.BaseDatabase {
			p.fail("Unexpected token `RECORD`, expected USER", p.tok, "`RECORD` bearer can only be defined on a database")
		}
	default:
		if s.Base != ast.BaseDatabase {
			p.unexpected("USER")
		}
		p.unexpected("USER or RECORD")
	}
	p.advance()
	if p.tok.kind == kwWith && p.peek().kind == kwJwt {
		p.advance()
		p.advance()
		s.JWT = p.jwt()
	}
}

// jwt is ALGORITHM a KEY k | URL u, AUDIENCE a, …, and WITH ISSUER KEY k.
func (p *parser) jwt() *ast.JWT {
	j := &ast.JWT{}
	switch p.tok.kind {
	case kwAlgorithm:
		p.advance()
		j.Algorithm = p.algorithm()
		if p.tok.kind != kwKey {
			p.unexpected("a key")
			return j
		}
		p.advance()
		j.Key = p.secret()
	case kwUrl:
		p.advance()
		j.URL = p.secret()
	default:
		p.unexpected("`ALGORITHM`, or `URL`")
		return j
	}
	for more := p.eat(kwAudience); more && p.err == nil; more = p.eat(tComma) {
		j.Audience = append(j.Audience, p.expr())
	}
	if p.tok.kind == kwWith && p.peek().kind == kwIssuer {
		p.advance()
		p.advance()
		p.issuer(j)
	}
	return j
}

func (p *parser) issuer(j *ast.JWT) {
	for p.err == nil {
		switch p.tok.kind {
		case kwAlgorithm:
			p.advance()
			if j.Algorithm != "" && p.tok.kind.String() != j.Algorithm {
				p.unexpected("a compatible algorithm or no algorithm")
				return
			}
			j.IssuerAlg = p.algorithm()
		case kwKey:
			p.advance()
			j.Issuer = p.secret()
		default:
			return
		}
	}
}

// secret is a string, or an expression that gives one.
func (p *parser) secret() ast.Expr { return p.expr() }

func (p *parser) algorithm() string {
	switch p.tok.kind {
	case kwEddsa, kwEs256, kwEs384, kwEs512, kwHs256, kwHs384, kwHs512, kwPs256, kwPs384, kwPs512, kwRs256,
		kwRs384, kwRs512:
		return p.advance().kind.String()
	}
	p.unexpected("a valid algorithm")
	return ""
}

// access is the ACCESS statement.
func (p *parser) access() ast.Statement {
	p.advance()
	s := &ast.Access{Name: p.ident()}
	if p.eat(kwOn) {
		s.Base = p.base()
	}
	verb := p.tok
	switch verb.kind {
	case kwGrant:
		p.advance()
		p.accessGrant(s, verb)
	case kwShow:
		p.advance()
		s.Action = ast.AccessShow
		p.accessSelection(s, verb)
	case kwRevoke:
		p.advance()
		s.Action = ast.AccessRevoke
		p.accessSelection(s, verb)
	case kwPurge:
		p.advance()
		s.Action = ast.AccessPurge
		p.accessPurge(s, verb)
	default:
		p.unexpected("one of GRANT, SHOW, REVOKE or PURGE")
	}
	return s
}

func (p *parser) accessGrant(s *ast.Access, verb token) {
	p.expect(kwFor)
	switch p.tok.kind {
	case kwUser:
		p.advance()
		s.User = p.ident()
	case kwRecord:
		p.advance()
		if !p.tok.isIdent() {
			p.unexpected("an identifier")
			return
		}
		s.Record = p.singleRecord()
	default:
		p.unexpectedAt(verb, "either USER or RECORD")
	}
}

func (p *parser) accessSelection(s *ast.Access, verb token) {
	switch p.tok.kind {
	case kwAll:
		p.advance()
		s.All = true
	case kwGrant:
		p.advance()
		s.GrantID = p.ident()
	case kwWhere:
		p.advance()
		s.Where = p.expr()
	default:
		p.unexpectedAt(verb, "one of ALL, GRANT or WHERE")
	}
}

func (p *parser) accessPurge(s *ast.Access, verb token) {
	for p.err == nil {
		switch p.tok.kind {
		case kwExpired:
			s.Expired = true
		case kwRevoked:
			s.Revoked = true
		default:
			if !s.Expired && !s.Revoked {
				p.unexpectedAt(verb, "EXPIRED, or REVOKED")
				return
			}
			if p.eat(kwFor) {
				s.For = p.literal(p.durationToken())
			}
			return
		}
		p.advance()
		p.eat(tComma)
	}
}
