package store

import (
	"time"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/place"
)

// searched are the tables that indexes in memory follow.
var searched = map[string]bool{"turn": true, "chunk": true, "entity": true, "attribute": true, "relation": true,
	"principal": true, "session": true, "scope": true, "vector": true}

// SchemaVersion is the version of the tables of a Context.
const SchemaVersion = "1"

// tables of a Context and the indexes over them.
const schema = `
DEFINE TABLE IF NOT EXISTS meta; DEFINE TABLE IF NOT EXISTS log; DEFINE TABLE IF NOT EXISTS scope;
DEFINE TABLE IF NOT EXISTS principal; DEFINE TABLE IF NOT EXISTS grant_history; DEFINE TABLE IF NOT EXISTS session;
DEFINE TABLE IF NOT EXISTS turn; DEFINE TABLE IF NOT EXISTS document; DEFINE TABLE IF NOT EXISTS chunk;
DEFINE TABLE IF NOT EXISTS keyword; DEFINE TABLE IF NOT EXISTS entity; DEFINE TABLE IF NOT EXISTS attribute;
DEFINE TABLE IF NOT EXISTS relation; DEFINE TABLE IF NOT EXISTS instruction; DEFINE TABLE IF NOT EXISTS uncertainty;
DEFINE TABLE IF NOT EXISTS vector; DEFINE TABLE IF NOT EXISTS trace; DEFINE TABLE IF NOT EXISTS response_cache;
DEFINE TABLE IF NOT EXISTS audit; DEFINE TABLE IF NOT EXISTS idempotency; DEFINE TABLE IF NOT EXISTS meter;
DEFINE TABLE IF NOT EXISTS observation; DEFINE TABLE IF NOT EXISTS link;
DEFINE INDEX IF NOT EXISTS by_hash ON document FIELDS content_hash;
DEFINE INDEX IF NOT EXISTS by_entity ON attribute FIELDS entity;
DEFINE INDEX IF NOT EXISTS by_subject ON relation FIELDS subject;
DEFINE INDEX IF NOT EXISTS by_object ON relation FIELDS object;
DEFINE INDEX IF NOT EXISTS by_external ON principal FIELDS external_id;
DEFINE INDEX IF NOT EXISTS by_document ON keyword FIELDS document;
UPSERT meta:head SET rev = rev ?? 1, schema = 1;
`

// Principal is somebody who may act in a Context.
type Principal struct {
	ID          string       `db:"id" json:"id"`
	DisplayName string       `db:"display_name" json:"displayName"`
	Kind        string       `db:"kind" json:"kind"`
	ExternalID  string       `db:"external_id" json:"externalId,omitempty"`
	Grants      grant.Grants `db:"grants" json:"grants"`
	CreatedAt   time.Time    `db:"created_at" json:"createdAt"`
}

// GrantHistory is the grants that a principal had from a time on.
type GrantHistory struct {
	ID        string       `db:"id"`
	Principal string       `db:"principal"`
	Grants    grant.Grants `db:"grants"`
	From      time.Time    `db:"from"`
}

// Scope is a registered scope.
type Scope struct {
	ID           string    `db:"id" json:"-"`
	Path         string    `db:"path" json:"path"`
	DisplayName  string    `db:"display_name" json:"displayName,omitempty"`
	Description  string    `db:"description" json:"description,omitempty"`
	CreatedAt    time.Time `db:"created_at" json:"createdAt"`
	TombstonedAt time.Time `db:"tombstoned_at" json:"-"`
}

// Session is one conversation.
type Session struct {
	ID        string         `db:"id" json:"id"`
	Clauses   grant.Clauses  `db:"clauses" json:"scopes"`
	Metadata  map[string]any `db:"metadata" json:"metadata,omitempty"`
	Principal string         `db:"principal" json:"-"`
	CreatedAt time.Time      `db:"created_at" json:"createdAt"`
	EndedAt   *time.Time     `db:"ended_at" json:"endedAt,omitempty"`
	TurnCount int            `db:"turn_count" json:"turnCount"`
}

// Turn is one message of a session. Its key is TurnKey.
type Turn struct {
	ID         string        `db:"id"`
	Session    string        `db:"session"`
	Seq        int           `db:"seq"`
	Role       string        `db:"role"`
	Speaker    string        `db:"speaker"`
	Content    string        `db:"content"`
	TS         time.Time     `db:"ts"`
	CreatedAt  time.Time     `db:"created_at"`
	Principal  string        `db:"principal"`
	Clauses    grant.Clauses `db:"clauses"`
	Labels     []string      `db:"labels"`
	ValidUntil *time.Time    `db:"valid_until"`
	Location   *place.Point  `db:"location"`
}

// Source says where a fact came from.
type Source struct {
	Kind     string       `db:"kind" json:"kind"`
	Ref      string       `db:"ref" json:"ref,omitempty"`
	Session  string       `db:"session_id" json:"sessionId,omitempty"`
	TurnAt   time.Time    `db:"turn_at" json:"turnAt,omitzero"`
	Start    int          `db:"start" json:"start"`
	End      int          `db:"end" json:"end"`
	Trust    float64      `db:"trust" json:"trust"`
	Derived  []string     `db:"derived_from" json:"derivedFrom,omitempty"`
	Location *place.Point `db:"location" json:"location,omitempty"`
}

