// Package config holds the settings of the memory service for the whole server: one table of variables with defaults,
// limits and the file that may set them. A bad value is an error that names its variable; nothing starts half
// configured.
package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Prefix begins the name of every variable. AliasPrefix is read where the first is not set.
const (
	Prefix      = "MEMSVC_"
	AliasPrefix = "NACRE_MEMSVC_"
)

// MaxQueryK is the ceiling of k and limit that no setting raises.
const MaxQueryK = 50

// LocalEmbedding is the embedding model that needs no network.
const LocalEmbedding = "local/nacre-3072-1"

// EmbeddingWidth is the number of dimensions of every embedding.
const EmbeddingWidth = 3072

// Roles of a server.
const (
	RoleAPI        = "api"
	RoleWorker     = "worker"
	RoleScheduler  = "scheduler"
	RoleManagement = "management"
)

// Endpoint is one HTTP provider of a modality: unset where URL is "".
type Endpoint struct{ URL, Model, Key string }

// Provider is one language model provider.
type Provider struct {
	Key, BaseURL, Wire string
	Models             []string
	// Custom is whether the base address was set: then the key may be empty.
	Custom bool
}

// Reachable reports whether calls to the provider may work without a key of a Context.
func (p Provider) Reachable() bool { return p.Key != "" || p.Custom }

// Config is the effective settings.
type Config struct {
	Bind                          string
	DBURL, DBUser, DBPass         string
	ObjectStore                   string
	LLMModel, LLMProvider         string
	Embedding                     string
	Providers                     map[string]Provider
	Embeddings                    Provider
	Reranker, OCR, CLIP, STT      Endpoint
	OCRLocal                      bool
	CORS, ManagementCORS          []string
	PageSize, MaxList, MaxK, Pool int
	SectionExpansion              bool
	MaxMessage                    int64
	TraceFeatureTTL               int // seconds
	ManagementKey, APIKey         string
	FSView                        bool
	MaxUpload                     int64
	RatePerMinute                 int
	LogLevel, LogFormat           string
	OTLP                          string
	ContextBaseURL                bool
	ContextPrivate                bool // such an address may be of a private network
	MetricsPerContext             bool
	IndexBytes                    int64
	Roles                         []string

	// Warnings are settings that were changed into something allowed.
	Warnings []string
}

// Setting is one variable. Set reads its text; a file uses the name without prefix in lower case.
type Setting struct {
	Name, Default, Help string
	Secret              bool
	set                 func(*Config, string) error
}

// ProviderNames are the language model providers, the implicit default first.
var ProviderNames = []string{"alpha", "beta", "gamma"}

var providerDefaults = map[string]Provider{
	"alpha": {BaseURL: "https://api.openai.com/v1", Wire: "openai"},
	"beta":  {BaseURL: "https://api.anthropic.com", Wire: "anthropic"},
	"gamma": {BaseURL: "https://generativelanguage.googleapis.com", Wire: "google"},
}

