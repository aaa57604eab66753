package nodes

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nacredb/nacre/engine/key"
	"github.com/nacredb/nacre/engine/kv"
	"github.com/nacredb/nacre/engine/txn"
	"github.com/nacredb/nacre/engine/value"
)

// Processes ask each other through the store. No process is asked anything that is not asked of all of them.
//
//	key.Asked() → 16 random bytes              another value with each question
//	key.Ask(id) → process16 sent8 CBOR         who asks, when by the clock that they share, and { do, … }
//	key.Answer(id, process) → CBOR             NONE: that process has nothing to say
//
// Who asks removes all of it. What is left over of one that was killed is removed after a minute.
const (
	askWait   = 3 * time.Second       // how long an answer is waited for
	askPause  = 25 * time.Millisecond // between two looks for answers
	askOld    = time.Minute
	maxAnswer = 4 << 20 // bytes

	answersAtOnce = 4
	asksAtOnce    = 4 // of one process: any client that may KILL can make it ask
)

// Questions about live queries, which statements ask.
const (
	AskLives = "lives"    // ns, db, tb: ids of a table → [ { id, query } ]
	AskLive  = "live"     // id → { session, ns, db }; NONE: no live query of the server
	EndLive  = "live.end" // id, by: the session that ends it → true; NONE likewise
)

// Answerer answers one kind of question; NONE: this process has nothing to say to it.
type Answerer func(ctx context.Context, question *value.Object) value.Value

// asks is what a process keeps of questions.
type asks struct {
	mu      sync.Mutex // guards what follows; a leaf lock
	answers map[string]Answerer
	seen    []byte                // of key.Asked, when all questions were taken
	taken   map[[16]byte]struct{} // questions of others that are there and were taken
	closed  bool

	running sync.WaitGroup
	slots   chan struct{} // of answers
	asking  chan struct{} // likewise, of own questions
	ctx     context.Context
	stop    context.CancelFunc
}

func (a *asks) init() {
	a.answers, a.taken = map[string]Answerer{}, map[[16]byte]struct{}{}
	a.slots, a.asking = make(chan struct{}, answersAtOnce), make(chan struct{}, asksAtOnce)
	a.ctx, a.stop = context.WithCancel(context.Background())
}

// close waits for answers that are under way.
func (a *asks) close() {
	a.stop()
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.running.Wait()
}

// Answer makes f answer the questions of a kind that other processes ask.
func (p *Process) Answer(do string, f Answerer) {
	if p == nil {
		return
	}
	p.asks.mu.Lock()
	defer p.asks.mu.Unlock()
	p.asks.answers[do] = f
}

