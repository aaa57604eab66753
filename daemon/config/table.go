package config

import "time"

// Setting is a row of the table.
type Setting struct {
	Flag   string // name of the flag; "" for settings that have only a variable
	Short  string // one letter, or ""
	Also   []string
	Env    string // without prefix; "" for settings without variable
	EnvToo string // a second variable, of other servers, which Env wins over; or ""
	Group  string // heading in the help
	Help   string
	Secret bool   // masked when shown; also read from FLAG_FILE
	Unused string // of a setting that is taken and has no effect: why it has none
	NoArg  string // what the flag means without a value; "" where it needs one
	Value  Value
	Origin string // where the value came from: default, file, a variable, flag
}

// Groups of settings in the order of the help.
const (
	GroupServer   = "Server"
	GroupAuth     = "Authentication"
	GroupDatabase = "Database"
	GroupCaps     = "Capabilities"
	GroupLimits   = "Limits"
	GroupLog      = "Logging"
	GroupUnused   = "Taken for compatibility, without effect"
)

// Table is every setting, bound to c. The order is the order of the help.
func Table(c *Config) []*Setting {
	var t []*Setting
	t = append(t, serverSettings(c)...)
	t = append(t, authSettings(c)...)
	t = append(t, databaseSettings(c)...)
	t = append(t, capabilitySettings(c)...)
	t = append(t, limitSettings(c)...)
	t = append(t, logSettings(c)...)
	t = append(t, unusedSettings()...)
	for _, s := range t {
		s.Origin = "default"
		if v, ok := s.Value.(boolValue); ok && v.p != nil {
			s.NoArg = "true"
		}
	}
	return t
}

func serverSettings(c *Config) []*Setting {
	return []*Setting{
		{Flag: "bind", Short: "b", Env: "BIND", Group: GroupServer, Help: "Address and port to listen on",
			Value: stringValue{&c.Bind}},
		{Flag: "postgres-bind", Env: "POSTGRES_BIND", Group: GroupServer,
			Help: "Address and port to listen on for clients of the PostgreSQL wire, such as 127.0.0.1:5432 (default: none)", Value: stringValue{&c.PostgresBind}},
		{Flag: "config", Env: "CONFIG", Group: GroupServer, Help: "Configuration file (TOML) with settings under the names of their flags",
			Value: stringValue{&c.File}},
		{Flag: "web-crt", Env: "WEB_CRT", Group: GroupServer, Help: "Certificate file (PEM) for TLS",
			Value: stringValue{&c.WebCert}},
		{Flag: "web-key", Env: "WEB_KEY", Group: GroupServer, Help: "Private key file (PEM) for TLS",
			Value: stringValue{&c.WebKey}},
		{Flag: "allow-origin", Env: "ALLOW_ORIGIN", Group: GroupServer, Help: "Origins of the web pages that may call, such as https://app.example, or * for all (default: all; with --unauthenticated none but the server's own)",
			Value: listValue{&c.AllowOrigin}},
		{Flag: "mcp-read-only", Env: "MCP_READ_ONLY", Group: GroupServer,
			Help: "Tools of MCP only read: statements that would change anything are refused", Value: boolValue{&c.MCPReadOnly}},
		{Env: "MCP_ALLOWED_HOSTS", Group: GroupServer, Help: "Names under which /mcp answers, as the Host header has them, with or without port (default: localhost and loopback addresses)",
			Value: listValue{&c.MCPHosts}},
		{Env: "MCP_ALLOW_ALL_HOSTS", Group: GroupServer, Help: "Answer /mcp under every name",
			Value: boolValue{&c.MCPAllHosts}},
		{Flag: "client-ip", Env: "CLIENT_IP", Group: GroupServer, Help: "Where a client's address is taken from: none, socket, or a header that a proxy appends to or sets, such as X-Forwarded-For (its last entry, see --trusted-proxies)",
			Value: stringValue{&c.ClientIP}},
		{Flag: "trusted-proxies", Env: "TRUSTED_PROXIES", Group: GroupServer,
			Help: "How many proxies in a row append to the header of --client-ip: the client's address is so many entries from the right", Value: intValue{&c.TrustedProxies}},
		{Flag: "connections-per-address", Env: "CONNECTIONS_PER_ADDRESS", Group: GroupServer,
			Help: "Connections that one address (IPv6: one /64) may have open at once (0: no limit); raise it behind a proxy", Value: intValue{&c.ConnectionsPerAddress}},
		{Flag: "no-identification-headers", Env: "NO_IDENTIFICATION_HEADERS", Group: GroupServer,
			Help: "Do not send the server and version headers", Value: boolValue{&c.NoIdentificationHeaders}},
		{Flag: "no-banner", Env: "NO_BANNER", Group: GroupServer, Help: "Do not print the start banner",
			Value: boolValue{&c.NoBanner}},
		{Flag: "ui-address", Env: "UI_ADDRESS", Group: GroupServer, Help: "Where / redirects to",
			Value: stringValue{&c.UIAddress}},
		{Flag: "drain-delay", Env: "DRAIN_DELAY", Group: GroupServer, Help: "How long new requests are answered 503 after a stop signal, before the listener closes: as long as a load balancer takes to see that /ready says no",
			Value: durationValue{&c.DrainDelay}},
		{Flag: "shutdown-timeout", Env: "SHUTDOWN_TIMEOUT", Group: GroupServer,
			Help: "How long running statements may take after a stop signal", Value: durationValue{&c.ShutdownTimeout}},
		{Flag: "node-membership-refresh-interval", Env: "NODE_MEMBERSHIP_REFRESH_INTERVAL", Group: GroupServer,
			Help: "Interval of the node's heartbeat", Value: durationValue{&c.HeartbeatInterval}},
		{Flag: "readiness-heartbeat-max-age", Env: "READINESS_HEARTBEAT_MAX_AGE", Group: GroupServer,
			Help: "Age at which a heartbeat is stale (none: three intervals)", Value: durationValue{&c.HeartbeatMaxAge}},
	}
}

