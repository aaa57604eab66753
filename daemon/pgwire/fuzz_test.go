package pgwire_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// A client may send any bytes after it has signed in, as messages, or as the data of a COPY: the server closes the
// connection or answers, and goes on.
func FuzzFrames(f *testing.F) {
	addr, d := start(f, unauthenticated)
	run(f, d,
		"DEFINE TABLE item SCHEMAFULL; DEFINE FIELD name ON item TYPE option<string>; DEFINE FIELD n ON item TYPE option<int>")
	encode := func(list ...pgproto3.FrontendMessage) (out []byte) {
		for _, m := range list {
			out, _ = m.Encode(out)
		}
		return out
	}
	f.Add("", encode(&pgproto3.Query{String: "SELECT 1; SELECT n FROM item"}))
	f.Add("", encode(parse("a", "SELECT $1::int8 + n FROM item", 20), bind("p", "a", "1"), describe('P', "p"),
		execute("p", 1), sync))
	f.Add("", encode(parse("", "BEGIN"), bind("", ""), execute("", 0), sync, &pgproto3.Close{ObjectType: 'S'},
		&pgproto3.Flush{}, sync))
	f.Add("COPY item (name, n) FROM STDIN", encode(&pgproto3.CopyData{Data: []byte("a\t1\n\\N\t\\N\n\\.\n")},
		&pgproto3.CopyDone{}))
	f.Add("COPY item (name, n) FROM STDIN (FORMAT csv, HEADER)",
		encode(&pgproto3.CopyData{Data: []byte("name,n\n\"a\"\"b\",1\n")}, &pgproto3.CopyDone{}))
	f.Add("COPY item (name, n) FROM STDIN (FORMAT binary)",
		encode(&pgproto3.CopyData{Data: []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x01a\xff\xff\xff\xff\xff\xff")}, &pgproto3.CopyDone{}))
	f.Add("COPY item FROM STDIN", encode(&pgproto3.CopyFail{Message: "x"}, &pgproto3.Query{String: "SELECT 1"}))
	alive := login(f, addr)
	f.Fuzz(func(t *testing.T, first string, data []byte) {
		if len(first) > 1000 || len(data) > 4000 {
			return
		}
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		out := startupPacket("user", "root", "database", "test/test", "options",
			"-c dialect=sql -c statement_timeout=2000")
		if first != "" {
			out += "Q" + string(binary.BigEndian.AppendUint32(nil, uint32(len(first)+5))) + first + "\x00"
		}
		if _, err := io.WriteString(conn, out+string(data)+"X\x00\x00\x00\x04"); err != nil {
			return
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		alive.t = t
		_ = alive.conn.SetDeadline(time.Now().Add(20 * time.Second))
		if got := alive.ask("SELECT 1"); got != "T[?column?:23] D[1] C(SELECT 1) ZI" {
			t.Fatalf("another connection answers %s", got)
		}
	})
}
