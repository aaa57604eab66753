package retrieve

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	"github.com/nacredb/nacre/memsvc/text"
)

// held is the index of one Context in memory.
type held struct {
	turn chan struct{} // one token: the right to bring the index up to date

	mu   sync.RWMutex // guards the rest; never held across a query of the database
	x    *Index
	rev  int64
	used time.Time
}

// Service searches. It keeps the indexes of Contexts in memory, the ones used last, up to a number of bytes.
type Service struct {
	Log    *slog.Logger
	Bytes  int64 // most bytes of all indexes together
	Tuning *Tuning
	// Embedder embeds questions; nil: by word vectors alone.
	Embedder *Embedder
	// Visual embeds questions for images; nil: those are found by their words alone.
	Visual *Visual

	first sync.Once // of the searches
	warm  *warming

	mu   sync.Mutex // guards held; a leaf lock
	held map[string]*held
}

// New makes a service.
func New(log *slog.Logger, bytes int64) *Service {
	return &Service{Log: log, Bytes: bytes, Tuning: &Default, held: map[string]*held{}, warm: newWarming()}
}

// Forget drops the index of a Context.
func (s *Service) Forget(contextID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, contextID)
}

func (s *Service) of(contextID string) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[contextID]
	if h == nil {
		h = &held{turn: make(chan struct{}, 1)}
		h.turn <- struct{}{}
		s.held[contextID] = h
	}
	return h
}

