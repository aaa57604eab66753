package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// someone is a principal of a level and a role in n/d.
func someone(level auth.Level, roles auth.Roles) auth.Principal {
	p := auth.Principal{Level: level, Roles: roles, Name: "u"}
	if level == auth.RecordUser {
		p.Record, p.Name = value.Record("user", value.Int(1)), ""
	}
	if level != auth.RootUser && level != auth.Guest {
		p.NS = "n"
		if level != auth.NamespaceUser {
			p.DB = "d"
		}
	}
	return p
}

// TestWhoMayImport: an import is refused before anything is done where its writes would be dropped, row by row.
func TestWhoMayImport(t *testing.T) {
	e := accessEngine(t)
	root := e.RootSession()
	run(t, root, "USE NS n DB other; USE NS n DB d; DEFINE TABLE open PERMISSIONS FULL")
	const file = "OPTION IMPORT;\nCREATE open:1;\nCREATE t:1;\n"
	const denied = "IAM error: Not enough permissions to perform this action"
	for _, tc := range []struct {
		name   string
		who    auth.Principal
		ns, db string
		file   string
		err    string // of the import as a whole
		failed string // of a statement
	}{
		{"nobody", someone(auth.Guest, 0), "n", "d", file, denied, ""},
		{"record user", someone(auth.RecordUser, 0), "n", "d", file, denied, ""},
		{"record user, without the option", someone(auth.RecordUser, 0), "n", "d", "CREATE open:1", denied, ""},
		{"database viewer", someone(auth.DatabaseUser, auth.Viewer), "n", "d", file, denied, ""},
		{"namespace viewer", someone(auth.NamespaceUser, auth.Viewer), "n", "d", file, denied, ""},
		{"root viewer", someone(auth.RootUser, auth.Viewer), "n", "d", file, denied, ""},
		{"user without roles", someone(auth.RootUser, 0), "n", "d", file, denied, ""},
		{"database editor", someone(auth.DatabaseUser, auth.Editor), "n", "d", file, "", ""},
		{"database owner", someone(auth.DatabaseUser, auth.Owner), "n", "d", file, "", ""},
		{"namespace editor", someone(auth.NamespaceUser, auth.Editor), "n", "d", file, "", ""},
		{"namespace editor in another database", someone(auth.NamespaceUser, auth.Editor), "n", "other", file, "", ""},
		{"namespace editor, the file says where", someone(auth.NamespaceUser, auth.Editor), "n", "", "OPTION IMPORT; USE DB d; CREATE t:1", "", ""},
		{"root editor, the file says where", someone(auth.RootUser, auth.Editor), "", "", "OPTION IMPORT; USE NS n DB d; CREATE t:1", "", ""},
		{"database editor in another database", someone(auth.DatabaseUser, auth.Editor), "n", "other", file,
			"You don't have permission to change to the other database", ""},
		{"namespace editor in another namespace", someone(auth.NamespaceUser, auth.Editor), "m", "d", file,
			"You don't have permission to change to the m namespace", ""},
		{"database editor, the file leads away", someone(auth.DatabaseUser, auth.Editor), "n", "d", "OPTION IMPORT; CREATE t:1; USE DB other; CREATE t:2",
			"", "You don't have permission to change to the other database"},
		{"namespace editor, the file leads away", someone(auth.NamespaceUser, auth.Editor), "n", "d", "USE NS m DB d; CREATE t:2",
			"", "You don't have permission to change to the m namespace"},
		{"database editor, users in the file", someone(auth.DatabaseUser, auth.Editor), "n", "d", "OPTION IMPORT; DEFINE USER x ON DATABASE PASSWORD 'x'; CREATE t:1",
			"", denied},
	} {
		run(t, root, "USE NS n DB d; DELETE t; DELETE open; USE DB other; DELETE t; DELETE open", allowErrors)
		s := e.SessionAs(tc.who, tc.ns, tc.db)
		res, err := s.Import(t.Context(), strings.NewReader(tc.file), engine.ImportOptions{})
		var refused *errs.Error
		switch {
		case tc.err != "":
			if !errors.As(err, &refused) || refused.Kind != errs.KindNotAllowed || refused.Msg != tc.err {
				t.Errorf("%s: got %v, want %s", tc.name, err, tc.err)
			}
			for _, db := range []string{"d", "other"} {
				if got := run(t, root, "USE NS n DB "+db+"; RETURN count(SELECT * FROM t, open)", allowErrors)[1]; got.Err == nil && got.Value.Text() != "0" {
					t.Errorf("%s: %s rows in %s", tc.name, got.Value.Text(), db)
				}
			}
		case err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.failed != "":
			if res.Failures != 1 || res.Failed[0].Err.Msg != tc.failed {
				t.Errorf("%s: %+v", tc.name, res)
			}
			if got := run(t, root, "USE NS n DB other; SELECT * FROM t", allowErrors)[1]; got.Err == nil && got.Value.Text() != "[]" {
				t.Errorf("%s: %s", tc.name, got.Value.Text())
			}
		case res.Failures != 0:
			t.Errorf("%s: %+v", tc.name, res.Failed)
		}
	}
}

// TestWhoMaySayOptionImport: a text with OPTION is refused as a whole, as the reference refuses it; what stands before it
// is not run either.
func TestWhoMaySayOptionImport(t *testing.T) {
	e := accessEngine(t)
	root := e.RootSession()
	run(t, root, `USE NS n DB d; DEFINE TABLE open PERMISSIONS FULL; DEFINE FIELD n ON open TYPE int ASSERT $value > 0`)
	for _, tc := range []struct {
		name string
		who  auth.Principal
		may  bool
	}{
		{"nobody", someone(auth.Guest, 0), false},
		{"record user", someone(auth.RecordUser, 0), false},
		{"database viewer", someone(auth.DatabaseUser, auth.Viewer), false},
		{"root viewer", someone(auth.RootUser, auth.Viewer), false},
		{"database editor", someone(auth.DatabaseUser, auth.Editor), true},
		{"namespace owner", someone(auth.NamespaceUser, auth.Owner), true},
		{"root editor", someone(auth.RootUser, auth.Editor), true},
	} {
		s := e.SessionAs(tc.who, "n", "d")
		for _, text := range []string{
			"CREATE open:1 SET n = 1; OPTION IMPORT; CREATE open:2 SET n = -1",
			"OPTION IMPORT = false; CREATE open:1 SET n = 1",
			"BEGIN; CREATE open:1 SET n = 1; OPTION IMPORT; COMMIT",
		} {
			run(t, root, "DELETE open")
			_, err := s.Execute(t.Context(), text, nil)
			if got := errs.As(err); (err == nil) != tc.may || err != nil && (got.Kind != errs.KindNotAllowed || got.Msg != auth.Denied().Msg) {
				t.Errorf("%s: %s: %v", tc.name, text, err)
			}
			if got := run(t, root, "SELECT VALUE id FROM open")[0].Value.Text(); !tc.may && got != "[]" {
				t.Errorf("%s: %s: wrote %s", tc.name, text, got)
			}
		}
		tx, err := s.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Execute(t.Context(), "OPTION IMPORT", nil); (err == nil) != tc.may {
			t.Errorf("%s in a transaction: %v", tc.name, err)
		}
		if err := tx.Cancel(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
