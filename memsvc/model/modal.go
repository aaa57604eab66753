package model

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"github.com/nacredb/nacre/internal/span"
)

// Endpoint is a provider with one address: reranking, text in images, speech.
type Endpoint struct{ URL, Model, Key string }

// rerankTimeout is short: a search that waits for a better order is worse than one in its own.
const rerankTimeout = 2 * time.Second

// Rank is the place of a document in a reranker's order.
type Rank struct {
	Index int     `json:"index"`
	Score float64 `json:"relevance_score"`
}

// Rerank asks for the order of documents for a query. The ranks name each document at most once.
func (c *Client) Rerank(ctx context.Context, e Endpoint, query string, documents []string) ([]Rank, error) {
	ctx, cancel := context.WithTimeout(ctx, rerankTimeout)
	defer cancel()
	var out struct {
		Results []Rank `json:"results"`
	}
	err := c.post(ctx, e, map[string]any{"model": e.Model, "query": query, "documents": documents,
		"top_n": len(documents)}, &out)
	if err != nil {
		return nil, err
	}
	seen := make([]bool, len(documents))
	for _, r := range out.Results {
		if r.Index < 0 || r.Index >= len(documents) || seen[r.Index] {
			return nil, &Error{why: "sent an order that cannot be used"}
		}
		seen[r.Index] = true
	}
	return out.Results, nil
}

// ReadImage is the text that an image shows.
func (c *Client) ReadImage(ctx context.Context, e Endpoint, mime string, image []byte) (string, error) {
	var out struct {
		Text string `json:"text"`
	}
	err := c.post(ctx, e, map[string]any{"model": e.Model,
		"image": ImageOf(mime, image)}, &out)
	return out.Text, err
}

// Visual is an image, or a text, to be embedded into the space of images.
type Visual struct {
	Image string `json:"image,omitempty"` // as a data address
	Text  string `json:"text,omitempty"`
}

// ImageOf is the bytes of an image of a type as a data address.
func ImageOf(mime string, image []byte) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(image)
}

// EmbedVisual asks for the embedding of images and texts, of length 1 and of exactly Width dimensions; another number
// is a permanent error.
func (c *Client) EmbedVisual(ctx context.Context, e Endpoint, input ...Visual) ([][]float32, error) {
	var out struct {
		Data []struct {
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := c.post(ctx, e, map[string]any{"model": e.Model, "input": input}, &out); err != nil {
		return nil, err
	}
	if len(out.Data) != len(input) {
		return nil, errGarbled
	}
	vs := make([][]float32, len(input))
	for i, d := range out.Data {
		if len(d.Embedding) != Width {
			return nil, &Error{why: fmt.Sprintf("sent visual embeddings of %d dimensions, not %d", len(d.Embedding), Width)}
		}
		vs[i] = d.Embedding
		unit(vs[i])
	}
	return vs, nil
}

// Segment is a part of a recording, with the seconds from its beginning at which it begins and ends.
type Segment struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

// Transcript is the words spoken in a recording: as one text, and in parts where the provider tells them.
type Transcript struct {
	Text     string    `json:"text"`
	Segments []Segment `json:"segments"`
}

// Transcribe returns the words spoken in a recording.
func (c *Client) Transcribe(ctx context.Context, e Endpoint, mime string, audio []byte) (*Transcript, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Type": {mime},
		"Content-Disposition": {`form-data; name="file"; filename="audio"`}})
	if err != nil {
		return nil, err
	}
	if _, err := part.Write(audio); err != nil {
		return nil, err
	}
	if err := w.WriteField("model", e.Model); err != nil {
		return nil, err
	}
	if err := w.WriteField("response_format", "verbose_json"); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	var out Transcript
	err = c.call(ctx, e, w.FormDataContentType(), b.Bytes(), &out)
	return &out, err
}

func (c *Client) post(ctx context.Context, e Endpoint, body, out any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.call(ctx, e, "application/json", b, out)
}

func (c *Client) call(ctx context.Context, e Endpoint, kind string, body []byte, out any) error {
	ctx, sp := span.Start(ctx, "provider "+e.Model, span.Client)
	err := c.do(ctx, c.http, e.URL+"\x00"+e.Key+"\x00"+e.Model, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", kind)
		if e.Key != "" {
			req.Header.Set("Authorization", "Bearer "+e.Key)
		}
		return req, nil
	}, func(r io.Reader) error {
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if json.Unmarshal(b, out) != nil || strings.TrimSpace(string(b)) == "" {
			return errGarbled
		}
		return nil
	}, func() bool { return false })
	sp.End(err)
	return err
}