// Ask asks the other processes of the store something, and gives the answers of those that have one to give. silent is
// how many have not answered in three seconds. Without other processes it gives nothing.
func (p *Process) Ask(ctx context.Context, do string,
	fields ...value.Field) (answers []value.Value, silent int, err error) {
	if p == nil {
		return nil, 0, nil
	}
	select {
	case p.asks.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	defer func() { <-p.asks.asking }()
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	var id [16]byte
	rand.Read(id[:]) // never fails: it ends the process instead
	others, err := p.put(ctx, id, value.ObjectOf(value.NewObject(append(fields, value.Field{Name: "do",
		Value: value.Str(do)})...)))
	if len(others) == 0 || err != nil {
		return nil, 0, err
	}
	defer p.withdraw(id)
	got := map[[16]byte]value.Value{}
	tick := time.NewTicker(askPause)
	defer tick.Stop()
	for len(got) < len(others) {
		select {
		case <-tick.C:
			err = p.collect(ctx, id, others, got)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return nil, 0, err
		}
	}
	for _, v := range got {
		if !v.IsNone() {
			answers = append(answers, v)
		}
	}
	return answers, len(others) - len(got), nil
}

// put writes a question, and gives the processes that it is for.
func (p *Process) put(ctx context.Context, id [16]byte, question value.Value) (others [][16]byte, err error) {
	text, err := value.AppendCBOR(nil, question)
	if err != nil {
		return nil, fmt.Errorf("ask the other servers: %w", err)
	}
	err = txn.Retry(ctx, p.store, p.opt, func(tx *txn.Tx) error {
		var err error
		if others, err = p.others(tx, 0); len(others) == 0 || err != nil {
			return err
		}
		me, signal := p.ID(), make([]byte, 16)
		rand.Read(signal)
		b := binary.BigEndian.AppendUint64(me[:], uint64(now(p.store, tx).UnixNano()))
		if err := tx.Set(key.Ask(nil, id), append(b, text...)); err != nil {
			return err
		}
		return tx.Set(key.Asked(), signal)
	})
	return others, err
}

// collect reads the answers that are there.
func (p *Process) collect(ctx context.Context, id [16]byte, others [][16]byte, got map[[16]byte]value.Value) error {
	tx, err := txn.Begin(ctx, p.store, txn.Options{})
	if err != nil {
		return err
	}
	defer tx.Cancel()
	keys := make([][]byte, len(others))
	for i := range others {
		keys[i] = key.Answer(nil, id, others[i])
	}
	if _, err := tx.Prefetch(keys); err != nil {
		return err
	}
	for i := range others {
		raw, err := tx.Get(keys[i])
		if err != nil {
			return err
		}
		if raw == nil {
			continue
		}
		v, err := value.DecodeCBORValue(bytes.Clone(raw), value.DecodeLimits{})
		if err != nil {
			return fmt.Errorf("read the answer of another server: %w", err)
		}
		got[others[i]] = v
	}
	return nil
}

// withdraw removes a question with its answers. What a store that does not answer keeps goes later.
func (p *Process) withdraw(id [16]byte) {
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	if err := txn.Retry(ctx, p.store, p.opt, func(tx *txn.Tx) error { return removeAsk(tx, id) }); err != nil {
		p.log.Warn("a question to other servers is removed later", "err", err)
	}
}

func removeAsk(tx *txn.Tx, id [16]byte) error {
	if err := tx.Delete(key.Ask(nil, id)); err != nil {
		return err
	}
	start, end := key.AnswerRange(id)
	return tx.DeleteRange(kv.Range{Start: start, End: end})
}

// Asked is the key that says whether there are questions.
func Asked() []byte { return key.Asked() }

// Heard looks, in the snapshot of tx, for questions of other processes, and has them answered.
func (p *Process) Heard(tx *txn.Tx) error {
	if p == nil {
		return nil
	}
	signal, err := tx.GetUntracked(key.Asked())
	if err != nil {
		return err
	}
	a := &p.asks
	a.mu.Lock()
	same := bytes.Equal(a.seen, signal)
	a.mu.Unlock()
	if same {
		return nil
	}
	there := map[[16]byte]struct{}{}
	all := true
	err = p.eachAsk(tx, func(id, from [16]byte, sent time.Time, text []byte) error {
		there[id] = struct{}{}
		if from != p.ID() && now(p.store, tx).Sub(sent) < 2*askWait {
			all = p.take(id, bytes.Clone(text)) && all
		}
		return nil
	})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.taken {
		if _, ok := there[id]; !ok {
			delete(a.taken, id)
		}
	}
	if all {
		a.seen = bytes.Clone(signal)
	}
	return nil
}

// eachAsk calls f with each question that stands in the store.
func (p *Process) eachAsk(tx *txn.Tx, f func(id, from [16]byte, sent time.Time, text []byte) error) error {
	start, end := key.AskRange()
	cur := tx.Scan(kv.Range{Start: start, End: end}, txn.ScanOptions{Untracked: true})
	defer cur.Close()
	for cur.Next() {
		id, err := key.DecodeAsk(cur.Key())
		if err != nil {
			return err
		}
		raw := cur.Value()
		if len(raw) < 24 {
			return fmt.Errorf("read a question of another server: %w", kv.ErrCorrupt)
		}
		sent := time.Unix(0, int64(binary.BigEndian.Uint64(raw[16:])))
		if err := f(id, [16]byte(raw), sent, raw[24:]); err != nil {
			return err
		}
	}
	return cur.Err()
}

// take has a question answered, once; false where too many are under way.
func (p *Process) take(id [16]byte, text []byte) bool {
	a := &p.asks
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.taken[id]; ok || a.closed {
		return true
	}
	select {
	case a.slots <- struct{}{}:
	default:
		return false
	}
	a.taken[id] = struct{}{}
	a.running.Go(func() {
		defer func() { <-a.slots }()
		if err := p.reply(a.ctx, id, text); err != nil && a.ctx.Err() == nil {
			p.log.Warn("a question of another server is not answered", "err", err)
		}
	})
	return true
}

// reply answers a question, if it still stands.
func (p *Process) reply(ctx context.Context, id [16]byte, text []byte) error {
	q, err := value.DecodeCBORValue(text, value.DecodeLimits{})
	if err != nil {
		return err
	}
	answer := value.None
	if q.Kind() == value.KindObject {
		do, _ := q.Object().Get("do")
		p.asks.mu.Lock()
		f := p.asks.answers[value.ToString(do)]
		p.asks.mu.Unlock()
		if f != nil { // else a later version has asked
			if answer, err = safely(ctx, f, q.Object()); err != nil {
				return err
			}
		}
	}
	b, err := value.AppendCBOR(nil, answer)
	if err == nil && len(b) > maxAnswer {
		err = fmt.Errorf("the answer has %d bytes, and at most %d are told", len(b), maxAnswer)
	}
	if err != nil {
		return err
	}
	return txn.Retry(ctx, p.store, p.opt, func(tx *txn.Tx) error {
		stands, err := tx.Get(key.Ask(nil, id))
		if stands == nil || err != nil {
			return err
		}
		return tx.Set(key.Answer(nil, id, p.ID()), b)
	})
}

// safely runs f; a panic is an error.
func safely(ctx context.Context, f Answerer, q *value.Object) (v value.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f(ctx, q), nil
}

// clearAsks removes what is left over of questions.
func (p *Process) clearAsks(ctx context.Context) error {
	return txn.Retry(ctx, p.store, p.opt, func(tx *txn.Tx) error {
		var old [][16]byte
		err := p.eachAsk(tx, func(id, _ [16]byte, sent time.Time, _ []byte) error {
			if now(p.store, tx).Sub(sent) > askOld {
				old = append(old, id)
			}
			return nil
		})
		for _, id := range old {
			if err == nil {
				err = removeAsk(tx, id)
			}
		}
		return err
	})
}
