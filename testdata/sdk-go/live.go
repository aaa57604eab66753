package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	surrealdb "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// next is the next notification.
func next(ctx context.Context, in chan connection.Notification) (connection.Notification, error) {
	select {
	case n, ok := <-in:
		if !ok {
			return n, errors.New("the notifications have ended")
		}
		return n, nil
	case <-ctx.Done():
		return connection.Notification{}, errors.New("no notification came")
	}
}

func liveQuery(ctx context.Context, c *client) error {
	if !c.socket {
		return errSocketOnly
	}
	if _, err := surrealdb.Query[any](ctx, c.DB, "DEFINE TABLE OVERWRITE watched", nil); err != nil {
		return err
	}
	id, err := surrealdb.Live(ctx, c.DB, "watched", false)
	if err != nil {
		return err
	}
	notes, err := c.LiveNotifications(id.String())
	if err != nil {
		return err
	}
	if _, err := surrealdb.Query[any](ctx, c.DB, "CREATE watched:1 SET a = 1; UPDATE watched:1 SET a = 2; DELETE watched:1", nil); err != nil {
		return err
	}
	got := map[connection.Action]any{} // the client hands each message to a goroutine of its own: their order is lost
	for range 3 {
		n, err := next(ctx, notes)
		if err != nil {
			return err
		}
		row, _ := n.Result.(map[string]any)
		got[n.Action] = row["a"]
	}
	if err := want("actions", got, map[connection.Action]any{connection.CreateAction: uint64(1), connection.UpdateAction: uint64(2),
		connection.DeleteAction: uint64(2)}); err != nil {
		return err
	}
	return surrealdb.Kill(ctx, c.DB, id.String())
}

func liveDiff(ctx context.Context, c *client) error {
	if !c.socket {
		return errSocketOnly
	}
	id, err := surrealdb.Live(ctx, c.DB, "watched", true)
	if err != nil {
		return err
	}
	notes, err := c.LiveNotifications(id.String())
	if err != nil {
		return err
	}
	if _, err := surrealdb.Query[any](ctx, c.DB, "CREATE watched:2 SET a = 1; UPDATE watched:2 SET b = 2", nil); err != nil {
		return err
	}
	paths := map[string]bool{}
	for range 2 {
		n, err := next(ctx, notes)
		if err != nil {
			return err
		}
		patches, _ := n.Result.([]any)
		if len(patches) != 1 {
			return fmt.Errorf("patches %+v", n.Result)
		}
		patch, _ := patches[0].(map[string]any)
		path, _ := patch["path"].(string)
		paths[strings.Trim(path, "/")] = true
	}
	if err := want("paths", paths, map[string]bool{"": true, "b": true}); err != nil {
		return err
	}
	return surrealdb.Kill(ctx, c.DB, id.String())
}

func liveStatement(ctx context.Context, c *client) error {
	if !c.socket {
		return errSocketOnly
	}
	id, err := one[models.UUID](ctx, c.DB, "LIVE SELECT VALUE a FROM watched WHERE a > 5", nil)
	if err != nil {
		return err
	}
	notes, err := c.LiveNotifications(id.String())
	if err != nil {
		return err
	}
	if _, err := surrealdb.Query[any](ctx, c.DB, "CREATE watched SET a = 1; CREATE watched SET a = 6; BEGIN; CREATE watched SET a = 7; CANCEL; CREATE watched SET a = 8", nil); err != nil {
		// The cancelled statement counts as an error of the query.
		var query *surrealdb.QueryError
		if !errors.As(err, &query) {
			return err
		}
	}
	got := map[any]bool{}
	for range 2 {
		n, err := next(ctx, notes)
		if err != nil {
			return err
		}
		got[n.Result] = true
	}
	if err := want("values", got, map[any]bool{uint64(6): true, uint64(8): true}); err != nil {
		return err
	}
	_, err = surrealdb.Query[any](ctx, c.DB, "KILL $id", map[string]any{"id": id})
	return err
}

