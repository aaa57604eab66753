package grpc

import (
	"strings"
	"unicode/utf8"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/pb/rpcpb"
	"github.com/nacredb/nacre/internal/pb/valuepb"
	"github.com/nacredb/nacre/internal/protobuf"
)

// health reads one key from the store.
func health(c *call, _ []byte) error {
	if err := c.srv.RPC.Engine.Ping(c.ctx); err != nil {
		c.srv.Log.Error("health check failed", "err", err)
		return unavailable("There was a problem connecting with the storage engine")
	}
	return c.answer(&rpcpb.HealthResponse{})
}

// capabilityNames lists the abilities of the server by the names that clients know.
var capabilityNames = []string{"SESSIONS", "TRANSACTIONS", "LIVE_QUERIES", "REFRESH_TOKENS", "EXPORT_DIRECTORY",
	"ML_MODELS"}

// chunkRoom is the part of a message that a chunk of bytes leaves for its envelope.
const chunkRoom = 64

// mostChunk is the largest chunk of a byte stream.
const mostChunk = 1 << 20

func (s *Server) chunk() int { return min(mostChunk, s.Limits.Message-chunkRoom) }

func getCapabilities(c *call, message []byte) error {
	if err := c.noteClient(message); err != nil {
		return err
	}
	caps := &rpcpb.ServerCapabilities{
		ServerVersion: rpc.Version, LowApiVersion: &rpcpb.SemVer{Major: 1}, HighApiVersion: &rpcpb.SemVer{Major: 1},
		Capabilities: capabilityNames, DeniedMethods: c.srv.denied,
		Limits: &rpcpb.Limits{MaxMessageBytes: uint64(c.srv.Limits.Message), MaxChunkBytes: uint64(c.srv.chunk())},
		LiveQueries: &rpcpb.LiveQueryCapabilities{Delivery: rpcpb.LiveQueryDelivery_LIVE_QUERY_DELIVERY_AT_MOST_ONCE,
			MultipleSubscribers: true},
	}
	if d := c.srv.RPC.Limits.QueryTimeout; d > 0 {
		v := value.DurationFrom(d)
		caps.Limits.MaxQueryDuration = &valuepb.Duration{Seconds: v.Secs, Nanos: v.Nanos}
	}
	return c.answer(&rpcpb.GetCapabilitiesResponse{Capabilities: caps})
}

// longestClient bounds each text of a client about itself in the log.
const longestClient = 128

// noteClient logs who calls: the name, version and platform of the field client.
func (c *call) noteClient(message []byte) error {
	client, err := submessage(message, 2)
	if err != nil {
		return err
	}
	var said [4]string
	for s := protobuf.Fields(client); ; {
		more, err := s.Next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if s.B != nil && s.Num <= 3 {
			said[s.Num] = errs.Brief(strings.ToValidUTF8(string(s.B[:min(len(s.B), 2*longestClient)]), "\uFFFD"),
				longestClient)
		}
	}
	c.srv.Log.Debug("client", "name", said[1], "version", said[2], "platform", said[3], "client", c.by.Client)
	return nil
}

func attachSession(c *call, _ []byte) error {
	if c.session == nil {
		id := value.UUIDv4()
		c.session = &id
	}
	created, err := c.rpc("attach")
	if err != nil {
		return err
	}
	return c.answer(&rpcpb.AttachSessionResponse{Session: &valuepb.Uuid{Value: c.session[:]}, Created: created.Bool()})
}

func detachSession(c *call, _ []byte) error {
	if s, release, err := c.entry.conn.Engine(c.session); err == nil && c.session != nil {
		release()
		c.srv.feeds.endSession(s.ID(), endSessionClosed)
	}
	if _, err := c.rpc("detach"); err != nil {
		return err
	}
	return c.answer(&rpcpb.DetachSessionResponse{})
}

func resetSession(c *call, _ []byte) error {
	if err := c.renew("reset", endSessionClosed); err != nil {
		return err
	}
	return c.answer(&rpcpb.ResetSessionResponse{})
}

