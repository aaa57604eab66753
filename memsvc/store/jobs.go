package store

import (
	"context"
	"time"
)

// States of a job.
const (
	JobQueued = "queued"
	JobLeased = "leased"
	JobDone   = "done"
	JobDead   = "dead"
)

// Job is work that survives the process. The worker that holds its lease does it.
type Job struct {
	ID        string    `db:"id" json:"id"`
	Context   string    `db:"context" json:"context"`
	Kind      string    `db:"kind" json:"kind"`
	Target    string    `db:"target" json:"target"`
	State     string    `db:"state" json:"state"`
	Attempt   int       `db:"attempt" json:"attempt"`
	Owner     string    `db:"lease_owner" json:"lease_owner,omitempty"`
	Until     time.Time `db:"lease_until" json:"lease_until,omitzero"`
	RunAfter  time.Time `db:"run_after" json:"run_after"`
	LastError string    `db:"last_error" json:"last_error,omitempty"`
	Stage     string    `db:"stage" json:"stage,omitempty"`
	CreatedAt time.Time `db:"created_at" json:"created_at"`
	DoneAt    time.Time `db:"finished_at" json:"finished_at,omitzero"`
}

// AddJob queues a job.
func (s *Store) AddJob(ctx context.Context, j Job) error {
	_, err := s.ctl.query(ctx, "INSERT INTO job $row RETURN NONE", Var{"row", row("job", j)})
	return conflict(err)
}

// Runnable are jobs that may be claimed at a time, the oldest first.
func (s *Store) Runnable(ctx context.Context, now time.Time) ([]Job, error) {
	return rows[Job](ctx, s.ctl, "SELECT * FROM job WHERE (state = 'queued' AND run_after <= $now) OR (state = 'leased' AND lease_until < $now) ORDER BY id LIMIT 200", Var{"now", now})
}

// ClaimJob takes the lease of a job; false when somebody else was first.
func (s *Store) ClaimJob(ctx context.Context, id, owner string, now, until time.Time) (bool, error) {
	v, err := s.ctl.query(ctx, "UPDATE $id SET state = 'leased', lease_owner = $owner, lease_until = $until, attempt += 1 "+
		"WHERE (state = 'queued' AND run_after <= $now) OR (state = 'leased' AND lease_until < $now) RETURN id",
		Var{"id", ID("job", id)}, Var{"owner", owner}, Var{"now", now}, Var{"until", until})
	if retryable(err) {
		return false, nil
	}
	return err == nil && v.Len() == 1, err
}

// ExtendJob keeps a lease; false when it was lost.
func (s *Store) ExtendJob(ctx context.Context, id, owner, stage string, until time.Time) (bool, error) {
	v, err := s.ctl.query(ctx, "UPDATE $id SET lease_until = $until, stage = $stage WHERE state = 'leased' AND lease_owner = $owner RETURN id",
		Var{"id", ID("job", id)}, Var{"owner", owner}, Var{"until", until}, Var{"stage", stage})
	return err == nil && v.Len() == 1, err
}

// EndJob writes how a job ended, if the lease is still held: done, dead, or queued again.
func (s *Store) EndJob(ctx context.Context, j Job) error {
	_, err := s.ctl.query(ctx, "UPDATE $id MERGE $set WHERE lease_owner = $owner RETURN NONE", Var{"id", ID("job", j.ID)},
		Var{"owner", j.Owner},
		Var{"set", map[string]any{"state": j.State, "last_error": j.LastError, "run_after": j.RunAfter,
			"finished_at": j.DoneAt, "stage": j.Stage}})
	return err
}

// Jobs are the jobs of a Context (all when it is ""), in a state (all when it is "").
func (s *Store) Jobs(ctx context.Context, contextID, state string) ([]Job, error) {
	return rows[Job](ctx, s.ctl, "SELECT * FROM job WHERE ($c = '' OR context = $c) AND ($s = '' OR state = $s) ORDER BY id DESC LIMIT 500", Var{"c", contextID}, Var{"s", state})
}

// Job is a job by its id, or nil.
func (s *Store) Job(ctx context.Context, id string) (*Job, error) {
	return one[Job](ctx, s.ctl, "SELECT * FROM $id", Var{"id", ID("job", id)})
}

// RetryJob queues a dead job again; false if it is not dead.
func (s *Store) RetryJob(ctx context.Context, id string, now time.Time) (bool, error) {
	v, err := s.ctl.query(ctx, "UPDATE $id SET state = 'queued', attempt = 0, run_after = $now WHERE state = 'dead' RETURN id", Var{"id", ID("job", id)}, Var{"now", now})
	return err == nil && v.Len() == 1, err
}

// Claim reports whether this is the first who claims a scheduled task of a Context ("" for all) for its period.
func (s *Store) Claim(ctx context.Context, contextID, task string, now time.Time) (bool, error) {
	type claim struct {
		ID      string    `db:"id"`
		Context string    `db:"context"`
		At      time.Time `db:"at"`
	}
	_, err := s.ctl.query(ctx, "INSERT INTO day $row RETURN NONE", Var{"row",
		row("day", claim{contextID + "/" + task, contextID, now})})
	if exists(err) || retryable(err) {
		return false, nil
	}
	return err == nil, err
}

// Tidy deletes claims and finished jobs that are old.
func (s *Store) Tidy(ctx context.Context, now time.Time) error {
	_, err := s.ctl.query(ctx, "DELETE day WHERE at < $claims RETURN NONE; "+
		"DELETE job WHERE state = 'done' AND finished_at < $jobs RETURN NONE; RETURN true",
		Var{"claims", now.Add(-72 * time.Hour)}, Var{"jobs", now.Add(-7 * 24 * time.Hour)})
	return err
}

// DeleteJob removes a job.
func (s *Store) DeleteJob(ctx context.Context, id string) error {
	_, err := s.ctl.query(ctx, "DELETE $id RETURN NONE", Var{"id", ID("job", id)})
	return err
}