// fresh gives the index of a Context, brought up to date with the database.
func (s *Service) fresh(ctx context.Context, t *settings.Tenant) (*held, error) {
	h := s.of(t.Context)
	select {
	case <-h.turn:
		defer func() { h.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	h.mu.RLock()
	x, rev := h.x, h.rev
	h.mu.RUnlock()
	if x != nil {
		changed, now, whole, err := t.DB.Changes(ctx, rev)
		if err != nil {
			return nil, err
		}
		if whole && !x.Wasted() {
			return h, s.catchUp(ctx, t, h, changed, now)
		}
	}
	rev, err := t.DB.Rev(ctx)
	if err != nil {
		return nil, err
	}
	x = NewIndex()
	if err := load(ctx, t.DB, x); err != nil {
		return nil, err
	}
	if err := s.addVectors(ctx, t.DB, x); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.x, h.rev, h.used = x, rev, time.Now()
	h.mu.Unlock()
	s.evict(t.Context)
	return h, nil
}

// catchUp applies the rows that changed.
func (s *Service) catchUp(ctx context.Context, t *settings.Tenant, h *held, changed []store.Change, rev int64) error {
	units, gone, err := read(ctx, t.DB, changed)
	if err != nil {
		return err
	}
	vectors, err := s.changedVectors(ctx, t.DB, changed)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range gone {
		h.x.RemovePrefix(id)
	}
	for _, u := range units {
		h.x.Add(u)
	}
	for _, v := range vectors {
		s.setVector(h.x, v)
	}
	h.rev, h.used = rev, time.Now()
	return nil
}

// evict drops indexes that were not used for longest while all together are too large.
func (s *Service) evict(keep string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		var sum int64
		oldest, at := "", time.Time{}
		for id, h := range s.held {
			h.mu.RLock()
			if h.x != nil {
				sum += h.x.Bytes() + 64<<10
				if id != keep && (oldest == "" || h.used.Before(at)) {
					oldest, at = id, h.used
				}
			}
			h.mu.RUnlock()
		}
		if sum <= s.Bytes || oldest == "" {
			return
		}
		delete(s.held, oldest)
	}
}

// loadStep is how many rows are read at once.
const loadStep = 5000

// load reads everything that can be found.
func load(ctx context.Context, db *store.DB, x *Index) error {
	if err := scan(ctx, db, "turn", func(t store.Turn) { addTurn(x.Add, t) },
		func(t store.Turn) string { return t.ID }); err != nil {
		return err
	}
	if err := scan(ctx, db, "chunk", func(c store.Chunk) { x.Add(chunkUnit(c)) },
		func(c store.Chunk) string { return c.ID }); err != nil {
		return err
	}
	return scan(ctx, db, "attribute", func(a store.Attribute) { x.Add(attributeUnit(a)) },
		func(a store.Attribute) string { return a.ID })
}

func scan[T any](ctx context.Context, db *store.DB, table string, add func(T), key func(T) string) error {
	for low := ""; ; {
		rows, err := store.Rows[T](ctx, db, "SELECT * FROM $span LIMIT $n",
			store.Var{Name: "span", Value: store.From(table, low)}, store.Var{Name: "n", Value: loadStep})
		if err != nil {
			return err
		}
		for _, r := range rows {
			add(r)
			low = key(r) + "\x00"
		}
		if len(rows) < loadStep {
			return nil
		}
	}
}

// read reads the rows that changed; gone are the units that do not exist (any more).
func read(ctx context.Context, db *store.DB, changed []store.Change) (units []Unit, gone []string, err error) {
	keys := map[string][]string{}
	for _, c := range changed {
		keys[c.Table] = append(keys[c.Table], c.Key)
		gone = append(gone, c.Table+"/"+c.Key)
	}
	add := func(u Unit) { units = append(units, u) }
	turns, err := lookup[store.Turn](ctx, db, "turn", keys["turn"])
	if err != nil {
		return nil, nil, err
	}
	for _, t := range turns {
		addTurn(add, t)
	}
	chunks, err := lookup[store.Chunk](ctx, db, "chunk", keys["chunk"])
	if err != nil {
		return nil, nil, err
	}
	for _, c := range chunks {
		add(chunkUnit(c))
	}
	attributes, err := lookup[store.Attribute](ctx, db, "attribute", keys["attribute"])
	for _, a := range attributes {
		add(attributeUnit(a))
	}
	return units, gone, err
}

func lookup[T any](ctx context.Context, db *store.DB, table string, keys []string) ([]T, error) {
	var out []T
	for len(keys) > 0 {
		n := min(len(keys), loadStep)
		rows, err := store.Lookup[T](ctx, db, table, keys[:n]...)
		if err != nil {
			return nil, err
		}
		out, keys = append(out, rows...), keys[n:]
	}
	return out, nil
}

func until(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// addTurn makes the units of a turn: one, or several of a long one.
func addTurn(add func(Unit), t store.Turn) {
	u := Unit{ID: "turn/" + t.ID, Kind: KindTurn, Group: "session/" + t.Session, Seq: t.Seq * 1000,
		Speaker: t.Speaker, Role: t.Role, At: t.TS,
		Until: until(t.ValidUntil), Recorded: t.CreatedAt, Retired: until(t.ValidUntil), Clauses: t.Clauses,
		Labels: t.Labels, Place: t.Location}
	parts := []text.Piece{{Start: 0, End: len(t.Content)}}
	if text.Tokens(t.Content) > text.TurnTokens {
		parts = text.Window(t.Content, 0, len(t.Content), text.TurnTokens, text.TurnOverlap)
	}
	for i, p := range parts {
		u.ID, u.Seq, u.Text = partID("turn/"+t.ID, i), t.Seq*1000+min(i, 999), t.Content[p.Start:p.End]
		add(u)
	}
}

func chunkUnit(c store.Chunk) Unit {
	head := c.Title
	if c.Section != "" && !strings.Contains(c.Text, c.Section) {
		head += " " + c.Section
	}
	return Unit{ID: "chunk/" + c.ID, Kind: KindChunk, Group: "document/" + c.Document, Seq: c.Position,
		Section: c.SectionRef, At: c.ObservedAt, Recorded: c.CreatedAt, Place: c.Location,
		Clauses: c.Clauses, Labels: c.Labels, Mime: c.Mime, Document: c.Document, Text: strings.TrimSpace(head +
			"\n" + c.Text)}
}

func attributeUnit(a store.Attribute) Unit {
	kind, name, _ := strings.Cut(a.Entity, "/")
	speaker, source := "", ""
	if kind == "person" { // what is known about people is found like what they say
		speaker = strings.ReplaceAll(name, "_", " ")
	}
	if turn, ok := strings.CutPrefix(a.Source.Ref, "turn:"); ok {
		source = "turn/" + turn
	}
	return Unit{ID: "attribute/" + a.ID, Kind: KindAttribute, Speaker: speaker, Source: source, Key: a.Key,
		Group: "entity/" + a.Entity, At: a.ValidFrom,
		Until: until(a.ValidUntil),
		Known: a.CreatedAt, Recorded: a.Recorded(), Retired: until(a.Retired()), Place: a.Source.Location,
		Clauses: a.Clauses, Labels: a.Labels, Text: strings.ReplaceAll(name+" "+a.Key+" "+a.Value, "_", " ")}
}
