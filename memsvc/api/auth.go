package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
)

const (
	keyPrefix  = "msk-"
	mgmtPrefix = "mmk-"
	// verified is how long a key that was verified is not verified again; a change in this process shows at once.
	verified = 60 * time.Second
	// useEvery is how often the use of a key is written down.
	useEvery = time.Minute
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newSecret makes 32 random bytes in base 62.
func newSecret() string {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // never happens: crypto/rand.Read does not fail
	}
	n, base, mod := new(big.Int).SetBytes(b[:]), big.NewInt(62), new(big.Int)
	var out []byte
	for n.Sign() > 0 {
		n.DivMod(n, base, mod)
		out = append(out, base62[mod.Int64()])
	}
	return string(out)
}

// keyID is the id in a presented key. One that an administrator chose freely has an id made from it.
func keyID(presented, prefix string) string {
	if rest, ok := strings.CutPrefix(presented, prefix); ok {
		if id, secret, ok := strings.Cut(rest, "-"); ok && id != "" && secret != "" && len(id) <= 40 {
			return id
		}
	}
	sum := sha256.Sum256([]byte(presented))
	return "p" + hex.EncodeToString(sum[:12])
}

// hashKey is the stored form of a key: Argon2id with its salt.
func hashKey(key string) string {
	var salt [16]byte
	if _, err := rand.Read(salt[:]); err != nil {
		panic(err) // never happens: crypto/rand.Read does not fail
	}
	return hex.EncodeToString(salt[:]) + "$" + hex.EncodeToString(derive(key, salt[:]))
}

func derive(key string, salt []byte) []byte { return argon2.IDKey([]byte(key), salt, 2, 9<<10, 1, 32) }

func checkKey(key, stored string) bool {
	salt, sum, ok := strings.Cut(stored, "$")
	s, err := hex.DecodeString(salt)
	want, err2 := hex.DecodeString(sum)
	if !ok || err != nil || err2 != nil {
		return false
	}
	return subtle.ConstantTimeCompare(derive(key, s), want) == 1
}

// keyring remembers keys that were verified, by a hash of what was presented.
type keyring struct {
	slots chan struct{} // bounds the memory of verification

	mu   sync.Mutex // guards the maps; a leaf lock
	ok   map[[32]byte]ringEntry
	used map[string]time.Time
	rate map[string]*bucket
}

type ringEntry struct {
	key   store.Key
	until time.Time
}

type bucket struct {
	tokens float64
	at     time.Time
}

func newKeyring() *keyring {
	return &keyring{slots: make(chan struct{}, 2), ok: map[[32]byte]ringEntry{}, used: map[string]time.Time{},
		rate: map[string]*bucket{}}
}

func (k *keyring) get(sum [32]byte, now time.Time) (store.Key, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.ok[sum]
	if ok && now.After(e.until) {
		delete(k.ok, sum)
		ok = false
	}
	return e.key, ok
}

func (k *keyring) put(sum [32]byte, key store.Key, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.ok) > 10000 {
		clear(k.ok)
	}
	k.ok[sum] = ringEntry{key, now.Add(verified)}
}

// drop forgets keys that match.
func (k *keyring) drop(match func(store.Key) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for sum, e := range k.ok {
		if match(e.key) {
			delete(k.ok, sum)
		}
	}
}

// noteUse reports whether the use of a key has to be written down now.
func (k *keyring) noteUse(id string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now.Sub(k.used[id]) < useEvery {
		return false
	}
	if len(k.used) > 10000 {
		clear(k.used)
	}
	k.used[id] = now
	return true
}

