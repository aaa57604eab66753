package store

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"sort"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/problem"
)

const (
	controlNamespace = "memsvc"
	controlDatabase  = "control"
	contextNamespace = "memsvc_ctx"
	// maxOpen is how many Contexts keep a session with the database at once; the longest unused is closed.
	maxOpen = 256
)

const controlSchema = `
DEFINE TABLE IF NOT EXISTS context; DEFINE TABLE IF NOT EXISTS apikey; DEFINE TABLE IF NOT EXISTS key_name;
DEFINE TABLE IF NOT EXISTS management_key; DEFINE TABLE IF NOT EXISTS key_use; DEFINE TABLE IF NOT EXISTS job;
DEFINE TABLE IF NOT EXISTS day;
DEFINE INDEX IF NOT EXISTS by_context ON apikey FIELDS context;
DEFINE INDEX IF NOT EXISTS by_state ON job FIELDS state;
`

// States of a Context.
const (
	Provisioning = "provisioning"
	Active       = "active"
	Deleting     = "deleting"
)

// Context is one tenant, as the control plane keeps it.
type Context struct {
	ID          string         `db:"id"`
	Namespace   string         `db:"namespace"`
	Database    string         `db:"database"`
	Description string         `db:"description"`
	Config      map[string]any `db:"config"` // what was set, and nothing else
	Keys        map[string]any `db:"provider_keys"`
	Blocked     bool           `db:"enforcement_blocked"`
	State       string         `db:"state"`
	Version     int64          `db:"version"`
	CreatedAt   time.Time      `db:"created_at"`
	DBUser      string         `db:"db_user"`
	DBPass      string         `db:"db_pass"`
	Schema      string         `db:"schema"` // version of its tables
}

// Key is a data-plane key. The secret is kept as a hash only.
type Key struct {
	ID        string       `db:"id"`
	Context   string       `db:"context"`
	Principal string       `db:"principal"`
	Name      string       `db:"name"`
	Hash      string       `db:"hash"`
	Grants    grant.Grants `db:"grants"` // nil: those of the principal
	CreatedAt time.Time    `db:"created_at"`
	Expires   time.Time    `db:"expires"` // zero: never
}

// Store is the control plane and the open Contexts.
type Store struct {
	connect Connect
	root    *conn // no database selected: makes and drops them
	ctl     *conn

	mu   sync.Mutex // guards open; a leaf lock
	open map[string]*DB
}

// Open makes the control plane, where there is none, and opens it.
func Open(ctx context.Context, connect Connect) (*Store, error) {
	s := &Store{connect: connect, root: &conn{connect: connect}, open: map[string]*DB{}}
	s.ctl = &conn{connect: connect, who: Login{Namespace: controlNamespace, Database: controlDatabase}}
	_, err := s.root.query(ctx, "DEFINE NAMESPACE IF NOT EXISTS memsvc; USE NS memsvc; DEFINE DATABASE IF NOT EXISTS control; RETURN true")
	if err == nil {
		_, err = s.ctl.query(ctx, controlSchema+"RETURN true")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the control plane: %w", err), s.Close())
	}
	return s, nil
}

// Close ends every session.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bad []error
	for _, d := range s.open {
		bad = append(bad, d.c.close())
	}
	bad = append(bad, s.ctl.close(), s.root.close())
	return errors.Join(bad...)
}

// Ping asks whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.ctl.query(ctx, "RETURN true")
	return err
}

var idForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`) })

// CreateContext makes a Context with its database, the user of that database and the built-in principals.
func (s *Store) CreateContext(ctx context.Context, c Context, admin Principal) (*Context, *Principal, error) {
	if err := s.prepare(&c); err != nil {
		return nil, nil, err
	}
	all, err := s.Contexts(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, o := range all {
		if o.ID == c.ID || (o.Namespace == c.Namespace && o.Database == c.Database) {
			return nil, nil, problem.Conflict("The Context, or its database, exists already")
		}
	}
	if _, err := s.ctl.query(ctx, "INSERT INTO context $row RETURN NONE", Var{"row", row("context", c)}); err != nil {
		return nil, nil, conflict(err)
	}
	if err := s.provision(ctx, &c, &admin); err != nil {
		return nil, nil, errors.Join(err, s.drop(ctx, &c))
	}
	c.State = Active
	_, err = s.ctl.query(ctx, "UPDATE $id SET state = $state", Var{"id", ID("context", c.ID)}, Var{"state", Active})
	return &c, &admin, err
}

// reservedIDs are the words that stand in addresses where the id of a Context may stand.
var reservedIDs = map[string]bool{"api": true, "contexts": true, "health": true, "jobs": true, "mcp": true,
	"metrics": true, "migrations": true, "openapi": true, "ready": true, "status": true, "verbs": true}

func (s *Store) prepare(c *Context) error {
	if c.Namespace == "" {
		c.Namespace = contextNamespace
	}
	if c.Database == "" {
		c.Database = c.ID
	}
	for _, f := range [][2]string{{"id", c.ID}, {"namespace", c.Namespace}, {"database", c.Database}} {
		if !idForm().MatchString(f[1]) {
			return problem.Invalid(f[0], "%s: want a to z, 0 to 9, _ and -, at most 63, begun by a letter or digit", f[0])
		}
	}
	if reservedIDs[c.ID] {
		return problem.Of(422, "unprocessable", "The id %s is reserved: it is part of the addresses of the service", c.ID)
	}
	if c.Namespace == controlNamespace {
		return problem.Of(422, "unprocessable", "The namespace %s is reserved", controlNamespace)
	}
	c.State, c.CreatedAt, c.Version, c.Schema = Provisioning, time.Now().UTC(), 1, SchemaVersion
	c.DBUser, c.DBPass = "memsvc", secretHex()
	return nil
}

func secretHex() string {
	var b [24]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // never happens: crypto/rand.Read does not fail
	}
	return hex.EncodeToString(b[:])
}

// provision makes the database of c. Its names have been checked to be plain, and the password is hexadecimal: they
// stand in the text because definitions take no parameters.
func (s *Store) provision(ctx context.Context, c *Context, admin *Principal) error {
	text := fmt.Sprintf("DEFINE NAMESPACE IF NOT EXISTS %[1]s; USE NS %[1]s; DEFINE DATABASE %[2]s; USE NS %[1]s DB %[2]s; "+
		"DEFINE USER memsvc ON DATABASE PASSWORD '%[3]s' ROLES EDITOR; RETURN true",
		value.QuoteIdent(c.Namespace), value.QuoteIdent(c.Database), c.DBPass)
	cl, err := s.connect(ctx, Login{})
	if err != nil {
		return problem.Unavailable(err)
	}
	once := &conn{connect: s.connect, c: cl}
	_, err = once.query(ctx, text)
	if err = errors.Join(err, once.close()); err != nil {
		if exists(err) {
			return problem.Conflict("The database %s exists already", c.Database)
		}
		return fmt.Errorf("make the database: %w", err)
	}
	c.State = "provisioned"
	db := newDB(c.ID, s.connect, Login{c.Namespace, c.Database, c.DBUser, c.DBPass})
	if err := s.furnish(ctx, db, admin); err != nil {
		return errors.Join(err, db.c.close())
	}
	s.keep(db)
	return nil
}

// furnish makes the tables and the built-in principals.
func (s *Store) furnish(ctx context.Context, db *DB, admin *Principal) error {
	if _, err := db.Query(ctx, schema+"RETURN true"); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	now := time.Now().UTC()
	admin.ID, admin.Kind, admin.Grants, admin.CreatedAt = "admin", "human", grant.All(), now
	if admin.DisplayName == "" {
		admin.DisplayName = "admin"
	}
	system := Principal{ID: "system", DisplayName: "system", Kind: "service", Grants: grant.All(), CreatedAt: now}
	return db.Update(ctx, func(tx *Tx) error {
		tx.Insert("principal", system)
		tx.Insert("principal", *admin)
		tx.Insert("grant_history", GrantHistory{ID: NewID(), Principal: admin.ID, Grants: admin.Grants, From: now})
		return nil
	})
}

// Contexts are all Contexts by id, without those that are being made or deleted.
func (s *Store) Contexts(ctx context.Context) ([]Context, error) {
	return rows[Context](ctx, s.ctl, "SELECT * FROM context WHERE state = 'active' ORDER BY id")
}

// Context is one Context, or nil.
func (s *Store) Context(ctx context.Context, id string) (*Context, error) {
	if !idForm().MatchString(id) {
		return nil, nil
	}
	c, err := one[Context](ctx, s.ctl, "SELECT * FROM $id", Var{"id", ID("context", id)})
	if err != nil || c == nil || c.State != Active {
		return nil, err
	}
	return c, nil
}

// PatchContext applies change to a Context, again when somebody else changed it meanwhile.
func (s *Store) PatchContext(ctx context.Context, id string, change func(*Context) error) (*Context, error) {
	for range maxTries {
		c, err := s.Context(ctx, id)
		if err != nil {
			return nil, err
		}
		if c == nil {
			return nil, problem.NotFound("There is no Context %.63q", id)
		}
		old := c.Version
		if err := change(c); err != nil {
			return nil, err
		}
		c.Version = old + 1
		v, err := s.ctl.query(ctx, "UPDATE $id CONTENT $row WHERE version = $old RETURN version",
			Var{"id", ID("context", id)}, Var{"row", row("context", *c)}, Var{"old", old})
		if err != nil && !retryable(err) {
			return nil, err
		}
		if err == nil && v.Len() == 1 {
			return c, nil
		}
	}
	return nil, problem.Conflict("The Context is changed by too many at once")
}

// DeleteContext removes a Context with everything in it. It may be called again after it failed.
func (s *Store) DeleteContext(ctx context.Context, id string) error {
	c, err := one[Context](ctx, s.ctl, "SELECT * FROM $id", Var{"id", ID("context", id)})
	if err != nil {
		return err
	}
	if c == nil {
		return problem.NotFound("There is no Context %.63q", id)
	}
	if _, err := s.ctl.query(ctx, "UPDATE $id SET state = 'deleting'", Var{"id", ID("context", id)}); err != nil {
		return err
	}
	s.forget(id)
	c.State = Deleting
	return s.drop(ctx, c)
}

// drop removes the database that c made (a Context that is only being made may have found one of another owner) and
// every row about c.
func (s *Store) drop(ctx context.Context, c *Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if c.State != Provisioning {
		cl, err := s.connect(ctx, Login{})
		if err != nil {
			return problem.Unavailable(err)
		}
		once := &conn{connect: s.connect, c: cl}
		_, err = once.query(ctx, fmt.Sprintf("USE NS %s; REMOVE DATABASE IF EXISTS %s; RETURN true",
			value.QuoteIdent(c.Namespace), value.QuoteIdent(c.Database)))
		if err = errors.Join(err, once.close()); err != nil {
			return fmt.Errorf("remove the database: %w", err)
		}
	}
	_, err := s.ctl.query(ctx, "DELETE apikey WHERE context = $c; DELETE key_name WHERE context = $c; DELETE job WHERE context = $c; "+
		"DELETE day WHERE context = $c; DELETE $id; RETURN true", Var{"c", c.ID}, Var{"id", ID("context", c.ID)})
	return err
}

// Sweep drops Contexts that were left half made or half deleted by a process that ended.
func (s *Store) Sweep(ctx context.Context) error {
	left, err := rows[Context](ctx, s.ctl, "SELECT * FROM context WHERE state = 'deleting' OR (state = 'provisioning' AND created_at < $old)",
		Var{"old", time.Now().Add(-10 * time.Minute)})
	if err != nil {
		return err
	}
	var bad []error
	for i := range left {
		left[i].State = Deleting
		bad = append(bad, s.drop(ctx, &left[i]))
	}
	return errors.Join(bad...)
}

// DB is the database of a Context that exists.
func (s *Store) DB(ctx context.Context, c *Context) (*DB, error) {
	s.mu.Lock()
	d, ok := s.open[c.ID]
	s.mu.Unlock()
	if ok && d.c.who.Pass == c.DBPass {
		return d, nil
	}
	return s.keep(newDB(c.ID, s.connect, Login{c.Namespace, c.Database, c.DBUser, c.DBPass})), nil
}

// DBOf is DB by the id of the Context.
func (s *Store) DBOf(ctx context.Context, id string) (*DB, *Context, error) {
	c, err := s.Context(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if c == nil {
		return nil, nil, problem.NotFound("There is no Context %.63q", id)
	}
	d, err := s.DB(ctx, c)
	return d, c, err
}

// keep remembers an open Context, and closes the longest unused ones when there are too many. A session that is closed
// while it is used is opened again by its next query.
func (s *Store) keep(d *DB) *DB {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.open[d.Context]; ok && old.c.who == d.c.who {
		return old
	}
	d.used.Store(time.Now().UnixNano())
	s.open[d.Context] = d
	if len(s.open) > maxOpen {
		all := make([]*DB, 0, len(s.open))
		for _, o := range s.open {
			all = append(all, o)
		}
		sort.Slice(all, func(i, j int) bool { return all[i].used.Load() < all[j].used.Load() })
		for _, o := range all[:len(all)/8] {
			o.c.rest()
		}
	}
	return d
}

func (s *Store) forget(id string) {
	s.mu.Lock()
	d, ok := s.open[id]
	delete(s.open, id)
	s.mu.Unlock()
	if ok {
		_ = d.c.close() // its database goes with it
	}
}

// rest closes the session until it is used again, when no call waits on it.
func (c *conn) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c != nil && c.calls.Load() == 0 {
		_ = c.c.Close()
		c.c = nil
	}
}
