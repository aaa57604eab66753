package grpc

import (
	"maps"
	"slices"
)

// What a method says of context.transaction.
type txnRule uint8

const (
	noTxn txnRule = iota
	mayTxn
	needsTxn
)

// method is a row of the table: what a gRPC method does by the methods of daemon/rpc.
type method struct {
	run    func(c *call, message []byte) error // of one message
	stream func(c *call) error                 // of a client's stream; run is nil then
	gate   string                              // the RPC method that is denied together with it; "": none
	route  string                              // likewise the HTTP route
	txn    txnRule
	bare   bool // takes no session
	always bool // also while the server starts or stops
}

// methods is the table. It is never written to.
var methods = map[string]method{
	"GetCapabilities": {run: getCapabilities, bare: true, always: true},
	"Health":          {run: health, route: "health", bare: true, always: true},

	"AttachSession": {run: attachSession, gate: "attach"},
	"DetachSession": {run: detachSession, gate: "detach"},
	"ResetSession":  {run: resetSession, gate: "reset"},
	"Use":           {run: use, gate: "use"},
	"SetVariable":   {run: setVariable, gate: "set"},
	"UnsetVariable": {run: unsetVariable, gate: "unset"},

	"Signup":        {run: signup, gate: "signup"},
	"Signin":        {run: signin, gate: "signin"},
	"Authenticate":  {run: authenticate, gate: "authenticate"},
	"RefreshTokens": {run: refreshTokens, gate: "refresh"},
	"RevokeTokens":  {run: revokeTokens, gate: "revoke"},
	"Invalidate":    {run: invalidate, gate: "invalidate"},

	"BeginTransaction":  {run: beginTransaction, gate: "begin"},
	"CommitTransaction": {run: commitTransaction, gate: "commit", txn: needsTxn},
	"CancelTransaction": {run: cancelTransaction, gate: "cancel", txn: needsTxn},

	"Query":     {run: query, gate: "query", txn: mayTxn},
	"Subscribe": {run: subscribe, gate: "live"},

	"ImportSql":       {stream: importSQL, route: "import"},
	"ExportSql":       {run: exportSQL, route: "export"},
	"ExportDirectory": {run: exportDirectory, route: "export"},
	"ExportMlModel":   {run: exportModel, route: "ml"},
}

// Methods are the names of all methods, sorted.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }

// alsoDenies are names by which a method can be denied besides its gate.
var alsoDenies = map[string]string{"SetVariable": "let"}

// deniedMethods are the full names of the methods that capabilities deny, under both names of the service.
func (s *Server) deniedMethods() (names []string) {
	caps := s.RPC.Caps
	for _, name := range Methods() {
		m := methods[name]
		denied := m.gate != "" && caps.MayUse(m.gate) != nil || m.route != "" && caps.MayVisit(m.route) != nil
		if also := alsoDenies[name]; also != "" && caps.MayUse(also) != nil {
			denied = true
		}
		if !denied {
			continue
		}
		for _, service := range services {
			names = append(names, service+"/"+name)
		}
	}
	return names
}
