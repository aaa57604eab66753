package pgwire_test

import (
	"strings"
	"testing"
)

// TestWritesByID: an UPDATE or DELETE by id, which is one statement of the language, changes what a scan by the same id
// would find: no row that the user may not read, and none that is named otherwise than by its text.
func TestWritesByID(t *testing.T) {
	f := world(t, 0, true, func(schema string) string {
		return schema + `;DEFINE TABLE part SCHEMAFULL PERMISSIONS FOR select WHERE k < 3 OR n = 5,
			FOR create, update, delete FULL; DEFINE FIELD k ON part TYPE int; DEFINE FIELD n ON part TYPE option<int>;
			DEFINE FIELD l ON part TYPE option<record<user>>;
			CREATE part:1 SET k = 1; CREATE part:2 SET k = 9; CREATE part:⟨a b⟩ SET k = 2; CREATE part:⟨3⟩ SET k = 2;
			CREATE part:[1, 'x'] SET k = 1`
	})
	f.want("SET dialect = 'sql'", "C(SET) ZI")
	for _, tc := range []struct{ text, want string }{
		{"UPDATE part SET n = 1 WHERE id = 'part:1'", "C(UPDATE 1) ZI"},
		{"UPDATE part SET n = 2, l = 'user:1' WHERE 'part:1' = id RETURNING n, l", "T[n:20 l:25] D[2|user:1] C(UPDATE 1) ZI"},
		{"UPDATE part SET n = n + 1 WHERE id = 'part:1' RETURNING n", "T[n:20] D[3] C(UPDATE 1) ZI"},
		{"UPDATE part SET n = 5 WHERE id = 'part:2'", "C(UPDATE 0) ZI"},
		{"UPDATE part SET n = 5 WHERE id = 'part:4'", "C(UPDATE 0) ZI"},
		{"UPDATE part SET n = 5 WHERE id = '1'", "C(UPDATE 0) ZI"},
		{"UPDATE part SET n = 5 WHERE id = 'part:⟨1⟩'", "C(UPDATE 0) ZI"},
		{"UPDATE part SET n = 5 WHERE id = 'user:1'", "C(UPDATE 0) ZI"},
		{"UPDATE part SET n = 5 WHERE id = NULL", "C(UPDATE 0) ZI"},
		{"UPDATE part SET n = 5 WHERE id = 'part:1' AND id = 'part:2'", "C(UPDATE 0) ZI"},
		{"UPDATE part SET n = 6 WHERE id = 'part:1' AND n = 3", "C(UPDATE 1) ZI"},
		{"UPDATE part SET n = 7 WHERE id = (SELECT id FROM part WHERE n = 6)", "C(UPDATE 1) ZI"},
		{"UPDATE part SET id = 'part:8' WHERE id = 'part:1'", "E!0A000 ZI"},
		{"UPDATE part SET n = 'x' WHERE id = 'part:1'", "E!22P02 ZI"},
		{"UPDATE part SET n = NULL WHERE id = 'part:1' RETURNING n", "T[n:20] D[-] C(UPDATE 1) ZI"},
		{"DELETE FROM part WHERE id = 'part:2'", "C(DELETE 0) ZI"},
		{"DELETE FROM part WHERE id = 'part:⟨1⟩'", "C(DELETE 0) ZI"},
		{"DELETE FROM part WHERE id = 'part:1'", "C(DELETE 1) ZI"},
		{"DELETE FROM part WHERE id = 'part:1'", "C(DELETE 0) ZI"},
		{"INSERT INTO part (id, k) VALUES ('part:2', 1)", "E!23505 ZI"},
	} {
		f.want(tc.text, tc.want)
	}
	for _, id := range []string{"part:`a b`", "part:`3`", "part:[1, 'x']"} {
		f.want("UPDATE part SET n = 5 WHERE id = '"+strings.ReplaceAll(id, "'", "''")+"'", "C(UPDATE 1) ZI")
	}
}
