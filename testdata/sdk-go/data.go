package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/uuid"
	surrealdb "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/models"
)

type person struct {
	ID   *models.RecordID `json:"id,omitempty"`
	Name string           `json:"name,omitempty"`
	Age  int              `json:"age,omitempty"`
	Tags []string         `json:"tags,omitempty"`
}

func connect(ctx context.Context, c *client) error {
	db, err := surrealdb.FromEndpointURLString(ctx, c.url)
	if err != nil {
		return err
	}
	if err := db.Use(ctx, c.ns, c.db); err != nil { // over HTTP the client insists on a place before anything else
		return err
	}
	if _, err := db.SignIn(ctx, surrealdb.Auth{Username: c.user, Password: c.pass}); err != nil {
		return err
	}
	if err := db.Use(ctx, c.ns, c.db); err != nil { // now with the right to make it
		return err
	}
	c.DB = db
	_, err = surrealdb.Query[any](ctx, db, "REMOVE DATABASE IF EXISTS "+c.db+"; DEFINE DATABASE "+c.db, nil)
	return err
}

func version(ctx context.Context, c *client) error {
	v, err := c.Version(ctx)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(v.Version, "3.") {
		return fmt.Errorf("version %q", v.Version)
	}
	return nil
}

func queryVariables(ctx context.Context, c *client) error {
	results, err := surrealdb.Query[any](ctx, c.DB, "RETURN $a + 1; RETURN $b", map[string]any{"a": 1, "b": []string{"x"}})
	if err != nil {
		return err
	}
	if err := want("sum", (*results)[0].Result, uint64(2)); err != nil {
		return err
	}
	return want("list", (*results)[1].Result, []any{"x"})
}

func queryErrors(ctx context.Context, c *client) error {
	_, err := surrealdb.Query[any](ctx, c.DB, "THROW 'no'", nil)
	if err := wantError("thrown", err, "An error occurred: no"); err != nil {
		return err
	}
	var query *surrealdb.QueryError
	if !errors.As(err, &query) {
		return fmt.Errorf("a failed statement is %T", err)
	}
	_, err = surrealdb.Query[any](ctx, c.DB, "SELEC nothing", nil)
	if err := wantError("parse", err, "Parse error"); err != nil {
		return err
	}
	var call *surrealdb.RPCError
	if !errors.As(err, &call) {
		return fmt.Errorf("a text that does not parse is %T", err)
	}
	_, err = surrealdb.Query[any](ctx, c.DB, "RETURN $auth", map[string]any{"auth": 1})
	return wantError("protected", err, "'auth' is a protected variable and cannot be set")
}

func someFail(ctx context.Context, c *client) error {
	results, err := surrealdb.Query[any](ctx, c.DB, "RETURN 1; THROW 'x'; RETURN 2", nil)
	if err := wantError("joined error", err, "An error occurred: x"); err != nil {
		return err
	}
	r := *results
	if len(r) != 3 || r[0].Status != "OK" || r[1].Status != "ERR" || r[1].Error == nil || r[2].Result != uint64(2) {
		return fmt.Errorf("results %+v", r)
	}
	if _, err := time.ParseDuration(r[0].Time); err != nil {
		return fmt.Errorf("time %q", r[0].Time)
	}
	return nil
}

func values(ctx context.Context, c *client) error {
	id := models.UUID{UUID: uuid.Must(uuid.FromString("01a1ff8e-6163-7761-a50f-13f3db900459"))}
	at := time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC)
	for name, v := range map[string]struct{ in, out any }{
		"int":      {-5, int64(-5)},
		"big":      {int64(1) << 60, uint64(1) << 60},
		"float":    {1.0, 1.0},
		"text":     {"héllo ⟨x⟩", "héllo ⟨x⟩"},
		"bool":     {true, true},
		"null":     {nil, nil},
		"list":     {[]any{uint64(1), []any{"x"}}, []any{uint64(1), []any{"x"}}},
		"object":   {map[string]any{"a": map[string]any{"b": "c"}}, map[string]any{"a": map[string]any{"b": "c"}}},
		"bytes":    {[]byte{1, 2, 3}, []byte{1, 2, 3}},
		"uuid":     {id, id},
		"record":   {recordID("person", "ada"), recordID("person", "ada")},
		"table":    {models.Table("person"), models.Table("person")},
		"duration": {models.CustomDuration{Duration: 90*time.Minute + 5}, models.CustomDuration{Duration: 90*time.Minute + 5}},
		"datetime": {models.CustomDateTime{Time: at}, models.CustomDateTime{Time: at}},
		"decimal":  {models.DecimalString("1.25"), models.DecimalString("1.25")},
		"point":    {models.GeometryPoint{Longitude: 1, Latitude: 2}, models.GeometryPoint{Longitude: 1, Latitude: 2}},
	} {
		got, err := one[any](ctx, c.DB, "RETURN $v", map[string]any{"v": v.in})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if p, ok := got.(*models.RecordID); ok {
			got = *p
		}
		if t, ok := got.(models.CustomDateTime); ok {
			got = models.CustomDateTime{Time: t.UTC()}
		}
		if err := want(name, got, v.out); err != nil {
			return err
		}
	}
	got, err := one[string](ctx, c.DB, "RETURN type::of($v)", map[string]any{"v": 1.0})
	if err != nil {
		return err
	}
	return want("a whole float stays one", got, "float")
}