func authSettings(c *Config) []*Setting {
	return []*Setting{
		{Flag: "user", Short: "u", Also: []string{"username"}, Env: "USER", Group: GroupAuth,
			Help: "Name of the first root user", Value: stringValue{&c.User}},
		{Flag: "pass", Short: "p", Also: []string{"password"}, Env: "PASS", Group: GroupAuth,
			Help: "Password of the first root user", Secret: true, Value: stringValue{&c.Pass}},
		{Flag: "unauthenticated", Env: "UNAUTHENTICATED", Group: GroupAuth,
			Help: "Give every connection the rights of root", Value: boolValue{&c.Unauthenticated}},
		{Flag: "durable-sessions", Env: "DURABLE_SESSIONS", Group: GroupAuth,
			Help: "Keep the sessions that clients attach over HTTP in the store too, sealed by their ids: they outlive the server, and are the same at all servers of a store", Value: boolValue{&c.DurableSessions}},
		{Flag: "durable-session-ttl", Env: "DURABLE_SESSION_TTL", Group: GroupAuth,
			Help: "How long such a session lasts without a request", Value: durationValue{&c.DurableSessionTTL}},
		{Flag: "durable-session-gc-interval", Env: "DURABLE_SESSION_GC_INTERVAL", Group: GroupAuth,
			Help: "Interval at which those that have ended are removed", Value: durationValue{&c.DurableSessionGC}},
		{Flag: "auth-rate-limit", Env: "AUTH_RATE_LIMIT", Group: GroupAuth,
			Help: "Wrong passwords a minute for one user at one address (0: no limit); ten times as many for all users of the address", Value: intValue{&c.AuthRate}},
		{Flag: "auth-rate-burst", Env: "AUTH_RATE_BURST", Group: GroupAuth,
			Help: "Wrong passwords for one user that one address may try at once", Value: intValue{&c.AuthBurst}},
	}
}

