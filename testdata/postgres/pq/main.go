// Command pq drives a nacre server with lib/pq, unchanged: pq HOST PORT.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"
)

var failed bool

func step(name string, run func() error) {
	if slices.Contains(strings.Split(os.Getenv("WITHOUT_STEPS"), ";"), name) {
		return
	}
	if err := run(); err != nil {
		failed = true
		fmt.Println("FAIL", name, err)
		return
	}
	fmt.Println("ok  ", name)
}

func same(got, want any) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("got %#v, want %#v", got, want)
	}
	return nil
}

func state(err error) string {
	var e *pq.Error
	if errors.As(err, &e) {
		return string(e.Code)
	}
	return fmt.Sprint(err)
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pq HOST PORT")
		os.Exit(2)
	}
	dsn := fmt.Sprintf("host=%s port=%s user=root password=secret dbname=test/test sslmode=disable", os.Args[1],
		os.Args[2])
	own, err := sql.Open("postgres", dsn)
	if err == nil {
		defer own.Close()
		run(own, dsn)
	}
	if err != nil || failed {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(own *sql.DB, dsn string) {
	db, err := sql.Open("postgres", dsn+" options='-c dialect=sql'")
	if err != nil {
		step("connect", func() error { return err })
		return
	}
	defer db.Close()
	step("tables are defined in the language of the product", func() error {
		_, err := own.Exec(`DEFINE TABLE item SCHEMAFULL; DEFINE FIELD name ON item TYPE string;
			DEFINE FIELD n ON item TYPE option<int>; DEFINE FIELD f ON item TYPE option<float>;
			DEFINE FIELD ok ON item TYPE option<bool>; DEFINE FIELD at ON item TYPE option<datetime>;
			DEFINE FIELD raw ON item TYPE option<bytes>; DEFINE FIELD tags ON item TYPE option<array<string>>`)
		return err
	})
	step("parameters and results of every type", func() error { return types(db) })
	step("prepared statements", func() error { return prepared(db) })
	step("transactions", func() error { return transactions(db) })
	step("errors", func() error {
		_, err := db.Exec("SELECT nothing FROM item")
		return errors.Join(same(state(err), "42703"), db.Ping())
	})
	step("COPY in", func() error { return copyIn(db) })
	step("LISTEN and NOTIFY", func() error { return listen(db, dsn) })
	step("cancel", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		_, err := own.ExecContext(ctx, "SLEEP 1h")
		return same(state(err), "57014")
	})
	step("the language of the product", func() error {
		var name string
		err := own.QueryRow("SELECT VALUE name FROM item WHERE n = $1", 7).Scan(&name)
		return errors.Join(err, same(name, `"one"`))
	})
}

func types(db *sql.DB) error {
	at := time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)
	_, err := db.Exec("INSERT INTO item (id, name, n, f, ok, at, raw, tags) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
		"item:1", "one", 7, 1.5, true, at, []byte{0, 255}, pq.Array([]string{"a", `b"c`}))
	if err != nil {
		return err
	}
	var (
		name string
		n    sql.NullInt64
		f    float64
		ok   bool
		when time.Time
		raw  []byte
		tags []string
	)
	row := db.QueryRow("SELECT name, n, f, ok, at, raw, tags FROM item WHERE n = $1 AND at = $2", 7, at)
	err = row.Scan(&name, &n, &f, &ok, &when, &raw, pq.Array(&tags))
	return errors.Join(err, same([]any{name, n.Int64, f, ok, when.UTC(), raw, tags},
		[]any{"one", int64(7), 1.5, true, at, []byte{0, 255}, []string{"a", `b"c`}}))
}

func prepared(db *sql.DB) error {
	s, err := db.Prepare("SELECT $1::int8 + n FROM item WHERE name = $2")
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range int64(5) {
		var n int64
		if err := errors.Join(s.QueryRow(i, "one").Scan(&n), same(n, i+7)); err != nil {
			return err
		}
	}
	return nil
}

func transactions(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	_, err = tx.Exec("DELETE FROM item")
	var n int
	err = errors.Join(err, tx.QueryRow("SELECT count(*) FROM item").Scan(&n), same(n, 0), tx.Rollback(),
		db.QueryRow("SELECT count(*) FROM item").Scan(&n), same(n, 1))
	if err != nil {
		return err
	}
	tx, err = db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelSerializable})
	if err != nil {
		return err
	}
	_, err = tx.Exec("DELETE FROM item")
	return errors.Join(same(state(err), "25006"), tx.Rollback())
}

func copyIn(db *sql.DB) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	s, err := tx.Prepare(pq.CopyIn("item", "name", "n"))
	if err != nil {
		return err
	}
	for i := range 500 {
		if _, err := s.Exec(fmt.Sprint("copied\t", i), i); err != nil {
			return err
		}
	}
	_, err = s.Exec()
	var n int
	return errors.Join(err, s.Close(), tx.Commit(),
		db.QueryRow("SELECT count(*) FROM item WHERE name LIKE 'copied%'").Scan(&n), same(n, 500))
}

func listen(db *sql.DB, dsn string) error {
	l := pq.NewListener(dsn, time.Second, time.Second, nil)
	defer l.Close()
	if err := l.Listen("news"); err != nil {
		return err
	}
	if _, err := db.Exec("NOTIFY news, 'hello'"); err != nil {
		return err
	}
	select {
	case n := <-l.Notify:
		return same(n.Extra, "hello")
	case <-time.After(10 * time.Second):
		return errors.New("no notification")
	}
}
