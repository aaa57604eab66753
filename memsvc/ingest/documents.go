package ingest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/nacredb/nacre/internal/blake3"

	"github.com/nacredb/nacre/memsvc/document"
	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/model"
	"github.com/nacredb/nacre/memsvc/place"
	"github.com/nacredb/nacre/memsvc/problem"
	"github.com/nacredb/nacre/memsvc/settings"
	"github.com/nacredb/nacre/memsvc/store"
	"github.com/nacredb/nacre/memsvc/text"
)

// States of a document.
const (
	DocQueued     = "queued"
	DocExtracting = "extracting"
	DocChunking   = "chunking"

	DocCaptioning      = "captioning"
	DocTranscribing    = "transcribing"
	DocExtractingNodes = "extracting_nodes"

	DocReady  = "ready"
	DocFailed = "failed"
)

// Upload is a document to be ingested.
type Upload struct {
	Title, Source, Filename, Mime, Profile string
	Scopes                                 grant.Clauses
	Labels                                 []string
	Observed                               time.Time
	Bytes                                  []byte
	Location                               *place.Point
}

// errSuperseded ends the job of a version that a newer one, which has a job of its own, or a deletion took the
// place of.
var errSuperseded = errors.New("the document was changed or deleted meanwhile")

// maxChunks bounds the chunks of a document.
const maxChunks = 20_000

func hash(b []byte) string {
	sum := blake3.Sum256(b)
	return "blake3:" + hex.EncodeToString(sum[:])
}

func (s *Service) tenant(ctx context.Context, id string) (*settings.Tenant, error) {
	db, row, err := s.Store.DBOf(ctx, id)
	if err != nil {
		return nil, err
	}
	return &settings.Tenant{DB: db, Settings: s.Schema.Effective(row)}, nil
}

// Upload takes a document and queues its ingest. The same bytes again are the same document: the second uploader's
// scopes are added to it.
func (s *Service) Upload(ctx context.Context, t *settings.Tenant, who *grant.Caller, u Upload) (*store.Document,
	bool, error) {
	clauses, err := Target(ctx, t, who, u.Scopes)
	if err != nil {
		return nil, false, err
	}
	if u.Mime = document.Type(u.Mime, u.Filename, u.Bytes); u.Mime == "" {
		return nil, false, problem.Of(415, "unsupported-media-type", "This type of document is not supported")
	}
	h := hash(u.Bytes)
	if d, err := s.same(ctx, t, h, clauses); err != nil || d != nil {
		return d, d != nil, err
	}
	now := time.Now().UTC()
	id := store.NewID()
	d := store.Document{ID: id, Title: u.Title, Source: u.Source, Filename: u.Filename, MimeType: u.Mime,
		StorageKey: "ctx/" + t.Context + "/" + id + "/1", Hash: h,
		Size: int64(len(u.Bytes)), ObservedAt: u.Observed, Labels: u.Labels, Profile: u.Profile, Version: 1,
		Status: DocQueued, Principal: who.Principal,
		Clauses: clauses, CreatedAt: now, UpdatedAt: now, Location: u.Location}
	if d.Title == "" {
		d.Title = u.Filename
	}
	if err := s.Blob.Put(ctx, d.StorageKey, u.Bytes); err != nil {
		return nil, false, fmt.Errorf("store the upload: %w", err)
	}
	if err := s.queue(ctx, t, &d); err != nil {
		return nil, false, err
	}
	return &d, false, nil
}

// same is the document with these bytes, with clauses added, or nil.
func (s *Service) same(ctx context.Context, t *settings.Tenant, h string, clauses grant.Clauses) (*store.Document,
	error) {
	var out *store.Document
	err := t.DB.Update(ctx, func(tx *store.Tx) error {
		d, err := store.One[store.Document](ctx, t.DB, "SELECT * FROM document WHERE content_hash = $h AND status != 'failed'",
			store.Var{Name: "h", Value: h})
		if out = d; err != nil || d == nil {
			return err
		}
		both := d.Clauses.Join(clauses)
		if both.Key() == d.Clauses.Key() {
			return nil
		}
		d.Clauses = both
		tx.Put("document", *d)
		return s.rescope(ctx, t, tx, d)
	})
	return out, err
}