func databaseSettings(c *Config) []*Setting {
	return []*Setting{
		{Env: "PATH", Group: GroupDatabase, Help: "Where the data is: memory, bolt://path, a path, or tikv://host:port",
			Value: stringValue{&c.Path}},
		{Flag: "kvs-ca", Env: "KVS_CA", Group: GroupDatabase, Help: "Certificate file (PEM) of the authority that knows the cluster of tikv://",
			Value: stringValue{&c.KVSCA}},
		{Flag: "kvs-crt", Env: "KVS_CRT", Group: GroupDatabase, Help: "Certificate file (PEM) to show to the cluster of tikv://",
			Value: stringValue{&c.KVSCert}},
		{Flag: "kvs-key", Env: "KVS_KEY", Group: GroupDatabase, Help: "Private key file (PEM) of --kvs-crt",
			Value: stringValue{&c.KVSKey}},
		{Flag: "default-namespace", Env: "DEFAULT_NAMESPACE", Group: GroupDatabase,
			Help: "Namespace created at the start", Value: stringValue{&c.DefaultNamespace}},
		{Flag: "default-database", Env: "DEFAULT_DATABASE", Group: GroupDatabase, Help: "Database created at the start",
			Value: stringValue{&c.DefaultDatabase}},
		{Flag: "no-defaults", Env: "NO_DEFAULTS", Group: GroupDatabase, Help: "Create neither",
			Value: boolValue{&c.NoDefaults}},
		{Flag: "strict", Short: "s", Env: "STRICT", Group: GroupDatabase,
			Help: "New databases refuse tables that are not defined", Value: boolValue{&c.Strict}},
		{Flag: "import-file", Env: "IMPORT_FILE", Group: GroupDatabase, Help: "File of statements to import before the server is ready; one that was imported before, by its content, is skipped",
			Value: stringValue{&c.ImportFile}},
		{Flag: "import-again", Env: "IMPORT_AGAIN", Group: GroupDatabase,
			Help: "Import the file of --import-file also when it was imported before", Value: boolValue{&c.ImportAgain}},
		{Flag: "temporary-directory", Env: "TEMPORARY_DIRECTORY", Group: GroupDatabase,
			Help: "Where temporary files are made (default: the system's)", Value: stringValue{&c.TemporaryDirectory}},
		{Env: "FILE_ALLOWLIST", Group: GroupDatabase, Help: "Directories that the mapper filters of analyzers may read",
			Value: listValue{&c.AnalyzerFiles}},
		{Flag: "bucket-folder-allowlist", Env: "BUCKET_FOLDER_ALLOWLIST", Group: GroupDatabase,
			Help: "Folders that buckets may keep files in (BACKEND 'file:/path'): /data/{ns}/{db}, or /data for buckets that root users define; none: in memory only", Value: foldersValue{&c.BucketFolders}},
		{Flag: "query-timeout", Env: "QUERY_TIMEOUT", Group: GroupDatabase, Help: "Longest time of one request",
			Value: durationValue{&c.QueryTimeout}},
		{Flag: "transaction-timeout", Env: "TRANSACTION_TIMEOUT", Group: GroupDatabase,
			Help: "Longest time of one transaction (none: no limit); one of a record user ends after a fifth of it without a request", Value: durationValue{&c.TransactionTimeout}},
		{Flag: "query-memory", Env: "QUERY_MEMORY", Group: GroupDatabase,
			Help: "Memory that all clients may hold together, an eighth of it before they sign in; 0: a quarter of the machine's or the container's", Value: sizeValue{&c.QueryMemory}},
	}
}

