package sockets

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"github.com/nacredb/nacre/cmd/nacretest/harness"
	"github.com/nacredb/nacre/engine/value"
)

// siegeRow is one attack. It ends when it has done what it can, or with its context; what it has opened stays open
// until the server is left. An error is a fault of the harness: what the server refuses goes to besieged.refusal.
type siegeRow struct {
	name    string
	attack  func(context.Context, *besieged) error
	durable bool
	environ []string
	most    time.Duration // 0: siegeLength
}

// siegeLength is how long an attack may take.
const siegeLength = 15 * time.Second

func (r siegeRow) length() time.Duration {
	if r.most > 0 {
		return r.most
	}
	return siegeLength
}

const mib = 1 << 20

func siegeRows() []siegeRow {
	return []siegeRow{
		{name: "calm", attack: func(ctx context.Context, _ *besieged) error { return nil }},
		{name: "packed", attack: bodies(300, packed(gzipped), "Content-Encoding: gzip\r\n")},
		{name: "zstd", attack: bodies(300, packed(zstandard), "Content-Encoding: zstd\r\n")},
		{name: "bodies", attack: bodies(300, func() []byte { return bytes.Repeat([]byte(" "), 4*mib-100) }, "")},
		{name: "heads", attack: bodies(1000, func() []byte { return []byte(" ") }, longHeads())},
		{name: "messages", attack: messages},
		{name: "lend", attack: lend},
		{name: "attach", attack: attachMany},
		{name: "throw", attack: onSocket(texts(3,
			"LET $x = string::repeat('e', 1000000);"+strings.Repeat("LET $x = $x + $x;", 5)+strings.Repeat("THROW $x;",
				100)))},
		{name: "cast", attack: onSocket(texts(3,
			"LET $x = string::repeat('e', 1000000);"+strings.Repeat("LET $x = $x + $x;",
				5)+strings.Repeat("RETURN <int> $x;", 60)))},
		{name: "sleepers", attack: sleepers(8, "LET $x = string::repeat('x', 1000000); SLEEP 60s; RETURN 1")},
		{name: "small sleepers", attack: sleepers(200, "LET $x = string::repeat('x', 10000); SLEEP 60s; RETURN 1")},
		{name: "transactions", attack: transactions},
		{name: "variables", attack: variables},
		{name: "live", attack: onSocket(liveVariables)},
		{name: "unread", attack: unread(4, 1000)},
		{name: "notices", attack: notices},
		{name: "texts", attack: onSocket(distinctTexts)},
		{name: "idle", attack: pinned, durable: true, environ: []string{"NACRE_TRANSACTION_TIMEOUT=5s"}},
	}
}

// recordToken signs the record user in.
func (b *besieged) recordToken(ctx context.Context) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.Addr+"/signin",
		strings.NewReader(`{"ns":"test","db":"test","ac":"acc","pass":"p"}`))
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.Token == "" {
		return "", fmt.Errorf("sign in: %s, %w", resp.Status, err)
	}
	return answer.Token, nil
}

func gzipped(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	return out.Bytes(), w.Close()
}

func zstandard(b []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithWindowSize(8*mib))
	if err != nil {
		return nil, err
	}
	return w.EncodeAll(b, nil), w.Close()
}

// packed is 4 MiB of spaces without the last bytes of what they pack to.
func packed(pack func([]byte) ([]byte, error)) func() []byte {
	return func() []byte {
		b, err := pack(bytes.Repeat([]byte(" "), 4*mib))
		if err != nil {
			panic(err) // memory takes all that is written
		}
		return b[:max(len(b)-12, 1)]
	}
}

// longHeads are 60 KB of headers.
func longHeads() string {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "X-H%d: %s\r\n", i, strings.Repeat("h", 1000))
	}
	return b.String()
}

