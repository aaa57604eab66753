package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/nacredb/nacre/engine/errs"
)

// ModelStreamer is a Transport that carries model files itself; the HTTP endpoints do it otherwise.
type ModelStreamer interface {
	ImportModel(ctx context.Context, r io.Reader) error
	ExportModel(ctx context.Context, name, version string, w io.Writer) error
}

// ImportModel streams a model file to the server, which checks it, stores it and defines its model. An import that
// fails leaves nothing behind.
func (c *Client) ImportModel(ctx context.Context, r io.Reader) error {
	if t, ok := c.t.(ModelStreamer); ok {
		return t.ImportModel(ctx, r)
	}
	req, err := c.request(ctx, http.MethodPost, "ml/import", io.NopCloser(r))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	res, err := c.send(req)
	// The status is 400 for all refusals: the text tells a model that is there from a file that cannot be taken.
	if e, ok := errors.AsType[*errs.Error](err); ok && strings.HasPrefix(e.Msg, "The model '") &&
		strings.HasSuffix(e.Msg, "' already exists") {
		return errs.New(errs.KindAlreadyExists, "%s", e.Msg)
	}
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// ExportModel writes the file of a model to w.
func (c *Client) ExportModel(ctx context.Context, name, version string, w io.Writer) error {
	if t, ok := c.t.(ModelStreamer); ok {
		return t.ExportModel(ctx, name, version, w)
	}
	req, err := c.request(ctx, http.MethodGet, "ml/export/"+name+"/"+version, nil)
	if err != nil {
		return err
	}
	res, err := c.send(req)
	// The protocol wraps the reason in a text about routes; callers want the reason.
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Kind == errs.KindNotFound {
		reason := strings.TrimPrefix(e.Msg, "The HTTP route '")
		return errs.New(errs.KindNotFound, "%s", strings.TrimSuffix(reason, "' is not found"))
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(w, res.Body)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the export ended early, what was written is not whole", ErrUnreachable)
	}
	return err
}