func capabilitySettings(c *Config) []*Setting {
	return []*Setting{
		{Flag: "allow-all", Short: "A", Env: "CAPS_ALLOW_ALL", Group: GroupCaps,
			Help: "Allow every capability that is not denied", Value: boolValue{&c.AllowAll}},
		{Flag: "deny-all", Short: "D", Env: "CAPS_DENY_ALL", Group: GroupCaps,
			Help: "Deny every capability that is not allowed by name", Value: boolValue{&c.DenyAll}},
		{Flag: "allow-scripting", Env: "CAPS_ALLOW_SCRIPT", Group: GroupCaps, Help: "Allow embedded scripts",
			Value: boolValue{&c.AllowScripting}},
		{Flag: "deny-scripting", Env: "CAPS_DENY_SCRIPT", Group: GroupCaps, Help: "Deny embedded scripts",
			Value: boolValue{&c.DenyScripting}},
		{Flag: "deny-guests", Env: "CAPS_DENY_GUESTS", Group: GroupCaps, Help: "Deny statements to clients without an identity",
			Value: boolValue{&c.DenyGuests}},
		{Flag: "allow-funcs", Env: "CAPS_ALLOW_FUNC", Group: GroupCaps, Help: "Functions that may be called",
			NoArg: "all", Value: namesValue{&c.AllowFunctions}},
		{Flag: "deny-funcs", Env: "CAPS_DENY_FUNC", Group: GroupCaps, Help: "Functions that may not", NoArg: "all",
			Value: namesValue{&c.DenyFunctions}},
		{Flag: "allow-net", Env: "CAPS_ALLOW_NET", Group: GroupCaps, Help: "Hosts that functions may call",
			NoArg: "all", Value: namesValue{&c.AllowNet}},
		{Flag: "deny-net", Env: "CAPS_DENY_NET", Group: GroupCaps, Help: "Hosts that functions may not call",
			NoArg: "all", Value: namesValue{&c.DenyNet}},
		{Flag: "allow-arbitrary-query", Env: "CAPS_ALLOW_ARBITRARY_QUERY", Group: GroupCaps,
			Help: "Who may send statements: guest, record, system", NoArg: "all", Value: namesValue{&c.AllowQuery}},
		{Flag: "deny-arbitrary-query", Env: "CAPS_DENY_ARBITRARY_QUERY", Group: GroupCaps, Help: "Who may not",
			NoArg: "all", Value: namesValue{&c.DenyQuery}},
		{Flag: "allow-eval-query", Env: "CAPS_ALLOW_EVAL_QUERY", Group: GroupCaps,
			Help: "Whose statements may run texts by eval::surql: guest, record, system (not part of --allow-all)", NoArg: "all", Value: namesValue{&c.AllowEval}},
		{Flag: "deny-eval-query", Env: "CAPS_DENY_EVAL_QUERY", Group: GroupCaps, Help: "Whose may not", NoArg: "all",
			Value: namesValue{&c.DenyEval}},
		{Flag: "allow-guests", Env: "CAPS_ALLOW_GUESTS", Group: GroupCaps,
			Help: "Let clients without an identity run statements", Value: boolValue{&c.AllowGuests}},
		{Flag: "allow-http", Env: "CAPS_ALLOW_HTTP", Group: GroupCaps, Help: "HTTP routes that are open", NoArg: "all",
			Value: namesValue{&c.AllowHTTP}},
		{Flag: "deny-http", Env: "CAPS_DENY_HTTP", Group: GroupCaps, Help: "HTTP routes that are closed", NoArg: "all",
			Value: namesValue{&c.DenyHTTP}},
		{Flag: "allow-rpc", Env: "CAPS_ALLOW_RPC", Group: GroupCaps, Help: "RPC methods that are offered", NoArg: "all",
			Value: namesValue{&c.AllowRPC}},
		{Flag: "deny-rpc", Env: "CAPS_DENY_RPC", Group: GroupCaps, Help: "RPC methods that are not", NoArg: "all",
			Value: namesValue{&c.DenyRPC}},
		{Flag: "allow-experimental", Env: "CAPS_ALLOW_EXPERIMENTAL", Group: GroupCaps,
			Help: "Experimental features that are on (files, …)", NoArg: "all", Value: namesValue{&c.AllowExperimental}},
		{Flag: "deny-experimental", Env: "CAPS_DENY_EXPERIMENTAL", Group: GroupCaps,
			Help: "Experimental features that are off", NoArg: "all", Value: namesValue{&c.DenyExperimental}},
	}
}

