package access

import (
	"encoding/binary"
	"slices"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Guard bounds how often a client may guess at passwords. It counts an attempt before it is made, under each of names;
// known reports whether the credentials were right not long ago, which costs next to nothing. An error refuses the
// attempt. Else done takes how it ended. Tokens and keys that cannot be guessed are not asked about.
type Guard func(names []string, known func() bool) (done func(ok bool), err error)

// guess is asked before an expression of an access method tries credentials that may be guessed; its error refuses
// that.
type guess func(ns, db, access string) error

// attempt is one try at credentials. It is counted once, however often its transaction runs.
type attempt struct {
	guard Guard // may be nil
	names []string
	known func() bool
	done  func(ok bool) // nil until the guard was asked
}

// begin asks the guard. The error is its refusal.
func (a *attempt) begin() error {
	if a.done != nil || a.guard == nil {
		return nil
	}
	done, err := a.guard(a.names, a.known)
	if err == nil {
		a.done = done
	}
	return err
}

// end tells the guard how the attempt ended.
func (a *attempt) end(ok bool) {
	if a.done != nil {
		a.done(ok)
	}
}

// name is one text for some parts, different for different parts.
func name(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	return string(b)
}

// userName is the name under which attempts at a system user's password are counted.
func userName(user, ns, db string) string { return name("user", ns, db, user) }

// maxCounted is how many fields the credentials of an access method may have to be counted one by one.
const maxCounted = 32

// fieldNames are the fields by which attempts at an access method are counted. Which field names the user only the
// method's own expression knows, so each counts: guesses at one user have one in common. Credentials with more than
// maxCounted fields, or with a single one, which then is the secret, count together.
func fieldNames(params *value.Object, ns, db, access string) []string {
	var names []string
	for _, f := range params.Fields() {
		switch f.Value.Kind() {
		case value.KindNone, value.KindNull, value.KindBool:
			continue
		}
		if !slices.Contains(placeFields, f.Name) {
			names = append(names, name("access", ns, db, access, f.Name, f.Value.Text()))
		}
	}
	if len(names) < 2 || len(names) > maxCounted {
		return []string{name("access", ns, db, access)}
	}
	return names
}

// placeFields say where an access method is.
var placeFields = []string{"ns", "NS", "db", "DB", "ac", "AC", "access"}

// guarded signs in by an access method; f tells by guess when it comes to what can be guessed, and where.
func (a *Authenticator) guarded(params *value.Object, guard Guard, f func(guess) (*Login, error)) (*Login, error) {
	encoded, err := value.AppendCBOR(nil, value.ObjectOf(params))
	if err != nil {
		return nil, errs.Validation("The credentials cannot be read")
	}
	id := a.credentials.ID(string(encoded))
	try := &attempt{guard: guard, known: func() bool { return a.credentials.Has(id) }}
	login, err := f(func(ns, db, access string) error {
		if try.names == nil {
			try.names = fieldNames(params, ns, db, access)
		}
		return try.begin()
	})
	try.end(err == nil)
	switch {
	case try.done == nil:
	case err == nil:
		a.credentials.Add(id)
	default:
		a.credentials.Drop(id)
	}
	return login, err
}

// maxCredentials is how many credentials of access methods are remembered.
const maxCredentials = 4096
