package access

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/auth"
)

// A key set is asked for when it is first needed, when it is too old, and for a key that it lacks, but never too often.
func TestKeySetCache(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	entry := (&keySets{}).at("https://x")
	first, second := &auth.KeySet{}, &auth.KeySet{}
	for i, tc := range []struct {
		name  string
		after time.Duration
		newer bool
		gives *auth.KeySet // by the issuer, nil: it fails
		asks  bool
		want  *auth.KeySet
	}{
		{"at first", 0, false, first, true, first},
		{"again", time.Second, false, second, false, first},
		{"a key it lacks, too soon", time.Minute, true, second, false, first},
		{"a key it lacks", keySetCooldown, true, second, true, second},
		{"the issuer fails, the set stands", 2 * keySetCooldown, true, nil, true, second},
		{"and is not asked again at once", 2*keySetCooldown + time.Minute, true, first, false, second},
		{"too old, the issuer fails", keySetLife + keySetCooldown, false, nil, true, nil},
		{"too old, asked a moment ago", keySetLife + keySetCooldown + time.Second, false, first, false, nil},
		{"too old, the issuer is back", keySetLife + keySetCooldown + keySetRetry, false, first, true, first},
	} {
		asked := false
		got, err := entry.get(context.Background(), start.Add(tc.after), tc.newer, func() (*auth.KeySet, error) {
			asked = true
			if tc.gives == nil {
				return nil, errors.New("down")
			}
			return tc.gives, nil
		})
		if asked != tc.asks || got != tc.want || (err == nil) != (tc.want != nil) {
			t.Errorf("%d %s: asked %v, got %p, %v, want %p", i, tc.name, asked, got, err, tc.want)
		}
	}
}

// While one asks the issuer the others wait, no longer than their own time.
func TestKeySetWaiting(t *testing.T) {
	entry := (&keySets{}).at("https://x")
	asking, done := make(chan struct{}), make(chan struct{})
	set := &auth.KeySet{}
	go func() {
		defer close(done)
		if got, err := entry.get(context.Background(), time.Now(), false, func() (*auth.KeySet, error) {
			close(asking)
			<-done2(t, entry)
			return set, nil
		}); got != set || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	}()
	<-asking
	<-done
}

// done2 is a channel that closes when somebody else has given up waiting for the entry.
func done2(t *testing.T, entry *keySet) <-chan struct{} {
	gone := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	go func() {
		defer close(gone)
		if _, err := entry.get(ctx, time.Now(), false, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("who has no time left: %v", err)
		}
	}()
	return gone
}

// A token whose key is known does not wait while the issuer is asked for the key of another.
func TestKnownKeysDoNotWait(t *testing.T) {
	entry, now := (&keySets{}).at("https://x"), time.Now()
	set := &auth.KeySet{}
	if _, err := entry.get(t.Context(), now, false, func() (*auth.KeySet, error) { return set, nil }); err != nil {
		t.Fatal(err)
	}
	later := now.Add(keySetCooldown)
	_, err := entry.get(t.Context(), later, true, func() (*auth.KeySet, error) {
		got, err := entry.get(t.Context(), later, false, nil)
		if got != set {
			t.Errorf("meanwhile: %p, want %p", got, set)
		}
		return set, err
	})
	if err != nil {
		t.Error(err)
	}
}

// The number of sets that are kept is bounded.
func TestKeySetCount(t *testing.T) {
	var sets keySets
	for i := range 3 * keySetCount {
		sets.at(string(rune('a' + i)))
	}
	if len(sets.all) > keySetCount {
		t.Errorf("%d sets are kept", len(sets.all))
	}
}
