// Package fake is a provider of models that needs no model: it speaks the wires of language models, reranking,
// recognition of text in images and speech over real HTTP, and always answers the same to the same request. It serves
// tests and demonstrations; what it says is made by fixed rules from what it is asked.
package fake

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/nacredb/nacre/memsvc/text"
)

const (
	maxRequest = 64 << 20 // bytes of a request
	maxLog     = 1000     // requests that the log keeps
)

// Rule answers requests whose last message matches.
type Rule struct {
	Match string `json:"match"`
	Reply string `json:"reply"`
}

// Request is a request that was received.
type Request struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Key    string `json:"key"` // that the request carried, on whichever wire
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Body   string `json:"body"`
}

// Server is the provider. A model whose name ends in one of the words of Fault misbehaves in that way.
type Server struct {
	rules []rule
	mux   *http.ServeMux
	seed  uint64
	signs []float32 // of the dimensions of embeddings; nil: all +1

	mu   sync.Mutex // guards what follows; a leaf lock
	log  []Request
	seen map[string]int // requests by model, for faults that pass
}

type rule struct {
	match *regexp.Regexp
	reply string
}

// New makes a provider with rules that go before its own answers.
func New(rules []Rule) (*Server, error) {
	s := &Server{mux: http.NewServeMux(), seen: map[string]int{}}
	for _, r := range rules {
		re, err := regexp.Compile(r.Match)
		if err != nil {
			return nil, fmt.Errorf("match: %w", err)
		}
		s.rules = append(s.rules, rule{re, r.Reply})
	}
	s.mux.HandleFunc("POST /v1/chat/completions", s.openAI)
	s.mux.HandleFunc("POST /chat/completions", s.openAI)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("POST /v1/embeddings", s.embeddings)
	s.mux.HandleFunc("POST /v1/messages", s.anthropic)
	s.mux.HandleFunc("POST /v1beta/models/{call}", s.google)
	s.mux.HandleFunc("POST /rerank", s.rerank)
	s.mux.HandleFunc("POST /ocr", s.ocr)
	s.mux.HandleFunc("POST /clip", s.clip)
	s.mux.HandleFunc("POST /stt", s.stt)
	s.mux.HandleFunc("GET /__log", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Log()) })
	return s, nil
}

// Seed makes another model of the provider, before it serves: other words around its answers, and another space of
// embeddings, in which the angles between texts are the same. The same seed answers the same; 0 is the seed of New.
func (s *Server) Seed(n uint64) {
	if s.seed, s.signs = n, nil; n == 0 {
		return
	}
	r := rand.New(rand.NewPCG(n, 0x6e61637265))
	s.signs = make([]float32, len(text.Embed("a")))
	for i := range s.signs {
		s.signs[i] = float32(2*r.IntN(2) - 1)
	}
}

// embed is the embedding of a text by the model named; one named ~width has too few dimensions, as no other has.
func (s *Server) embed(model, words string) []float32 {
	v := text.Embed(words)
	for i := range s.signs {
		v[i] *= s.signs[i]
	}
	if strings.HasSuffix(model, "~width") {
		return v[:512]
	}
	return v
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	s.mux.ServeHTTP(w, r)
}

// Log is the requests so far, the oldest first.
func (s *Server) Log() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{}, s.log...)
}

func key(h http.Header) string {
	for _, k := range []string{"x-api-key", "x-goog-api-key"} {
		if v := h.Get(k); v != "" {
			return v
		}
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

func (s *Server) note(r *http.Request, body []byte, model string, stream bool) (times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.log) < maxLog {
		s.log = append(s.log, Request{r.Method, r.URL.Path, key(r.Header), model, stream,
			text.Clip(string(body), 64<<10)})
	}
	s.seen[model]++
	return s.seen[model]
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// message is one message on any wire.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// asked is a request for text on any wire.
type asked struct {
	model    string
	messages []message
	stream   bool
	json     bool
}

// take reads a request, notes it and plays the fault of its model. It reports whether the request is to be answered.
func (s *Server) take(w http.ResponseWriter, r *http.Request, into any, read func() asked) (asked, bool) {
	b, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(b, into) != nil {
		http.Error(w, `{"error":"bad request"}`, http.StatusBadRequest)
		return asked{}, false
	}
	a := read()
	times := s.note(r, b, a.model, a.stream)
	switch _, fault, _ := strings.Cut(a.model, "~"); fault {
	case "429":
		if times == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return a, false
		}
	case "500":
		http.Error(w, "secret of the provider "+key(r.Header), http.StatusInternalServerError)
		return a, false
	case "401":
		http.Error(w, "bad key "+key(r.Header), http.StatusUnauthorized)
		return a, false
	case "flaky":
		if times%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return a, false
		}
	case "hang":
		<-r.Context().Done()
		return a, false
	case "garbage":
		_, _ = w.Write([]byte("<html>not what you think</html>"))
		return a, false
	case "strict":
		if strings.Contains(string(b), "json_schema") {
			w.WriteHeader(http.StatusBadRequest)
			return a, false
		}
	}
	return a, true
}