func limitSettings(c *Config) []*Setting {
	l := &c.Limits
	size := func(env, help string, p *int64) *Setting {
		return &Setting{Env: env, Group: GroupLimits, Help: help, Value: sizeValue{p}}
	}
	count := func(env, help string, p *int) *Setting {
		return &Setting{Env: env, Group: GroupLimits, Help: help, Value: intValue{p}}
	}
	return []*Setting{
		size("HTTP_MAX_SQL_BODY_SIZE", "Largest body of POST /sql", &l.SQLBody),
		size("HTTP_MAX_GQL_BODY_SIZE", "Largest body of POST /gql", &l.GQLBody),
		count("GQL_MAX_PATH_ROWS", "Paths that a quantified pattern of GQL may have from one row", &l.GQLPaths),
		count("GQL_MAX_JOIN_BUILD_ROWS", "Rows that a GQL program may hold to compare them", &l.GQLJoins),
		count("GQL_MAX_OUTPUT_ROWS", "Rows that the patterns of a GQL program may find", &l.GQLRows),
		size("HTTP_MAX_GRAPHQL_BODY_SIZE", "Largest body of POST /graphql, and message of its WebSockets", &l.GraphQLBody),
		count("GRAPHQL_MAX_BATCH", "Requests of one body of POST /graphql", &l.GraphQLBatch),
		count("GRAPHQL_MAX_DEPTH", "Nested selections of a GraphQL operation", &l.GraphQLDepth),
		count("GRAPHQL_MAX_FIELDS", "Fields that a GraphQL operation may select", &l.GraphQLFields),
		count("GRAPHQL_MAX_ALIASES", "Fields that a GraphQL operation may rename", &l.GraphQLAliases),
		count("GQL_SUBSCRIPTION_CHANNEL_CAPACITY", "Events that may wait for one GraphQL subscription; further ones are dropped", &l.GraphQLEvents),
		size("HTTP_MAX_RPC_BODY_SIZE", "Largest body of POST /rpc", &l.RPCBody),
		size("HTTP_MAX_MCP_BODY_SIZE", "Largest body of POST /mcp, and line of nacre mcp", &l.MCPBody),
		count("MCP_QUERY_TIMEOUT_SECS", "Seconds that one call of an MCP tool may take (0: no limit)", &l.MCPTimeout),
		size("MCP_MAX_RESULT_BYTES", "Bytes of the value of one statement that an MCP tool answers (0: no limit)", &l.MCPResultBytes),
		count("MCP_RUN_MAX_ARGS", "Arguments of the MCP tool run", &l.MCPRunArgs),
		count("MCP_PARAMS_MAX_KEYS", "Keys of the parameters of an MCP tool", &l.MCPParamKeys),
		count("MCP_PARAMS_MAX_QL_BYTES", "Bytes of one typed value ($ql) in the arguments of an MCP tool", &l.MCPTextBytes),
		count("MCP_SCHEMA_RESOURCE_MAX_TABLES", "Tables that the schema resource of MCP describes", &l.MCPSchemaTables),
		count("MCP_MAX_SESSIONS", "MCP sessions at once over HTTP", &l.MCPSessions),
		size("HTTP_MAX_API_BODY_SIZE", "Largest body of /api", &l.APIBody),
		size("HTTP_MAX_KEY_BODY_SIZE", "Largest body of /key", &l.KeyBody),
		size("HTTP_MAX_SIGNIN_BODY_SIZE", "Largest body of POST /signin", &l.SigninBody),
		size("HTTP_MAX_SIGNUP_BODY_SIZE", "Largest body of POST /signup", &l.SignupBody),
		size("HTTP_MAX_IMPORT_BODY_SIZE", "Largest body of POST /import", &l.ImportBody),
		size("HTTP_MAX_ML_BODY_SIZE", "Largest body of POST /ml/import", &l.MLBody),
		size("ML_MAX_TENSOR_SIZE", "Memory for the tensors of one call of a model", &l.ModelTensors),
		size("ML_CACHE_SIZE", "Memory for loaded models, and the size of the largest one", &l.ModelCache),
		size("WEBSOCKET_MAX_MESSAGE_SIZE", "Largest message on a WebSocket", &l.WebSocketMessage),
		count("WEBSOCKET_MAX_CONCURRENT_REQUESTS", "Requests running at once on one WebSocket", &l.WebSocketRequests),
		size("WEBSOCKET_MAX_QUEUE_SIZE", "Bytes of answers waiting for one slow client", &l.WebSocketQueue),
		count("WEBSOCKET_MAX_CONNECTIONS", "WebSockets open at once", &l.WebSockets),
		{Env: "WEBSOCKET_PING_INTERVAL", Group: GroupLimits, Help: "Interval of pings to silent clients; a peer whose system acknowledges nothing for four of them is closed",
			Value: durationValue{&l.WebSocketPing}},
		{Env: "WEBSOCKET_STREAM_SEND_TIMEOUT", Group: GroupLimits, Help: "How long a client may take to accept an answer",
			Value: durationValue{&l.SendTimeout}},
		count("MAX_TRANSACTIONS_PER_CONNECTION", "Open transactions of one connection", &l.Transactions),
		count("MAX_TRANSACTIONS_PER_SESSION", "Open transactions of one attached session", &l.SessionTransactions),
		count("MAX_ATTACHED_SESSIONS", "Attached sessions of one connection", &l.AttachedSessions),
		count("WEBSOCKET_MAX_CONCURRENT_STREAMS", "Streaming queries at once on one WebSocket", &l.Streams),
		size("GRPC_MAX_MESSAGE_SIZE", "Largest message of gRPC in either direction; 0: the limit of POST /rpc", &l.GRPCMessage),
		count("GRPC_MAX_ATTACHED_SESSIONS", "Sessions that all gRPC clients together may attach", &l.GRPCSessions),
		count("GRPC_NOTIFICATION_BUFFER", "Notifications waiting for one slow subscriber of a live query over gRPC; one more ends its subscription", &l.GRPCNotifications),
		count("HTTP2_MAX_CONCURRENT_STREAMS", "Requests at once on one HTTP/2 connection, gRPC calls among them", &l.HTTP2Streams),
		count("NET_MAX_CONCURRENT_REQUESTS", "HTTP requests at once", &l.Requests),
		{Env: "HTTP_HEADER_TIMEOUT", Group: GroupLimits, Help: "How long a request's headers may take",
			Value: durationValue{&l.HeaderTimeout}},
		{Env: "HTTP_BODY_WINDOW", Group: GroupLimits, Help: "Time in which a body must make progress",
			Value: durationValue{&l.BodyWindow}},
		size("HTTP_BODY_MIN_PROGRESS", "Bytes of a body that count as progress", &l.BodyRate),
		count("POSTGRES_MAX_CONNECTIONS", "Connections open at once on the PostgreSQL wire", &l.PostgresConnections),
		{Env: "POSTGRES_STARTUP_TIMEOUT", Group: GroupLimits, Help: "How long a client of the PostgreSQL wire may take to sign in",
			Value: durationValue{&l.PostgresStartup}},
		size("POSTGRES_MAX_MESSAGE_SIZE", "Largest message on the PostgreSQL wire", &l.PostgresMessage),
		count("POSTGRES_MAX_PREPARED_STATEMENTS", "Prepared statements of one connection of the PostgreSQL wire", &l.PostgresStatements),
		count("POSTGRES_MAX_PORTALS", "Portals and cursors of one connection of the PostgreSQL wire", &l.PostgresPortals),
		count("MAX_MESSAGE_DEPTH", "Nesting of values in messages", &l.Depth),
	}
}

