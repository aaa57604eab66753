package corrupt

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

const richSchema = `
DEFINE TABLE person SCHEMALESS;
DEFINE INDEX byName ON person FIELDS name UNIQUE;
DEFINE INDEX byAge ON person FIELDS age;
DEFINE INDEX byTags ON person FIELDS tags, age;
DEFINE INDEX byText ON person FIELDS age.to_string();
DEFINE INDEX adults ON person COUNT WHERE age >= 18;
DEFINE TABLE knows TYPE RELATION;
DEFINE TABLE book SCHEMALESS;
DEFINE FIELD author ON book TYPE option<record<person>> REFERENCE ON DELETE UNSET;
DEFINE TABLE note SCHEMALESS;
DEFINE INDEX byNumber ON note FIELDS number UNIQUE;
DEFINE ANALYZER simple TOKENIZERS blank, class FILTERS lowercase;
DEFINE INDEX inTitle ON book FIELDS title FULLTEXT ANALYZER simple BM25 HIGHLIGHTS;
DEFINE TABLE byAuthor AS SELECT author, count() AS n FROM book GROUP BY author;
DEFINE TABLE watched CHANGEFEED 1h;
DEFINE INDEX near ON point FIELDS at HNSW DIMENSION 3;
DEFINE INDEX close ON book FIELDS at HNSW DIMENSION 2 TYPE F64;
DEFINE EVENT copy ON note WHEN $event = 'CREATE' THEN (CREATE watched SET of = $after.number);
DEFINE PARAM $limit VALUE 10;
DEFINE FUNCTION fn::twice($n: int) { RETURN $n * 2 };
DEFINE USER ada ON DATABASE PASSWORD 'secret' ROLES OWNER;
`

// makeRichStore makes a store with something of everything that hangs together, and about n
// records.
func makeRichStore(ctx context.Context, path string, n int) (err error) {
	e, err := engine.Open(ctx, "bolt://"+path+"?sync=never", engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(ctx)) }()
	s := e.RootSession()
	ns, db := "rich", "rich"
	if err := s.Use(ctx, &ns, &db); err != nil {
		return err
	}
	texts := []string{richSchema}
	var b strings.Builder
	people := n / 3
	for i := range people {
		fmt.Fprintf(&b, "CREATE person:%d SET name = 'Name%d', age = %d, tags = ['t%d', 'u%d', 't%d'], bio = '%s';\n", i, i, i%90, i%7, i%5, i%7,
			strings.Repeat("life ", i%40))
		fmt.Fprintf(&b, "CREATE book:[%d, 'b'] SET author = person:%d, title = 'Title %d';\n", i, i%50, i)
		fmt.Fprintf(&b, "CREATE note SET number = %d;\n", i)
		if i%5 == 0 {
			fmt.Fprintf(&b, "CREATE point:%d SET at = [%d, %d, 1];\n", i, i%31, i%17)
		}
		if i%4 == 3 {
			fmt.Fprintf(&b, "RELATE person:%d->knows->person:%d SET since = %d; RELATE person:%d->bought->book:[%d, 'b'];\n", i, i*7%people, i, i, i)
		}
		if i%100 == 99 {
			texts = append(texts, b.String())
			b.Reset()
		}
	}
	texts = append(texts, b.String(), "DELETE person:3; DELETE person:20..30; UPDATE person:40..90 SET age += 1, tags = ['x']; UPDATE person:5 SET name = NONE;")
	for _, text := range texts {
		answers, err := s.Execute(ctx, text, value.NewObject())
		if err != nil {
			return err
		}
		for _, a := range answers {
			if a.Err != nil {
				return a.Err
			}
		}
	}
	return nil
}