// pieces cuts an answer into the pieces of a stream. The fault cut leaves the end out.
func pieces(a asked, s string) (list []string, whole bool) {
	list = strings.SplitAfter(s, " ")
	if strings.HasSuffix(a.model, "~cut") {
		return list[:(len(list)+1)/2], false
	}
	return list, true
}

func tokens(a asked) (n int) {
	for _, m := range a.messages {
		n += len(m.Content)
	}
	return (n + 3) / 4
}

func event(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", b) // the client may be gone
	_ = http.NewResponseController(w).Flush()
}

type object = map[string]any

func (s *Server) openAI(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
		Stream   bool      `json:"stream"`
		Format   object    `json:"response_format"`
	}
	a, ok := s.take(w, r, &in, func() asked { return asked{in.Model, in.Messages, in.Stream, in.Format != nil} })
	if !ok {
		return
	}
	out := s.reply(a)
	usage := object{"prompt_tokens": tokens(a), "completion_tokens": (len(out) + 3) / 4}
	if !a.stream {
		answer(w, object{"choices": []object{{"message": object{"role": "assistant", "content": out},
			"finish_reason": "stop"}}, "usage": usage})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	list, whole := pieces(a, out)
	for _, p := range list {
		event(w, object{"choices": []object{{"delta": object{"content": p}, "finish_reason": nil}}})
	}
	if whole {
		event(w, object{"choices": []object{{"delta": object{}, "finish_reason": "stop"}}})
		event(w, object{"choices": []object{}, "usage": usage})
		_, _ = w.Write([]byte("data: [DONE]\n\n")) // the client may be gone
	}
}

func (s *Server) anthropic(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model    string    `json:"model"`
		System   string    `json:"system"`
		Messages []message `json:"messages"`
		Stream   bool      `json:"stream"`
		Tools    []object  `json:"tools"`
	}
	a, ok := s.take(w, r, &in, func() asked { return asked{in.Model, in.Messages, in.Stream, len(in.Tools) > 0} })
	if !ok {
		return
	}
	if r.Header.Get("anthropic-version") == "" {
		http.Error(w, `{"type":"error"}`, http.StatusBadRequest)
		return
	}
	out := s.reply(a)
	usage := object{"input_tokens": tokens(a), "output_tokens": (len(out) + 3) / 4}
	if !a.stream {
		content := object{"type": "text", "text": out}
		if a.json {
			content = object{"type": "tool_use", "name": "answer", "input": json.RawMessage(out)}
			if !json.Valid([]byte(out)) {
				content = object{"type": "text", "text": out}
			}
		}
		answer(w, object{"type": "message", "content": []object{content}, "usage": usage})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, object{"type": "message_start", "message": object{"usage": usage}})
	list, whole := pieces(a, out)
	for _, p := range list {
		event(w, object{"type": "content_block_delta", "delta": object{"type": "text_delta", "text": p}})
	}
	if whole {
		event(w, object{"type": "message_delta", "usage": usage})
		event(w, object{"type": "message_stop"})
	}
}

