package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// TestSignatureOfTheManual holds the example that Amazon's documentation of the signature gives.
func TestSignatureOfTheManual(t *testing.T) {
	req, err := http.NewRequest(http.MethodGet, "https://examplebucket.s3.amazonaws.com/test.txt", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=0-9")
	signV4(req, nil, awsKeys{ID: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
		"us-east-1", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	const want = "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
	if got := req.Header.Get("Authorization"); !strings.HasSuffix(got, want) {
		t.Errorf("got %s", got)
	}
}

// shelf is a server of objects that speaks the protocols of all three clouds, in pages of two. check refuses requests.
type shelf struct {
	mu      sync.Mutex // guards the rest
	objects map[string][]byte
	faults  int // requests that are still to be answered by 503
	check   func(r *http.Request, body []byte) error
}

func newShelf(t *testing.T, check func(r *http.Request, body []byte) error) (*shelf, string) {
	s := &shelf{objects: map[string][]byte{}, check: check}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if s.faults > 0 {
		s.faults--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if err == nil && s.check != nil {
		err = s.check(r, body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	q, path := r.URL.Query(), r.URL.Path
	name := strings.TrimPrefix(path, "/box/")
	switch {
	case strings.HasPrefix(path, "/upload/"):
		s.objects[q.Get("name")] = body
		return
	case strings.HasPrefix(path, "/storage/v1/b/box/o/"):
		name = strings.TrimPrefix(path, "/storage/v1/b/box/o/")
	case q.Get("list-type") != "" || q.Get("comp") == "list" || path == "/storage/v1/b/box/o":
		s.list(w, q, strings.HasPrefix(path, "/storage"))
		return
	}
	old, ok := s.objects[name]
	switch {
	case r.Method == http.MethodPut:
		s.objects[name] = body
		w.WriteHeader(http.StatusCreated)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(s.objects, name)
		w.WriteHeader(http.StatusNoContent)
	default:
		_, _ = w.Write(old)
	}
}

func (s *shelf) list(w http.ResponseWriter, q url.Values, asJSON bool) {
	mark := q.Get("continuation-token") + q.Get("marker") + q.Get("pageToken")
	var names []string
	for n := range s.objects {
		if strings.HasPrefix(n, q.Get("prefix")) && n > mark {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	next := ""
	if len(names) > 2 {
		names, next = names[:2], names[1]
	}
	if asJSON {
		items := []map[string]string{}
		for _, n := range names {
			items = append(items, map[string]string{"name": n, "updated": "2024-02-03T04:05:06Z"})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items, "nextPageToken": next})
		return
	}
	esc := func(s string) string {
		var b bytes.Buffer
		_ = xml.EscapeText(&b, []byte(s))
		return b.String()
	}
	fmt.Fprint(w, "<Listing>")
	for _, n := range names {
		if q.Get("comp") == "list" {
			fmt.Fprintf(w, "<Blobs><Blob><Name>%s</Name><Properties><Last-Modified>Sat, 03 Feb 2024 04:05:06 GMT"+
				"</Last-Modified></Properties></Blob></Blobs>", esc(n))
			continue
		}
		fmt.Fprintf(w, "<Contents><Key>%s</Key><LastModified>2024-02-03T04:05:06.000Z</LastModified></Contents>",
			esc(n))
	}
	fmt.Fprintf(w, "<NextContinuationToken>%[1]s</NextContinuationToken><NextMarker>%[1]s</NextMarker></Listing>",
		esc(next))
}

// suite holds what every store promises.
func suite(t *testing.T, s Store) {
	t.Helper()
	ctx := t.Context()
	if _, err := s.Get(ctx, "ctx/a/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent object: %v", err)
	}
	if err := s.Delete(ctx, "ctx/a/none"); err != nil {
		t.Errorf("delete an absent object: %v", err)
	}
	want := []string{"ctx/a/1", "ctx/a/d/1", "ctx/a/d/2", "ctx/a/d/ü + &", "ctx/ab/1"}
	for _, k := range want {
		if err := s.Put(ctx, k, []byte("bytes of "+k)); err != nil {
			t.Fatalf("put %s: %v", k, err)
		}
	}
	for _, k := range want {
		if b, err := s.Get(ctx, k); err != nil || string(b) != "bytes of "+k {
			t.Errorf("get %s: %q, %v", k, b, err)
		}
	}
	keys := func(prefix string) (out []string) {
		t.Helper()
		err := s.Each(ctx, prefix, func(k string, at time.Time) error {
			if at.IsZero() {
				t.Errorf("%s has no time", k)
			}
			out = append(out, k)
			return nil
		})
		if err != nil {
			t.Errorf("list %s: %v", prefix, err)
		}
		sort.Strings(out)
		return out
	}
	if got := keys("ctx/"); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("listed %q, want %q", got, want)
	}
	if err := s.Put(ctx, "ctx/a/1", []byte("new")); err != nil {
		t.Error(err)
	}
	if b, err := s.Get(ctx, "ctx/a/1"); err != nil || string(b) != "new" {
		t.Errorf("after a second put: %q, %v", b, err)
	}
	if err := s.DeleteAll(ctx, "ctx/a"); err != nil {
		t.Error(err)
	}
	if got := keys("ctx/"); fmt.Sprint(got) != "[ctx/ab/1]" {
		t.Errorf("after DeleteAll there are %q", got)
	}
	for _, bad := range []string{"../x", "", "/etc/passwd", "ctx/../../x"} {
		if err := s.Put(ctx, bad, nil); err == nil {
			t.Errorf("the key %q is taken", bad)
		}
	}
}

func env(pairs ...string) Environment {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func opened(t *testing.T, scheme string, e Environment) Store {
	t.Helper()
	s, err := openCloud(scheme, "box/some/where", e)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStores(t *testing.T) {
	t.Run("local", func(t *testing.T) {
		s, err := Open("local://" + t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		suite(t, s)
	})
	t.Run("s3", func(t *testing.T) {
		keys := awsKeys{ID: "id", Secret: "secret"}
		_, base := newShelf(t, func(r *http.Request, body []byte) error {
			at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
			if err != nil {
				return err
			}
			again := r.Clone(context.Background())
			again.URL.Host = r.Host
			again.Header = http.Header{}
			signV4(again, body, keys, "eu-west-1", at)
			if again.Header.Get("Authorization") != r.Header.Get("Authorization") {
				return errors.New("the signature does not match")
			}
			return nil
		})
		suite(t, opened(t, "s3", env("AWS_ENDPOINT_URL", base, "AWS_ACCESS_KEY_ID", "id", "AWS_SECRET_ACCESS_KEY",
			"secret", "AWS_REGION", "eu-west-1")))
	})
	t.Run("azure", func(t *testing.T) {
		key := []byte("key of the account")
		_, base := newShelf(t, func(r *http.Request, body []byte) error {
			a := &azure{account: "acc", key: key}
			if "SharedKey acc:"+a.signature(r, len(body)) != r.Header.Get("Authorization") {
				return errors.New("the signature does not match")
			}
			return nil
		})
		suite(t, opened(t, "azure", env("AZURE_STORAGE_CONNECTION_STRING",
			"AccountName=acc;AccountKey=a2V5IG9mIHRoZSBhY2NvdW50;BlobEndpoint="+base)))
	})
	t.Run("azure, shared access", func(t *testing.T) {
		_, base := newShelf(t, func(r *http.Request, _ []byte) error {
			if r.URL.Query().Get("sig") != "abc" {
				return errors.New("no signature")
			}
			return nil
		})
		suite(t, opened(t, "azure", env("AZURE_STORAGE_CONNECTION_STRING",
			"BlobEndpoint="+base+";SharedAccessSignature=sv=1&sig=abc")))
	})
	t.Run("gcs", func(t *testing.T) {
		file, token := account(t)
		_, base := newShelf(t, func(r *http.Request, _ []byte) error {
			if r.Header.Get("Authorization") != "Bearer "+token {
				return errors.New("no token")
			}
			return nil
		})
		suite(t, opened(t, "gcs", env("STORAGE_EMULATOR_HOST", base, "GOOGLE_APPLICATION_CREDENTIALS", file)))
	})
}

// account makes the file of a service account whose token server checks its signature.
func account(t *testing.T) (file, token string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := jwt.Parse(r.FormValue("assertion"), func(*jwt.Token) (any, error) { return &key.PublicKey, nil })
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"access_token": "tok", "expires_in": 3600}`)
	}))
	t.Cleanup(srv.Close)
	b, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "me@example.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b})), "token_uri": srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, j, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, "tok"
}

// TestRoleOfTheInstance holds that without keys the metadata service of the machine gives them.
func TestRoleOfTheInstance(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/latest/api/token" && r.Method == http.MethodPut:
			fmt.Fprint(w, "session")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
			fmt.Fprint(w, "the-role\n")
		default:
			fmt.Fprintf(w, `{"AccessKeyId": "id", "SecretAccessKey": "secret", "Token": "tok", "Expiration": %q}`,
				time.Now().Add(time.Hour).Format(time.RFC3339))
		}
	}))
	defer srv.Close()
	_, base := newShelf(t, func(r *http.Request, _ []byte) error {
		if r.Header.Get("X-Amz-Security-Token") != "tok" {
			return errors.New("no token")
		}
		return nil
	})
	s := opened(t, "s3", env("AWS_ENDPOINT_URL", base, "AWS_EC2_METADATA_SERVICE_ENDPOINT", srv.URL))
	if err := s.Put(t.Context(), "ctx/x", []byte("y")); err != nil {
		t.Error(err)
	}
}

// TestTroubleOfAStore holds that what may pass is tried again, and what may not is not.
func TestTroubleOfAStore(t *testing.T) {
	shelf, base := newShelf(t, nil)
	s := opened(t, "gcs", env("STORAGE_EMULATOR_HOST", base)).(*gcs)
	s.wait = time.Millisecond
	shelf.faults = tries - 1
	if err := s.Put(t.Context(), "ctx/x", []byte("y")); err != nil {
		t.Errorf("after %d faults: %v", tries-1, err)
	}
	shelf.faults = tries
	if err := s.Put(t.Context(), "ctx/x", []byte("y")); err == nil {
		t.Error("a store that is down takes an object")
	}
	n := 0
	shelf.check = func(*http.Request, []byte) error { n++; return errors.New("no") }
	if _, err := s.Get(t.Context(), "ctx/x"); err == nil || errors.Is(err, fs.ErrNotExist) || n != 1 {
		t.Errorf("a refusal: %v after %d tries", err, n)
	}
}

func TestBadAddressesOfStores(t *testing.T) {
	for _, tc := range [][]string{{"s3", "box", "AWS_ACCESS_KEY_ID", "x"}, {"s3", ""}, {"azure", "box"},
		{"s3", "box", "AWS_ENDPOINT_URL", "nothing"}, {"azure", "box", "AZURE_STORAGE_ACCOUNT", "a",
			"AZURE_STORAGE_KEY", "?"},
		{"gcs", "box", "GOOGLE_APPLICATION_CREDENTIALS", "/nowhere"}, {"s3", "box?x", "AWS_REGION", "y"}} {
		if _, err := openCloud(tc[0], tc[1], env(tc[2:]...)); err == nil {
			t.Errorf("%q opens", tc)
		}
	}
	for _, bad := range []string{"", "local://", "ftp://x", "s3://"} {
		if _, err := Open(bad); err == nil {
			t.Errorf("%q opens", bad)
		}
	}
}