// Table is every setting, in the order of the documentation.
func Table() []Setting {
	t := []Setting{
		str("BIND", "0.0.0.0:8080", "listen address and port", func(c *Config) *string { return &c.Bind }),
		str("SURREALDB_URL", "", "database: embedded://DIR, ws://, wss://, http:// or https://HOST:PORT (required)", func(c *Config) *string { return &c.DBURL }),
		str("SURREALDB_USER", "", "database user (required, but for an embedded database)",
			func(c *Config) *string { return &c.DBUser }),
		secret("SURREALDB_PASS", "database password (required, but for an embedded database)",
			func(c *Config) *string { return &c.DBPass }),
		str("OBJECT_STORE", "local://./data", "object store of uploads",
			func(c *Config) *string { return &c.ObjectStore }),
		str("LLM_MODEL", "", "model of stages that no Context selects one for", func(c *Config) *string { return &c.LLMModel }),
		choice("LLM_PROVIDER", "", "provider of stages that no Context selects one for: alpha, beta or gamma", ProviderNames,
			func(c *Config) *string { return &c.LLMProvider }),
		str("MODEL_EMBEDDING", "", "the one embedding model; a change asks for a reindex; unset: "+LocalEmbedding+
			", or the 3072-dimensional model of the wire where an embeddings key or address is set",
			func(c *Config) *string { return &c.Embedding }),
		secret("EMBEDDINGS_API_KEY", "key for embeddings", func(c *Config) *string { return &c.Embeddings.Key }),
		web("EMBEDDINGS_BASE_URL", "address of the embeddings provider",
			func(c *Config) *string { return &c.Embeddings.BaseURL }),
		choice("EMBEDDINGS_WIRE", "openai", "wire of the embeddings provider: openai or google", []string{"openai", "google"},
			func(c *Config) *string { return &c.Embeddings.Wire }),
		origins("CORS_ALLOWED_ORIGINS", "origins that browsers may call the user API from",
			func(c *Config) *[]string { return &c.CORS }),
		origins("MANAGEMENT_CORS_ALLOWED_ORIGINS", "the same for the management API",
			func(c *Config) *[]string { return &c.ManagementCORS }),
		count("DEFAULT_PAGE_SIZE", 100, 1, 10000, "rows of a list where no limit is asked",
			func(c *Config) *int { return &c.PageSize }),
		count("MAX_LIST_LIMIT", 500, 1, 10000, "most rows of a list", func(c *Config) *int { return &c.MaxList }),
		count("MAX_QUERY_K", MaxQueryK, 1, 1<<30, "most hits of a query; never above 50",
			func(c *Config) *int { return &c.MaxK }),
		count("RETRIEVAL_POOL_SIZE", 256, 1, 4096, "candidates of each way of retrieval",
			func(c *Config) *int { return &c.Pool }),
		flag("RETRIEVAL_SECTION_EXPANSION", true, "add passages of the same section to contextHits",
			func(c *Config) *bool { return &c.SectionExpansion }),
		size("DB_WS_MAX_MESSAGE_BYTES", 128<<20, 1<<10, "most bytes of a message from the database",
			func(c *Config) *int64 { return &c.MaxMessage }),
		{Name: "TRACE_FEATURE_TTL_SECS", Default: "60", Help: "seconds that what the traces of a region tell is cached; 0 or nonsense is 60",
			set: setTraceTTL},
		secret("MANAGEMENT_API_KEY", "management key that bootstrap uses instead of a new one",
			func(c *Config) *string { return &c.ManagementKey }),
		secret("API_KEY", "first key of the first Context that bootstrap uses instead of a new one", func(c *Config) *string { return &c.APIKey }),
		flag("FS_VIEW", true, "show memory as a tree of MCP resources", func(c *Config) *bool { return &c.FSView }),
		size("MAX_UPLOAD_BYTES", 50<<20, 1, "most bytes of an uploaded document",
			func(c *Config) *int64 { return &c.MaxUpload }),
		count("RATE_LIMIT_PER_MINUTE", 0, 0, 1<<30, "requests a key may make in a minute; 0 is no limit",
			func(c *Config) *int { return &c.RatePerMinute }),
		choice("LOG_LEVEL", "info", "debug, info, warn or error", []string{"debug", "info", "warn", "error"},
			func(c *Config) *string { return &c.LogLevel }),
		choice("LOG_FORMAT", "text", "text or json", []string{"text", "json"},
			func(c *Config) *string { return &c.LogFormat }),
		web("OTLP_ENDPOINT", "collector of traces (OTLP over HTTP, such as http://HOST:4318); unset: none",
			func(c *Config) *string { return &c.OTLP }),
		flag("ALLOW_CONTEXT_BASE_URL", false, "let a Context name the address of its provider",
			func(c *Config) *bool { return &c.ContextBaseURL }),
		flag("CONTEXT_PRIVATE_ADDRESS", true, "let that address be one of this machine or of a private network",
			func(c *Config) *bool { return &c.ContextPrivate }),
		flag("METRICS_PER_CONTEXT", false, "label metrics with the Context",
			func(c *Config) *bool { return &c.MetricsPerContext }),
		flag("OCR_LOCAL", false, "read text in images by tesseract, which must be installed; OCR_URL goes first",
			func(c *Config) *bool { return &c.OCRLocal }),
		size("INDEX_CACHE_BYTES", 256<<20, 1<<20, "memory of the search indexes of all Contexts together",
			func(c *Config) *int64 { return &c.IndexBytes }),
	}
	for _, m := range []struct {
		name, what string
		at         func(*Config) *Endpoint
	}{
		{"RERANKER", "reranker", func(c *Config) *Endpoint { return &c.Reranker }},
		{"OCR", "text recognition", func(c *Config) *Endpoint { return &c.OCR }},
		{"CLIP", "visual embeddings", func(c *Config) *Endpoint { return &c.CLIP }},
		{"STT", "speech to text", func(c *Config) *Endpoint { return &c.STT }},
	} {
		t = append(t,
			web(m.name+"_URL", "POST endpoint of "+m.what, func(c *Config) *string { return &m.at(c).URL }),
			str(m.name+"_MODEL", "", "model of "+m.what+", required with the URL",
				func(c *Config) *string { return &m.at(c).Model }),
			secret(m.name+"_API_KEY", "bearer token of "+m.what, func(c *Config) *string { return &m.at(c).Key }))
	}
	for _, p := range ProviderNames {
		t = append(t, providerSettings(p)...)
	}
	return t
}