// allow takes a token of the key's bucket; otherwise it gives the seconds to wait.
func (k *keyring) allow(id string, perMinute int, now time.Time) (wait int, ok bool) {
	if perMinute <= 0 {
		return 0, true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.rate[id]
	if b == nil {
		if len(k.rate) > 10000 {
			clear(k.rate)
		}
		b = &bucket{tokens: float64(perMinute), at: now}
		k.rate[id] = b
	}
	b.tokens = min(float64(perMinute), b.tokens+now.Sub(b.at).Minutes()*float64(perMinute))
	b.at = now
	if b.tokens < 1 {
		return int((1-b.tokens)*60/float64(perMinute)) + 1, false
	}
	b.tokens--
	return 0, true
}

func bearer(r *http.Request) string {
	kind, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(kind, "Bearer") || len(rest) > 1024 {
		return ""
	}
	return strings.TrimSpace(rest)
}

// verify gives the key that was presented, or Unauthorized.
func (s *Server) verify(ctx context.Context, presented string) (store.Key, error) {
	now := time.Now()
	sum := sha256.Sum256([]byte(presented))
	if k, ok := s.ring.get(sum, now); ok {
		return k, expired(k, now)
	}
	if presented == "" {
		return store.Key{}, problem.Unauthorized()
	}
	k, err := s.store.Key(ctx, keyID(presented, keyPrefix))
	if err != nil {
		return store.Key{}, err
	}
	if k == nil || k.Hash == "" {
		return store.Key{}, problem.Unauthorized()
	}
	if ok, err := s.check(ctx, presented, k.Hash); err != nil || !ok {
		return store.Key{}, errors.Join(err, problem.Unauthorized())
	}
	s.ring.put(sum, *k, now)
	return *k, expired(*k, now)
}

func (s *Server) check(ctx context.Context, presented, hash string) (bool, error) {
	select {
	case s.ring.slots <- struct{}{}:
		defer func() { <-s.ring.slots }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	return checkKey(presented, hash), nil
}

func expired(k store.Key, now time.Time) error {
	if !k.Expires.IsZero() && !now.Before(k.Expires) {
		return problem.Unauthorized()
	}
	return nil
}

// enter authenticates a data-plane call: the key must be of this Context and bound to a principal that exists.
func (s *Server) enter(ctx context.Context, r *http.Request, contextID string) (*settings.Tenant, *grant.Caller,
	error) {
	k, err := s.verify(ctx, bearer(r))
	if err != nil {
		return nil, nil, err
	}
	if h := r.Header.Get("X-Memsvc-Context"); h != "" && h != k.Context {
		return nil, nil, problem.Unauthorized()
	}
	if contextID == "" {
		contextID = k.Context
	}
	if k.Context != contextID || k.Principal == "" {
		return nil, nil, problem.Unauthorized()
	}
	row, err := s.store.Context(ctx, contextID)
	if err != nil {
		return nil, nil, err
	}
	if row == nil {
		return nil, nil, problem.Unauthorized()
	}
	if wait, ok := s.ring.allow(k.ID, s.cfg.RatePerMinute, time.Now()); !ok {
		p := problem.Of(http.StatusTooManyRequests, "rate-limited", "This key makes too many requests")
		p.RetryAfter = wait
		return nil, nil, p
	}
	db, err := s.store.DB(ctx, row)
	if err != nil {
		return nil, nil, err
	}
	who, err := s.caller(ctx, db, k, r.Header.Get("X-Memsvc-On-Behalf-Of"))
	if err != nil {
		return nil, nil, err
	}
	if s.ring.noteUse(k.ID, time.Now()) {
		if err := s.store.UsedKey(ctx, k.ID, time.Now().UTC()); err != nil {
			return nil, nil, err
		}
	}
	return &settings.Tenant{DB: db, Settings: s.schema.Effective(row)}, who, nil
}

// caller works out the region: what the principal, the key and the one it acts for all may.
func (s *Server) caller(ctx context.Context, db *store.DB, k store.Key, behalf string) (*grant.Caller, error) {
	ids := []string{k.Principal}
	if behalf != "" && behalf != k.Principal {
		ids = append(ids, behalf)
	} else {
		behalf = ""
	}
	ps, err := store.Lookup[store.Principal](ctx, db, "principal", ids...)
	if err != nil {
		return nil, err
	}
	byID := map[string]store.Principal{}
	for _, p := range ps {
		byID[p.ID] = p
	}
	p, ok := byID[k.Principal]
	if !ok {
		return nil, problem.Unauthorized()
	}
	layers := []grant.Grants{p.Grants}
	if k.Grants != nil {
		layers = append(layers, k.Grants)
	}
	if behalf != "" {
		target, ok := byID[behalf]
		if !ok {
			return nil, problem.Forbidden("The caller cannot act for that principal")
		}
		layers = append(layers, target.Grants)
	}
	return &grant.Caller{Context: db.Context, Principal: p.ID, Kind: p.Kind, Key: k.ID, OnBehalfOf: behalf,
		Region: grant.Intersect(layers...)}, nil
}

// manager authenticates a management call. A key of the data plane is told that this is the wrong door.
func (s *Server) manager(ctx context.Context, r *http.Request) error {
	presented := bearer(r)
	sum := sha256.Sum256([]byte("management " + presented))
	now := time.Now()
	if _, ok := s.ring.get(sum, now); ok {
		return nil
	}
	if presented == "" {
		return problem.Unauthorized()
	}
	k, err := s.store.ManagementKey(ctx, keyID(presented, mgmtPrefix))
	if err != nil {
		return err
	}
	if k != nil {
		ok, err := s.check(ctx, presented, k.Hash)
		if err != nil {
			return err
		}
		if ok {
			s.ring.put(sum, store.Key{ID: k.ID}, now)
			return nil
		}
	}
	if _, err := s.verify(ctx, presented); err == nil {
		return problem.Forbidden("This is the management API: it wants a management key")
	}
	return problem.Unauthorized()
}

// mint makes a key and gives it with its secret, the only time that it can be seen.
func (s *Server) mint(ctx context.Context, t *settings.Settings, principal, name string, ttl int64,
	grants grant.Grants) (*minted, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if ttl < 0 {
		return nil, problem.Invalid("ttl_seconds", "ttl_seconds: want a whole number, at least 0")
	}
	id := store.NewID()
	secret := keyPrefix + id + "-" + newSecret()
	k := store.Key{ID: id, Context: t.Context, Principal: principal, Name: name, Hash: hashKey(secret),
		Grants: grants, CreatedAt: time.Now().UTC()}
	k.Expires = expiry(t, ttl, k.CreatedAt)
	if err := s.store.CreateKey(ctx, k); err != nil {
		return nil, err
	}
	return &minted{ID: id, Name: name, Key: secret, Principal: principal, ValidUntil: stamp(k.Expires)}, nil
}

// rotate gives a key a new secret; the old one is dead at once.
func (s *Server) rotate(ctx context.Context, t *settings.Settings, k store.Key, ttl *int64) (*minted, error) {
	secret := keyPrefix + k.ID + "-" + newSecret()
	k.Hash = hashKey(secret)
	now := time.Now().UTC()
	if ttl != nil {
		if *ttl < 0 {
			return nil, problem.Invalid("ttl_seconds", "ttl_seconds: want a whole number, at least 0")
		}
		k.Expires = expiry(t, *ttl, now)
	} else if most := expiry(t, 0, now); !most.IsZero() && (k.Expires.IsZero() || k.Expires.After(most)) {
		k.Expires = most
	}
	if err := s.store.ChangeKey(ctx, k); err != nil {
		return nil, err
	}
	s.ring.drop(func(o store.Key) bool { return o.ID == k.ID })
	return &minted{ID: k.ID, Name: k.Name, Key: secret, Principal: k.Principal, ValidUntil: stamp(k.Expires)}, nil
}

// maxTTL is the longest time to live that a request may ask for: a hundred years.
const maxTTL = 100 * 366 * 24 * 3600

func expiry(t *settings.Settings, ttl int64, now time.Time) time.Time {
	if ttl = t.TTL(min(ttl, maxTTL)); ttl == 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(min(ttl, maxTTL)) * time.Second)
}

func stamp(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

type minted struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Key        string     `json:"key"`
	Principal  string     `json:"principalId"`
	ValidUntil *time.Time `json:"validUntil,omitempty"`
}

func checkName(name string) error {
	if name == "" || len(name) > 128 || strings.ContainsFunc(name,
		func(r rune) bool { return r < 0x20 || r == '/' || r == 0x7f }) {
		return problem.Invalid("name", "name: want 1 to 128 characters without slashes")
	}
	return nil
}

// version checks the api-version header.
func version(r *http.Request) error {
	if v := r.Header.Get("Api-Version"); v != "" && v != "1" {
		return problem.Invalid("api-version", "api-version: want 1")
	}
	return nil
}

func retryAfter(seconds int) string { return strconv.Itoa(max(seconds, 1)) }
