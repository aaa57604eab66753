package grpc

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/pb/valuepb"
	"github.com/nacredb/nacre/internal/protobuf"
)

func signup(c *call, message []byte) error {
	b, err := submessage(message, 2)
	if err != nil {
		return err
	}
	if b == nil {
		return errs.InvalidParams("Expected credentials: the field credentials is missing")
	}
	params, err := c.recordCredentials(b)
	if err != nil {
		return err
	}
	tokens, err := c.enter("signup", params)
	if err != nil {
		return err
	}
	return c.answer(&rpcpb.SignupResponse{Tokens: tokens})
}

func signin(c *call, message []byte) error {
	method, err := submessage(message, 2)
	if err != nil {
		return err
	}
	var params value.Value
	for s := protobuf.Fields(method); ; {
		more, err := s.Next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		switch {
		case s.B == nil:
		case s.Num == 1:
			params, err = c.userCredentials(s.B)
		case s.Num == 2:
			params, err = c.recordCredentials(s.B)
		case s.Num == 3:
			params, err = c.bearerCredentials(s.B)
		}
		if err != nil {
			return err
		}
	}
	if params.IsNone() {
		return errs.InvalidParams("Expected credentials: set user, record or bearer of access_method")
	}
	tokens, err := c.enter("signin", params)
	if err != nil {
		return err
	}
	return c.answer(&rpcpb.SigninResponse{Tokens: tokens})
}

// enter calls a method that gives an identity and tokens.
func (c *call) enter(method string, params value.Value) (*rpcpb.Tokens, error) {
	v, err := c.rpc(method, params)
	c.changed()
	if err != nil {
		return nil, err
	}
	return tokensOf(v), nil
}

// credentials are parameters of signin: fields that are empty are left out.
func credentials(fields []value.Field, more ...value.Field) value.Value {
	for _, f := range more {
		if f.Value.Len() > 0 {
			fields = append(fields, f)
		}
	}
	return value.ObjectOf(value.NewObject(fields...)) // of equal names the last wins
}

func field(name, v string) value.Field { return value.Field{Name: name, Value: value.Str(v)} }

func (c *call) userCredentials(b []byte) (value.Value, error) {
	u := &rpcpb.UserCredentials{}
	if err := c.read(b, u); err != nil {
		return value.None, err
	}
	if u.Database != "" && u.Namespace == "" {
		return value.None, errs.InvalidParams("A database needs its namespace")
	}
	given := []value.Field{field("user", u.Username), field("pass", u.Password)}
	return credentials(given, field("NS", u.Namespace), field("DB", u.Database), field("AC", u.Access)), nil
}

func (c *call) bearerCredentials(b []byte) (value.Value, error) {
	k := &rpcpb.BearerCredentials{}
	if err := c.read(b, k); err != nil {
		return value.None, err
	}
	if k.Access == "" || k.Key == "" {
		return value.None, errs.InvalidParams("Bearer credentials need access and key")
	}
	return credentials(nil, field("NS", k.Namespace), field("DB", k.Database), field("AC", k.Access),
		field("key", k.Key)), nil
}

// recordCredentials reads RecordCredentials, whose variables have values.
func (c *call) recordCredentials(b []byte) (value.Value, error) {
	var texts [4]string
	var vars []value.Field
	for s := protobuf.Fields(b); ; {
		more, err := s.Next()
		if err != nil {
			return value.None, err
		}
		if !more {
			break
		}
		switch {
		case s.B == nil || s.Num > 4:
		case s.Num == 4:
			var o *value.Object
			if o, err = protobuf.DecodeVariables(s.B, c.srv.decoding(c.entry.session)); err == nil {
				vars = append([]value.Field(nil), o.Fields()...)
				err = c.holds(value.ObjectOf(o))
			}
		default:
			texts[s.Num], err = utf8Text(s.B)
		}
		if err != nil {
			return value.None, err
		}
	}
	if texts[1] == "" || texts[2] == "" || texts[3] == "" {
		return value.None, errs.InvalidParams("Record credentials need namespace, database and access")
	}
	return credentials(vars, field("NS", texts[1]), field("DB", texts[2]), field("AC", texts[3])), nil
}

// tokensOf reads the answer of signin: a token, or {access, refresh}.
func tokensOf(v value.Value) *rpcpb.Tokens {
	t := &rpcpb.Tokens{}
	if v.Kind() == value.KindString {
		t.Access = v.Str()
	} else {
		t.Access, t.Refresh = textField(v, "access"), textField(v, "refresh")
	}
	t.ExpiresAt = expiryOf(t.Access)
	return t
}

// expiryOf is when a token that the server made, or has verified, expires; nil: never.
func expiryOf(token string) *valuepb.Datetime {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	var claims struct {
		Exp json.Number `json:"exp"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return nil
	}
	at, err := claims.Exp.Float64()
	if err != nil || at <= 0 {
		return nil
	}
	return &valuepb.Datetime{Seconds: int64(at)}
}

func authenticate(c *call, message []byte) error {
	req := &rpcpb.AuthenticateRequest{}
	if err := c.read(message, req); err != nil {
		return err
	}
	_, err := c.rpc("authenticate", value.Str(req.GetToken()))
	c.changed()
	if err != nil {
		return err
	}
	return c.answer(&rpcpb.AuthenticateResponse{ExpiresAt: expiryOf(req.GetToken())})
}

// pair is the parameter of refresh and revoke.
func pair(access, refresh string) value.Value {
	return value.ObjectOf(value.NewObject(field("access", access), field("refresh", refresh)))
}

func refreshTokens(c *call, message []byte) error {
	req := &rpcpb.RefreshTokensRequest{}
	if err := c.read(message, req); err != nil {
		return err
	}
	if req.GetRefresh() == "" {
		return errs.InvalidParams("Expected a refresh token")
	}
	tokens, err := c.enter("refresh", pair("", req.GetRefresh()))
	if err != nil {
		return err
	}
	return c.answer(&rpcpb.RefreshTokensResponse{Tokens: tokens})
}

func revokeTokens(c *call, message []byte) error {
	req := &rpcpb.RevokeTokensRequest{}
	if err := c.read(message, req); err != nil {
		return err
	}
	if req.GetAccess() == "" && req.GetRefresh() == "" {
		return errs.InvalidParams("Expected an access token, a refresh token, or both")
	}
	if _, err := c.rpc("revoke", pair(req.GetAccess(), req.GetRefresh())); err != nil {
		return err
	}
	return c.answer(&rpcpb.RevokeTokensResponse{})
}

func invalidate(c *call, _ []byte) error {
	if err := c.renew("invalidate", endKilled); err != nil {
		return err
	}
	return c.answer(&rpcpb.InvalidateResponse{})
}