// bodies sends many requests to /rpc without the end of their bodies.
func bodies(n int, body func() []byte, headers string) func(context.Context, *besieged) error {
	return func(ctx context.Context, b *besieged) error {
		part := body()
		head := fmt.Sprintf("POST /rpc HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n",
			b.Addr, headers, len(part)+50)
		return b.many(ctx, n, func(c net.Conn) error {
			parts := net.Buffers{[]byte(head), part}
			_, err := parts.WriteTo(c)
			return err
		})
	}
}

// many opens n connections at once and does something with each. What the server refuses is no failure.
func (b *besieged) many(ctx context.Context, n int, do func(net.Conn) error) error {
	var wg sync.WaitGroup
	var mu sync.Mutex // guards b
	for range n {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", b.Addr)
		if err != nil {
			return err
		}
		b.keep(c)
		wg.Go(func() {
			deadline, _ := ctx.Deadline()
			_ = c.SetDeadline(deadline)
			err := do(c)
			_ = c.SetDeadline(time.Now().Add(500 * time.Millisecond))
			answer := make([]byte, 400)
			k, _ := io.ReadAtLeast(c, answer, len(answer))
			mu.Lock()
			defer mu.Unlock()
			if k > 0 {
				err = errors.New(strings.ReplaceAll(strings.ToValidUTF8(string(answer[:k]), "?"), "\r\n", " "))
			}
			b.refusal(err)
		})
	}
	wg.Wait()
	return nil
}

// messages sends 300 messages of 4 MiB without their last byte.
func messages(ctx context.Context, b *besieged) error {
	part := make([]byte, 4*mib-1)
	head := append(binary.BigEndian.AppendUint64([]byte{harness.FrameBinary, 0xff}, 4*mib), 0, 0, 0, 0)
	return b.many(ctx, 300, func(c net.Conn) error {
		request := "GET /rpc HTTP/1.1\r\nHost: " + b.Addr + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
			"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: cbor\r\n\r\n"
		if _, err := io.WriteString(c, request); err != nil {
			return err
		}
		for last := uint32(0); last != 0x0d0a0d0a; { // to the end of the answer's head
			var one [1]byte
			if _, err := c.Read(one[:]); err != nil {
				return err
			}
			last = last<<8 | uint32(one[0])
		}
		parts := net.Buffers{head, part}
		_, err := parts.WriteTo(c)
		return err
	})
}

