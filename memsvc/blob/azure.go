package blob

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"
)

// azure is a container of Azure Blob Storage.
type azure struct {
	cloud
	base, container, account string
	key                      []byte // nil: sas or token
	sas                      string
	token                    *token
	now                      func() time.Time
}

const azureVersion = "2021-08-06"

// newAzure reads AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or
// AZURE_STORAGE_SAS_TOKEN. With an account alone the identity of the instance is used.
func newAzure(container, prefix string, env Environment) (*azure, error) {
	a := &azure{cloud: newCloud(prefix), container: container, now: time.Now, account: env("AZURE_STORAGE_ACCOUNT")}
	key, endpoint := env("AZURE_STORAGE_KEY"), ""
	a.sas = strings.TrimPrefix(env("AZURE_STORAGE_SAS_TOKEN"), "?")
	for _, part := range strings.Split(env("AZURE_STORAGE_CONNECTION_STRING"), ";") {
		name, v, _ := strings.Cut(part, "=")
		switch name {
		case "AccountName":
			a.account = v
		case "AccountKey":
			key = v
		case "BlobEndpoint":
			endpoint = v
		case "SharedAccessSignature":
			a.sas = strings.TrimPrefix(v, "?")
		}
	}
	if a.account == "" && endpoint == "" {
		return nil, errors.New("want AZURE_STORAGE_ACCOUNT or AZURE_STORAGE_CONNECTION_STRING")
	}
	a.base = strings.TrimSuffix(first(endpoint, "https://"+a.account+".blob.core.windows.net"), "/")
	if _, err := url.Parse(a.base); err != nil {
		return nil, errors.New("the BlobEndpoint is not an address")
	}
	switch {
	case key != "":
		var err error
		if a.key, err = base64.StdEncoding.DecodeString(key); err != nil {
			return nil, errors.New("AZURE_STORAGE_KEY is not base64")
		}
	case a.sas == "":
		host := first(env("AZURE_POD_IDENTITY_AUTHORITY_HOST"), "http://169.254.169.254")
		a.token = &token{fetch: func(ctx context.Context) (string, time.Duration, error) {
			return a.identity(ctx, host)
		}}
	}
	return a, nil
}

func (a *azure) identity(ctx context.Context, host string) (string, time.Duration, error) {
	var out struct {
		Token string `json:"access_token"`
		Life  string `json:"expires_in"`
	}
	err := fetchJSON(ctx, a.client, http.MethodGet, strings.TrimSuffix(host, "/")+"/metadata/identity/oauth2/token?"+
		query(map[string]string{"api-version": "2018-02-01", "resource": "https://storage.azure.com/"}),
		map[string]string{"Metadata": "true"}, nil, &out)
	if err == nil && out.Token == "" {
		err = errors.New("no token was given")
	}
	life, _ := strconv.Atoi(out.Life) // 0 is fetched again at once
	return out.Token, time.Duration(life) * time.Second, err
}

func (a *azure) sign(req *http.Request, body []byte) error {
	req.Header.Set("X-Ms-Version", azureVersion)
	req.Header.Set("X-Ms-Date", a.now().UTC().Format(http.TimeFormat))
	switch {
	case a.key != nil:
		req.Header.Set("Authorization", "SharedKey "+a.account+":"+a.signature(req, len(body)))
	case a.token != nil:
		t, err := a.token.get(req.Context())
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+t)
	default:
		if req.URL.RawQuery != "" {
			req.URL.RawQuery += "&"
		}
		req.URL.RawQuery += a.sas
	}
	return nil
}

// signature is that of a shared key: method, lengths and types, x-ms- headers, the resource with its parameters.
func (a *azure) signature(req *http.Request, length int) string {
	size := ""
	if length > 0 {
		size = strconv.Itoa(length)
	}
	var heads []string
	for name, v := range req.Header {
		if low := strings.ToLower(name); strings.HasPrefix(low, "x-ms-") {
			heads = append(heads, low+":"+v[0]+"\n")
		}
	}
	sort.Strings(heads)
	text := req.Method + "\n\n\n" + size + "\n\n" + req.Header.Get("Content-Type") + "\n\n\n\n\n\n\n" +
		strings.Join(heads, "") + "/" + a.account + req.URL.EscapedPath()
	params := req.URL.Query()
	names := make([]string, 0, len(params))
	for n := range params {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		text += "\n" + strings.ToLower(n) + ":" + params.Get(n)
	}
	return base64.StdEncoding.EncodeToString(mac(a.key, text))
}

func (a *azure) object(ctx context.Context, method, key string, body []byte) ([]byte, error) {
	name, err := a.name(key)
	if err != nil {
		return nil, err
	}
	address := a.base + "/" + a.container + "/" + escaped(name)
	return a.do(ctx, method, address, body, func(req *http.Request, body []byte) error {
		if method == http.MethodPut {
			req.Header.Set("X-Ms-Blob-Type", "BlockBlob")
			req.Header.Set("Content-Type", "application/octet-stream")
		}
		return a.sign(req, body)
	})
}

// Put implements Store.
func (a *azure) Put(ctx context.Context, key string, b []byte) error {
	_, err := a.object(ctx, http.MethodPut, key, b)
	return err
}

// Get implements Store.
func (a *azure) Get(ctx context.Context, key string) ([]byte, error) {
	return a.object(ctx, http.MethodGet, key, nil)
}

// Delete implements Store.
func (a *azure) Delete(ctx context.Context, key string) error {
	_, err := a.object(ctx, http.MethodDelete, key, nil)
	return absent(err)
}

// DeleteAll implements Store.
func (a *azure) DeleteAll(ctx context.Context, prefix string) error { return deleteAll(ctx, a, prefix) }

// Each implements Store.
func (a *azure) Each(ctx context.Context, prefix string, f func(string, time.Time) error) error {
	return a.each(prefix, f, func(prefix, mark string) ([]object, string, error) {
		b, err := a.do(ctx, http.MethodGet, a.base+"/"+a.container+"?"+query(map[string]string{"restype": "container",
			"comp": "list", "prefix": prefix, "marker": mark}), nil, a.sign)
		if err != nil {
			return nil, "", err
		}
		var list struct {
			Blobs struct {
				Blob []struct {
					Name       string
					Properties struct {
						LastModified string `xml:"Last-Modified"`
					}
				}
			}
			NextMarker string
		}
		if err := readXML(b, &list); err != nil {
			return nil, "", err
		}
		var out []object
		for _, o := range list.Blobs.Blob {
			at, err := time.Parse(http.TimeFormat, o.Properties.LastModified)
			if err != nil {
				return nil, "", fmt.Errorf("the listing of the object store cannot be read: %w", err)
			}
			out = append(out, object{o.Name, at})
		}
		return out, list.NextMarker, nil
	})
}
