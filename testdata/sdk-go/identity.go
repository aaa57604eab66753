package main

import (
	"context"
	"fmt"
	"strings"

	surrealdb "github.com/surrealdb/surrealdb.go"
)

const accessSetup = `
DEFINE TABLE OVERWRITE user SCHEMALESS PERMISSIONS FOR select, update WHERE id = $auth.id;
DEFINE ACCESS OVERWRITE account ON DATABASE TYPE RECORD
	SIGNUP (CREATE user SET email = $email, pass = crypto::argon2::generate($pass))
	SIGNIN (SELECT * FROM user WHERE email = $email AND crypto::argon2::compare(pass, $pass))
	%s DURATION FOR TOKEN 15m, FOR SESSION 12h;
DELETE user`

func (c *client) account(more map[string]any) map[string]any {
	m := map[string]any{"NS": c.ns, "DB": c.db, "AC": "account", "email": "ada@example.com", "pass": "secret"}
	for k, v := range more {
		m[k] = v
	}
	return m
}

func recordUser(ctx context.Context, c *client) error {
	if _, err := surrealdb.Query[any](ctx, c.DB, fmt.Sprintf(accessSetup, ""), nil); err != nil {
		return err
	}
	other, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer other.Close(ctx)
	token, err := other.SignUp(ctx, c.account(nil))
	if err != nil {
		return fmt.Errorf("sign up: %w", err)
	}
	info, err := other.Info(ctx)
	if err != nil {
		return err
	}
	if err := want("info", info["email"], "ada@example.com"); err != nil {
		return err
	}
	if token, err = other.SignIn(ctx, c.account(nil)); err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	if err := other.Invalidate(ctx); err != nil {
		return err
	}
	if _, err := one[[]any](ctx, other, "SELECT * FROM user", nil); err == nil {
		return fmt.Errorf("nobody may select")
	}
	if err := other.Authenticate(ctx, token); err != nil {
		return err
	}
	mails, err := one[[]string](ctx, other, "SELECT VALUE email FROM user", nil)
	if err != nil {
		return err
	}
	if err := want("own record", mails, []string{"ada@example.com"}); err != nil {
		return err
	}
	_, err = other.SignIn(ctx, c.account(map[string]any{"pass": "wrong"}))
	if err == nil {
		return fmt.Errorf("a wrong password lets in")
	}
	return nil
}

func refreshTokens(ctx context.Context, c *client) error {
	if _, err := surrealdb.Query[any](ctx, c.DB, fmt.Sprintf(accessSetup, "WITH REFRESH"), nil); err != nil {
		return err
	}
	other, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer other.Close(ctx)
	first, err := other.SignUpWithRefresh(ctx, c.account(nil))
	if err != nil {
		return err
	}
	if !strings.HasPrefix(first.Refresh, "surreal-refresh-") {
		return fmt.Errorf("refresh token %q", first.Refresh)
	}
	again := map[string]any{"NS": c.ns, "DB": c.db, "AC": "account", "refresh": first.Refresh}
	second, err := other.SignInWithRefresh(ctx, again)
	if err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	if second.Refresh == first.Refresh || second.Access == "" {
		return fmt.Errorf("the same token again")
	}
	if err := other.Authenticate(ctx, second.Access); err != nil {
		return err
	}
	if _, err := other.SignInWithRefresh(ctx, again); err == nil {
		return fmt.Errorf("a refresh token works twice")
	}
	return nil
}

func bearer(ctx context.Context, c *client) error {
	setup := `DEFINE USER OVERWRITE robot ON DATABASE PASSWORD 'r' ROLES VIEWER; DEFINE ACCESS OVERWRITE robots ON DATABASE TYPE BEARER FOR USER`
	if _, err := surrealdb.Query[any](ctx, c.DB, setup, nil); err != nil {
		return err
	}
	grant, err := one[map[string]any](ctx, c.DB, "ACCESS robots GRANT FOR USER robot", nil)
	if err != nil {
		return err
	}
	inner, _ := grant["grant"].(map[string]any)
	key, _ := inner["key"].(string)
	if !strings.HasPrefix(key, "surreal-bearer-") {
		return fmt.Errorf("grant %v", grant)
	}
	other, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer other.Close(ctx)
	if _, err := other.SignIn(ctx, map[string]any{"NS": c.ns, "DB": c.db, "AC": "robots", "key": key}); err != nil {
		return err
	}
	if _, err := one[map[string]any](ctx, other, "INFO FOR DB", nil); err != nil {
		return err
	}
	if _, err := one[any](ctx, other, "DEFINE TABLE nope", nil); err == nil {
		return fmt.Errorf("a viewer may define")
	}
	if _, err := surrealdb.Query[any](ctx, c.DB, "ACCESS robots REVOKE ALL", nil); err != nil {
		return err
	}
	if _, err := other.SignIn(ctx, map[string]any{"NS": c.ns, "DB": c.db, "AC": "robots", "key": key}); err == nil {
		return fmt.Errorf("a revoked key lets in")
	}
	return nil
}

func systemUsers(ctx context.Context, c *client) error {
	setup := `DEFINE USER OVERWRITE n ON NAMESPACE PASSWORD 'n' ROLES OWNER; DEFINE USER OVERWRITE d ON DATABASE PASSWORD 'd' ROLES EDITOR`
	if _, err := surrealdb.Query[any](ctx, c.DB, setup, nil); err != nil {
		return err
	}
	for _, auth := range []surrealdb.Auth{{Namespace: c.ns, Username: "n", Password: "n"}, {Namespace: c.ns, Database: c.db, Username: "d", Password: "d"}} {
		other, err := surrealdb.FromEndpointURLString(ctx, c.url)
		if err != nil {
			return err
		}
		if err := other.Use(ctx, c.ns, c.db); err != nil {
			return err
		}
		token, err := other.SignIn(ctx, auth)
		if err != nil {
			return fmt.Errorf("%s: %w", auth.Username, err)
		}
		if err := other.Authenticate(ctx, token); err != nil {
			return err
		}
		if _, err := one[any](ctx, other, "INFO FOR DB", nil); err != nil {
			return fmt.Errorf("%s: %w", auth.Username, err)
		}
		if _, err := one[any](ctx, other, "INFO FOR ROOT", nil); err == nil {
			return fmt.Errorf("%s sees the root", auth.Username)
		}
		err = other.Use(ctx, "elsewhere", "x")
		if err == nil { // over HTTP the server hears of it with the next request
			_, err = one[any](ctx, other, "RETURN 1", nil)
		}
		if err == nil {
			return fmt.Errorf("%s may leave the namespace", auth.Username)
		}
		if err := other.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}

func wrongCredentials(ctx context.Context, c *client) error {
	if !c.socket { // the status of a failed Authorization header must not end the client
		other, err := c.dial(ctx)
		if err != nil {
			return err
		}
		_ = other.Let(ctx, "auth_token", "x.y.z") // noted by the client, sent with the next request
		_, err = one[any](ctx, other, "RETURN 1", nil)
		if err := wantError("header", err, "There was a problem with authentication"); err != nil {
			return err
		}
	}
	other, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer other.Close(ctx)
	_, err = other.SignIn(ctx, surrealdb.Auth{Username: c.user, Password: "nope"})
	if err := wantError("password", err, "There was a problem with authentication"); err != nil {
		return err
	}
	err = other.Authenticate(ctx, "eyJhbGciOiJub25lIn0.eyJJRCI6InJvb3QifQ.")
	return wantError("token", err, "There was a problem with authentication")
}
