package access

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/errs"
)

// The key sets of token issuers (DEFINE ACCESS … JWT URL) are kept for a while: a token that comes with every request
// must not lead to a request to its issuer.
const (
	keySetLife     = 12 * time.Hour  // a set is used that long
	keySetCooldown = 5 * time.Minute // and asked for again, for a key that it does not have, not sooner
	keySetRetry    = 10 * time.Second
	keySetPatience = 5 * time.Second // for the issuer's answer
	keySetBytes    = 1 << 20
	keySetCount    = 256 // sets that are kept
)

// keySets are the key sets by their addresses.
type keySets struct {
	mu  sync.Mutex // guards all; a leaf lock
	all map[string]*keySet
}

// keySet is one set. Who holds the token in turn may ask the issuer; those that need what it gets wait.
type keySet struct {
	turn  chan struct{}
	now   atomic.Pointer[loadedKeys] // replaced by the holder of the token; nil: none yet
	tried time.Time                  // when the issuer was last asked; the holder's
}

// loadedKeys is a set and when it came.
type loadedKeys struct {
	set  *auth.KeySet
	when time.Time
}

// fresh is the set, where it is not too old.
func (s *keySet) fresh(now time.Time) *auth.KeySet {
	if l := s.now.Load(); l != nil && now.Sub(l.when) < keySetLife {
		return l.set
	}
	return nil
}

// at is the entry of an address.
func (k *keySets) at(address string) *keySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.all[address]
	if s != nil {
		return s
	}
	if k.all == nil {
		k.all = map[string]*keySet{}
	}
	for old := range k.all {
		if len(k.all) < keySetCount {
			break
		}
		delete(k.all, old)
	}
	s = &keySet{turn: make(chan struct{}, 1)}
	k.all[address] = s
	return s
}

// errNoKeySet is a set that cannot be had at the moment.
var errNoKeySet = errors.New("the key set of the issuer cannot be read")

// get is the set as known, or fetched where it is too old, or newer is wanted and the last attempt is long enough ago.
// A token whose key is known does not wait while another makes the issuer be asked.
func (s *keySet) get(ctx context.Context, now time.Time, newer bool,
	fetch func() (*auth.KeySet, error)) (*auth.KeySet, error) {
	if set := s.fresh(now); set != nil && !newer {
		return set, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	fresh := s.fresh(now)
	wait := keySetRetry
	if fresh != nil {
		wait = keySetCooldown
	}
	due := s.tried.IsZero() || now.Sub(s.tried) >= wait
	switch {
	case fresh != nil && (!newer || !due):
		return fresh, nil
	case !due:
		return nil, errNoKeySet
	}
	s.tried = now
	set, err := fetch()
	if err != nil {
		if fresh != nil {
			return fresh, nil // what it had still stands
		}
		return nil, err
	}
	s.now.Store(&loadedKeys{set, now})
	return set, nil
}

// verifyByURL checks a token by the keys that its issuer publishes. Where the capabilities deny the address, every
// token is refused.
func (r *run) verifyByURL(ctx context.Context, token, address string) (*auth.Claims, error) {
	entry := r.keys.at(address)
	set, err := entry.get(ctx, r.Now(), false, func() (*auth.KeySet, error) { return r.fetchKeys(ctx, address) })
	if err != nil {
		return nil, r.noKeys(ctx, err)
	}
	claims, err := auth.VerifyBySet(token, set, r.Now())
	if !errors.Is(err, auth.ErrNoKey) {
		return claims, err
	}
	newer, again := entry.get(ctx, r.Now(), true, func() (*auth.KeySet, error) { return r.fetchKeys(ctx, address) })
	if again != nil {
		return nil, r.noKeys(ctx, again)
	}
	if newer == set {
		return nil, err
	}
	return auth.VerifyBySet(token, newer, r.Now())
}

func (r *run) fetchKeys(ctx context.Context, address string) (*auth.KeySet, error) {
	ctx, cancel := context.WithTimeout(ctx, keySetPatience)
	defer cancel()
	b, err := r.Ex.Functions.Fetch(ctx, r.NetFilter(), address, keySetBytes)
	if err != nil {
		return nil, err
	}
	return auth.ParseKeySet(b)
}

// noKeys is the refusal where the keys of an issuer cannot be had. The operator hears why, the client does not.
func (r *run) noKeys(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if !errors.Is(err, errNoKeySet) { // that one has been told
		r.Ex.Log.Warn("the keys of a token issuer cannot be read", "err", err)
	}
	e := errs.InvalidAuth()
	e.Err = errors.Join(errNoKeySet, err)
	return e
}