// rescope gives the rows of a document its clauses.
func (s *Service) rescope(ctx context.Context, t *settings.Tenant, tx *store.Tx, d *store.Document) error {
	chunks, err := store.Rows[store.Chunk](ctx, t.DB, "SELECT * FROM $span",
		store.Var{Name: "span", Value: store.Span("chunk", d.ID+"-", d.ID+".")})
	if err != nil {
		return err
	}
	for _, c := range chunks {
		c.Clauses = d.Clauses
		tx.Put("chunk", c)
	}
	words, err := store.Rows[store.Keyword](ctx, t.DB, "SELECT * FROM keyword WHERE document = $d",
		store.Var{Name: "d", Value: d.ID})
	for _, k := range words {
		k.Clauses = d.Clauses
		tx.Put("keyword", k)
	}
	return err
}

// queue writes the job and then the document: a job without a document does nothing, a document without a job would
// wait for ever.
func (s *Service) queue(ctx context.Context, t *settings.Tenant, d *store.Document) error {
	now := time.Now().UTC()
	j := store.Job{ID: store.NewID(), Context: t.Context, Kind: JobDocument, Target: d.ID, State: store.JobQueued,
		CreatedAt: now, RunAfter: now}
	if err := s.Store.AddJob(ctx, j); err != nil {
		return err
	}
	if err := t.DB.Update(ctx, func(tx *store.Tx) error { tx.Put("document", *d); return nil }); err != nil {
		return errors.Join(err, s.Store.DeleteJob(context.WithoutCancel(ctx), j.ID))
	}
	s.Wake()
	return nil
}

// Replace gives a document new bytes (nil: the same ones again) and queues its ingest. The old version is found
// until the new one is ready.
func (s *Service) Replace(ctx context.Context, t *settings.Tenant, id string, u Upload) (*store.Document, error) {
	d, err := store.Get[store.Document](ctx, t.DB, "document", id)
	if err != nil || d == nil {
		return nil, errors.Join(err, problem.NotFound("There is no such document"))
	}
	d.Version++
	if u.Bytes != nil {
		mime := document.Type(u.Mime, u.Filename, u.Bytes)
		if mime == "" {
			return nil, problem.Of(415, "unsupported-media-type", "This type of document is not supported")
		}
		d.MimeType, d.Hash, d.Size = mime, hash(u.Bytes), int64(len(u.Bytes))
		d.StorageKey = fmt.Sprintf("ctx/%s/%s/%d", t.Context, d.ID, d.Version)
		if err := s.Blob.Put(ctx, d.StorageKey, u.Bytes); err != nil {
			return nil, fmt.Errorf("store the upload: %w", err)
		}
	}
	for _, f := range []struct {
		at   *string
		from string
	}{{&d.Title, u.Title}, {&d.Source, u.Source}, {&d.Filename, u.Filename}, {&d.Profile, u.Profile}} {
		if f.from != "" {
			*f.at = f.from
		}
	}
	if u.Location != nil {
		d.Location = u.Location
	}
	d.Status, d.Error, d.UpdatedAt = DocQueued, "", time.Now().UTC()
	return d, s.queue(ctx, t, d)
}

// DeleteDocument removes a document with its passages, facts and bytes.
func (s *Service) DeleteDocument(ctx context.Context, t *settings.Tenant, id string) error {
	chunks, err := store.Rows[store.Chunk](ctx, t.DB, "SELECT id FROM $span",
		store.Var{Name: "span", Value: store.Span("chunk", id+"-", id+".")})
	if err != nil {
		return err
	}
	words, err := store.Rows[store.Keyword](ctx, t.DB, "SELECT id FROM keyword WHERE document = $d",
		store.Var{Name: "d", Value: id})
	if err != nil {
		return err
	}
	m := Marked{Documents: []string{id}}
	for _, c := range chunks {
		m.Chunks = append(m.Chunks, c.ID)
	}
	if _, err := s.Forget(ctx, t, m, true); err != nil {
		return err
	}
	err = t.DB.Update(ctx, func(tx *store.Tx) error {
		for _, k := range words {
			tx.Delete("keyword", k.ID)
		}
		tx.Delete("document", id)
		return nil
	})
	if err != nil {
		return err
	}
	return s.Blob.DeleteAll(ctx, "ctx/"+t.Context+"/"+id)
}