// renew calls an RPC method that takes the session's identity away, and ends its live queries for the reason given.
func (c *call) renew(method string, reason uint64) error {
	s, release, err := c.entry.conn.Engine(c.session)
	if err != nil {
		return err
	}
	defer release()
	if _, err := c.rpc(method); err != nil {
		return err
	}
	c.srv.feeds.endSession(s.ID(), reason)
	c.changed()
	return nil
}

// changed notes that the identity of the session is another one than its headers say.
func (c *call) changed() {
	if c.session == nil {
		c.entry.changed()
	}
}

func use(c *call, message []byte) error {
	req := &rpcpb.UseRequest{}
	if err := c.read(message, req); err != nil {
		return err
	}
	ns, err := place(req.GetNamespace(), "NamespaceEmpty", "namespace")
	if err != nil {
		return err
	}
	db, err := place(req.GetDatabase(), "DatabaseEmpty", "database")
	if err != nil {
		return err
	}
	v, err := c.rpc("use", ns, db)
	if err != nil {
		return err
	}
	resp := &rpcpb.UseResponse{}
	if v.Kind() == value.KindObject {
		resp.Namespace, resp.Database = textField(v, "namespace"), textField(v, "database")
	}
	return c.answer(resp)
}

// place returns the argument of the method use for a name: NONE leaves it as it is, NULL clears it.
func place(n *rpcpb.NullableString, empty, what string) (value.Value, error) {
	switch v := n.GetValue().(type) {
	case *rpcpb.NullableString_Null:
		return value.Null, nil
	case *rpcpb.NullableString_Some:
		if v.Some == "" {
			return value.None, errs.With(errs.KindValidation, empty, nil, "Specify a %s to use", what)
		}
		return value.Str(v.Some), nil
	}
	return value.None, nil
}

// textField is a text in an object, or "".
func textField(v value.Value, name string) string {
	if v.Kind() != value.KindObject {
		return ""
	}
	if f, ok := v.Object().Get(name); ok && f.Kind() == value.KindString {
		return f.Str()
	}
	return ""
}

func setVariable(c *call, message []byte) error {
	if err := c.srv.RPC.Caps.MayUse("let"); err != nil {
		return err
	}
	var name string
	v, found := value.None, false
	for s := protobuf.Fields(message); ; {
		more, err := s.Next()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		switch {
		case s.B == nil:
		case s.Num == 2:
			name, err = utf8Text(s.B)
		case s.Num == 3:
			found = true
			v, err = protobuf.DecodeValue(s.B, c.srv.decoding(c.entry.session))
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return errs.InvalidParams("Expected a value: the field value is missing")
	}
	if err := c.holds(v); err != nil {
		return err
	}
	if _, err := c.rpc("set", value.Str(name), v); err != nil {
		return err
	}
	return c.answer(&rpcpb.SetVariableResponse{})
}

// holds counts values that were decoded.
func (c *call) holds(v value.Value) error {
	if err := c.by.Mem.Charge(value.Weight(v)); err != nil {
		return errs.NoMemory()
	}
	return nil
}

func utf8Text(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", errs.With(errs.KindSerialization, "Deserialization", nil, "The request cannot be read: a text is not valid UTF-8")
	}
	return string(b), nil
}

func unsetVariable(c *call, message []byte) error {
	req := &rpcpb.UnsetVariableRequest{}
	if err := c.read(message, req); err != nil {
		return err
	}
	if _, err := c.rpc("unset", value.Str(req.GetName())); err != nil {
		return err
	}
	return c.answer(&rpcpb.UnsetVariableResponse{})
}

func beginTransaction(c *call, _ []byte) error {
	v, err := c.rpc("begin")
	if err != nil {
		return err
	}
	id := v.UUID()
	return c.answer(&rpcpb.BeginTransactionResponse{Transaction: &valuepb.Uuid{Value: id[:]}})
}

func commitTransaction(c *call, _ []byte) error {
	if _, err := c.rpc("commit", value.UUIDOf(*c.txn)); err != nil {
		return err
	}
	return c.answer(&rpcpb.CommitTransactionResponse{})
}

func cancelTransaction(c *call, _ []byte) error {
	if _, err := c.rpc("cancel", value.UUIDOf(*c.txn)); err != nil {
		return err
	}
	return c.answer(&rpcpb.CancelTransactionResponse{})
}