func createSelect(ctx context.Context, c *client) error {
	ada, err := surrealdb.Create[person](ctx, c.DB, recordID("person", "ada"), map[string]any{"name": "Ada", "age": 36})
	if err != nil {
		return err
	}
	if err := want("created", *ada, person{ID: ada.ID, Name: "Ada", Age: 36}); err != nil {
		return err
	}
	if _, err := surrealdb.Create[person](ctx, c.DB, "person", person{Name: "Bob", Age: 20}); err != nil {
		return err
	}
	if list, err := surrealdb.Create[[]person](ctx, c.DB, models.Table("item"), person{Name: "Item"}); err != nil || len(*list) != 1 {
		return fmt.Errorf("create in a table: %v, %v", list, err)
	}
	if _, err := surrealdb.Delete[[]person](ctx, c.DB, models.Table("item")); err != nil {
		return err
	}
	_, err = surrealdb.Create[person](ctx, c.DB, recordID("person", "ada"), person{})
	if err := wantError("twice", err, "already exists"); err != nil {
		return err
	}
	all, err := surrealdb.Select[[]person](ctx, c.DB, models.Table("person"))
	if err != nil {
		return err
	}
	if len(*all) != 2 {
		return fmt.Errorf("%d records", len(*all))
	}
	back, err := surrealdb.Select[person](ctx, c.DB, recordID("person", "ada"))
	if err != nil {
		return err
	}
	if err := want("one", back.Age, 36); err != nil {
		return err
	}
	nobody, err := surrealdb.Select[person](ctx, c.DB, recordID("person", "nobody"))
	if err != nil {
		return err
	}
	if nobody != nil && nobody.ID != nil {
		return fmt.Errorf("nobody is %+v", nobody)
	}
	return nil
}

func changes(ctx context.Context, c *client) error {
	ada := recordID("person", "ada")
	merged, err := surrealdb.Merge[person](ctx, c.DB, ada, map[string]any{"age": 37})
	if err != nil {
		return err
	}
	if err := want("merged", []any{merged.Age, merged.Name}, []any{37, "Ada"}); err != nil {
		return err
	}
	patches, err := surrealdb.Patch(ctx, c.DB, ada, []surrealdb.PatchData{{Op: "add", Path: "/tags", Value: []string{"x"}}})
	if err != nil {
		return err
	}
	if len(*patches) == 0 || (*patches)[0].Path != "/tags" {
		return fmt.Errorf("patches %+v", *patches)
	}
	updated, err := surrealdb.Update[person](ctx, c.DB, ada, person{Name: "Ada", Age: 38})
	if err != nil {
		return err
	}
	if err := want("replaced", []any{updated.Age, len(updated.Tags)}, []any{38, 0}); err != nil {
		return err
	}
	eve, err := surrealdb.Upsert[person](ctx, c.DB, recordID("person", "eve"), person{Name: "Eve"})
	if err != nil {
		return err
	}
	return want("upserted", eve.Name, "Eve")
}

func insertRelate(ctx context.Context, c *client) error {
	rows, err := surrealdb.Insert[person](ctx, c.DB, models.Table("item"), []map[string]any{{"id": 1, "name": "a"}, {"id": 2, "name": "b"}})
	if err != nil {
		return err
	}
	if err := want("inserted", len(*rows), 2); err != nil {
		return err
	}
	type edge struct {
		ID      models.RecordID `json:"id"`
		In, Out models.RecordID
		Since   int `json:"since"`
	}
	rel := &surrealdb.Relationship{In: recordID("person", "ada"), Out: recordID("person", "eve"), Relation: "knows", Data: map[string]any{"since": 1833}}
	if _, err := surrealdb.Relate[edge](ctx, c.DB, rel); err != nil {
		return err
	}
	rel.ID = &models.RecordID{Table: "likes", ID: "x"}
	rel.Relation = "likes"
	if _, err := surrealdb.InsertRelation[[]edge](ctx, c.DB, rel); err != nil {
		return err
	}
	got, err := one[[]string](ctx, c.DB, "SELECT VALUE ->knows->person.name FROM ONLY person:ada", nil)
	if err != nil {
		return err
	}
	if err := want("friends", got, []string{"Eve"}); err != nil {
		return err
	}
	n, err := one[int](ctx, c.DB, "RETURN count(SELECT * FROM likes)", nil)
	if err != nil {
		return err
	}
	return want("likes", n, 1)
}

