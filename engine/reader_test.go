package engine_test

import "testing"

// What rules access reads with the rights of the engine and writes nothing, however the write is dressed up
// (upstream's CVE-2026-63733): a permission that tries to is no. Such definitions are refused, but for those of an import.
func TestPermissionsOnlyRead(t *testing.T) {
	e := openQuiet(t)
	root := owner(t, e)
	run(t, root, `OPTION IMPORT;
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
	for _, c := range [][2]string{
		{"SELECT * FROM a", "[]"}, {"SELECT * FROM a:1", "[]"}, {"SELECT count() FROM b GROUP ALL", "[{ count: 0 }]"}, {"SELECT * FROM b WHERE x = 1", "[]"},
		{"SELECT VALUE id FROM c", "[]"}, {"UPDATE a:1 SET v = 1", "[]"}, {"DELETE b", "[]"}, {"CREATE c:2", "[]"}, {"UPSERT a:3", "[]"},
		{"INSERT INTO b {id: 4}", "[]"}, {"SELECT * FROM f", "[{ id: f:1 }]"}, {"RETURN f:1.x", "NONE"}, {"UPDATE f:1 SET x = 2", "[{ id: f:1 }]"},
		{"RETURN fn::p()", "ERR You don't have permission to run the fn::p function"}, {"RETURN a:1.*", "NONE"}, {"BEGIN; SELECT * FROM a; COMMIT", "NONE ;; [] ;; NONE"},
	} {
		if got := texts(run(t, user, c[0], allowErrors)); got != c[1] {
			t.Errorf("%s: got %s, want %s", c[0], got, c[1])
		}
	}
	if got := run(t, root, "SELECT VALUE x FROM f; SELECT VALUE id FROM a, b, c"); texts(got) != "[1] ;; [a:1, b:1, c:1]" {
		t.Errorf("what is stored afterwards: %s", texts(got))
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
