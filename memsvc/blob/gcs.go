package blob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// gcs is a bucket of Google Cloud Storage.
type gcs struct {
	cloud
	base, bucket string
	token        *token // nil: no credentials are sent
}

// newGCS reads GOOGLE_APPLICATION_CREDENTIALS, a file with the key of a service account. Without it the role of the
// instance is used. STORAGE_EMULATOR_HOST names another server, which asks for no credentials.
func newGCS(bucket, prefix string, env Environment) (*gcs, error) {
	g := &gcs{cloud: newCloud(prefix), base: "https://storage.googleapis.com", bucket: url.PathEscape(bucket)}
	if host := env("STORAGE_EMULATOR_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		g.base = strings.TrimSuffix(host, "/")
	}
	file := env("GOOGLE_APPLICATION_CREDENTIALS")
	switch {
	case file != "":
		fetch, err := serviceAccount(file, g.client)
		if err != nil {
			return nil, fmt.Errorf("GOOGLE_APPLICATION_CREDENTIALS: %w", err)
		}
		g.token = &token{fetch: fetch}
	case env("STORAGE_EMULATOR_HOST") == "":
		host := first(env("GCE_METADATA_HOST"), "metadata.google.internal")
		g.token = &token{fetch: func(ctx context.Context) (string, time.Duration, error) {
			return googleToken(ctx, g.client, http.MethodGet,
				"http://"+host+"/computeMetadata/v1/instance/service-accounts/default/token",
				map[string]string{"Metadata-Flavor": "Google"}, nil)
		}}
	}
	return g, nil
}

const storageScope = "https://www.googleapis.com/auth/devstorage.read_write"

// serviceAccount makes tokens by the key in a file.
func serviceAccount(file string, client *http.Client) (func(context.Context) (string, time.Duration, error), error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var account struct {
		Type  string `json:"type"`
		Email string `json:"client_email"`
		Key   string `json:"private_key"`
		URI   string `json:"token_uri"`
	}
	if err := json.Unmarshal(b, &account); err != nil || account.Type != "service_account" {
		return nil, errors.New("want the JSON key of a service account")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(account.Key))
	if err != nil {
		return nil, errors.New("the private key cannot be read")
	}
	return func(ctx context.Context) (string, time.Duration, error) {
		now := time.Now()
		claims := jwt.MapClaims{"iss": account.Email, "scope": storageScope, "aud": account.URI, "iat": now.Unix(),
			"exp": now.Add(time.Hour).Unix()}
		signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(key)
		if err != nil {
			return "", 0, err
		}
		return googleToken(ctx, client, http.MethodPost, account.URI, nil,
			url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed}})
	}, nil
}

func googleToken(ctx context.Context, client *http.Client, method, address string, header map[string]string,
	form url.Values) (string, time.Duration, error) {
	var out struct {
		Token string `json:"access_token"`
		Life  int    `json:"expires_in"`
	}
	if err := fetchJSON(ctx, client, method, address, header, form, &out); err != nil {
		return "", 0, err
	}
	if out.Token == "" {
		return "", 0, errors.New("no token was given")
	}
	return out.Token, time.Duration(out.Life) * time.Second, nil
}

func (g *gcs) sign(req *http.Request, _ []byte) error {
	if g.token == nil {
		return nil
	}
	t, err := g.token.get(req.Context())
	if err == nil {
		req.Header.Set("Authorization", "Bearer "+t)
	}
	return err
}

func (g *gcs) object(ctx context.Context, method, key, suffix string) ([]byte, error) {
	name, err := g.name(key)
	if err != nil {
		return nil, err
	}
	return g.do(ctx, method, g.base+"/storage/v1/b/"+g.bucket+"/o/"+url.PathEscape(name)+suffix, nil, g.sign)
}

// Put implements Store.
func (g *gcs) Put(ctx context.Context, key string, b []byte) error {
	name, err := g.name(key)
	if err != nil {
		return err
	}
	_, err = g.do(ctx, http.MethodPost, g.base+"/upload/storage/v1/b/"+g.bucket+"/o?"+
		query(map[string]string{"uploadType": "media", "name": name}), b, func(req *http.Request, body []byte) error {
		req.Header.Set("Content-Type", "application/octet-stream")
		return g.sign(req, body)
	})
	return err
}

// Get implements Store.
func (g *gcs) Get(ctx context.Context, key string) ([]byte, error) {
	return g.object(ctx, http.MethodGet, key, "?alt=media")
}

// Delete implements Store.
func (g *gcs) Delete(ctx context.Context, key string) error {
	_, err := g.object(ctx, http.MethodDelete, key, "")
	return absent(err)
}

// DeleteAll implements Store.
func (g *gcs) DeleteAll(ctx context.Context, prefix string) error { return deleteAll(ctx, g, prefix) }

// Each implements Store.
func (g *gcs) Each(ctx context.Context, prefix string, f func(string, time.Time) error) error {
	return g.each(prefix, f, func(prefix, mark string) ([]object, string, error) {
		b, err := g.do(ctx, http.MethodGet, g.base+"/storage/v1/b/"+g.bucket+"/o?"+
			query(map[string]string{"prefix": prefix, "pageToken": mark,
				"fields": "items(name,updated),nextPageToken"}), nil, g.sign)
		if err != nil {
			return nil, "", err
		}
		var list struct {
			Items []struct {
				Name    string    `json:"name"`
				Updated time.Time `json:"updated"`
			} `json:"items"`
			Next string `json:"nextPageToken"`
		}
		if err := json.Unmarshal(b, &list); err != nil {
			return nil, "", fmt.Errorf("the listing of the object store cannot be read: %w", err)
		}
		var out []object
		for _, o := range list.Items {
			out = append(out, object{o.Name, o.Updated})
		}
		return out, list.Next, nil
	})
}
