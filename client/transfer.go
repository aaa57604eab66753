package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/engine/errs"
)

// ImportResult counts what an import did. Records are the changes of records that it made, -1 where the server does not
// tell.
type ImportResult struct {
	Statements int64
	Failures   int64
	Records    int64
	Failed     []ImportFailure // the first ones, at most 100, in order
}

// ImportFailure is why a statement failed. Line is where it begins in the text; 0 where the server does not tell.
type ImportFailure struct {
	Line int
	Err  error
}

// ImportOptions say how an import goes. Stop ends it with the first statement that fails.
type ImportOptions struct{ Stop bool }

// maxFailed bounds ImportResult.Failed.
const maxFailed = 100

// Import streams statements to the server, which applies them as they arrive; memory stays constant.
// Failed statements are counted in the result and are not an error of Import itself: for all or
// nothing, check Failures. An interrupted import leaves what was applied.
func (c *Client) Import(ctx context.Context, r io.Reader, opt ImportOptions) (*ImportResult, error) {
	if t, ok := c.t.(Streamer); ok {
		return t.Import(ctx, r, opt)
	}
	req, err := c.request(ctx, http.MethodPost, "import", io.NopCloser(r))
	if err != nil {
		return nil, err
	}
	if opt.Stop {
		req.URL.RawQuery = "on-failure=stop"
	}
	req.Header.Set("Content-Type", "text/plain")
	req.Header.Set("Accept", "application/json")
	res, err := c.send(req, http.StatusUnprocessableEntity)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	out, err := readImport(res.Body)
	if err != nil {
		return nil, err
	}
	// The body lists failures, at most some of them; the counts stand in the head.
	out.Records = -1
	for _, h := range []struct {
		name string
		n    *int64
	}{
		{"Service-Import-Statements", &out.Statements}, {"Service-Import-Failures", &out.Failures},
		{"Service-Import-Records", &out.Records},
	} {
		if n, err := strconv.ParseInt(res.Header.Get(h.name), 10, 64); err == nil {
			*h.n = n
		}
	}
	for i, text := range strings.Split(res.Header.Get("Service-Import-Failed-Lines"), ",") {
		if n, err := strconv.Atoi(text); err == nil && i < len(out.Failed) {
			out.Failed[i].Line = n
		}
	}
	return out, nil
}

// readImport reads a JSON array of statement results one by one.
func readImport(r io.Reader) (*ImportResult, error) {
	out := &ImportResult{}
	dec := json.NewDecoder(r)
	if t, err := dec.Token(); err != nil || t != json.Delim('[') {
		return nil, fmt.Errorf("%w: the answer to an import is not a list (%v)", ErrUnreachable, err)
	}
	for dec.More() {
		var one struct {
			Status string          `json:"status"`
			Kind   string          `json:"kind"`
			Result json.RawMessage `json:"result"`
		}
		if err := dec.Decode(&one); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		out.Statements++
		if one.Status != "ERR" {
			continue
		}
		out.Failures++
		if len(out.Failed) < maxFailed {
			out.Failed = append(out.Failed, ImportFailure{Err: importFailure(one.Kind, one.Result)})
		}
	}
	return out, nil
}

func importFailure(kind string, result json.RawMessage) error {
	k, _ := errs.KindOf(kind)
	var msg string
	if json.Unmarshal(result, &msg) != nil {
		msg = string(result)
	}
	return errs.New(k, "%s", msg)
}

// ExportOptions say what an export holds, by the names of POST /export. Tables is true, false or a list of names.
type ExportOptions struct {
	Users     bool `json:"users"`
	Accesses  bool `json:"accesses"`
	Params    bool `json:"params"`
	Functions bool `json:"functions"`
	Analyzers bool `json:"analyzers"`
	Sequences bool `json:"sequences"`
	APIs      bool `json:"apis"`
	Buckets   bool `json:"buckets"`
	Configs   bool `json:"configs"`
	Models    bool `json:"models,omitempty"` // without their files
	Versions  bool `json:"versions"`
	Records   bool `json:"records"`
	Tables    any  `json:"tables"`
}

// FullExport is everything but old versions and models.
func FullExport() ExportOptions {
	return ExportOptions{Users: true, Accesses: true, Params: true, Functions: true, Analyzers: true, Sequences: true,
		APIs: true, Buckets: true, Configs: true, Records: true, Tables: true}
}

// Export writes the namespace and database as statements to w and gives the bytes written.
func (c *Client) Export(ctx context.Context, w io.Writer, opt ExportOptions) (int64, error) {
	if t, ok := c.t.(Streamer); ok {
		return t.Export(ctx, w, opt)
	}
	body, err := json.Marshal(opt)
	if err != nil {
		return 0, fmt.Errorf("export options: %w", err)
	}
	req, err := c.request(ctx, http.MethodPost, "export", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.send(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(w, res.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the export ended early, what was written is not whole", ErrUnreachable)
	}
	return n, err
}

// Backup opens a backup of the whole store of the server, which only an owner at root level may see. The caller reads
// it to its end, closes it, and verifies it: a transfer that broke off is not whole.
func (c *Client) Backup(ctx context.Context, compress bool) (io.ReadCloser, error) {
	req, err := c.request(ctx, http.MethodGet, "backup", nil)
	if err != nil {
		return nil, err
	}
	if compress {
		req.URL.RawQuery = "compress=true"
	}
	res, err := c.send(req)
	if err != nil {
		return nil, err
	}
	return res.Body, nil
}

// WaitReady polls Ready until it is nil or ctx ends; the last answer is given with ctx's error.
func (c *Client) WaitReady(ctx context.Context, every time.Duration) error {
	for {
		err := c.Ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-time.After(every):
		}
	}
}