// wireEmbedding are the models of 3072 dimensions that the public providers of each wire offer.
var wireEmbedding = map[string]string{"openai": "text-embedding-3-large", "google": "gemini-embedding-001"}

func providerSettings(name string) []Setting {
	at := func(c *Config, change func(*Provider)) {
		p := c.Providers[name]
		change(&p)
		c.Providers[name] = p
	}
	up, def := "PROVIDER_"+strings.ToUpper(name), providerDefaults[name]
	return []Setting{
		{Name: up + "_API_KEY", Help: "key of provider " + name, Secret: true, set: func(c *Config, s string) error {
			at(c, func(p *Provider) { p.Key = s })
			return nil
		}},
		{Name: up + "_BASE_URL", Default: def.BaseURL, Help: "address of provider " + name,
			set: func(c *Config, s string) error {
				at(c, func(p *Provider) { p.BaseURL, p.Custom = strings.TrimSuffix(s, "/"), s != def.BaseURL })
				return checkURL(s)
			}},
		{Name: up + "_WIRE", Default: def.Wire, Help: "wire of provider " + name + ": openai, anthropic or google",
			set: func(c *Config, s string) error {
				at(c, func(p *Provider) { p.Wire = s })
				return oneOf(s, []string{"openai", "anthropic", "google"})
			}},
		{Name: up + "_MODELS", Help: "models of provider " + name + " that may be selected, by commas",
			set: func(c *Config, s string) error {
				at(c, func(p *Provider) { p.Models = list(s) })
				return nil
			}},
	}
}

func str(name, def, help string, at func(*Config) *string) Setting {
	return Setting{Name: name, Default: def, Help: help,
		set: func(c *Config, s string) error { *at(c) = s; return nil }}
}

func secret(name, help string, at func(*Config) *string) Setting {
	s := str(name, "", help, at)
	s.Secret = true
	return s
}

func choice(name, def, help string, words []string, at func(*Config) *string) Setting {
	return Setting{Name: name, Default: def, Help: help, set: func(c *Config, s string) error {
		*at(c) = s
		return oneOf(s, words)
	}}
}

func web(name, help string, at func(*Config) *string) Setting {
	return Setting{Name: name, Help: help, set: func(c *Config, s string) error {
		*at(c) = strings.TrimSuffix(s, "/")
		return checkURL(s)
	}}
}

func count(name string, def, low, high int, help string, at func(*Config) *int) Setting {
	return Setting{Name: name, Default: strconv.Itoa(def), Help: help, set: func(c *Config, s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return fmt.Errorf("want a number from %d to %d", low, high)
		}
		*at(c) = n
		return nil
	}}
}

func size(name string, def, low int64, help string, at func(*Config) *int64) Setting {
	return Setting{Name: name, Default: strconv.FormatInt(def, 10), Help: help, set: func(c *Config, s string) error {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < low {
			return fmt.Errorf("want a number of bytes, at least %d", low)
		}
		*at(c) = n
		return nil
	}}
}

