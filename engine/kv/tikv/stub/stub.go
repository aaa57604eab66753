// Package stub starts testdata/kvstub, a cluster on loopback, for tests.
package stub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Cluster is a running one.
type Cluster struct {
	PD     string   `json:"pd"`    // host:port of its placement driver
	Admin  string   `json:"admin"` // host:port where it takes orders
	Stores []string `json:"stores"`

	cmd  *exec.Cmd
	stop io.Closer
}

var (
	once     sync.Once
	shared   *Cluster
	failed   error
	prefixes atomic.Int64
)

// Shared gives a cluster that all tests of the process have in common, and a prefix for the caller alone. It ends
// with the process.
func Shared(t testing.TB) (c *Cluster, prefix string) {
	t.Helper()
	once.Do(func() { shared, failed = Run() })
	if failed != nil {
		t.Fatal(failed)
	}
	return shared, fmt.Sprintf("t%d", prefixes.Add(1))
}

// Start starts a cluster for one test. args are those of kvstub.
func Start(t testing.TB, args ...string) *Cluster {
	t.Helper()
	c, err := Run(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// Stop ends it.
func (c *Cluster) Stop() {
	_ = c.stop.Close()
	_ = c.cmd.Wait()
}

// Run starts a cluster. args are those of kvstub; the caller ends it with Stop. It needs the sources of nacre, and
// go.
func Run(args ...string) (*Cluster, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/nacredb/nacre").Output()
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "testdata", "kvstub")
	c := &Cluster{cmd: exec.Command("go", append([]string{"run", "-C", dir, "."}, args...)...)}
	c.cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var said strings.Builder
	c.cmd.Stderr = &said
	if c.stop, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start kvstub: %w", err)
	}
	if err := json.NewDecoder(out).Decode(c); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start kvstub: %w: %s", err, said.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // a full pipe would hold the cluster up
	return c, nil
}

// Order asks for trouble: a path of testdata/kvstub/admin.go and its arguments, name and value in turn.
func (c *Cluster) Order(t testing.TB, path string, args ...string) string {
	t.Helper()
	said, err := c.Ask(path, args...)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// Ask is Order without a test.
func (c *Cluster) Ask(path string, args ...string) (string, error) {
	q := url.Values{}
	for i := 0; i+1 < len(args); i += 2 {
		q.Set(args[i], args[i+1])
	}
	resp, err := http.Get("http://" + c.Admin + path + "?" + q.Encode())
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, body)
	}
	return string(body), err
}
