package rpc

import (
	"context"
	"time"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// keep attaches s, and stores it. The errors are those of attach; who attaches the id of a session that only the store
// has ends that one, as attach does.
func (a *Sessions) keep(ctx context.Context, id value.UUID, s *engine.Session) error {
	d, err := s.Durable(id, a.life, anonymousIdle)
	if err == nil {
		err = a.forget(ctx, id)
	}
	if err != nil {
		s.Close()
		return err
	}
	if err := a.attach(ctx, id, s); err != nil {
		return err
	}
	taken, err := d.Create(ctx)
	if err == nil && !taken {
		return nil
	}
	gone := a.takeOut(id)
	if gone == nil { // another client has attached the id meanwhile, which ended this session
		return alreadyAttached(id)
	}
	if !taken {
		gone.engine.Close()
		return err
	}
	return a.clash(ctx, id, gone)
}

// forget ends a session that is in memory and was detached at another server meanwhile: its id is free.
func (a *Sessions) forget(ctx context.Context, id value.UUID) error {
	at := a.pinned(id)
	if at == nil {
		return nil
	}
	defer a.unpin(at)
	err := a.refresh(ctx, id, at)
	if err != nil && errs.As(err).Kind == errs.KindNotFound {
		return nil
	}
	return err
}

// resume finds the session of an id for a call, which ends by done. What another server of the store has changed in it
// counts, and one that only the store has is opened again. Calls that change the session wait for each other: so the
// one whose change meets that of another server is told.
func (a *Sessions) resume(ctx context.Context, id value.UUID, changes bool,
	open func() *engine.Session) (s *session, done func() error, err error) {
	if !a.kept {
		s, err := a.find(id)
		return s, func() error { return nil }, err
	}
	at := a.pinned(id)
	if at == nil {
		if at, err = a.reopen(ctx, id, open()); err != nil {
			return nil, nil, err
		}
	}
	if changes {
		select {
		case at.turn <- struct{}{}:
		case <-ctx.Done():
			a.unpin(at)
			return nil, nil, ctx.Err()
		}
	}
	end := func() {
		if changes {
			<-at.turn
		}
		a.unpin(at)
	}
	if err := a.refresh(ctx, id, at); err != nil {
		end()
		return nil, nil, err
	}
	return at.session, func() error {
		defer end()
		ctx := context.WithoutCancel(ctx) // what has happened is kept, though the client may have left
		if !changes {
			return at.saveAfter(ctx)
		}
		kept, err := at.copy.Save(ctx)
		if err == nil && !kept {
			err = errs.Conflict()
		}
		return err
	}, nil
}

// saveAfter stores a session after a call that was not to change it. A USE in the text of a query does, and yields to
// what another server has changed meanwhile: the query is done, and must not be refused.
func (s *attachedSession) saveAfter(ctx context.Context) error {
	if !s.copy.Due() {
		return nil
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	_, err := s.copy.Save(ctx)
	return err
}

// refresh makes a session what the store has; the error is that of a session that is not there where it was detached
// elsewhere, or has ended.
func (a *Sessions) refresh(ctx context.Context, id value.UUID, at *attachedSession) error {
	found, err := at.copy.Load(ctx)
	if err != nil || found {
		return err
	}
	a.mu.Lock()
	there := a.all[id] == at
	if there {
		delete(a.all, id)
	}
	a.mu.Unlock()
	if there {
		if err := at.end(ctx); err != nil {
			return err
		}
	}
	return notAttached(id)
}

// reopen opens in s what the store has of a session, pinned.
func (a *Sessions) reopen(ctx context.Context, id value.UUID, s *engine.Session) (*attachedSession, error) {
	d, err := s.Durable(id, a.life, anonymousIdle)
	found := false
	if err == nil {
		found, err = d.Load(ctx)
	}
	if err == nil && !found {
		err = notAttached(id)
	}
	if err == nil {
		err = s.Lasts()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	if a.Len() >= a.limits.AttachedSessions && !a.makeRoom(ctx) {
		a.unload()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	at, there := a.all[id]
	switch {
	case there: // another call was faster
		s.Close()
	case len(a.all) >= a.limits.AttachedSessions:
		s.Close()
		return nil, errSessions
	default:
		at = a.put(id, s)
	}
	at.pinned++
	at.used = time.Now()
	return at, nil
}

// pinned finds a session that is in memory and keeps it there until unpin; nil: there is none.
func (a *Sessions) pinned(id value.UUID) *attachedSession {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, there := a.all[id]
	if !there {
		return nil
	}
	at.pinned++
	at.used = time.Now()
	return at
}

func (a *Sessions) unpin(at *attachedSession) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at.pinned--
	at.used = time.Now()
}

// takeOut removes a session from the set; nil: there is none.
func (a *Sessions) takeOut(id value.UUID) *attachedSession {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.all[id]
	delete(a.all, id)
	return at
}

// unload takes the session out of memory that waits longest for a call: the store has it.
func (a *Sessions) unload() {
	a.mu.Lock()
	var oldest value.UUID
	var out *attachedSession
	for id, s := range a.all {
		if s.pinned == 0 && (out == nil || s.used.Before(out.used)) {
			oldest, out = id, s
		}
	}
	delete(a.all, oldest)
	a.mu.Unlock()
	if out != nil {
		out.engine.Close()
	}
}