func deleteRecords(ctx context.Context, c *client) error {
	eve, err := surrealdb.Delete[person](ctx, c.DB, recordID("person", "eve"))
	if err != nil {
		return err
	}
	if err := want("deleted", eve.Name, "Eve"); err != nil {
		return err
	}
	all, err := surrealdb.Delete[[]person](ctx, c.DB, models.Table("item"))
	if err != nil {
		return err
	}
	return want("deleted all", len(*all), 2)
}

func variables(ctx context.Context, c *client) error {
	if err := c.Let(ctx, "answer", 42); err != nil {
		return err
	}
	got, err := one[any](ctx, c.DB, "RETURN $answer", nil)
	if err != nil {
		return err
	}
	if !c.socket {
		return errSocketOnly // over HTTP the client keeps what it is told to itself
	}
	if err := want("set", got, uint64(42)); err != nil {
		return err
	}
	if err := c.Unset(ctx, "answer"); err != nil {
		return err
	}
	if got, err = one[any](ctx, c.DB, "RETURN $answer IS NONE", nil); err != nil {
		return err
	}
	return want("unset", got, true)
}

func raw(ctx context.Context, c *client) error {
	queries := []surrealdb.QueryStmt{
		{SQL: "RETURN $a", Vars: map[string]any{"a": 1}},
		{SQL: "SELECT name FROM person WHERE name = $name", Vars: map[string]any{"name": "Ada"}},
	}
	if err := surrealdb.QueryRaw(ctx, c.DB, &queries); err != nil {
		return err
	}
	var rows []person
	if err := queries[1].GetResult(&rows); err != nil {
		return err
	}
	return want("rows", rows, []person{{Name: "Ada"}})
}

func send(ctx context.Context, c *client) error {
	var res connection.RPCResponse[[]person]
	if err := surrealdb.Send(ctx, c.DB, &res, "select", models.Table("person")); err != nil {
		return err
	}
	if res.Result == nil || len(*res.Result) != 2 {
		return fmt.Errorf("selected %+v", res.Result)
	}
	var none connection.RPCResponse[any]
	err := surrealdb.Send(ctx, c.DB, &none, "select")
	return wantError("no parameters", err, "Expected (what:Value)")
}

func structs(ctx context.Context, c *client) error {
	type inner struct {
		Since models.CustomDateTime `json:"since"`
	}
	type row struct {
		ID    *models.RecordID  `json:"id,omitempty"`
		Maybe *string           `json:"maybe"`
		Inner *inner            `json:"inner,omitempty"`
		Links []models.RecordID `json:"links"`
		Score float64           `json:"score"`
	}
	at := models.CustomDateTime{Time: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)}
	in := row{Inner: &inner{at}, Links: []models.RecordID{recordID("person", "ada")}, Score: 2}
	if _, err := surrealdb.Create[row](ctx, c.DB, recordID("row", 1), in); err != nil {
		return err
	}
	out, err := surrealdb.Select[row](ctx, c.DB, recordID("row", 1))
	if err != nil {
		return err
	}
	if out.Maybe != nil || out.Inner == nil || !out.Inner.Since.Equal(at.Time) || out.Score != 2 || len(out.Links) != 1 || out.Links[0].ID != "ada" {
		return fmt.Errorf("got %+v", out)
	}
	return nil
}

func many(ctx context.Context, c *client) error {
	errs := make([]error, 100)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got, err := one[int](ctx, c.DB, "RETURN $i", map[string]any{"i": i})
			if err == nil {
				err = want("answer", got, i)
			}
			errs[i] = err
		}()
	}
	wg.Wait()
	return errors.Join(errs...)
}

func large(ctx context.Context, c *client) error {
	if _, err := surrealdb.Query[any](ctx, c.DB, "FOR $i IN 0..5000 { CREATE big SET id = $i, text = string::repeat('x', 200) }", nil); err != nil {
		return err
	}
	type big struct {
		Text string `json:"text"`
	}
	rows, err := surrealdb.Select[[]big](ctx, c.DB, models.Table("big"))
	if err != nil {
		return err
	}
	if len(*rows) != 5000 || len((*rows)[4999].Text) != 200 {
		return fmt.Errorf("%d rows", len(*rows))
	}
	_, err = surrealdb.Query[any](ctx, c.DB, "REMOVE TABLE big", nil)
	return err
}