func logSettings(c *Config) []*Setting {
	return []*Setting{
		{Flag: "log", Short: "l", Env: "LOG", Group: GroupLog, Help: "Level: none, full, error, warn, info, debug, trace",
			Value: stringValue{&c.LogLevel}},
		{Flag: "log-format", Env: "LOG_FORMAT", Group: GroupLog, Help: "Form of log lines: text, json, or auto: text on a terminal and json elsewhere",
			Value: stringValue{&c.LogFormat}},
		{Flag: "log-file-enabled", Env: "LOG_FILE_ENABLED", Group: GroupLog, Help: "Write the log to a file as well",
			Value: boolValue{&c.LogFile.Enabled}},
		{Flag: "log-file-path", Env: "LOG_FILE_PATH", Group: GroupLog, Help: "Directory of the log file",
			Value: stringValue{&c.LogFile.Path}},
		{Flag: "log-file-name", Env: "LOG_FILE_NAME", Group: GroupLog, Help: "Name of the log file",
			Value: stringValue{&c.LogFile.Name}},
		{Flag: "log-file-format", Env: "LOG_FILE_FORMAT", Group: GroupLog, Help: "Form of its lines: text or json",
			Value: stringValue{&c.LogFile.Format}},
		{Flag: "log-file-level", Env: "LOG_FILE_LEVEL", Group: GroupLog, Help: "Its level, as --log",
			Value: stringValue{&c.LogFile.Level}},
		{Flag: "log-file-rotation", Env: "LOG_FILE_ROTATION", Group: GroupLog,
			Help: "When a new file begins: daily, hourly or never (UTC); the old one gets the time in its name", Value: stringValue{&c.LogFile.Rotation}},
		{Flag: "log-socket", Env: "LOG_SOCKET", Group: GroupLog,
			Help:  "Send the log to HOST:PORT by TCP, or to unix:PATH, as well; lines are dropped while no program receives them",
			Value: stringValue{&c.LogSocket.Address}},
		{Flag: "log-socket-format", Env: "LOG_SOCKET_FORMAT", Group: GroupLog, Help: "Form of its lines: text or json",
			Value: stringValue{&c.LogSocket.Format}},
		{Flag: "log-socket-level", Env: "LOG_SOCKET_LEVEL", Group: GroupLog,
			Help: "Its level, as --log (default: that of --log)", Value: stringValue{&c.LogSocket.Level}},
		{Flag: "log-otel-endpoint", Env: "LOG_OTEL_ENDPOINT", Group: GroupLog,
			Help: "Send the log to the OpenTelemetry collector at this address as well, such as http://localhost:4318 " +
				"(OTLP over HTTP in JSON); the other variables of OpenTelemetry hold, too",
			Value: stringValue{&c.LogOTLP.Endpoint}},
		{Flag: "log-otel-level", Env: "LOG_OTEL_LEVEL", Group: GroupLog,
			Help: "Level of what is sent there, as --log (default: that of --log)", Value: levelValue{&c.LogOTLP.Level}},
		{Env: "TELEMETRY_PROVIDER", Group: GroupLog,
			Help: "otlp: send the log, and spans of requests and statements, to where OTEL_EXPORTER_OTLP_ENDPOINT says", Value: providerValue{&c.LogOTLP.Provider}},
		{Flag: "slow-log-threshold", Env: "SLOW_LOG_THRESHOLD", EnvToo: "SLOW_QUERY_LOG_THRESHOLD", Group: GroupLog,
			Help:  "Log queries that take longer; a number alone is milliseconds",
			Value: millisValue{durationValue{&c.SlowThreshold}}},
		{Flag: "slow-log-param-allow", Env: "SLOW_LOG_PARAM_ALLOW", EnvToo: "SLOW_QUERY_LOG_PARAM_ALLOW",
			Group: GroupLog,
			Help:  "Parameters whose values may be logged with them", NoArg: "all", Value: namesValue{&c.SlowAllow}},
		{Flag: "slow-log-param-deny", Env: "SLOW_LOG_PARAM_DENY", EnvToo: "SLOW_QUERY_LOG_PARAM_DENY", Group: GroupLog,
			Help: "Parameters whose values may not", NoArg: "all", Value: namesValue{&c.SlowDeny}},
	}
}