// Entity is a thing that facts are about. Its key is type/normalised name.
type Entity struct {
	ID         string        `db:"id"`
	Type       string        `db:"type"`
	Name       string        `db:"name"`
	Category   string        `db:"memory_category"`
	Importance float64       `db:"importance"`
	Clauses    grant.Clauses `db:"clauses"`
	CreatedAt  time.Time     `db:"created_at"`
	RecordedAt time.Time     `db:"recorded_at"`
	UpdatedAt  time.Time     `db:"updated_at"`
	ValidUntil *time.Time    `db:"valid_until"`
}

// Attribute is one value of one key of an entity, over the time that it held.
type Attribute struct {
	ID           string        `db:"id"`
	Entity       string        `db:"entity"`
	Key          string        `db:"key"`
	Value        string        `db:"value"`
	Category     string        `db:"memory_category"`
	Importance   float64       `db:"importance"`
	Confidence   float64       `db:"confidence"`
	ValidFrom    time.Time     `db:"valid_from"`
	ValidUntil   *time.Time    `db:"valid_until"`
	Supersedes   string        `db:"supersedes"`
	SupersededBy string        `db:"superseded_by"`
	Source       Source        `db:"source"`
	Proofs       []Source      `db:"proofs"`
	Clauses      grant.Clauses `db:"clauses"`
	Labels       []string      `db:"labels"`
	CreatedAt    time.Time     `db:"created_at"` // known time
	RecordedAt   time.Time     `db:"recorded_at"`
	ClosedAt     *time.Time    `db:"closed_at"`  // known time of the end
	RetiredAt    *time.Time    `db:"retired_at"` // when the end was recorded
	LastUsed     time.Time     `db:"last_used"`
	DecayedAt    time.Time     `db:"decayed_at"` // importance is as of then
}

// Observation is the conclusion from several facts about one key of an entity.
type Observation struct {
	ID        string        `db:"id" json:"id"`
	Entity    string        `db:"entity" json:"entityName"`
	Key       string        `db:"key" json:"key"`
	Value     string        `db:"value" json:"value"`
	History   []string      `db:"history" json:"history"`
	Derived   []string      `db:"derived_from" json:"derivedFrom"`
	Proofs    int           `db:"proof_count" json:"proofCount"`
	Clauses   grant.Clauses `db:"clauses" json:"scopes"`
	UpdatedAt time.Time     `db:"updated_at" json:"updatedAt"`
}

// Relation is a labelled arrow between entities.
type Relation struct {
	ID         string        `db:"id"`
	Subject    string        `db:"subject"`
	Label      string        `db:"label"`
	Object     string        `db:"object"`
	Category   string        `db:"memory_category"`
	Importance float64       `db:"importance"`
	Confidence float64       `db:"confidence"`
	ValidFrom  time.Time     `db:"valid_from"`
	ValidUntil *time.Time    `db:"valid_until"`
	Source     Source        `db:"source"`
	Clauses    grant.Clauses `db:"clauses"`
	CreatedAt  time.Time     `db:"created_at"`
	RecordedAt time.Time     `db:"recorded_at"`
	ClosedAt   *time.Time    `db:"closed_at"`
	RetiredAt  *time.Time    `db:"retired_at"`
}

// Instruction is a rule that the memory asks agents to keep.
type Instruction struct {
	ID          string        `db:"id" json:"id"`
	Label       string        `db:"label" json:"label"`
	Description string        `db:"description" json:"description"`
	Source      Source        `db:"source" json:"source"`
	Clauses     grant.Clauses `db:"clauses" json:"scopes"`
	CreatedAt   time.Time     `db:"created_at" json:"createdAt"`
	RecordedAt  time.Time     `db:"recorded_at" json:"-"`
	RevokedAt   *time.Time    `db:"revoked_at" json:"revokedAt,omitempty"`
}

// Uncertainty is something that the memory could not settle.
type Uncertainty struct {
	ID         string        `db:"id" json:"id"`
	About      string        `db:"about" json:"about"`
	Reason     string        `db:"reason" json:"reason"`
	Rows       []string      `db:"rows" json:"conflictingRows,omitempty"`
	Source     Source        `db:"source" json:"source"`
	Clauses    grant.Clauses `db:"clauses" json:"scopes"`
	CreatedAt  time.Time     `db:"created_at" json:"createdAt"`
	ResolvedBy string        `db:"resolved_by" json:"resolvedBy,omitempty"`
	Resolved   bool          `db:"resolved" json:"resolved"`
	ResolvedAt *time.Time    `db:"resolved_at" json:"resolvedAt,omitempty"`
}

