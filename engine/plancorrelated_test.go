package engine_test

import (
	"slices"
	"strings"
	"testing"
)

// TestSubSelectsOfTheRowAround: sub-selects whose conditions ask the row around them find their rows through indexes and by
// their ids, and the answers are those of a walk over the table.
func TestSubSelectsOfTheRowAround(t *testing.T) {
	s := owner(t, openQuiet(t))
	run(t, s, `DEFINE INDEX a ON post FIELDS author; DEFINE INDEX n ON post FIELDS n; DEFINE INDEX tn ON post FIELDS topic, n;
		INSERT INTO user (SELECT VALUE { id: $this, n: $this % 7, low: $this - 2, best: type::record('user', $this % 3), likes: [$this, $this + 1],
			home: IF $this % 4 = 0 { NONE } ELSE { { city: 'c' + <string> ($this % 3) } } } FROM <array> 0..12);
		INSERT INTO post (SELECT VALUE { id: $this, author: type::record('user', $this % 12), n: $this % 9, topic: 'c' + <string> ($this % 4) } FROM <array> 0..60);
		CREATE post:none SET n = NONE; CREATE post:text SET n = '3', author = 'user:1'; CREATE post:list SET n = [1, 2]`)
	found := 0
	for _, q := range []string{
		"SELECT id, (SELECT VALUE id FROM post WHERE author = $parent.id) AS x FROM user",
		"SELECT id, (SELECT VALUE id FROM post WHERE $parent.id = author AND n > 3) AS x FROM user",
		"SELECT id, (SELECT VALUE id FROM post WHERE n >= $parent.low AND n < $parent.n) AS x FROM user",
		"SELECT id, (SELECT VALUE id FROM post WHERE n IN $parent.likes) AS x FROM user",
		"SELECT id, (SELECT VALUE id FROM post WHERE topic = $parent.home.city AND n = $parent.n) AS x FROM user",
		"SELECT id, (SELECT VALUE id FROM post WHERE n = $parent.best.n) AS x FROM user",
		"SELECT id, (SELECT VALUE id FROM post WHERE n = $parent.missing) AS x FROM user",
		"SELECT id, (SELECT VALUE id FROM post WHERE author = $parent) AS x FROM user",
		"SELECT id, (SELECT count() FROM post WHERE author = $parent.id GROUP ALL) AS x FROM user",
		"SELECT id, (SELECT VALUE n FROM user WHERE id = $parent.author) AS x FROM post",
		"SELECT id, (SELECT VALUE n FROM post WHERE n = $parent.n ORDER BY n DESC LIMIT 2) AS x FROM user",
		"SELECT id, (SELECT id, (SELECT VALUE id FROM post WHERE n = $parent.n) AS y FROM user WHERE id = $parent.author) AS x FROM post",
		"SELECT id, (SELECT VALUE id FROM post WHERE n = 1 OR author = $parent.id) AS x FROM user",
		"SELECT id FROM user WHERE (SELECT VALUE n FROM post WHERE author = $parent.id) CONTAINS 3",
		"SELECT id, (SELECT VALUE (SELECT VALUE id FROM post WHERE n = $parent.n LIMIT 1) FROM user WHERE n = $parent.n) AS x FROM post",
		"SELECT id, (SELECT VALUE id FROM post WHERE n = $parent.n) AS x FROM [{ id: 1, n: 3 }, { id: 2 }, { id: 3, n: [1, 2] }, { id: 4, n: '3' }]",
		"RETURN (SELECT VALUE id FROM post WHERE n = $parent.n)",
		"SELECT VALUE id FROM post WHERE n = $parent.n",
	} {
		plain := strings.NewReplacer("FROM post", "FROM post WITH NOINDEX", "FROM user WHERE id", "FROM user WITH NOINDEX WHERE id").Replace(q)
		got, want := run(t, s, q)[0], run(t, s, plain)[0]
		if sorted(got.Value.Text()) != sorted(want.Value.Text()) {
			t.Errorf("%s:\ngot  %s\nwant %s", q, got.Value.Text(), want.Value.Text())
		}
		if strings.Contains(got.Value.Text(), "post:") {
			found++
		}
	}
	if found < 12 {
		t.Errorf("only %d of the queries found posts", found)
	}
}

// sorted is a text with its parts in order: the rows of a sub-select come in that of the path that found them.
func sorted(text string) string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("[]{}, ", r) })
	slices.Sort(parts)
	return strings.Join(parts, " ")
}
