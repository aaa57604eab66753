// Package config holds the settings of a daemon in one table: name, variables, default and help of
// every setting.
//
// Flags win over environment variables, those over the file, that over the default. A setting FOO
// is read from NACRE_FOO, SERVICE_FOO and SURREAL_FOO, in this order; secrets also from the file
// that FOO_FILE names. Table is the one definition: the command line makes its flags from it,
// Resolve fills a Config and Print shows every value with its origin, secrets masked.
package config

import (
	"time"
)

// Config is everything a daemon needs to know. Default makes one.
type Config struct {
	Path string // data source: memory, bolt://path, a bare path
	File string // configuration file; "" for none

	// Release is the version of the program, which its answers and metrics show beside that of the protocol; "" leaves
	// it out.
	Release string

	// Listening.
	Bind                    string
	PostgresBind            string // of the PostgreSQL wire; "" for none
	WebCert, WebKey         string
	MCPReadOnly             bool     // tools of MCP only read
	MCPHosts                []string // that the Host header of /mcp may name; empty: those of the machine itself
	MCPAllHosts             bool     // it may name any
	AllowOrigin             []string // empty: all, or with Unauthenticated none
	ClientIP                string   // none, socket or the name of a header
	TrustedProxies          int      // that append to that header
	ConnectionsPerAddress   int      // open at once; 0: no limit
	NoIdentificationHeaders bool
	NoBanner                bool
	UIAddress               string // where / redirects to

	// Identity.
	User, Pass      string
	Unauthenticated bool

	DurableSessions   bool // attached over HTTP
	DurableSessionTTL time.Duration
	DurableSessionGC  time.Duration // interval of looks for those that have ended

	AuthRate  int // wrong passwords a minute for one user at one address; 0: no limit
	AuthBurst int

	// Database.
	DefaultNamespace, DefaultDatabase string
	NoDefaults                        bool
	Strict                            bool
	KVSCA, KVSCert, KVSKey            string // files for TLS to the cluster of tikv://
	ImportFile                        string
	ImportAgain                       bool     // also a file that was imported before
	TemporaryDirectory                string   // "": the system's
	BucketFolders                     []string // that buckets may keep files in
	QueryTimeout, TransactionTimeout  time.Duration
	QueryMemory                       int64    // bytes that all statements may hold; 0: a quarter of what there is
	AnalyzerFiles                     []string // directories that mapper filters of analyzers may read

	// Capabilities limit what any client may do, on top of its rights. See Allowed.
	AllowAll, DenyAll                   bool
	AllowScripting, DenyScripting       bool
	AllowGuests, DenyGuests             bool
	AllowFunctions, DenyFunctions       Names
	AllowNet, DenyNet                   Names
	AllowHTTP, DenyHTTP                 Names
	AllowRPC, DenyRPC                   Names
	AllowQuery, DenyQuery               Names
	AllowEval, DenyEval                 Names
	AllowExperimental, DenyExperimental Names

	// Lifecycle.
	DrainDelay        time.Duration // between the stop signal and the end of the listener
	ShutdownTimeout   time.Duration
	HeartbeatInterval time.Duration
	HeartbeatMaxAge   time.Duration // 0: three intervals

	Supervisor Supervisor // from the environment of the process

	Limits Limits

	// Log.
	LogLevel, LogFormat string
	LogFile             LogFile
	LogSocket           LogSocket
	LogOTLP             LogOTLP
	SlowThreshold       time.Duration
	SlowAllow, SlowDeny Names // parameters whose values may be logged
}

// LogFile is a copy of the log in files.
type LogFile struct {
	Enabled       bool
	Path, Name    string // directory, name of the file in it
	Format, Level string
	Rotation      string // daily, hourly or never
}

// LogSocket is a copy of the log on a socket.
type LogSocket struct {
	Address       string // HOST:PORT or unix:PATH; "" for none
	Format, Level string // Level "": that of the log
}

// LogOTLP is a copy of the log that goes to a collector of OpenTelemetry.
type LogOTLP struct {
	Endpoint string // base address of the collector; "": where the variables of OpenTelemetry say
	Provider string // otlp: send it, also without Endpoint
	Level    string // "": that of the log
}

