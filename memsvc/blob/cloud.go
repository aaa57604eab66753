package blob

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"
)

// Environment reads the variables that clouds give their credentials in.
type Environment func(name string) string

// maxObject bounds what is read of an object: uploads have a limit of their own.
const maxObject = 4 << 30

// tries is how often a request is made that fails in a way that may pass.
const tries = 4

// cloud is the common part of the three object stores: a client, a prefix of keys, and requests that are tried again.
type cloud struct {
	client *http.Client
	prefix string
	wait   time.Duration // before the second try, doubled for each further one
}

func newCloud(prefix string) cloud {
	prefix = strings.Trim(prefix, "/")
	if prefix != "" {
		prefix += "/"
	}
	return cloud{client: &http.Client{Timeout: 2 * time.Minute}, prefix: prefix, wait: 200 * time.Millisecond}
}

func (c *cloud) name(key string) (string, error) {
	if key == "" || strings.HasPrefix(key, "/") || strings.Contains(key, "..") || strings.ContainsAny(key, "\\\x00") {
		return "", fmt.Errorf("bad object key %q", key)
	}
	return c.prefix + key, nil
}

// statusError is a refusal of an object store. Its body is for the log.
type statusError struct {
	status int
	body   string
}

// Error implements error.
func (e *statusError) Error() string {
	return fmt.Sprintf("the object store answered %d: %.300s", e.status, e.body)
}

// Is makes an object that is not there fs.ErrNotExist.
func (e *statusError) Is(target error) bool {
	return target == fs.ErrNotExist && e.status == http.StatusNotFound
}

// do makes a request, which sign finishes, until it is answered. It gives the body of a success.
func (c *cloud) do(ctx context.Context, method, address string, body []byte,
	sign func(*http.Request, []byte) error) ([]byte, error) {
	for try := 1; ; try++ {
		b, again, err := c.once(ctx, method, address, body, sign)
		if err == nil || !again || try == tries {
			return b, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(c.wait << (try - 1)):
		}
	}
}

func (c *cloud) once(ctx context.Context, method, address string, body []byte,
	sign func(*http.Request, []byte) error) (b []byte, again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, false, err
	}
	if err := sign(req, body); err != nil {
		return nil, true, err
	}
	res, err := c.client.Do(req)
	if err != nil {
		return nil, true, err
	}
	defer res.Body.Close()
	b, err = io.ReadAll(io.LimitReader(res.Body, maxObject))
	switch {
	case err != nil:
		return nil, true, err
	case res.StatusCode < 300:
		return b, false, nil
	}
	s := res.StatusCode
	again = s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s >= 500
	return nil, again, &statusError{s, string(b)}
}

// each lists every page of a listing: page gives the objects of one, and the mark of the next or "".
func (c *cloud) each(prefix string, f func(string, time.Time) error,
	page func(prefix, mark string) (objects []object, next string, err error)) error {
	for mark := ""; ; {
		list, next, err := page(c.prefix+prefix, mark)
		if err != nil {
			return err
		}
		for _, o := range list {
			if err := f(strings.TrimPrefix(o.name, c.prefix), o.at); err != nil {
				return err
			}
		}
		if next == "" {
			return nil
		}
		mark = next
	}
}

type object struct {
	name string
	at   time.Time
}

// deleteAll deletes every object below a prefix.
func deleteAll(ctx context.Context, s Store, prefix string) error {
	var keys []string
	if !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	err := s.Each(ctx, prefix, func(key string, _ time.Time) error {
		keys = append(keys, key)
		return nil
	})
	for _, k := range keys {
		err = errors.Join(err, s.Delete(ctx, k))
	}
	return err
}

// absent is nil for an object that is not there.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// escaped is a name as a path: only letters, digits and -_.~/ stay.
func escaped(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if ch := name[i]; ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9' ||
			strings.IndexByte("-_.~/", ch) >= 0 {
			b.WriteByte(ch)
		} else {
			fmt.Fprintf(&b, "%%%02X", ch)
		}
	}
	return b.String()
}

// query is parameters in the order of their names, escaped as signatures want it.
func query(pairs map[string]string) string {
	v := url.Values{}
	for k, s := range pairs {
		if s != "" {
			v.Set(k, s)
		}
	}
	return strings.ReplaceAll(v.Encode(), "+", "%20")
}

// token is a bearer token that is fetched again a little before it ends.
type token struct {
	fetch func(ctx context.Context) (value string, life time.Duration, err error)

	mu    sync.Mutex // guards the rest; held while fetching, so that one caller fetches
	value string
	until time.Time
}

func (t *token) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value != "" && time.Now().Before(t.until) {
		return t.value, nil
	}
	v, life, err := t.fetch(ctx)
	if err != nil {
		return "", fmt.Errorf("credentials of the object store: %w", err)
	}
	t.value, t.until = v, time.Now().Add(life*9/10)
	return v, nil
}

// fetchJSON asks a service of the machine, or of a cloud, for credentials.
func fetchJSON(ctx context.Context, client *http.Client, method, address string, header map[string]string,
	form url.Values, out any) error {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return err
	}
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s answered %d", req.URL.Host, res.StatusCode)
	}
	if s, ok := out.(*string); ok {
		*s = strings.TrimSpace(string(b))
		return nil
	}
	return json.Unmarshal(b, out)
}

func readXML(b []byte, out any) error {
	if err := xml.Unmarshal(b, out); err != nil {
		return fmt.Errorf("the listing of the object store cannot be read: %w", err)
	}
	return nil
}

// place takes bucket and prefix out of an address, and checks the bucket.
func place(path string) (bucket, prefix string, err error) {
	bucket, prefix, _ = strings.Cut(path, "/")
	if bucket == "" || strings.ContainsAny(bucket, "?#@:%") {
		return "", "", errors.New("want SCHEME://BUCKET/PREFIX")
	}
	return bucket, prefix, nil
}

// openCloud opens one of the three object stores of clouds.
func openCloud(scheme, path string, env Environment) (Store, error) {
	bucket, prefix, err := place(path)
	if err != nil {
		return nil, err
	}
	if env == nil {
		env = os.Getenv
	}
	switch scheme {
	case "s3":
		return newS3(bucket, prefix, env)
	case "gcs":
		return newGCS(bucket, prefix, env)
	}
	return newAzure(bucket, prefix, env)
}