// ingestDocument does the job of a document: from its bytes to passages that are found, all in one transaction at
// the end. A repetition writes the same rows.
func (s *Service) ingestDocument(ctx context.Context, t *settings.Tenant, j store.Job, stage func(string)) error {
	err := s.ingestVersion(ctx, t, j, stage)
	if errors.Is(err, errSuperseded) {
		return nil
	}
	return err
}

func (s *Service) ingestVersion(ctx context.Context, t *settings.Tenant, j store.Job, stage func(string)) error {
	d, err := store.Get[store.Document](ctx, t.DB, "document", j.Target)
	if err != nil {
		return err
	}
	if d == nil {
		if time.Since(j.CreatedAt) < time.Minute {
			return errors.New("the document is not there yet")
		}
		return nil
	}
	if d.Status == DocReady {
		return nil
	}
	stage(DocExtracting)
	if err := s.status(ctx, t, d, DocExtracting); err != nil {
		return err
	}
	b, err := s.Blob.Get(ctx, d.StorageKey)
	if errors.Is(err, fs.ErrNotExist) {
		return Permanent{errors.New("the bytes of the document are gone")}
	}
	if err != nil {
		return err
	}
	doc, err := s.read(ctx, t, d, b, stage)
	if err != nil {
		return err
	}
	facts, err := s.documentFacts(ctx, t, d, doc, stage)
	if err != nil {
		return err
	}
	stage(DocChunking)
	if err := s.status(ctx, t, d, DocChunking); err != nil {
		return err
	}
	stage(stagePublish)
	if err := s.publish(ctx, t, d, doc, facts); err != nil {
		return err
	}
	stage(stagePublished)
	return nil
}

// Requeue queues a dead job again, and its document with it.
func (s *Service) Requeue(ctx context.Context, j store.Job) error {
	ok, err := s.Store.RetryJob(ctx, j.ID, time.Now().UTC())
	if err != nil {
		return err
	}
	if !ok {
		return problem.Conflict("The job is not dead")
	}
	t, err := s.tenant(ctx, j.Context)
	if err != nil {
		return err
	}
	defer s.Wake()
	return t.DB.Update(ctx, func(tx *store.Tx) error {
		d, err := store.Get[store.Document](ctx, t.DB, "document", j.Target)
		if err != nil || d == nil || d.Status != DocFailed {
			return err
		}
		d.Status, d.Error = DocQueued, ""
		tx.Put("document", *d)
		return nil
	})
}

func (s *Service) status(ctx context.Context, t *settings.Tenant, d *store.Document, status string) error {
	return t.DB.Update(ctx, func(tx *store.Tx) error {
		now, err := store.Get[store.Document](ctx, t.DB, "document", d.ID)
		if err != nil {
			return err
		}
		if now == nil || now.Version != d.Version {
			return errSuperseded
		}
		*d = *now
		d.Status, d.UpdatedAt = status, time.Now().UTC()
		if d.StartedAt.IsZero() {
			d.StartedAt = d.UpdatedAt
		}
		tx.Put("document", *d)
		return nil
	})
}

// maxExtracted bounds the passages of one document that a model reads.
const maxExtracted = 200

// documentFacts reads facts out of the passages of a document. "I" in a document is not a known person.
func (s *Service) documentFacts(ctx context.Context, t *settings.Tenant, d *store.Document, doc *document.Doc,
	stage func(string)) (Facts, error) {
	const author = "the author of the document"
	var all Facts
	if !t.Extraction {
		return all, nil
	}
	if t.Blocked {
		doc.Notes = append(doc.Notes, "llm_skipped")
	}
	stage(DocExtractingNodes)
	said := d.ObservedAt
	if said.IsZero() {
		said = d.CreatedAt
	}
	for i, p := range text.Chunks(doc.Text, t.Chunking) {
		if i == maxExtracted {
			doc.Notes = append(doc.Notes, "extraction_cut")
			break
		}
		found, err := s.Extract(ctx, t, Passage{doc.Text[p.Start:p.End], author, said, d.Clauses})
		if ctx.Err() != nil {
			return all, context.Cause(ctx)
		}
		if err != nil && !slices.Contains(doc.Notes, "extraction_failed") {
			s.Log.Warn("extraction", "context", t.Context, "document", d.ID, "error", err)
			doc.Notes = append(doc.Notes, "extraction_failed")
		}
		for _, f := range found.Facts {
			if f.Name != author {
				f.Start, f.End = f.Start+p.Start, min(f.End+p.Start, len(doc.Text))
				all.Facts = append(all.Facts, f)
			}
		}
	}
	return all, nil
}

