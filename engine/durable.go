package engine

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/exec"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/value"
)

// Durable is the copy of a session in the store: by it the session outlives the process, and is the same for all
// servers of a store. It holds identity, place and variables; transactions and live queries end with the process.
//
// SECURITY: the id of the session is a secret of its client. The store has neither the id nor anything in clear but
// when the session ends: a hash of the id is the name, and a key that is derived from the id seals the rest (HKDF, RFC
// 5869, with SHA-256; AES-256-GCM, NIST SP 800-38D). Who reads the files, or a backup, cannot go on with a session.
// An identity is looked up again before it counts: a user that was removed has no rights here either.
type Durable struct {
	s         *Session
	hash, key []byte
	life      time.Duration // without a use
	guestLife time.Duration // the same without an identity

	mu      sync.Mutex // held while the copy is read or written; guards the rest
	version sealing    // of the copy that state is from; zero: there is none yet
	state   *exec.SessionState
	ends    time.Time
}

// sealing tells one version of a copy from all others: it is the nonce that it was sealed with.
type sealing [12]byte

// of reports whether a copy is of this version.
func (v sealing) of(sealed []byte) bool { return bytes.HasPrefix(sealed, v[:]) }

// durableLimit is the largest copy of a session, in bytes.
const durableLimit = 1 << 20

// Durable gives the copy of s under the id that its client chose. life is how long it lasts without a use, guestLife
// the same while the session has no identity. Nothing is stored yet.
func (s *Session) Durable(id value.UUID, life, guestLife time.Duration) (*Durable, error) {
	d := &Durable{s: s, life: life, guestLife: guestLife}
	var err error
	if d.hash, err = sessionHash(id); err != nil {
		return nil, err
	}
	if d.key, err = hkdf.Key(sha256.New, id[:], nil, "nacre session: seal", 32); err != nil {
		return nil, fmt.Errorf("key of a session: %w", err)
	}
	s.durable.Store(d)
	return d, nil
}

// sessionHash is the name of the copy of a session.
func sessionHash(id value.UUID) ([]byte, error) {
	hash, err := hkdf.Key(sha256.New, id[:], nil, "nacre session: name", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("name of a session: %w", err)
	}
	return hash, nil
}

// Copy is what Durable gave for s last, or nil.
func (s *Session) Copy() *Durable { return s.durable.Load() }

// Create stores a session that is new; taken: there is one with its id already, and nothing was stored.
func (d *Durable) Create(ctx context.Context) (taken bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err = d.save(ctx, d.s.state.Load(), func(expires int64, sealed []byte) error {
		if sealed != nil && !d.over(expires) {
			return errTaken
		}
		return nil
	})
	if errors.Is(err, errTaken) {
		return true, nil
	}
	return false, err
}

// Load makes the session what its copy says where that is another one than at the last look. found is false where there
// is none, or it has ended.
func (d *Durable) Load(ctx context.Context) (found bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var expires int64
	var sealed []byte
	system := d.s.e.system()
	err = d.s.e.queries.Read(ctx, &system, func(r *exec.Run) error {
		at, raw, err := r.Cat.Session(d.hash)
		expires, sealed = at, append([]byte(nil), raw...)
		return err
	})
	if err != nil || len(sealed) == 0 || d.over(expires) {
		return false, err
	}
	if d.version.of(sealed) || d.version != (sealing{}) && d.state != d.s.state.Load() {
		return true, nil // the same, or a request is changing it here: its Save meets the other change
	}
	return true, d.open(expires, sealed)
}

// Save stores the session again where it has changed, or has not been stored for an eighth of its life. kept is false
// where the copy was removed meanwhile, or changed by another server: then that counts, and the session is as its copy
// at the next Load. The same holds after an error, for what cannot be stored.
func (d *Durable) Save(ctx context.Context) (kept bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	st := d.s.state.Load()
	if !d.due(st) {
		return true, nil
	}
	err = d.save(ctx, st, func(_ int64, sealed []byte) error {
		if !d.version.of(sealed) {
			return errMoved
		}
		return nil
	})
	if err == nil {
		return true, nil
	}
	d.version, d.state = sealing{1}, st // no copy has it: the next Load takes what there is
	if errors.Is(err, errMoved) {
		return false, nil
	}
	return false, err
}