func flag(name string, def bool, help string, at func(*Config) *bool) Setting {
	return Setting{Name: name, Default: strconv.FormatBool(def), Help: help, set: func(c *Config, s string) error {
		switch strings.ToLower(s) {
		case "1", "true", "on", "yes":
			*at(c) = true
		case "0", "false", "off", "no":
			*at(c) = false
		default:
			return errors.New("want true or false")
		}
		return nil
	}}
}

func origins(name, help string, at func(*Config) *[]string) Setting {
	return Setting{Name: name, Help: help, set: func(c *Config, s string) error {
		var err error
		*at(c), err = ParseOrigins(s)
		return err
	}}
}

// setTraceTTL takes what is no positive number for the default, as the specification says.
func setTraceTTL(c *Config, s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		n = 60
	}
	c.TraceFeatureTTL = n
	return nil
}

// ParseOrigins reads a list of origins. A pattern that matches every site is refused.
func ParseOrigins(s string) ([]string, error) {
	var out []string
	for _, o := range list(s) {
		o = strings.TrimSuffix(strings.ToLower(o), "/")
		if o == "*" || o == "https://*" || o == "http://*" {
			return nil, fmt.Errorf("%q would allow every site", o)
		}
		if !strings.Contains(o, "://") {
			return nil, fmt.Errorf("%q is not an origin (scheme://host)", o)
		}
		out = append(out, o)
	}
	return out, nil
}

// OriginAllowed reports whether a list from ParseOrigins allows the value of an Origin header. A * stands for one or
// more characters other than a slash.
func OriginAllowed(allowed []string, origin string) bool {
	for _, a := range allowed {
		if a == origin {
			return true
		}
		if strings.Contains(a, "*") {
			parts := strings.Split(a, "*")
			for i := range parts {
				parts[i] = regexp.QuoteMeta(parts[i])
			}
			if regexp.MustCompile("^" + strings.Join(parts, "[^/]+") + "$").MatchString(origin) {
				return true
			}
		}
	}
	return false
}

func list(s string) []string {
	var out []string
	for _, e := range strings.Split(s, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

func oneOf(s string, words []string) error {
	for _, w := range words {
		if s == w {
			return nil
		}
	}
	return fmt.Errorf("want one of %s", strings.Join(words, ", "))
}

func checkURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("want an http:// or https:// address")
	}
	return nil
}

// Load reads the file (where path is not "") and the environment, which wins, and checks the whole.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	file, err := readFile(path)
	if err != nil {
		return nil, err
	}
	c := &Config{Providers: map[string]Provider{}}
	for name, p := range providerDefaults {
		c.Providers[name] = p
	}
	var bad []error
	for _, s := range Table() {
		text := value(s, file, env)
		if text == "" {
			continue
		}
		if err := s.set(c, text); err != nil {
			bad = append(bad, fmt.Errorf("%s%s: %w", Prefix, s.Name, err))
		}
	}
	for name := range file {
		bad = append(bad, fmt.Errorf("%s: no such setting: %s", path, name))
	}
	sort.Slice(bad, func(i, j int) bool { return bad[i].Error() < bad[j].Error() })
	if len(bad) > 0 {
		return nil, errors.Join(bad...)
	}
	return c, c.check()
}

// value is the text of a setting: environment, file (the entry is taken out of it), default.
func value(s Setting, file map[string]any, env func(string) (string, bool)) string {
	text := s.Default
	for _, name := range []string{strings.ToLower(s.Name), Prefix + s.Name} {
		if v, ok := file[name]; ok {
			text = fileText(v)
			delete(file, name)
		}
	}
	names := []string{Prefix + s.Name, AliasPrefix + s.Name}
	if db, ok := strings.CutPrefix(s.Name, "SURREALDB_"); ok {
		names = append(names, Prefix+"DB_"+db)
	}
	for _, name := range names {
		if v, ok := env(name); ok && v != "" {
			return v
		}
	}
	return text
}

