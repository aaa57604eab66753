package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Oracle answers cases by a reference engine behind HTTP: POST of the statements to URL, an empty store for each
// request, one JSON line per answer. Cases of record users need a server that knows the header X-Setup: the number of
// bytes at the start of the body which the owner runs first. Where these do not parse, that is the answer.
type Oracle struct {
	URL    string
	Client *http.Client
}

// Ask implements Answerer.
func (o *Oracle) Ask(ctx context.Context, c *Case) ([]Answer, error) {
	setup := ""
	if c.Record {
		setup = text(c.Setup)
	}
	body := setup + text(c.asked())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", o.URL, err)
	}
	req.Header.Set("NS", "test")
	req.Header.Set("DB", "test")
	if c.Record {
		req.Header.Set("X-Auth", "record:acc:user:1")
		req.Header.Set("X-Setup", strconv.Itoa(len(setup)))
	}
	res, err := o.Client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", o.URL, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", o.URL, err)
	}
	return decodeAnswers(raw)
}

func decodeAnswers(raw []byte) ([]Answer, error) {
	var answers []Answer
	for line := range bytes.Lines(raw) {
		var a struct{ Status, Value, Error string }
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, fmt.Errorf("decode an answer: %w", err)
		}
		switch a.Status {
		case "OK":
			answers = append(answers, Answer{Text: a.Value})
		case "ERR":
			answers = append(answers, Answer{Text: a.Error, Failed: true})
		case "PARSE":
			answers = append(answers, Answer{Text: firstLine(a.Error), Failed: true})
		default:
			return nil, fmt.Errorf("the reference gave up: %s", a.Error)
		}
	}
	return answers, nil
}
