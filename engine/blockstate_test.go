package engine_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
)

// outcomes are short names for the errors of statements in and around blocks.
var outcomes = map[string]string{
	"The query was not executed": "!undone", "Tried to start a transaction": "!nested", "An error occurred": "!thrown",
	"Invalid statement: Cannot": "!no block", "Missing COMMIT": "!open", "Cannot COMMIT": "!aborted", "Invalid control flow": "!stray",
}

// summary is an answer each: its text, or the short name of its error.
func summary(res []engine.Result) string {
	out := make([]string, len(res))
	for i := range res {
		out[i] = res[i].Value.Text()
		if res[i].Err == nil {
			continue
		}
		out[i] = "! " + res[i].Err.Msg
		for start, name := range outcomes {
			if strings.HasPrefix(res[i].Err.Msg, start) {
				out[i] = name
			}
		}
	}
	return strings.Join(out, "; ")
}

// What becomes of the statements of a block depends on what the block has come to, and on who opened the transaction.
func TestBlockStates(t *testing.T) {
	ctx := context.Background()
	for _, tc := range []struct{ name, text, alone, within string }{
		{"a block", "BEGIN; RETURN 1; COMMIT; RETURN 2",
			"NONE; 1; NONE; 2",
			"!nested; !undone; !no block; !undone"},
		{"failed", "BEGIN; 1; THROW 'x'; 2; COMMIT; 3",
			"NONE; !undone; !thrown; !undone; !aborted; 3",
			"!nested; !undone; !undone; !undone; !no block; !undone"},
		{"failed, cancelled", "BEGIN; 1; THROW 'x'; 2; CANCEL; 3",
			"NONE; !undone; !thrown; !undone; 3",
			"!nested; !undone; !undone; !undone; !no block; !undone"},
		{"cancelled", "BEGIN; 1; CANCEL; 3",
			"NONE; !undone; NONE; 3",
			"!nested; !undone; !no block; !undone"},
		{"a BEGIN inside", "BEGIN; 1; BEGIN; 2; BEGIN; 3; COMMIT; 4",
			"NONE; !undone; !nested; !undone; !undone; !undone; !aborted; 4",
			"!nested; !undone; !undone; !undone; !undone; !undone; !no block; !undone"},
		{"a BEGIN after a failure", "BEGIN; THROW 'x'; BEGIN; 2; COMMIT; 4",
			"NONE; !thrown; !undone; !undone; !aborted; 4",
			"!nested; !undone; !undone; !undone; !no block; !undone"},
		{"returned", "BEGIN; RETURN 1; 2; COMMIT; 3",
			"NONE; 1; NONE; 3",
			"!nested; !undone; !undone; !no block; !undone"},
		{"returned, then a BEGIN", "BEGIN; RETURN 1; BEGIN; 2; COMMIT; 3",
			"NONE; !undone; !nested; !aborted; 3",
			"!nested; !undone; !undone; !undone; !no block; !undone"},
		{"returned, cancelled", "BEGIN; RETURN 1; 2; CANCEL; 3",
			"NONE; !undone; NONE; 3",
			"!nested; !undone; !undone; !no block; !undone"},
		{"a stray BREAK", "BEGIN; 1; BREAK; 2; COMMIT",
			"NONE; 1; !stray; 2; NONE",
			"!nested; !undone; !undone; !undone; !no block"},
		{"no end", "BEGIN; 1",
			"NONE; !open",
			"!nested; !undone"},
		{"no begin", "1; COMMIT; CANCEL; 2",
			"1; !no block; !no block; 2",
			"1; !no block; !no block; 2"},
		{"a failure alone", "1; THROW 'x'; RETURN 2; 3",
			"1; !thrown; 2; 3",
			"1; !thrown; 2; 3"},
	} {
		e, err := engine.Open(ctx, "memory", engine.Options{NoDefaults: true, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(ctx)
		s := e.SessionAs(auth.RootOwner(), "n", "d")
		res, err := s.Execute(ctx, tc.text, nil)
		if err != nil {
			t.Fatal(err)
		}
		tx, err := s.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		inside, err := tx.Execute(ctx, tc.text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Cancel(ctx); err != nil {
			t.Fatal(err)
		}
		if got := summary(res); got != tc.alone {
			t.Errorf("%s: got %s, want %s", tc.name, got, tc.alone)
		}
		if got := summary(inside); got != tc.within {
			t.Errorf("%s, within a transaction: got %s, want %s", tc.name, got, tc.within)
		}
	}
}
