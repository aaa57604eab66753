package fn

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Fetch reads at most limit bytes from a web address by the same way out that the http functions take: filter decides
// about the name, every address that it stands for and every redirect. More than limit bytes are an error.
func (t *Table) Fetch(ctx context.Context, filter NetFilter, address string, limit int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the address %q is not one of the web", address)
	}
	target := &targetFilter{filter: filter}
	if err := target.checkName(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, netFilterKey{}, target), http.MethodGet, u.String(),
		nil)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", u.Redacted(), err)
	}
	req.Header.Set("User-Agent", "nacre")
	req.Header.Set("Accept", "application/json")
	resp, err := t.web.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", u.Redacted(), err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: %s", u.Redacted(), resp.Status)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", u.Redacted(), err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("fetch %s: the answer is larger than %d bytes", u.Redacted(), limit)
	}
	return b, nil
}
