package daemon_test

import (
	"context"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/nacredb/nacre/internal/pb/rpcpb"
)

// grpc makes a call: METHOD HEADER… < JSON ;; JSON…, on a connection of its own or (on NAME METHOD …) on one that stays.
// What comes back is the frames in JSON, and the status.
func (a *attack) grpc(line string) {
	a.t.Helper()
	line, body, _ := strings.Cut(line, " < ")
	s, words := a.server(), a.words(line)
	conn, done := a.calls(s, &words)
	defer done()
	service := rpcpb.File_protocol_rpc_v1_rpc_proto.Services().ByName("Service")
	m := service.Methods().ByName(protoreflect.Name(words[0]))
	if m == nil {
		a.t.Fatalf("line %d: there is no method %s", a.line, words[0])
	}
	ctx, cancel := context.WithTimeout(a.t.Context(), 10*time.Second)
	defer cancel()
	for _, h := range words[1:] {
		name, v, _ := strings.Cut(h, ": ")
		ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(name), v)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true},
		"/"+string(service.FullName())+"/"+words[0])
	if err != nil {
		a.t.Fatal(err)
	}
	for text := range strings.SplitSeq(a.text(body), " ;; ") {
		in := a.protobuf(m.Input())
		if err := protojson.Unmarshal([]byte(text), in); err != nil {
			a.t.Fatalf("line %d: %v", a.line, err)
		}
		if stream.SendMsg(in) != nil {
			break // the answer says why
		}
	}
	_ = stream.CloseSend()
	var all strings.Builder
	for {
		out := a.protobuf(m.Output())
		if err = stream.RecvMsg(out); err != nil {
			break
		}
		b, _ := protojson.Marshal(out) // protojson writes a space, or none, by chance
		all.WriteString(strings.ReplaceAll(string(b), ": ", ":") + "\n")
	}
	if err == io.EOF {
		err = nil
	}
	all.WriteString(status.Code(err).String() + " " + status.Convert(err).Message())
	a.last = all.String()
}

// calls is the connection of a call; done ends it where it is for this call alone.
func (a *attack) calls(s *server, words *[]string) (conn *grpc.ClientConn, done func()) {
	name := ""
	if (*words)[0] == "on" {
		name, *words = (*words)[1], (*words)[2:]
		if conn := a.conns[name]; conn != nil {
			return conn, func() {}
		}
	}
	conn, err := grpc.NewClient(s.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		a.t.Fatal(err)
	}
	if name != "" {
		a.conns[name] = conn
		return conn, func() {}
	}
	return conn, func() { _ = conn.Close() }
}

func (a *attack) protobuf(of protoreflect.MessageDescriptor) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(of.FullName())
	if err != nil {
		a.t.Fatal(err)
	}
	return t.New().Interface()
}
