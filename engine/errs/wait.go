package errs

import "errors"

// waited is the end of a context that cut a pause short.
type waited struct{ error }

func (w waited) Unwrap() error { return w.error }

// Waited marks the end of a context that cut a pause short: nothing was at work then.
func Waited(err error) error { return waited{err} }

// HasWaited reports whether err is the end of a context that cut a pause short.
func HasWaited(err error) bool {
	_, ok := errors.AsType[waited](err)
	return ok
}