// read makes text of the bytes.
func (s *Service) read(ctx context.Context, t *settings.Tenant, d *store.Document, b []byte,
	stage func(string)) (doc *document.Doc, err error) {
	if kind := document.Modality(d.MimeType); kind != "" {
		doc, err = s.recognise(ctx, t, d, b, kind, stage)
	} else {
		doc, err = document.Read(b, d.MimeType)
		if errors.Is(err, document.ErrNoText) {
			if doc, err = s.readScan(ctx, t, d, b, stage); err != nil {
				return nil, err
			}
		}
		if err != nil {
			err = Permanent{err}
		}
	}
	if err != nil {
		return nil, err
	}
	if t.Redaction {
		doc.Text, _ = text.Redact(doc.Text)
		doc.Title, _ = text.Redact(doc.Title)
	}
	return doc, nil
}

// publish writes passages, keywords and the state ready in one transaction, in the place of the old version.
func (s *Service) publish(ctx context.Context, t *settings.Tenant, d *store.Document, doc *document.Doc,
	facts Facts) error {
	pieces := text.Chunks(doc.Text, t.Chunking)
	if len(pieces) > maxChunks {
		return Permanent{fmt.Errorf("the document has more than %d passages", maxChunks)}
	}
	vectors, err := s.embedChunks(ctx, t, d, doc, pieces)
	if err != nil {
		return err
	}
	version := d.Version
	return t.DB.Update(ctx, func(tx *store.Tx) error {
		now, err := store.Get[store.Document](ctx, t.DB, "document", d.ID)
		if err != nil {
			return err
		}
		if now == nil || now.Version != version {
			return errSuperseded
		}
		if err := s.dropOld(ctx, t, tx, now); err != nil {
			return err
		}
		finish(now, doc, len(pieces))
		for i, p := range pieces {
			tx.Put("chunk", chunkOf(now, doc, i, p))
		}
		for _, v := range vectors {
			tx.Put("vector", v)
		}
		if doc.Visual != nil {
			tx.Put("vector", store.Vector{ID: store.VisualID(ChunkKey(now.ID, now.Version, 0)),
				Model: s.Schema.Server.CLIP.Model, Data: packed(doc.Visual)})
		}
		if profile(t, now) != "TextOnly" {
			for i, k := range text.Keywords(doc.Text, 5, 0.3) {
				tx.Put("keyword", store.Keyword{ID: fmt.Sprintf("%s-%02d", now.ID, i), Document: now.ID,
					Text: k.Text, Normalised: text.Normal(k.Text), Score: k.Score, Clauses: now.Clauses})
			}
		}
		if len(facts.Facts) > 0 {
			if _, err := work(ctx, t, tx, facts, originOf(now), ""); err != nil {
				return err
			}
		}
		if bad := text.Injection(doc.Text); bad != "" {
			tx.Put("uncertainty", suspicious("doc:"+now.ID, now.Clauses, now.UpdatedAt))
		}
		tx.Put("document", *now)
		return nil
	})
}

// embedChunks embeds the passages of a document. A failure that may pass is tried again with the job; after another one
// they are found by their words alone.
func (s *Service) embedChunks(ctx context.Context, t *settings.Tenant, d *store.Document, doc *document.Doc,
	pieces []text.Piece) ([]store.Vector, error) {
	if !s.Models.Embeds() {
		return nil, nil
	}
	list := make([]embedded, len(pieces))
	for i, p := range pieces {
		c := chunkOf(d, doc, i, p)
		list[i] = embedded{"chunk/" + c.ID, c.Title + "\n" + c.Text}
	}
	vs, err := s.vectors(ctx, t, list)
	var failed *model.Error
	if errors.As(err, &failed) && !failed.Temporary {
		doc.Notes = append(doc.Notes, "embedding_failed")
		s.Log.Warn("embed a document", "context", t.Context, "document", d.ID, "error", err)
		return nil, nil
	}
	return vs, err
}

