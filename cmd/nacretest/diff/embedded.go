package diff

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// Embedded answers cases with an engine in this process, a new one for each.
type Embedded struct {
	// DSN names the store of the next case; nil: memory, with versions, as the reference keeps them there.
	DSN func() string
}

// Ask implements Answerer.
func (m *Embedded) Ask(ctx context.Context, c *Case) (answers []Answer, err error) {
	dsn := "memory://?versioned=true"
	if m.DSN != nil {
		dsn = m.DSN()
	}
	e, err := engine.Open(ctx, dsn,
		engine.Options{NoDefaults: true, Experimental: []string{"files"},
			Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dsn, err)
	}
	defer func() {
		if cerr := e.Close(ctx); err == nil && cerr != nil {
			err = fmt.Errorf("close %s: %w", dsn, cerr)
		}
	}()
	owner := e.RootSession()
	place := "test"
	if err := owner.Use(ctx, &place, &place); err != nil {
		return nil, fmt.Errorf("use the database: %w", err)
	}
	if !c.Record {
		return execute(ctx, owner, text(c.asked()))
	}
	if first, err := execute(ctx, owner, text(c.Setup)); err != nil || unparsed(first) {
		return first, err
	}
	user, err := owner.Execute(ctx, "RETURN user:1", nil)
	if err != nil {
		return nil, fmt.Errorf("name the user: %w", err)
	}
	p := auth.Principal{Level: auth.RecordUser, NS: place, DB: place, Access: "acc", Record: user[0].Value}
	return execute(ctx, e.SessionAs(p, place, place), text(c.Body))
}

// unparsed tells the answer to a text that does not parse.
func unparsed(answers []Answer) bool {
	return len(answers) == 1 && answers[0].Failed && strings.HasPrefix(answers[0].Text, "Parse error")
}

// execute runs a query; one that does not parse has a single answer.
func execute(ctx context.Context, s *engine.Session, query string) ([]Answer, error) {
	res, err := s.Execute(ctx, query, nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return []Answer{{Text: firstLine(err.Error()), Failed: true}}, nil
	}
	answers := make([]Answer, len(res))
	for i, r := range res {
		if r.Err != nil {
			answers[i] = Answer{Text: r.Err.Msg, Failed: true}
			continue
		}
		answers[i] = Answer{Text: r.Value.Text()}
	}
	return answers, nil
}