// lend attaches sessions over HTTP and gives each a variable.
func lend(ctx context.Context, b *besieged) error {
	post := func(body string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.Addr+"/rpc", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if bytes.Contains(answer, []byte(`"error"`)) || resp.StatusCode != http.StatusOK {
			b.refusal(fmt.Errorf("%s %s", resp.Status, answer))
		}
		return err
	}
	text := strings.Repeat("x", 60_000)
	for range 9800 {
		id := uuid.NewString()
		err := errors.Join(post(`{"method":"attach","session":"`+id+`"}`),
			post(`{"method":"let","session":"`+id+`","params":["x","`+text+`"]}`))
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// request is a request in CBOR, of an attached session and in a transaction where they are given.
func request(session, txn *value.UUID, method string, params ...value.Value) []byte {
	fields := []value.Field{{Name: "id", Value: value.Int(1)}, {Name: "method", Value: value.Str(method)},
		{Name: "params", Value: value.ArrayOf(params)}}
	if session != nil {
		fields = append(fields, value.Field{Name: "session", Value: value.UUIDOf(*session)})
	}
	if txn != nil {
		fields = append(fields, value.Field{Name: "txn", Value: value.UUIDOf(*txn)})
	}
	b, err := value.AppendCBOR(nil, value.ObjectOf(value.NewObject(fields...)))
	if err != nil {
		panic(err) // parameters of ours always have a form
	}
	return b
}

// sockets opens n sockets with the identity of the record user, or without any, and does something with all at once.
func (b *besieged) sockets(ctx context.Context, n int, known bool, do func(*harness.RawSocket) error) error {
	var wg sync.WaitGroup
	var mu sync.Mutex // guards b
	for range n {
		var k *harness.RawSocket
		var err error
		if known {
			k, err = b.signedIn(ctx, b.token)
		} else {
			k, err = harness.DialRaw(ctx, b.Addr, 4<<10)
		}
		if err != nil {
			b.refusal(err)
			continue
		}
		b.keep(k.Conn)
		deadline, _ := ctx.Deadline()
		_ = k.Conn.SetDeadline(deadline)
		wg.Go(func() {
			err := do(k)
			mu.Lock()
			defer mu.Unlock()
			b.refusal(err)
		})
	}
	wg.Wait()
	return nil
}

// attachMany attaches 256 sessions on each of 40 sockets, with a variable each.
func attachMany(ctx context.Context, b *besieged) error {
	text := value.Str(strings.Repeat("x", 60_000))
	return b.sockets(ctx, 40, false, func(k *harness.RawSocket) error {
		var failed error
		for range 256 {
			id := value.UUID(uuid.New())
			if err := errors.Join(k.Ask(request(&id, nil, "attach")),
				k.Ask(request(&id, nil, "let", value.Str("x"), text))); err != nil {
				failed = err
			}
		}
		return failed
	})
}

// onSocket does something on one socket of the record user.
func onSocket(do func(*harness.RawSocket) error) func(context.Context, *besieged) error {
	return func(ctx context.Context, b *besieged) error { return b.sockets(ctx, 1, true, do) }
}

// texts sends a text so many times at once.
func texts(n int, text string) func(*harness.RawSocket) error {
	return func(k *harness.RawSocket) error {
		for range n {
			if err := k.Send(harness.FrameBinary, harness.RawRequest("query", value.Str(text))); err != nil {
				return err
			}
		}
		for range n {
			answer, err := k.Receive()
			if err != nil {
				return err
			}
			if err := harness.Refused(answer); err != nil {
				return fmt.Errorf("%.80s… in %d bytes", err, len(answer))
			}
		}
		return nil
	}
}

// sleepers sends 256 texts that wait on each of n sockets.
func sleepers(n int, text string) func(context.Context, *besieged) error {
	return func(ctx context.Context, b *besieged) error {
		return b.sockets(ctx, n, true, func(k *harness.RawSocket) error {
			for range 256 {
				if err := k.Send(harness.FrameBinary, harness.RawRequest("query", value.Str(text))); err != nil {
					return err
				}
			}
			_ = k.Conn.SetDeadline(time.Now().Add(5 * time.Second)) // those that are refused answer soon
			answer, err := k.Receive()
			if err == nil {
				err = harness.Refused(answer)
			}
			return err
		})
	}
}

// attached attaches a session with the identity of the record user.
func (b *besieged) attached(k *harness.RawSocket) (value.UUID, error) {
	id := value.UUID(uuid.New())
	return id, errors.Join(k.Ask(request(&id, nil, "attach")),
		k.Ask(request(&id, nil, "authenticate", value.Str(b.token))))
}

// transactions begins 64 on each of 40 sessions of one socket, and creates a record of a megabyte in each.
func transactions(ctx context.Context, b *besieged) error {
	const text = "CREATE t SET s = string::repeat('x', 1000000) RETURN NONE"
	return b.sockets(ctx, 1, true, func(k *harness.RawSocket) error {
		var failed error
		for range 40 {
			id, err := b.attached(k)
			if err != nil {
				return err
			}
			for range 64 {
				txn, err := begun(k, id)
				if err == nil {
					err = k.Ask(request(&id, &txn, "query", value.Str(text)))
				}
				if err != nil {
					failed = err
				}
			}
		}
		return failed
	})
}

// begun begins a transaction of an attached session.
func begun(k *harness.RawSocket, id value.UUID) (value.UUID, error) {
	if err := k.Send(harness.FrameBinary, request(&id, nil, "begin")); err != nil {
		return value.UUID{}, err
	}
	b, err := k.Receive()
	if err != nil {
		return value.UUID{}, err
	}
	if err := harness.Refused(b); err != nil {
		return value.UUID{}, err
	}
	v, err := value.DecodeCBORValue(b, value.DecodeLimits{})
	if err != nil {
		return value.UUID{}, err
	}
	result, _ := v.Object().Get("result")
	if result.Kind() != value.KindUUID {
		return value.UUID{}, fmt.Errorf("begin answers %s", v.Text())
	}
	return result.UUID(), nil
}

// variables gives 20 sessions of one socket a variable of 60 MB each.
func variables(ctx context.Context, b *besieged) error {
	text := value.Str(strings.Repeat("x", 60_000_000))
	return b.sockets(ctx, 1, true, func(k *harness.RawSocket) error {
		for range 20 {
			id, err := b.attached(k)
			if err == nil {
				err = k.Ask(request(&id, nil, "let", value.Str("x"), text))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// liveVariables begins 37 live queries with a variable of 16 MiB each.
func liveVariables(k *harness.RawSocket) error {
	vars := value.ObjectOf(value.NewObject(value.Field{Name: "v", Value: value.Str(strings.Repeat("v", 16*mib))}))
	var failed error
	for range 37 {
		if err := k.Ask(harness.RawRequest("query", value.Str("LIVE SELECT * FROM t WHERE n != $v"),
			vars)); err != nil {
			failed = err
		}
	}
	return failed
}

// unread asks for many answers of a megabyte on each socket, and reads none.
func unread(sockets, n int) func(context.Context, *besieged) error {
	return func(ctx context.Context, b *besieged) error {
		return b.sockets(ctx, sockets, true, func(k *harness.RawSocket) error {
			ask := harness.RawRequest("query", value.Str("RETURN string::repeat('x', 1000000)"))
			_ = k.Conn.SetDeadline(time.Now().Add(10 * time.Second))
			for range n {
				if err := k.Send(harness.FrameBinary, ask); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// notices begins live queries on 60 sockets that read nothing, and writes records for all of them.
func notices(ctx context.Context, b *besieged) error {
	err := b.sockets(ctx, 60, true, func(k *harness.RawSocket) error {
		return k.Ask(harness.RawRequest("query", value.Str("LIVE SELECT * FROM t")))
	})
	if err != nil {
		return err
	}
	return b.sockets(ctx, 1, true, func(k *harness.RawSocket) error {
		for range 60 {
			if err := k.Ask(harness.RawRequest("query",
				value.Str("CREATE t SET s = string::repeat('x', 200000) RETURN NONE"))); err != nil {
				return err
			}
		}
		return nil
	})
}

// distinctTexts sends texts that parse to much more than they are, no two alike.
func distinctTexts(k *harness.RawSocket) error {
	list := strings.Repeat("a,", 30_000)
	for i := range 1024 {
		if err := k.Ask(harness.RawRequest("query",
			value.Str(fmt.Sprintf("RETURN [%s%d].len()", list, i)))); err != nil {
			return err
		}
	}
	return nil
}

// pinned leaves a transaction open while records are written over and over.
func pinned(ctx context.Context, b *besieged) error {
	idle, err := b.signedIn(ctx, b.token)
	if err != nil {
		return err
	}
	b.keep(idle.Conn)
	id, err := b.attached(idle)
	if err != nil {
		return err
	}
	txn, err := begun(idle, id)
	if err == nil {
		err = idle.Ask(request(&id, &txn, "query", value.Str("SELECT * FROM t")))
	}
	if err != nil {
		return err
	}
	writer, err := b.signedIn(ctx, "")
	if err != nil {
		return err
	}
	b.keep(writer.Conn)
	for i := 0; ctx.Err() == nil; i++ {
		if err := writer.Call("query",
			value.Str(fmt.Sprintf("UPSERT t:%d SET s = rand::string(60000) RETURN NONE", i%20))); err != nil {
			return err
		}
	}
	b.refusal(idle.Ask(request(&id, &txn, "query", value.Str("RETURN 1"))))
	if b.said == "" {
		return errors.New("the idle transaction is still open")
	}
	return b.fileBelow(250 * mib)
}