// originOf is the origin of facts that a document states.
func originOf(d *store.Document) Origin {
	said := d.ObservedAt
	if said.IsZero() {
		said = d.CreatedAt
	}
	return Origin{Clauses: d.Clauses, Labels: d.Labels, Observed: said,
		Source: store.Source{Kind: "document", Ref: "doc:" + d.ID, Trust: 0.9, TurnAt: said,
			Location: d.Location}}
}

func profile(t *settings.Tenant, d *store.Document) string {
	if d.Profile != "" {
		return d.Profile
	}
	return t.Profile
}

func finish(d *store.Document, doc *document.Doc, chunks int) {
	if (d.Title == "" || d.Title == d.Filename) && doc.Title != "" {
		d.Title = text.Clip(doc.Title, 512)
	}
	if d.ObservedAt.IsZero() {
		d.ObservedAt = doc.Date
	}
	d.Status, d.Error, d.Notes, d.Chunks = DocReady, "", doc.Notes, chunks
	d.UpdatedAt = time.Now().UTC()
	d.DoneAt = d.UpdatedAt
}

// dropOld removes the rows of earlier versions and of an earlier try.
func (s *Service) dropOld(ctx context.Context, t *settings.Tenant, tx *store.Tx, d *store.Document) error {
	old, err := store.Rows[store.Chunk](ctx, t.DB, "SELECT id FROM $span",
		store.Var{Name: "span", Value: store.Span("chunk", d.ID+"-", d.ID+".")})
	if err != nil {
		return err
	}
	for _, c := range old {
		if !strings.HasPrefix(c.ID, fmt.Sprintf("%s-%04d-", d.ID, d.Version)) {
			tx.Delete("chunk", c.ID)
			tx.Delete("vector", "chunk/"+c.ID, store.VisualID(c.ID))
		}
	}
	words, err := store.Rows[store.Keyword](ctx, t.DB, "SELECT id FROM keyword WHERE document = $d",
		store.Var{Name: "d", Value: d.ID})
	for _, k := range words {
		if k.ID >= fmt.Sprintf("%s-%02d", d.ID, 5) {
			tx.Delete("keyword", k.ID)
		}
	}
	return err
}

// ChunkKey is the key of a passage of a version of a document.
func ChunkKey(document string, version, place int) string {
	return fmt.Sprintf("%s-%04d-%06d", document, version, place)
}

func chunkOf(d *store.Document, doc *document.Doc, i int, p text.Piece) store.Chunk {
	c := store.Chunk{ID: ChunkKey(d.ID, d.Version, i), Document: d.ID, Version: d.Version, Position: i,
		Text: doc.Text[p.Start:p.End], Title: d.Title, Section: p.Section, SectionRef: p.Ref,
		Start: p.Start, End: p.End,
		Tokens: text.Tokens(doc.Text[p.Start:p.End]), Mime: d.MimeType, Clauses: d.Clauses, Labels: d.Labels,
		ObservedAt: d.ObservedAt, CreatedAt: d.UpdatedAt, Location: d.Location}
	c.StartMS, c.EndMS = doc.Times(p.Start, p.End)
	return c
}

// documentFailed writes down that a document could not be ingested.
func (s *Service) documentFailed(ctx context.Context, j store.Job, why string) {
	t, err := s.tenant(ctx, j.Context)
	if err == nil && j.Kind == JobDocument {
		err = t.DB.Update(ctx, func(tx *store.Tx) error {
			d, err := store.Get[store.Document](ctx, t.DB, "document", j.Target)
			if err != nil || d == nil || d.Status == DocReady {
				return err
			}
			d.Status, d.Error, d.UpdatedAt = DocFailed, why, time.Now().UTC()
			tx.Put("document", *d)
			return nil
		})
	}
	if err != nil {
		s.Log.Warn("mark a document as failed", "document", j.Target, "error", err)
	}
}
