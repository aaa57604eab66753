package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/value"
)

// reuseScene hides from record users the people that are not theirs, names, and some edges.
const reuseScene = `DEFINE TABLE person PERMISSIONS FOR select WHERE owner = $auth OR open;
	DEFINE FIELD secret ON person PERMISSIONS FOR select NONE;
	DEFINE TABLE knows TYPE RELATION PERMISSIONS FOR select WHERE in.owner = $auth OR w > 1;
	DEFINE TABLE user; CREATE user:1, user:2;
	CREATE person:1 SET name = 'a', owner = user:1, secret = 's1'; CREATE person:2 SET name = 'b', owner = user:2, secret = 's2';
	CREATE person:3 SET name = 'c', open = true, secret = 's3'; CREATE person:x SET name = 'x', owner = user:1;
	CREATE person:[1, 'y'] SET name = 'y', owner = user:2;
	RELATE person:1->knows:1->person:2 SET w = 1; RELATE person:2->knows:2->person:3 SET w = 2;
	RELATE person:3->knows:3->person:1 SET w = 1; RELATE person:1->knows:4->person:x SET w = 2;
	RELATE person:x->knows:5->person:[1, 'y'] SET w = 2; RELATE person:1->knows:6->person:9 SET w = 2`

var reusePrograms = []string{
	"MATCH (a:person {id: $a}) RETURN a.name AS n, a.secret AS s",
	"MATCH (a:person {id: $a})-[k:knows]->(b) RETURN b.name AS n, b.secret AS s, k.w AS w ORDER BY n, w",
	"MATCH (a:person {id: $a})-[:knows]->()-[:knows]-(b) RETURN b, ELEMENT_ID(b) AS id ORDER BY id",
	"MATCH p = ANY SHORTEST (a:person {id: $a})-[:knows]->*(b:person {id: $b}) RETURN PATH_LENGTH(p) AS l",
	"MATCH (a:person WHERE ELEMENT_ID(a) = $t)-[k]->{1,3}(b) RETURN count(*) AS n",
	"MATCH (a:person {id: $a}) OPTIONAL MATCH (a)-[:knows]->(b WHERE b.name > $t) RETURN a.name AS n, collect_list(b.name) AS l GROUP BY n",
	"MATCH (a:person {id: $a}), (a)<-[:knows]-(b) RETURN b.name AS n UNION MATCH (a:person {id: $b}) RETURN a.name AS n",
}

// reuseVars are parameters of all kinds, also of those that name no record.
func reuseVars() []*value.Object {
	var out []*value.Object
	for _, a := range []value.Value{value.Record("person", value.Int(1)), value.Record("person", value.Int(2)),
		value.Record("person", value.Str("x")), value.Record("user", value.Int(1)), value.Record("nothing", value.Int(1)),
		value.Int(1), value.Str("person:1"), value.Null, value.None, value.Array(value.Record("person", value.Int(1))),
		value.Record("person", value.Float(1))} {
		out = append(out, value.NewObject(value.Field{Name: "a", Value: a},
			value.Field{Name: "b", Value: value.Record("person", value.Int(3))},
			value.Field{Name: "t", Value: value.Str("person:1")}))
	}
	return append(out, value.NewObject())
}

// TestReusedGQLForgetsItsUsers runs the same programs for several users with parameters of all kinds while definitions
// change. What an engine answers that has run them before is what one answers that has not.
func TestReusedGQLForgetsItsUsers(t *testing.T) {
	used := openQuiet(t)
	changes := []string{"", "DEFINE TABLE OVERWRITE knows TYPE RELATION PERMISSIONS NONE", "DEFINE FIELD OVERWRITE secret ON person",
		"DEFINE FIELD name ON person COMPUTED 'name of ' + <string> id", "DEFINE TABLE OVERWRITE knows TYPE RELATION PERMISSIONS FULL; REMOVE FIELD name ON person",
		"DELETE person:2", "REMOVE TABLE person", "DEFINE TABLE person PERMISSIONS FULL; CREATE person:1 SET name = 'again'; RELATE person:1->knows:7->person:1 SET w = 5",
		"REMOVE TABLE knows; DEFINE TABLE knows; CREATE knows:1 SET w = 3"}
	run(t, owner(t, used), reuseScene)
	done, answers := reuseScene, map[string]bool{}
	for _, change := range changes {
		run(t, owner(t, used), change)
		done += ";" + change
		fresh := openQuiet(t)
		run(t, owner(t, fresh), done)
		for i, vars := range reuseVars() {
			for _, who := range []string{"", "record:acc:user:1", "record:acc:user:2", "db-viewer"} {
				for _, p := range reusePrograms {
					want := reusedAnswer(t, fresh, who, fmt.Sprintf("%s  -- %s %d", p, who, i), vars)
					if got := reusedAnswer(t, used, who, p, vars); got != want {
						t.Fatalf("after %q: %s with %v as %q\ngot  %s\nwant %s", change, p, vars.Fields(), who, got, want)
					} else {
						answers[p+got] = true
					}
				}
			}
		}
	}
	if len(answers) < 50 {
		t.Errorf("only %d different answers", len(answers))
	}
}

// TestReusedGQLAtOnce runs a program for several users at once.
func TestReusedGQLAtOnce(t *testing.T) {
	e := openQuiet(t)
	run(t, owner(t, e), reuseScene)
	vars := reuseVars()[0]
	var wg sync.WaitGroup
	for _, who := range []string{"", "record:acc:user:1", "record:acc:user:2", "db-viewer"} {
		wants := make([]string, len(reusePrograms))
		for i, p := range reusePrograms {
			wants[i] = reusedAnswer(t, e, who, p, vars)
		}
		wg.Go(func() {
			for range 40 {
				for i, p := range reusePrograms {
					if got := reusedAnswer(t, e, who, p, vars); got != wants[i] {
						t.Errorf("%s as %q\ngot  %s\nwant %s", p, who, got, wants[i])
					}
				}
			}
		})
	}
	wg.Wait()
}

func reusedAnswer(t *testing.T, e *engine.Engine, who, text string, vars *value.Object) string {
	s, err := sessionOf(e, who)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer s.Close()
	if who == "" {
		place := "test"
		if err := s.Use(context.Background(), &place, &place); err != nil {
			t.Error(err)
		}
	}
	v, err := runGQL(s, text, vars)
	if err != nil {
		return "error: " + err.Error()
	}
	p, err := s.GQLPacked(context.Background(), text, vars)
	if err != nil || p[0].Err != nil {
		t.Errorf("%s packed: %v %v", text, err, p)
		return ""
	}
	list, err := p[0].Rows.AppendTo(nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	if got, err := value.DecodeCBORValue(list, value.DecodeLimits{}); err != nil || got.Text() != v.Text() {
		t.Errorf("%s packed gives %v, %v; as values %v", text, got, err, v)
	}
	return v.Text()
}
