package auth

import (
	"sync"
	"testing"
)

// TestPreparationIsGivenOutOnce: two users with the same password have different salts.
func TestPreparationIsGivenOutOnce(t *testing.T) {
	p := Prepare("pässword")
	other, err := p.Secret("password")
	if err != nil {
		t.Fatal(err)
	}
	secrets := make([]Secret, 3)
	var all sync.WaitGroup
	for i := range secrets {
		all.Go(func() {
			s, err := p.Secret("pässword")
			if err != nil {
				t.Error(err)
			}
			secrets[i] = s
		})
	}
	all.Wait()
	var none *Preparation
	last, err := none.Secret("pässword")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, s := range append(secrets, last, other) {
		if seen[s.Hash] || seen[string(s.Scram.Salt)] {
			t.Errorf("secret %d has the salt of another", i)
		}
		seen[s.Hash], seen[string(s.Scram.Salt)] = true, true
		ok, err := NewVerifier().Check(t.Context(), s.Hash, "pässword")
		if err != nil || ok == (i == 4) {
			t.Errorf("secret %d: %v, %v", i, ok, err)
		}
	}
	if p.password != nil {
		t.Error("the password is kept")
	}
}