func (s *Server) google(w http.ResponseWriter, r *http.Request) {
	type content struct {
		Role  string `json:"role"`
		Parts []struct {
			Text string `json:"text"`
		} `json:"parts"`
	}
	var in struct {
		Contents []content `json:"contents"`
		Config   struct {
			Mime string `json:"responseMimeType"`
		} `json:"generationConfig"`
	}
	name, method, _ := strings.Cut(r.PathValue("call"), ":")
	if method == "batchEmbedContents" {
		s.googleEmbeddings(w, r, name)
		return
	}
	a, ok := s.take(w, r, &in, func() asked {
		a := asked{model: name, stream: method == "streamGenerateContent", json: in.Config.Mime == "application/json"}
		for _, c := range in.Contents {
			m := message{Role: c.Role}
			for _, p := range c.Parts {
				m.Content += p.Text
			}
			a.messages = append(a.messages, m)
		}
		return a
	})
	if !ok {
		return
	}
	out := s.reply(a)
	usage := object{"promptTokenCount": tokens(a), "candidatesTokenCount": (len(out) + 3) / 4}
	candidate := func(text, finish string) object {
		c := object{"content": object{"role": "model", "parts": []object{{"text": text}}}}
		if finish != "" {
			c["finishReason"] = finish
		}
		return object{"candidates": []object{c}, "usageMetadata": usage}
	}
	if !a.stream {
		answer(w, candidate(out, "STOP"))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	list, whole := pieces(a, out)
	for i, p := range list {
		finish := ""
		if whole && i == len(list)-1 {
			finish = "STOP"
		}
		event(w, candidate(p, finish))
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	answer(w, object{"data": []object{{"id": "fake-1"}, {"id": "fake-2"}}})
}

func (s *Server) embeddings(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if _, ok := s.take(w, r, &in, func() asked { return asked{model: in.Model} }); !ok {
		return
	}
	var data []object
	for i, t := range in.Input {
		data = append(data, object{"index": i, "embedding": s.embed(in.Model, t)})
	}
	answer(w, object{"data": data})
}

// googleEmbeddings is embeddings on the wire of Google.
func (s *Server) googleEmbeddings(w http.ResponseWriter, r *http.Request, model string) {
	var in struct {
		Requests []struct {
			Content struct {
				Parts []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"content"`
		} `json:"requests"`
	}
	if _, ok := s.take(w, r, &in, func() asked { return asked{model: model} }); !ok {
		return
	}
	var out []object
	for _, q := range in.Requests {
		words := ""
		for _, p := range q.Content.Parts {
			words += p.Text
		}
		out = append(out, object{"values": s.embed(model, words)})
	}
	answer(w, object{"embeddings": out})
}

// clip embeds images and texts into one space: an "image" by the words that ocr reads in it.
func (s *Server) clip(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model string `json:"model"`
		Input []struct {
			Image string `json:"image"`
			Text  string `json:"text"`
		} `json:"input"`
	}
	if _, ok := s.take(w, r, &in, func() asked { return asked{model: in.Model} }); !ok {
		return
	}
	var data []object
	for i, e := range in.Input {
		words := e.Text
		if e.Image != "" {
			var err error
			if words, err = wordsIn(e.Image); err != nil {
				http.Error(w, "bad image", http.StatusBadRequest)
				return
			}
		}
		data = append(data, object{"index": i, "embedding": s.embed(in.Model, words)})
	}
	answer(w, object{"data": data})
}

// wordsIn reads the words of an "image" given as a data address: what stands behind the mark TEXT:.
func wordsIn(image string) (string, error) {
	_, data, _ := strings.Cut(image, ";base64,")
	b, err := base64.StdEncoding.DecodeString(data)
	_, words, _ := strings.Cut(string(b), "TEXT:")
	return words, err
}

func (s *Server) rerank(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model     string   `json:"model"`
		Query     string   `json:"query"`
		Documents []string `json:"documents"`
	}
	if _, ok := s.take(w, r, &in, func() asked { return asked{model: in.Model} }); !ok {
		return
	}
	type rank struct {
		Index int     `json:"index"`
		Score float64 `json:"relevance_score"`
	}
	var out []rank
	for i, d := range in.Documents {
		out = append(out, rank{i, float64(shared(in.Query, d)) / float64(1+len(text.Terms(in.Query)))})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Score > out[j].Score })
	answer(w, object{"results": out})
}

// ocr reads an "image" whose bytes hold its words behind the mark TEXT:.
func (s *Server) ocr(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model string `json:"model"`
		Image string `json:"image"`
	}
	if _, ok := s.take(w, r, &in, func() asked { return asked{model: in.Model} }); !ok {
		return
	}
	words, err := wordsIn(in.Image)
	if err != nil {
		http.Error(w, "bad image", http.StatusBadRequest)
		return
	}
	answer(w, object{"text": words})
}

// stt reads a "recording" in the same way. A | divides it into segments of two seconds.
func (s *Server) stt(w http.ResponseWriter, r *http.Request) {
	f, _, err := r.FormFile("file")
	if err != nil {
		http.Error(w, "no file", http.StatusBadRequest)
		return
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(f)
	if err != nil {
		http.Error(w, "no file", http.StatusBadRequest)
		return
	}
	s.note(r, nil, r.FormValue("model"), false)
	_, words, _ := strings.Cut(string(b), "TEXT:")
	out, parts := object{"text": words}, []object{}
	for i, line := range strings.Split(words, "|") {
		parts = append(parts, object{"start": 2 * i, "end": 2*i + 2, "text": line})
	}
	if len(parts) > 1 {
		out["segments"] = parts
	}
	answer(w, out)
}

func shared(a, b string) (n int) {
	have := map[string]bool{}
	for _, t := range text.Terms(b) {
		have[t] = true
	}
	for _, t := range text.Terms(a) {
		if have[t] {
			n++
		}
	}
	return n
}

// SlowPiece is how long the model slow waits before it answers.
const SlowPiece = 50 * time.Millisecond

func (s *Server) reply(a asked) string {
	last := ""
	if len(a.messages) > 0 {
		last = a.messages[len(a.messages)-1].Content
	}
	if strings.HasSuffix(a.model, "~slow") {
		time.Sleep(SlowPiece)
	}
	for _, r := range s.rules {
		if r.match.MatchString(last) {
			return r.reply
		}
	}
	switch {
	case strings.HasSuffix(a.model, "~invalid") && a.json:
		return "this is no JSON"
	case a.json:
		all := ""
		for _, m := range a.messages {
			all += m.Content + "\n"
		}
		return extract(all)
	}
	return synthesise(last, openings[s.seed%uint64(len(openings))])
}

// openings begin answers, by the seed.
var openings = []string{"From memory: ", "As far as is known: ", "Memory says: ", "What was said: "}

var source = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\[S(\d+)\] \([^)]*\) (.*)$`)
})

// synthesise cites the sources that share the most words with the question.
func synthesise(prompt, opening string) string {
	_, question, _ := strings.Cut(prompt, "Question: ")
	best, most := []string{}, 0
	for _, m := range source().FindAllStringSubmatch(prompt, -1) {
		switch n := shared(question, m[2]); {
		case n > most:
			best, most = []string{m[2] + " [S" + m[1] + "]"}, n
		case n == most && n > 0 && len(best) < 3:
			best = append(best, m[2]+" [S"+m[1]+"]")
		}
	}
	if most == 0 {
		return "That is not in memory."
	}
	return opening + strings.Join(best, " ")
}

// phrase is a sentence that the fake understands.
type phrase struct {
	re       *regexp.Regexp
	key      string
	relation bool
}

var (
	fenced  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<text>\n(.*)\n</text>`) })
	speaker = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^Speaker: (.*)$`) })
	grammar = sync.OnceValue(func() []phrase {
		return []phrase{
			{regexp.MustCompile(`(\w+) (?:live|lives|moved to|lives in|live in) (?:in )?([A-Z]\w+)`), "lives_in", false},
			{regexp.MustCompile(`(\w+) (?:work|works) (?:at|for) ([A-Z]\w+)`), "works_at", false},
			{regexp.MustCompile(`(\w+) (?:knows|know) ([A-Z]\w+)`), "knows", true},
		}
	})
)

// extract reads plain sentences by a small grammar and gives them as the schema of the extraction wants.
func extract(prompt string) string {
	who, body := "user", ""
	if m := speaker().FindStringSubmatch(prompt); m != nil {
		who = m[1]
	}
	if m := fenced().FindStringSubmatch(prompt); m != nil {
		body = m[1]
	}
	attributes, relations := []object{}, []object{}
	for _, g := range grammar() {
		for _, m := range g.re.FindAllStringSubmatch(body, -1) {
			name := m[1]
			if name == "I" {
				name = who
			}
			entity := object{"type": "person", "name": name}
			if g.relation {
				relations = append(relations, object{"subject": entity, "label": g.key, "confidence": 0.9,
					"object": object{"type": "person", "name": m[2]}, "memory_category": "knowledge"})
				continue
			}
			attributes = append(attributes, object{"entity": entity, "key": g.key, "value": m[2],
				"memory_category": "identity", "confidence": 0.9, "single": true})
		}
	}
	b, err := json.Marshal(object{"attributes": attributes, "relations": relations, "instructions": []object{}})
	if err != nil {
		return "{}"
	}
	return string(b)
}
