package engine_test

import (
	"strings"
	"testing"
)

// What rules access reads with the rights of the engine and writes nothing, however the write is dressed up
// (upstream's CVE-2026-63733).
func TestPermissionsOnlyRead(t *testing.T) {
	e := openQuiet(t)
	root := owner(t, e)
	run(t, root, `
		DEFINE TABLE log PERMISSIONS FULL; DEFINE TABLE secret PERMISSIONS NONE; CREATE secret:1 SET ok = true;
		DEFINE FUNCTION fn::w() { CREATE log; RETURN true } PERMISSIONS FULL;
		DEFINE TABLE a PERMISSIONS FOR select, update, delete, create WHERE (CREATE log);
		DEFINE TABLE b PERMISSIONS FOR select, update, delete, create WHERE fn::w();
		DEFINE TABLE c PERMISSIONS FOR select, update, delete, create WHERE { LET $c = |$x| { UPSERT log:1; true }; [1].map($c).len() = 1 };
		DEFINE TABLE f PERMISSIONS FULL; DEFINE FIELD x ON f PERMISSIONS FOR select, update WHERE (DELETE log RETURN BEFORE);
		DEFINE TABLE ok PERMISSIONS FOR select WHERE (SELECT VALUE ok FROM ONLY secret:1);
		DEFINE FUNCTION fn::p() { RETURN 1 } PERMISSIONS WHERE (CREATE log);
		CREATE a:1, b:1, c:1, ok:1; CREATE f:1 SET x = 1; CREATE log:keep`)
	user, err := signIn(e, "record:acc:user:1")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"SELECT * FROM a", "SELECT * FROM a:1", "SELECT count() FROM b GROUP ALL", "SELECT * FROM b WHERE x = 1", "SELECT VALUE id FROM c",
		"UPDATE a:1 SET v = 1", "DELETE b", "CREATE c:2", "UPSERT a:3", "INSERT INTO b {id: 4}", "SELECT * FROM f", "RETURN f:1.x",
		"UPDATE f:1 SET x = 2", "RETURN fn::p()", "RETURN a:1.*", "BEGIN; SELECT * FROM a; COMMIT",
	} {
		said := false
		for _, r := range run(t, user, q, allowErrors) {
			said = said || r.Err != nil && strings.Contains(r.Err.Error(), "may not write")
		}
		if !said {
			t.Errorf("%s was not refused", q)
		}
	}
	if got := run(t, root, "SELECT * FROM log")[0].Value.Text(); got != "[{ id: log:keep }]" {
		t.Errorf("log: %s", got)
	}
	if got := run(t, user, "SELECT * FROM ok")[0].Value.Text(); got != "[{ id: ok:1 }]" {
		t.Errorf("ok: %s", got)
	}
	if got := run(t, user, "SELECT * FROM secret")[0].Value.Text(); got != "[]" {
		t.Errorf("secret: %s", got)
	}
}
