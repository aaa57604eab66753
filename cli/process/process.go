// Package process reads what a server runs, for the commands ps and top.
package process

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nacredb/nacre/client"
	"github.com/nacredb/nacre/engine/value"
)

// Row is a row of any of the lists.
type Row struct {
	ID           string  `json:"id,omitempty"`
	Kind         string  `json:"kind,omitempty"`
	Node         string  `json:"node,omitempty"` // id of the server, where several may serve the store
	Session      string  `json:"session,omitempty"`
	User         string  `json:"user,omitempty"`
	Level        string  `json:"level,omitempty"`
	Namespace    string  `json:"namespace,omitempty"`
	Database     string  `json:"database,omitempty"`
	Client       string  `json:"client,omitempty"`
	Seconds      float64 `json:"seconds"`         // for how long it is there; of a slow text, for how long it has ended
	Spent        float64 `json:"spent,omitempty"` // seconds that a slow text took
	Failed       bool    `json:"failed,omitempty"`
	Rows         int64   `json:"rows,omitempty"`
	Memory       int64   `json:"memory,omitempty"`
	Statements   int     `json:"statements,omitempty"`
	Live         int     `json:"live,omitempty"`
	Transactions int     `json:"transactions,omitempty"`
	Reads        bool    `json:"reads,omitempty"`
	Text         string  `json:"text,omitempty"`
}

// List is the answer of the method processes.
type List struct {
	Statements   []Row          `json:"statements"`
	Sessions     []Row          `json:"sessions"`
	Live         []Row          `json:"live"`
	Transactions []Row          `json:"transactions"`
	Slowest      []Row          `json:"slowest"`
	Totals       map[string]int `json:"totals"`
}

// Read asks the server for what it runs.
func Read(ctx context.Context, c *client.Client) (*List, error) {
	v, err := c.Call(ctx, "processes")
	if err != nil {
		return nil, err
	}
	list := &List{}
	if err := json.Unmarshal(value.AppendJSON(nil, v), list); err != nil {
		return nil, fmt.Errorf("the server's list cannot be read: %w", err)
	}
	return list, nil
}

// Kill ends what id names and gives what that was.
func Kill(ctx context.Context, c *client.Client, id string) (string, error) {
	what, err := c.Call(ctx, "terminate", value.Str(id))
	if err != nil {
		return "", err
	}
	return value.ToString(what), nil
}

// Who is the user of a row: its name, or where it has none its level.
func (r *Row) Who() string {
	if r.User == "" {
		return "(" + r.Level + ")"
	}
	return Plain(r.User)
}

// Server is the end of the id of the server that a row is of; "-" for the only one. The beginning of an id is a time.
func (r *Row) Server() string {
	if len(r.Node) < serverDigits {
		return "-"
	}
	return Plain(r.Node[len(r.Node)-serverDigits:])
}

const serverDigits = 12

// Servers says how many servers have answered, and how many have not; "" where there can be one only.
func (l *List) Servers() string {
	switch n, silent := l.Totals["nodes"], l.Totals["silent"]; {
	case n == 0:
		return ""
	case silent > 0:
		return fmt.Sprintf("%d, and %d that did not answer in time", n, silent)
	default:
		return strconv.Itoa(n)
	}
}

// Place is the namespace and database.
func (r *Row) Place() string {
	if r.Namespace == "" {
		return "-"
	}
	return Plain(r.Namespace + "/" + r.Database)
}

// Age is how long the row is there, in a few characters.
func (r *Row) Age() string { return Span(r.Seconds) }

// Span is a number of seconds in a few characters.
func Span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// OneLine is a text on one line, cut to most characters.
func OneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:max(most-1, 0)]) + "…"
	}
	return Plain(s)
}

// Plain shows control characters, which come from clients, as escapes.
func Plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		s = strings.Trim(strconv.Quote(s), `"`)
	}
	if s == "" {
		return "-"
	}
	return s
}

// Size is a size with a binary unit.
func Size(n int64) string {
	const units = "KMGT"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", f, units[i])
}