// Limits bounds what comes from outside. Sizes are bytes.
type Limits struct {
	SQLBody, RPCBody, APIBody, GQLBody, KeyBody   int64
	SigninBody, SignupBody, ImportBody, ExportReq int64
	MLBody, MCPBody                               int64
	MCPTimeout                                    int // seconds; 0: none
	MCPResultBytes                                int64
	MCPRunArgs, MCPParamKeys, MCPTextBytes        int
	MCPSchemaTables, MCPSessions                  int
	ModelTensors, ModelCache                      int64 // of one call, and of all loaded models
	GQLPaths, GQLJoins, GQLRows                   int
	GraphQLBody                                   int64
	GraphQLBatch                                  int // requests of one body
	GraphQLDepth, GraphQLFields, GraphQLAliases   int // of one operation
	GraphQLEvents                                 int // waiting for one subscription
	WebSocketMessage                              int64
	WebSocketRequests                             int   // running at once on one connection
	WebSocketQueue                                int64 // bytes waiting to be sent on one connection
	WebSockets                                    int   // open at once
	WebSocketPing                                 time.Duration
	SendTimeout                                   time.Duration
	Transactions, SessionTransactions             int
	AttachedSessions                              int
	GRPCMessage                                   int64 // 0: RPCBody
	GRPCSessions                                  int   // attached, of all gRPC clients together
	GRPCNotifications                             int   // waiting for one subscriber
	HTTP2Streams                                  int   // at once on one connection
	Streams                                       int   // streaming queries at once on one connection
	Requests                                      int   // HTTP requests at once
	HeaderTimeout                                 time.Duration
	BodyRate                                      int64 // least bytes of a body in any BodyWindow
	BodyWindow                                    time.Duration
	Depth                                         int // nesting of values in messages
	PostgresConnections                           int // open at once on the PostgreSQL wire
	PostgresStartup                               time.Duration
	PostgresMessage                               int64
	PostgresStatements, PostgresPortals           int // of one connection
}

// Default is the configuration of a server that was told nothing.
func Default() *Config {
	return &Config{
		Path: "memory", Bind: "127.0.0.1:8000", ClientIP: "socket", TrustedProxies: 1,
		UIAddress:         "https://surrealist.app",
		DurableSessionTTL: 24 * time.Hour, DurableSessionGC: time.Minute,
		AuthRate: 10, AuthBurst: 30, ConnectionsPerAddress: 4096, TransactionTimeout: 5 * time.Minute,
		DefaultNamespace: "main", DefaultDatabase: "main",
		AllowFunctions: openNames(), AllowHTTP: openNames(), AllowRPC: openNames(), AllowQuery: openNames(),
		ShutdownTimeout: 30 * time.Second, HeartbeatInterval: 3 * time.Second,
		LogLevel: "info", LogFormat: "auto",
		LogFile:   LogFile{Path: "logs", Name: "nacre.log", Format: "text", Level: "info", Rotation: "daily"},
		LogSocket: LogSocket{Format: "text"},
		Limits: Limits{
			SQLBody: 1 << 20, RPCBody: 4 << 20, APIBody: 4 << 20, GQLBody: 1 << 20, KeyBody: 16 << 10,
			SigninBody: 1 << 10, SignupBody: 1 << 10, ImportBody: 4 << 30, ExportReq: 64 << 10, MLBody: 4 << 30,
			MCPBody:      4 << 20,
			ModelTensors: 256 << 20, ModelCache: 1 << 30,
			GQLPaths: 1_000_000, GQLJoins: 1_000_000, GQLRows: 1_000_000,
			GraphQLBody: 1 << 20, GraphQLBatch: 32, GraphQLDepth: 32, GraphQLFields: 1000, GraphQLAliases: 256,
			GraphQLEvents:    1024,
			WebSocketMessage: 128 << 20, WebSocketRequests: 256, WebSocketQueue: 8 << 20, WebSockets: 65536,
			WebSocketPing: 15 * time.Second, SendTimeout: 30 * time.Second,
			Transactions: 64, SessionTransactions: 64, AttachedSessions: 256, Streams: 32,
			GRPCSessions: 10_000, GRPCNotifications: 1024, HTTP2Streams: 256,
			Requests: 1 << 20, HeaderTimeout: 10 * time.Second, BodyRate: 30 << 10, BodyWindow: 30 * time.Second,
			Depth:      128,
			MCPTimeout: 60, MCPResultBytes: 256 << 10, MCPRunArgs: 64, MCPParamKeys: 256, MCPTextBytes: 4096,
			MCPSchemaTables:     200,
			MCPSessions:         10_000,
			PostgresConnections: 1024, PostgresStartup: 30 * time.Second, PostgresMessage: 16 << 20,
			PostgresStatements: 1024, PostgresPortals: 1024,
		},
	}
}

// openNames is everything, until somebody says otherwise.
func openNames() Names { return Names{All: true, Default: true} }

// Heartbeat is the age at which a heartbeat is stale.
func (c *Config) Heartbeat() time.Duration {
	if c.HeartbeatMaxAge > 0 {
		return c.HeartbeatMaxAge
	}
	return 3 * c.HeartbeatInterval
}
