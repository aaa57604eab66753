package model

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"strings"
)

// Width is the most dimensions that an embedding may have.
const Width = 3072

// Embed asks for the embedding of each text, of length 1. One that is narrower than Width stays so: the rest would be
// zeros. query says that the texts are questions.
func (c *Client) Embed(ctx context.Context, t Target, texts []string, query bool) (out [][]float32, u Usage,
	err error) {
	address, h, body := embedRequest(t, texts, query)
	b, err := json.Marshal(body)
	if err != nil {
		return nil, u, err
	}
	err = c.do(ctx, c.http, t.BaseURL+"\x00"+t.Key+"\x00"+t.Model, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		req.Header = h.Clone()
		req.Header.Set("Content-Type", "application/json")
		return req, nil
	}, func(r io.Reader) (err error) {
		out, u, err = readEmbeddings(r, len(texts))
		return err
	}, func() bool { return false })
	if u.Input == 0 {
		for _, s := range texts {
			u.Input += (len(s) + 3) / 4
		}
	}
	return out, u, err
}

func embedRequest(t Target, texts []string, query bool) (string, http.Header, map[string]any) {
	h := http.Header{}
	if t.Wire != GenerateContent {
		if t.Key != "" {
			h.Set("Authorization", "Bearer "+t.Key)
		}
		return t.BaseURL + "/embeddings", h, map[string]any{"model": t.Model, "input": texts, "dimensions": Width}
	}
	if t.Key != "" {
		h.Set("X-Goog-Api-Key", t.Key)
	}
	name, task := "models/"+strings.TrimPrefix(t.Model, "models/"), "RETRIEVAL_DOCUMENT"
	if query {
		task = "RETRIEVAL_QUERY"
	}
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = map[string]any{"model": name, "taskType": task, "outputDimensionality": Width,
			"content": map[string]any{"parts": []any{map[string]any{"text": s}}}}
	}
	return t.BaseURL + "/v1beta/" + name + ":batchEmbedContents", h, map[string]any{"requests": list}
}

// readEmbeddings reads the answer of either wire.
func readEmbeddings(r io.Reader, n int) ([][]float32, Usage, error) {
	var v struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Embeddings []struct {
			Values []float32 `json:"values"`
		} `json:"embeddings"`
		Usage struct {
			In int `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := json.NewDecoder(r).Decode(&v); err != nil {
		return nil, Usage{}, errGarbled
	}
	out := make([][]float32, n)
	for _, d := range v.Data {
		if d.Index >= 0 && d.Index < n {
			out[d.Index] = d.Embedding
		}
	}
	for i, e := range v.Embeddings[:min(n, len(v.Embeddings))] {
		out[i] = e.Values
	}
	for i := range out {
		switch {
		case len(out[i]) == 0 || len(out[i]) != len(out[0]):
			return nil, Usage{}, errGarbled
		case len(out[i]) > Width:
			return nil, Usage{}, &Error{why: "sent embeddings of more than 3072 dimensions"}
		}
		unit(out[i])
	}
	return out, Usage{Input: max(v.Usage.In, 0)}, nil
}

func unit(v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		clear(v)
		return
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= scale
	}
}