// unusedSettings are those of other servers of the protocol about work that this one does not do. They are taken, so
// that a service moves over with its command line, and each one that is set is told of at the start.
func unusedSettings() []*Setting {
	unused := func(flag, env, reason string) *Setting {
		return &Setting{Flag: flag, Env: env, Group: GroupUnused, Help: reason, Unused: reason,
			Value: durationValue{new(time.Duration)}}
	}
	events := unused("async-event-interval", "ASYNC_EVENT_PROCESSING_INTERVAL",
		"ASYNC events run right after their commit")
	events.Also = []string{"async-event-processing-interval"}
	return []*Setting{
		unused("node-membership-check-interval", "NODE_MEMBERSHIP_CHECK_INTERVAL",
			"Servers that share a store look for each other every 2 s"),
		unused("node-membership-cleanup-interval", "NODE_MEMBERSHIP_CLEANUP_INTERVAL",
			"Servers that share a store drop those that are gone when they look for each other"),
		unused("changefeed-gc-interval", "CHANGEFEED_GC_INTERVAL", "Writes to a table drop what has expired of its changefeed"),
		unused("index-compaction-interval", "INDEX_COMPACTION_INTERVAL", "Indexes are compacted when many changes have gathered, at no interval"),
		events,
		unused("graph-fold-interval", "GRAPH_FOLD_INTERVAL", "Each edge has keys of its own, which are never folded"),
	}
}