func fileText(v any) string {
	if l, ok := v.([]any); ok {
		parts := make([]string, len(l))
		for i, e := range l {
			parts[i] = fmt.Sprint(e)
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v)
}

func readFile(path string) (map[string]any, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var m map[string]any
	if err := toml.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	out := map[string]any{}
	flatten("", m, out)
	return out, nil
}

// flatten joins the names of tables and settings: url of the table [reranker] is reranker_url. The table [memsvc] is
// that of all settings.
func flatten(table string, m, into map[string]any) {
	for name, v := range m {
		full := table + name
		inner, ok := v.(map[string]any)
		switch {
		case !ok:
			into[full] = v
		case full == strings.ToLower(strings.TrimSuffix(Prefix, "_")):
			flatten("", inner, into)
		default:
			flatten(full+"_", inner, into)
		}
	}
}

// check holds the rules over several settings, and clamps.
func (c *Config) check() error {
	var bad []error
	need := func(ok bool, name, why string) {
		if !ok {
			bad = append(bad, fmt.Errorf("%s%s: %s", Prefix, name, why))
		}
	}
	need(c.DBURL != "", "SURREALDB_URL", "required: embedded://DIR, or the address of a database")
	if c.DBURL != "" && !c.Embedded() {
		u, err := url.Parse(c.DBURL)
		ok := err == nil && u.Host != "" && oneOf(u.Scheme, []string{"ws", "wss", "http", "https"}) == nil
		need(ok, "SURREALDB_URL", "want embedded://DIR, or ws://, wss://, http:// or https://HOST:PORT")
		need(c.DBUser != "", "SURREALDB_USER", "required")
		need(c.DBPass != "", "SURREALDB_PASS", "required")
	}
	for _, m := range []struct {
		name string
		e    Endpoint
	}{{"RERANKER", c.Reranker}, {"OCR", c.OCR}, {"CLIP", c.CLIP}, {"STT", c.STT}} {
		need(m.e.URL == "" || m.e.Model != "", m.name+"_MODEL", "required when "+Prefix+m.name+"_URL is set")
	}
	if c.Embedding == "" {
		c.Embedding = LocalEmbedding
		if c.Embeddings.Key != "" || c.Embeddings.BaseURL != "" {
			c.Embedding = wireEmbedding[c.Embeddings.Wire]
		}
	}
	local := c.Embedding == LocalEmbedding
	need(!local || (c.Embeddings.Key == "" && c.Embeddings.BaseURL == ""), "MODEL_EMBEDDING",
		"the built-in model takes no "+Prefix+"EMBEDDINGS_API_KEY or _BASE_URL")
	if !local && !c.Embeds() {
		c.Warnings = append(c.Warnings, Prefix+"MODEL_EMBEDDING names a model of a provider, and neither "+Prefix+
			"EMBEDDINGS_API_KEY nor _BASE_URL is set: searches use the built-in model")
	}
	if c.MaxK > MaxQueryK {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%sMAX_QUERY_K is %d: lowered to %d", Prefix, c.MaxK, MaxQueryK))
		c.MaxK = MaxQueryK
	}
	c.PageSize = min(c.PageSize, c.MaxList)
	return errors.Join(bad...)
}

// Embeds reports whether a provider embeds texts.
func (c *Config) Embeds() bool {
	return c.Embedding != LocalEmbedding && (c.Embeddings.Key != "" || c.Embeddings.BaseURL != "")
}

// Embedded reports whether the database is one of this process.
func (c *Config) Embedded() bool {
	return strings.HasPrefix(c.DBURL, "embedded://") || c.DBURL == "memory"
}

// EmbeddedDir is the directory of an embedded database; "" for one in memory.
func (c *Config) EmbeddedDir() string {
	dir, _ := strings.CutPrefix(c.DBURL, "embedded://")
	if dir == c.DBURL || dir == ":memory:" {
		return ""
	}
	return dir
}

// SetRoles reads a list of roles by commas; "" and all are all of them.
func (c *Config) SetRoles(s string) error {
	all := []string{RoleAPI, RoleWorker, RoleScheduler, RoleManagement}
	c.Roles = list(s)
	if len(c.Roles) == 0 || (len(c.Roles) == 1 && c.Roles[0] == "all") {
		c.Roles = all
	}
	for _, r := range c.Roles {
		if err := oneOf(r, all); err != nil {
			return fmt.Errorf("role %q: %w", r, err)
		}
	}
	return nil
}

// Has reports whether the server has a role.
func (c *Config) Has(role string) bool { return oneOf(role, c.Roles) == nil }