// Document is one upload and how far its ingest is.
type Document struct {
	ID         string        `db:"id"`
	Title      string        `db:"title"`
	Source     string        `db:"source"`
	Filename   string        `db:"filename"`
	MimeType   string        `db:"mime_type"`
	StorageKey string        `db:"storage_key"`
	Hash       string        `db:"content_hash"`
	Size       int64         `db:"size_bytes"`
	ObservedAt time.Time     `db:"observed_at"`
	Labels     []string      `db:"labels"`
	Profile    string        `db:"profile"`
	Version    int           `db:"version"`
	Status     string        `db:"status"`
	Error      string        `db:"error"`
	Notes      []string      `db:"notes"`
	Principal  string        `db:"principal"`
	Clauses    grant.Clauses `db:"clauses"`
	CreatedAt  time.Time     `db:"created_at"`
	UpdatedAt  time.Time     `db:"updated_at"`
	StartedAt  time.Time     `db:"processing_started_at"`
	DoneAt     time.Time     `db:"processing_completed_at"`
	Chunks     int           `db:"chunks"`
	Location   *place.Point  `db:"location"`
}

// Chunk is a passage of a document. Its key is document, version and position, so a repeated stage writes the same
// rows.
type Chunk struct {
	ID         string        `db:"id"`
	Document   string        `db:"document"`
	Version    int           `db:"version"`
	Position   int           `db:"position"`
	Text       string        `db:"text"`
	Title      string        `db:"title"`
	Section    string        `db:"section"`
	SectionRef int           `db:"section_ref"`
	Start      int           `db:"char_start"`
	End        int           `db:"char_end"`
	StartMS    int64         `db:"start_ms"` // of a recording
	EndMS      int64         `db:"end_ms"`
	Tokens     int           `db:"token_count"`
	Kind       string        `db:"kind"` // "", ocr, caption or transcript
	Mime       string        `db:"mime_type"`
	Clauses    grant.Clauses `db:"clauses"`
	Labels     []string      `db:"labels"`
	ObservedAt time.Time     `db:"observed_at"`
	CreatedAt  time.Time     `db:"created_at"`
	Location   *place.Point  `db:"location"`
}

// Link leads from one document to another.
type Link struct {
	ID      string        `db:"id"`
	From    string        `db:"from_document"`
	To      string        `db:"to_document"`
	Kind    string        `db:"kind"`
	Clauses grant.Clauses `db:"clauses"`
}

// Keyword is a phrase of a document.
type Keyword struct {
	ID         string        `db:"id"`
	Document   string        `db:"document"`
	Text       string        `db:"text"`
	Normalised string        `db:"normalised"`
	Score      float64       `db:"score"`
	Clauses    grant.Clauses `db:"clauses"`
}

// Vector is the embedding of one searchable unit by a provider's model. The local model needs none: it is computed.
type Vector struct {
	ID    string `db:"id"` // of the unit: table/key/position
	Model string `db:"model"`
	Data  []byte `db:"data"` // float32, little-endian
}

// VisualID is the id of the vector of an image, by the key of the passage that stands for it.
func VisualID(chunk string) string { return "visual/" + chunk }

// Trace is one read or answer: what was asked, how, and what came of it.
type Trace struct {
	ID        string         `db:"id"`
	Kind      string         `db:"kind"` // retrieval, decision or response
	Query     string         `db:"query"`
	Tier      string         `db:"tier"`
	Reason    string         `db:"tier_reason"`
	Mode      string         `db:"mode"`
	Legs      map[string]int `db:"legs"`
	Returned  []string       `db:"returned"`
	Scores    []float64      `db:"scores"`
	LatencyMS float64        `db:"latency_ms"`
	Principal string         `db:"principal"`
	Region    string         `db:"region"`
	Clauses   grant.Clauses  `db:"clauses"`
	Source    string         `db:"source"`
	Model     string         `db:"model"`
	Tokens    int            `db:"tokens"`
	Parent    string         `db:"parent"`
	CreatedAt time.Time      `db:"created_at"`
}

// Audit is one event that an auditor may ask for.
type Audit struct {
	ID         string    `db:"id" json:"id"`
	TS         time.Time `db:"ts" json:"createdAt"`
	Kind       string    `db:"kind" json:"kind"`
	Principal  string    `db:"principal" json:"principal"`
	Key        string    `db:"key" json:"key,omitempty"`
	OnBehalfOf string    `db:"on_behalf_of" json:"onBehalfOf,omitempty"`
	Verb       string    `db:"verb" json:"verb,omitempty"`
	Target     string    `db:"target" json:"target,omitempty"`
	Outcome    string    `db:"outcome" json:"outcome"`
	Rows       int       `db:"rows" json:"rowsTouched"`
	TraceID    string    `db:"trace" json:"traceId,omitempty"`
}

// Idempotency remembers the answer to a write for a day.
type Idempotency struct {
	ID          string    `db:"id"`
	RequestHash string    `db:"request_hash"`
	Done        bool      `db:"done"`
	Status      int       `db:"status"`
	Body        []byte    `db:"body"`
	Expires     time.Time `db:"expires"`
}
