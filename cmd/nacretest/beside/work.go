package beside

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// work is the same question to each side.
type work struct {
	name                    string
	nacre, postgres, sqlite string
	single                  bool // statements of the text are transactions of their own, sent one by one
	near                    *near
	asked                   [][]float32 // the questions of near, when it is tuned
	width                   int
}

// same is a piece of work whose SQL both others understand.
func same(name, nacre, sql string) work {
	return work{name: name, nacre: nacre, postgres: sql, sqlite: sql}
}

var works = []work{
	same("count", "SELECT VALUE count() FROM person WHERE age > 20 AND age < 40 GROUP ALL",
		"SELECT count(*) FROM person WHERE age > 20 AND age < 40"),
	{name: "nested", nacre: "SELECT VALUE count() FROM person WHERE address.number > 100 GROUP ALL",
		postgres: "SELECT count(*) FROM person WHERE (address->>'number')::int > 100",
		sqlite:   "SELECT count(*) FROM person WHERE json_extract(address, '$.number') > 100"},
	{name: "contains", nacre: "SELECT VALUE count() FROM person WHERE bio CONTAINS 'number 77' GROUP ALL",
		postgres: "SELECT count(*) FROM person WHERE position('number 77' in bio) > 0",
		sqlite:   "SELECT count(*) FROM person WHERE instr(bio, 'number 77') > 0"},
	same("group9", "SELECT kind, count() AS n, math::sum(amount) AS s, math::mean(score) AS m FROM person GROUP BY kind",
		"SELECT kind, count(*), sum(amount), avg(score) FROM person GROUP BY kind"),
	same("group5000", "SELECT city, count() AS n, math::sum(amount) AS s, math::mean(score) AS m FROM person GROUP BY city",
		"SELECT city, count(*), sum(amount), avg(score) FROM person GROUP BY city"),
	same("top10", "SELECT * FROM person ORDER BY score LIMIT 10", "SELECT * FROM person ORDER BY score LIMIT 10"),
	same("start5000", "SELECT * FROM person START 5000 LIMIT 10", "SELECT * FROM person LIMIT 10 OFFSET 5000"),
	same("point", "SELECT * FROM person:500", "SELECT * FROM person WHERE id = 500"),
	same("equal", "SELECT * FROM person WHERE city = 'city 77'", "SELECT * FROM person WHERE city = 'city 77'"),
	same("range", "SELECT * FROM person WHERE rank >= 500 AND rank < 580", "SELECT * FROM person WHERE rank >= 500 AND rank < 580"),
	match("rare", "word15000"), match("mid", "word700"), match("and", "word20 word50"),
	{name: "textcount", nacre: "SELECT VALUE count() FROM doc WHERE body @@ 'word50' GROUP ALL",
		postgres: "SELECT count(*) FROM doc WHERE words @@ to_tsquery('simple', 'word50')",
		sqlite:   "SELECT count(*) FROM doc WHERE body MATCH 'word50'"},
	{name: "phrase",
		nacre:    "SELECT id, search::score(1) AS s FROM doc WHERE body @1@ 'word20 word50' AND body CONTAINS 'word20 word50 ' ORDER BY s DESC LIMIT 10",
		postgres: "SELECT id, ts_rank(words, q) AS s FROM doc, to_tsquery('simple', 'word20 <-> word50') q WHERE words @@ q ORDER BY s DESC LIMIT 10",
		sqlite:   `SELECT rowid, rank FROM doc WHERE body MATCH '"word20 word50"' ORDER BY rank LIMIT 10`},
	hops(1), hops(2), hops(3),
	nearest("exactfew", near{few: true}), nearest("exactmany", near{}),
	nearest("graphfew", near{few: true, graph: true}), nearest("graphmany", near{graph: true}),
	nearest("filtered", near{graph: true, filtered: true}),
	{name: "insert100", single: true, nacre: strings.Repeat("INSERT INTO item { a: 1, b: 'two' } RETURN NONE;", 100),
		postgres: strings.Repeat("INSERT INTO item (a, b) VALUES (1, 'two');", 100),
		sqlite:   strings.Repeat("INSERT INTO item (a, b) VALUES (1, 'two');", 100)},
}

// match is the ten best documents with all of some words.
func match(name, words string) work {
	return work{name: name,
		nacre: "SELECT id, search::score(1) AS s FROM doc WHERE body @1@ '" + words + "' ORDER BY s DESC LIMIT 10",
		postgres: fmt.Sprintf("SELECT id, ts_rank(words, q) AS s FROM doc, to_tsquery('simple', '%s') q WHERE words @@ q ORDER BY s DESC LIMIT 10",
			strings.ReplaceAll(words, " ", " & ")),
		sqlite: fmt.Sprintf("SELECT rowid, rank FROM doc WHERE body MATCH '%s' ORDER BY rank LIMIT 10", words)}
}

// hops is who is so many steps away from a person, once for each way.
func hops(n int) work {
	var b strings.Builder
	fmt.Fprintf(&b, "SELECT k%d.target FROM knows k1", n)
	for i := 2; i <= n; i++ {
		fmt.Fprintf(&b, " JOIN knows k%d ON k%d.source = k%d.target", i, i, i-1)
	}
	b.WriteString(" WHERE k1.source = 500")
	steps := strings.Repeat("->knows->person", n)
	return same(fmt.Sprint("hops", n), "SELECT VALUE "+steps+" FROM ONLY person:500", b.String())
}

// data is the rows of the tables.
type data struct {
	people         []person
	texts          []string
	knows          [][2]int // who knows whom
	vectors, asked [][]float32
}

// The first people know some others each.
const knowing, known = 10_000, 10

// person is a record of 16 fields.
type person struct {
	id, age, amount, number, floor, rank int
	name, mail, city, kind, zip, bio     string
	score                                float64
	active                               bool
	at                                   int64 // seconds since 1970
	tag                                  string
}

func makeData(rows, documents, vectors int) *data {
	r := rand.New(rand.NewPCG(7, 7))
	d := &data{people: make([]person, rows), texts: make([]string, documents)}
	for i := range d.people {
		d.people[i] = person{id: i, age: r.IntN(90), amount: r.IntN(1_000_000), number: r.IntN(200), floor: r.IntN(20),
			rank: r.IntN(rows),
			name: fmt.Sprint("person number ", i), mail: fmt.Sprintf("p%d@example.com", i),
			city: fmt.Sprint("city ", r.IntN(5000)),
			kind: fmt.Sprint("kind ", r.IntN(9)), zip: fmt.Sprintf("%05d", r.IntN(100_000)),
			bio:   fmt.Sprint("Lorem ipsum dolor sit amet, consectetur adipiscing elit, number ", r.IntN(1000)),
			score: r.Float64() * 1000, active: i%3 == 0, at: 1_700_000_000 + r.Int64N(10_000_000),
			tag: fmt.Sprint("t", i%10)}
	}
	for i := range min(rows, knowing) * known {
		d.knows = append(d.knows, [2]int{i / known, r.IntN(min(rows, knowing))})
	}
	d.vectors, d.asked = makeVectors(vectors)
	words := rand.NewZipf(r, 1.2, 4, 20_000)
	for i := range d.texts {
		var b strings.Builder
		for range 50 {
			fmt.Fprintf(&b, "word%d ", words.Uint64())
		}
		d.texts[i] = b.String()
	}
	return d
}

// chunks calls f for each thousand of n things.
func chunks(n int, f func(from, to int) error) error {
	for from := 0; from < n; from += 1000 {
		if err := f(from, min(n, from+1000)); err != nil {
			return err
		}
	}
	return nil
}