// Due reports whether Save would store the session.
func (d *Durable) Due() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.due(d.s.state.Load())
}

func (d *Durable) due(st *exec.SessionState) bool {
	life := d.lifeOf(st)
	return st != d.state || d.ends.Sub(d.s.e.queries.Clock()) <= life-life/8
}

// Delete removes the copy: the session ends with the process, or with what else ends it.
func (d *Durable) Delete(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.s.e.asSystem(ctx, func(r *exec.Run) error { return r.Cat.DropSession(d.hash) })
}

// ForgetSession removes the copy of a session by the id that its client chose; it is no error if there is none.
func (e *Engine) ForgetSession(ctx context.Context, id value.UUID) error {
	hash, err := sessionHash(id)
	if err != nil {
		return err
	}
	return e.asSystem(ctx, func(r *exec.Run) error { return r.Cat.DropSession(hash) })
}

// forgottenSessions is how many sessions that have ended one transaction forgets.
const forgottenSessions = 256

// ForgetSessions removes the copies of sessions that have ended.
func (e *Engine) ForgetSessions(ctx context.Context) error {
	for {
		var gone int
		err := e.asSystem(ctx, func(r *exec.Run) (err error) {
			gone, err = r.Cat.DropSessions(e.queries.Clock().Unix(), forgottenSessions)
			return err
		})
		if err != nil || gone < forgottenSessions {
			return err
		}
	}
}

// What a transaction of Create and Save ends with that leaves the copy as it is.
var (
	errTaken = errors.New("the session is stored already")
	errMoved = errors.New("the copy of the session is another one")
)

func (d *Durable) over(expires int64) bool { return d.s.e.queries.Clock().Unix() >= expires }

func (d *Durable) lifeOf(st *exec.SessionState) time.Duration {
	if st.Auth.Principal.Level == auth.Guest {
		return d.guestLife
	}
	return d.life
}

// save writes st if may allows it, which gets what is stored; d.mu is held.
func (d *Durable) save(ctx context.Context, st *exec.SessionState, may func(expires int64, sealed []byte) error) error {
	plain, err := value.EncodeRecord(nil, frozen(st))
	switch {
	case err != nil:
		return errs.Validation("The session outlives the server and cannot keep this variable: %v", err)
	case len(plain) > durableLimit:
		return errs.Validation("The session outlives the server: its variables may take 1 MiB")
	}
	ends := d.s.e.queries.Clock().Add(d.lifeOf(st))
	sealer, err := d.sealer()
	if err != nil {
		return err
	}
	var nonce sealing
	rand.Read(nonce[:]) // never fails: crypto/rand ends the process instead
	sealed := sealer.Seal(nonce[:], nonce[:], plain, d.bound(ends.Unix()))
	err = d.s.e.asSystem(ctx, func(r *exec.Run) error {
		expires, stored, err := r.Cat.Session(d.hash)
		if err != nil {
			return err
		}
		if err := may(expires, stored); err != nil {
			return err
		}
		return r.Cat.PutSession(d.hash, ends.Unix(), sealed)
	})
	if err == nil {
		d.version, d.state, d.ends = nonce, st, ends
	}
	return err
}

// open takes over what a copy holds; d.mu is held.
func (d *Durable) open(expires int64, sealed []byte) error {
	sealer, err := d.sealer()
	if err != nil {
		return err
	}
	var version sealing
	if len(sealed) < len(version) {
		return damagedSession()
	}
	copy(version[:], sealed)
	plain, err := sealer.Open(nil, version[:], sealed[len(version):], d.bound(expires))
	if err != nil {
		return damagedSession()
	}
	o, err := value.RecordObject(plain)
	if err != nil {
		return damagedSession()
	}
	if err := d.s.thaw(o); err != nil {
		return err
	}
	d.version, d.state, d.ends = version, d.s.state.Load(), time.Unix(expires, 0)
	return nil
}

func (d *Durable) sealer() (cipher.AEAD, error) {
	block, err := aes.NewCipher(d.key)
	if err != nil {
		return nil, fmt.Errorf("seal a session: %w", err)
	}
	return cipher.NewGCM(block)
}

