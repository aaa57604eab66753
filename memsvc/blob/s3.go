package blob

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"sync"
	"time"
)

// s3 is a bucket of Amazon S3, or of a server that speaks its protocol.
type s3 struct {
	cloud
	base   string // address of the bucket, without a slash at its end
	region string
	now    func() time.Time
	keys   func(ctx context.Context) (awsKeys, error)
}

// awsKeys sign requests.
type awsKeys struct {
	ID     string    `json:"AccessKeyId"`
	Secret string    `json:"SecretAccessKey"`
	Token  string    `json:"Token"`
	Until  time.Time `json:"Expiration"`
}

// newS3 reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL. Without
// keys the role of the instance is used.
func newS3(bucket, prefix string, env Environment) (*s3, error) {
	s := &s3{cloud: newCloud(prefix), now: time.Now}
	s.region = first(env("AWS_REGION"), env("AWS_DEFAULT_REGION"), "us-east-1")
	s.base = "https://" + bucket + ".s3." + s.region + ".amazonaws.com"
	if e := first(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL")); e != "" {
		u, err := url.Parse(e)
		if err != nil || u.Host == "" {
			return nil, errors.New("AWS_ENDPOINT_URL is not an address")
		}
		s.base = strings.TrimSuffix(e, "/") + "/" + bucket
	} else if strings.Contains(bucket, ".") { // its name would not fit the certificate
		s.base = "https://s3." + s.region + ".amazonaws.com/" + bucket
	}
	id, secret := env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY")
	if (id == "") != (secret == "") {
		return nil, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together")
	}
	if id != "" {
		k := awsKeys{ID: id, Secret: secret, Token: env("AWS_SESSION_TOKEN")}
		s.keys = func(context.Context) (awsKeys, error) { return k, nil }
		return s, nil
	}
	role := &instanceRole{client: s.client}
	role.base = first(env("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "http://169.254.169.254")
	s.keys = role.get
	return s, nil
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// instanceRole gets keys from the metadata service of an instance.
type instanceRole struct {
	base   string
	client *http.Client

	mu   sync.Mutex // guards have; held while fetching, so that one caller fetches
	have awsKeys
}

func (r *instanceRole) get(ctx context.Context) (awsKeys, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.have.ID != "" && time.Until(r.have.Until) > 5*time.Minute {
		return r.have, nil
	}
	var session, role string
	path := r.base + "/latest/meta-data/iam/security-credentials/"
	err := fetchJSON(ctx, r.client, http.MethodPut, r.base+"/latest/api/token",
		map[string]string{"X-Aws-Ec2-Metadata-Token-Ttl-Seconds": "300"}, nil, &session)
	head := map[string]string{"X-Aws-Ec2-Metadata-Token": session}
	if err == nil {
		err = fetchJSON(ctx, r.client, http.MethodGet, path, head, nil, &role)
	}
	if err == nil {
		role, _, _ = strings.Cut(role, "\n")
		err = fetchJSON(ctx, r.client, http.MethodGet, path+url.PathEscape(role), head, nil, &r.have)
	}
	if err != nil {
		return awsKeys{}, fmt.Errorf("AWS_ACCESS_KEY_ID is not set, and the instance gives no role: %w", err)
	}
	return r.have, nil
}

// sign adds a signature of version 4.
func (s *s3) sign(req *http.Request, body []byte) error {
	k, err := s.keys(req.Context())
	if err != nil {
		return err
	}
	signV4(req, body, k, s.region, s.now())
	return nil
}

// signV4 signs host, range and every x-amz- header.
func signV4(req *http.Request, body []byte, k awsKeys, region string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	sum := sha256.Sum256(body)
	digest := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Date", stamp)
	req.Header.Set("X-Amz-Content-Sha256", digest)
	if k.Token != "" {
		req.Header.Set("X-Amz-Security-Token", k.Token)
	}
	heads := map[string]string{"host": req.URL.Host}
	for name, v := range req.Header {
		if low := strings.ToLower(name); strings.HasPrefix(low, "x-amz-") || low == "range" {
			heads[low] = strings.TrimSpace(v[0])
		}
	}
	names := make([]string, 0, len(heads))
	for n := range heads {
		names = append(names, n)
	}
	sort.Strings(names)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n%s\n", req.Method, first(req.URL.EscapedPath(), "/"), req.URL.RawQuery)
	for _, n := range names {
		fmt.Fprintf(&b, "%s:%s\n", n, heads[n])
	}
	signed := strings.Join(names, ";")
	fmt.Fprintf(&b, "\n%s\n%s", signed, digest)
	whole := sha256.Sum256([]byte(b.String()))
	scope := stamp[:8] + "/" + region + "/s3/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hex.EncodeToString(whole[:])
	key := []byte("AWS4" + k.Secret)
	for _, part := range []string{stamp[:8], region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	req.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		k.ID, scope, signed, hex.EncodeToString(mac(key, text))))
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // never fails
	return h.Sum(nil)
}

func (s *s3) object(ctx context.Context, method, key string, body []byte) ([]byte, error) {
	name, err := s.name(key)
	if err != nil {
		return nil, err
	}
	return s.do(ctx, method, s.base+"/"+escaped(name), body, s.sign)
}

// Put implements Store.
func (s *s3) Put(ctx context.Context, key string, b []byte) error {
	_, err := s.object(ctx, http.MethodPut, key, b)
	return err
}

// Get implements Store.
func (s *s3) Get(ctx context.Context, key string) ([]byte, error) {
	return s.object(ctx, http.MethodGet, key, nil)
}

// Delete implements Store.
func (s *s3) Delete(ctx context.Context, key string) error {
	_, err := s.object(ctx, http.MethodDelete, key, nil)
	return absent(err)
}

// DeleteAll implements Store.
func (s *s3) DeleteAll(ctx context.Context, prefix string) error { return deleteAll(ctx, s, prefix) }

// Each implements Store.
func (s *s3) Each(ctx context.Context, prefix string, f func(string, time.Time) error) error {
	return s.each(prefix, f, func(prefix, mark string) ([]object, string, error) {
		b, err := s.do(ctx, http.MethodGet, s.base+"/?"+query(map[string]string{"list-type": "2", "prefix": prefix,
			"continuation-token": mark}), nil, s.sign)
		if err != nil {
			return nil, "", err
		}
		var list struct {
			Contents []struct {
				Key          string
				LastModified time.Time
			}
			NextContinuationToken string
		}
		err = readXML(b, &list)
		var out []object
		for _, o := range list.Contents {
			out = append(out, object{o.Key, o.LastModified})
		}
		return out, list.NextContinuationToken, err
	})
}
