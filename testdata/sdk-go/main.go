// Drives a server with the official Go client, unchanged.
//
//	go run . ws://127.0.0.1:8000 root root
//	go run . http://127.0.0.1:8000 root root
//
// Prints one line for each step and exits with 1 if any fails. It is a module of its own: the server does not depend on
// the client.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	surrealdb "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// step is one thing that the client does; steps run in order on one connection.
type step struct {
	name string
	run  func(context.Context, *client) error
}

// client is the connection under test.
type client struct {
	*surrealdb.DB
	url, user, pass string
	ns, db          string
	socket          bool
}

// dial opens another connection to the same server, in the same place, without an identity.
func (c *client) dial(ctx context.Context) (*surrealdb.DB, error) {
	other, err := surrealdb.FromEndpointURLString(ctx, c.url)
	if err != nil {
		return nil, err
	}
	return other, other.Use(ctx, c.ns, c.db)
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sdk-go URL USER PASSWORD")
		os.Exit(2)
	}
	c := &client{url: os.Args[1], user: os.Args[2], pass: os.Args[3], ns: "sdkgo", socket: strings.HasPrefix(os.Args[1], "ws")}
	c.db = map[bool]string{true: "ws", false: "http"}[c.socket]
	failed := 0
	for _, s := range steps() {
		err := try(c, s)
		switch {
		case errors.Is(err, errSocketOnly):
			fmt.Println("ok   ", s.name, "(over WebSocket only)")
		case err != nil:
			failed++
			fmt.Println("FAIL ", s.name, err)
		default:
			fmt.Println("ok   ", s.name)
		}
		if c.DB == nil {
			break
		}
	}
	if failed > 0 {
		os.Exit(1)
	}
}

var errSocketOnly = errors.New("over WebSocket only")

func try(c *client, s step) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return s.run(ctx, c)
}

func steps() []step {
	return []step{
		{"connect", connect},
		{"version", version},
		{"query with variables", queryVariables},
		{"query errors", queryErrors},
		{"several statements, some failing", someFail},
		{"every kind of value", values},
		{"geometries of every kind", geometries},
		{"limits of values", limits},
		{"record ids of every kind of key", recordKeys},
		{"ranges", ranges},
		{"none and null", nothing},
		{"create, select", createSelect},
		{"update, merge, patch, upsert", changes},
		{"insert, insert relation, relate", insertRelate},
		{"delete", deleteRecords},
		{"let and unset", variables},
		{"run a text of several queries", raw},
		{"send", send},
		{"structs with optional fields", structs},
		{"many at once", many},
		{"a large result", large},
		{"record user: sign up, sign in, info, authenticate, invalidate", recordUser},
		{"refresh tokens", refreshTokens},
		{"bearer grants", bearer},
		{"users of a namespace and a database", systemUsers},
		{"wrong credentials", wrongCredentials},
		{"live query", liveQuery},
		{"live query with patches", liveDiff},
		{"live query by statement", liveStatement},
		{"interactive transaction", transaction},
		{"conflicting transactions", conflict},
		{"attached session", session},
		{"transaction and live query of a session", sessionWork},
		{"close", closeAll},
	}
}

// want compares.
func want(what string, got, expected any) error {
	if !reflect.DeepEqual(got, expected) {
		return fmt.Errorf("%s: got %#v, want %#v", what, got, expected)
	}
	return nil
}

// wantError checks that err says text.
func wantError(what string, err error, text string) error {
	if err == nil || !strings.Contains(err.Error(), text) {
		return fmt.Errorf("%s: got error %v, want %q", what, err, text)
	}
	return nil
}

// one runs a query of one statement.
func one[T any](ctx context.Context, db *surrealdb.DB, text string, vars map[string]any) (T, error) {
	var none T
	results, err := surrealdb.Query[T](ctx, db, text, vars)
	if err != nil {
		return none, err
	}
	if len(*results) == 0 {
		return none, errors.New("no result")
	}
	return (*results)[len(*results)-1].Result, nil
}

func recordID(table string, key any) models.RecordID { return models.NewRecordID(table, key) }