// bound is what a copy is sealed together with: it cannot be put under another name, nor live longer.
func (d *Durable) bound(expires int64) []byte { return fmt.Appendf(nil, "%x %d", d.hash, expires) }

func damagedSession() error {
	return errs.Internal("The copy of the session in the store is damaged: attach it again")
}

// frozen is what outlives the process of a session.
//
// SECURITY: an identity that nothing vouches for (a server that asks for none gives it to everybody) is left out: the
// next start may ask for one.
func frozen(st *exec.SessionState) *value.Object {
	vars := make([]value.Field, len(st.Vars))
	for i, v := range st.Vars {
		vars[i] = value.Field{Name: v.Name, Value: v.Value}
	}
	fields := []value.Field{
		text("namespace", st.Auth.NS), text("database", st.Auth.DB),
		{Name: "name", Value: st.Name}, {Name: "variables", Value: value.ObjectOf(value.NewObject(vars...))},
	}
	if p := &st.Auth.Principal; p.Access != "" || p.Proof != "" {
		fields = append(fields, value.Field{Name: "identity", Value: object(
			value.Field{Name: "level", Value: value.Int(int64(p.Level))},
			value.Field{Name: "roles", Value: value.Int(int64(p.Roles))},
			text("namespace", p.NS), text("database", p.DB), text("user", p.Name), text("access", p.Access),
			text("proof", p.Proof), text("grant", p.Grant),
			value.Field{Name: "record", Value: p.Record}, value.Field{Name: "claims", Value: p.Claims},
			value.Field{Name: "expiry", Value: value.Int(p.Expiry)},
			value.Field{Name: "stored", Value: value.Bool(p.Stored)},
			text("token", hex.EncodeToString(p.Token.Hash[:])),
			value.Field{Name: "ends", Value: value.Int(p.Token.Expires)})})
	}
	return value.NewObject(fields...)
}

// thaw makes the session what frozen kept.
func (s *Session) thaw(o *value.Object) error {
	str := func(o *value.Object, name string) string {
		if v, ok := o.Get(name); ok && v.Kind() == value.KindString {
			return v.Str()
		}
		return ""
	}
	p := s.e.anonymous()
	if v, ok := o.Get("identity"); ok && v.Kind() == value.KindObject {
		of := v.Object()
		number := func(name string) int64 {
			v, _ := of.Get(name)
			return v.Int()
		}
		get := func(name string) value.Value {
			v, _ := of.Get(name)
			return value.Detach(v)
		}
		p = auth.Principal{Level: auth.Level(number("level")), Roles: auth.Roles(number("roles")),
			NS: str(of, "namespace"), DB: str(of, "database"), Name: str(of, "user"), Access: str(of, "access"),
			Proof: str(of, "proof"), Grant: str(of, "grant"), Record: get("record"), Claims: get("claims"),
			Expiry: number("expiry"), Token: auth.Token{Expires: number("ends")}}
		stored, _ := of.Get("stored")
		p.Stored = stored.Kind() == value.KindBool && stored.Bool()
		hash, err := hex.DecodeString(str(of, "token"))
		if err != nil || copy(p.Token.Hash[:], hash) != len(p.Token.Hash) {
			return damagedSession()
		}
	}
	var vars []record.Param
	if v, ok := o.Get("variables"); ok && v.Kind() == value.KindObject {
		for name, one := range v.Object().All() {
			vars = append(vars, record.Param{Name: name, Value: value.Detach(one)})
		}
	}
	s.e.queries.Access.Resumed(&p)
	at := s.e.queries.Catalog.Identities()
	var err error
	s.change(func(st *exec.SessionState) {
		if err = s.hold(vars, variablesLimit); err != nil {
			return
		}
		st.Auth.Principal, st.Still = p, s.still
		st.Checked = at - 1 // the identity has not been looked up again yet
		st.Auth.NS, st.Auth.DB, st.Vars = str(o, "namespace"), str(o, "database"), vars
		st.Name, _ = o.Get("name")
		st.Name = value.Detach(st.Name)
	})
	return err
}