func transaction(ctx context.Context, c *client) error {
	if !c.socket {
		return errSocketOnly
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := surrealdb.Create[person](ctx, tx, recordID("person", "tx"), person{Name: "Tx"}); err != nil {
		return err
	}
	outside, err := surrealdb.Select[person](ctx, c.DB, recordID("person", "tx"))
	if err != nil {
		return err
	}
	if outside != nil && outside.ID != nil {
		return errors.New("seen before the commit")
	}
	inside, err := surrealdb.Query[[]person](ctx, tx, "SELECT * FROM person:tx", nil)
	if err != nil {
		return err
	}
	if err := want("seen inside", (*inside)[0].Result[0].Name, "Tx"); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	undone, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := surrealdb.Delete[person](ctx, undone, recordID("person", "tx")); err != nil {
		return err
	}
	if err := undone.Cancel(ctx); err != nil {
		return err
	}
	after, err := surrealdb.Select[person](ctx, c.DB, recordID("person", "tx"))
	if err != nil {
		return err
	}
	return want("after the cancel", after.Name, "Tx")
}

func conflict(ctx context.Context, c *client) error {
	if !c.socket {
		return errSocketOnly
	}
	first, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	second, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	for i, tx := range []*surrealdb.Transaction{first, second} {
		if _, err := surrealdb.Query[any](ctx, tx, "UPDATE person:tx SET age = $i", map[string]any{"i": i + 1}); err != nil {
			return err
		}
	}
	if err := first.Commit(ctx); err != nil {
		return err
	}
	if err := second.Commit(ctx); err == nil {
		return errors.New("both of two conflicting transactions committed")
	}
	after, err := surrealdb.Select[person](ctx, c.DB, recordID("person", "tx"))
	if err != nil {
		return err
	}
	return want("the first one's change", after.Age, 1)
}

func session(ctx context.Context, c *client) error {
	if !c.socket {
		return errSocketOnly
	}
	s, err := c.Attach(ctx)
	if err != nil {
		return err
	}
	if _, err := surrealdb.Query[any](ctx, s, "INFO FOR ROOT", nil); err == nil {
		return errors.New("a new session has an identity")
	}
	if _, err := s.SignIn(ctx, surrealdb.Auth{Username: c.user, Password: c.pass}); err != nil {
		return err
	}
	if err := s.Use(ctx, c.ns, "other"); err != nil {
		return err
	}
	if err := s.Let(ctx, "mine", 1); err != nil {
		return err
	}
	results, err := surrealdb.Query[any](ctx, s, "RETURN [$mine, session::db()]", nil)
	if err != nil {
		return err
	}
	if err := want("its own", (*results)[0].Result, []any{uint64(1), "other"}); err != nil {
		return err
	}
	got, err := one[any](ctx, c.DB, "RETURN [$mine IS NONE, session::db()]", nil)
	if err != nil {
		return err
	}
	if err := want("the connection's", got, []any{true, c.db}); err != nil {
		return err
	}
	if _, err := s.Version(ctx); err != nil {
		return err
	}
	if err := s.Unset(ctx, "mine"); err != nil {
		return err
	}
	if err := s.Invalidate(ctx); err != nil {
		return err
	}
	return s.Detach(ctx)
}

func sessionWork(ctx context.Context, c *client) error {
	if !c.socket {
		return errSocketOnly
	}
	s, err := c.Attach(ctx)
	if err != nil {
		return err
	}
	if _, err := s.SignIn(ctx, surrealdb.Auth{Username: c.user, Password: c.pass}); err != nil {
		return err
	}
	if err := s.Use(ctx, c.ns, c.db); err != nil {
		return err
	}
	id, err := surrealdb.Live(ctx, s, "watched", false)
	if err != nil {
		return err
	}
	notes, err := s.LiveNotifications(id.String())
	if err != nil {
		return err
	}
	tx, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err := surrealdb.Create[map[string]any](ctx, tx, recordID("watched", "tx"), map[string]any{"a": 9}); err != nil {
		return err
	}
	select {
	case n := <-notes:
		return fmt.Errorf("told before the commit: %+v", n)
	default:
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	n, err := next(ctx, notes)
	if err != nil {
		return err
	}
	row, _ := n.Result.(map[string]any)
	if err := want("told after it", row["a"], uint64(9)); err != nil {
		return err
	}
	if err := surrealdb.Kill(ctx, s, id.String()); err != nil {
		return err
	}
	return s.Detach(ctx)
}

func closeAll(ctx context.Context, c *client) error {
	err := c.Close(ctx)
	if !c.socket {
		return err
	}
	return errors.Join(err, answersNothing(ctx, c))
}

// answersNothing tries a closed connection, on which the client sometimes panics instead of giving its error.
func answersNothing(ctx context.Context, c *client) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = nil
		}
	}()
	if _, after := surrealdb.Query[any](ctx, c.DB, "RETURN 1", nil); after == nil {
		return errors.New("a closed connection answers")
	}
	return nil
}
