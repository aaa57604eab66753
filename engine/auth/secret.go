package auth

import (
	"crypto/subtle"
	"sync"
)

// Secret is what is stored of a password.
type Secret struct {
	Hash  string // PHC text of argon2id
	Scram *Scram
}

// NewSecret computes the secret of a password, with random salts. It takes some ten milliseconds and 19 MiB.
func NewSecret(password string) (Secret, error) {
	scram, err := NewScram(password)
	if err != nil {
		return Secret{}, err
	}
	return Secret{Hash: HashPassword(password), Scram: scram}, nil
}

// Preparation is the secret of one password, computed beside other work. It is given out once, so that no two users
// have the same salts. A nil Preparation has nothing prepared.
type Preparation struct {
	mu       sync.Mutex // guards password
	password *string    // nil once the secret was given out

	done   chan struct{} // closed when what follows is set
	secret Secret
	err    error
}

// Prepare begins to compute the secret of a password.
func Prepare(password string) *Preparation {
	p := &Preparation{password: &password, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.secret, p.err = NewSecret(password)
	}()
	return p
}

// Secret is the prepared secret, if it is that of the password and was not given out before, or else a new one.
func (p *Preparation) Secret(password string) (Secret, error) {
	if !p.take(password) {
		return NewSecret(password)
	}
	<-p.done
	return p.secret, p.err
}

func (p *Preparation) take(password string) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.password == nil || subtle.ConstantTimeCompare([]byte(*p.password), []byte(password)) != 1 {
		return false
	}
	p.password = nil
	return true
}
