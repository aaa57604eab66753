package store

import "time"

// The past of a Context by the clock of its database: each row of memory says when it was recorded and when its end
// was. HeldAt tells whether a row was there at an instant, and as what. Rows that were deleted are in no past.

// HeldAt reports whether the database held the turn at an instant; an end that came later is not known yet.
func (t *Turn) HeldAt(at time.Time) bool {
	if t.ValidUntil != nil && t.ValidUntil.After(at) {
		t.ValidUntil = nil
	}
	return !t.CreatedAt.After(at)
}

// HeldAt is that of a turn.
func (c *Chunk) HeldAt(at time.Time) bool { return !c.CreatedAt.After(at) }

// HeldAt is that of a turn.
func (e *Entity) HeldAt(at time.Time) bool {
	if e.ValidUntil != nil && e.ValidUntil.After(at) {
		e.ValidUntil = nil
	}
	return !recorded(e.RecordedAt, e.CreatedAt).After(at)
}

// HeldAt is that of a turn.
func (a *Attribute) HeldAt(at time.Time) bool {
	if r := a.Retired(); r != nil && r.After(at) {
		a.ValidUntil, a.ClosedAt, a.RetiredAt, a.SupersededBy = nil, nil, nil, ""
	}
	return !a.Recorded().After(at)
}

// Recorded is when the database got the row.
func (a *Attribute) Recorded() time.Time { return recorded(a.RecordedAt, a.CreatedAt) }

// Retired is when the database got to know the end of the row; nil while there is none.
func (a *Attribute) Retired() *time.Time { return retired(a.RetiredAt, a.ClosedAt) }

// HeldAt is that of a turn.
func (r *Relation) HeldAt(at time.Time) bool {
	if end := retired(r.RetiredAt, r.ClosedAt); end != nil && end.After(at) {
		r.ValidUntil, r.ClosedAt, r.RetiredAt = nil, nil, nil
	}
	return !recorded(r.RecordedAt, r.CreatedAt).After(at)
}

// HeldAt is that of a turn.
func (i *Instruction) HeldAt(at time.Time) bool {
	if i.RevokedAt != nil && i.RevokedAt.After(at) {
		i.RevokedAt = nil
	}
	return !recorded(i.RecordedAt, i.CreatedAt).After(at)
}

// HeldAt is that of a turn.
func (u *Uncertainty) HeldAt(at time.Time) bool {
	if u.ResolvedAt != nil && u.ResolvedAt.After(at) {
		u.Resolved, u.ResolvedBy, u.ResolvedAt = false, "", nil
	}
	return !u.CreatedAt.After(at)
}

// recorded is when a row was recorded; rows of older versions tell only since when they are known.
func recorded(at, known time.Time) time.Time {
	if at.IsZero() {
		return known
	}
	return at
}

func retired(at, closed *time.Time) *time.Time {
	if at == nil {
		return closed
	}
	return at
}
