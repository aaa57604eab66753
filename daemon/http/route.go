package http

import (
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
)

// handler answers a request. What it returns fails the request as a whole; nothing is sent by then.
type handler func(*Server, http.ResponseWriter, *http.Request) error

// route is a row of the table of routes. Name is what capabilities and error texts call it; rows may share one.
type route struct {
	name   string
	method string
	path   string
	handle handler
}

// table is every route.
func table() []route {
	t := []route{
		{"", http.MethodGet, "/", (*Server).root},
		{"", http.MethodGet, "/status", (*Server).status},
		{"health", http.MethodGet, "/health", (*Server).health},
		{"ready", http.MethodGet, "/ready", (*Server).ready},
		{"version", http.MethodGet, "/version", (*Server).versionText},
		{"metrics", http.MethodGet, "/metrics", (*Server).metrics},
		{"sql", http.MethodPost, "/sql", (*Server).sql},
		{"sql", http.MethodGet, "/sql", (*Server).sqlSocket},
		{"gql", http.MethodPost, "/gql", (*Server).gql},
		{"graphql", http.MethodPost, "/graphql", (*Server).graphQL},
		{"graphql", http.MethodGet, "/graphql", (*Server).graphQLSocket},
		{"import", http.MethodPost, "/import", (*Server).importStatements},
		{"export", http.MethodGet, "/export", (*Server).export},
		{"export", http.MethodPost, "/export", (*Server).export},
		{"backup", http.MethodGet, "/backup", (*Server).backup},
		{"ml", http.MethodPost, "/ml/import", (*Server).importModel},
		{"ml", http.MethodGet, "/ml/export/{name}/{version}", (*Server).exportModel},
		{"signin", http.MethodPost, "/signin", (*Server).signin},
		{"signup", http.MethodPost, "/signup", (*Server).signup},
		{"rpc", http.MethodPost, "/rpc", (*Server).call},
		{"rpc", http.MethodGet, "/rpc", (*Server).socket},
		{"mcp", http.MethodPost, "/mcp", (*Server).mcpPost},
		{"mcp", http.MethodGet, "/mcp", (*Server).mcpStream},
		{"mcp", http.MethodDelete, "/mcp", (*Server).mcpEnd},
	}
	for _, path := range [...]string{"/key/{table}", "/key/{table}/{id}"} {
		for _, method := range [...]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch,
			http.MethodDelete} {
			t = append(t, route{"key", method, path, (*Server).key})
		}
	}
	for method := range apiMethods {
		t = append(t, route{"api", method, "/api/*", (*Server).api})
	}
	return t
}

// Routes are the names of all routes, sorted: what --allow-http and --deny-http may list.
func Routes() []string {
	var names []string
	for _, r := range table() {
		if r.name != "" {
			names = append(names, r.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// routes makes the router of the table.
func (s *Server) routes() chi.Router {
	router := chi.NewRouter()
	for _, r := range table() {
		router.Method(r.method, r.path, s.open(r))
		if r.method == http.MethodGet && r.name != "api" { // which has a row of its own
			router.Method(http.MethodHead, r.path, s.open(r))
		}
	}
	router.NotFound(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, notFound(routeName(r.URL.Path))) })
	router.MethodNotAllowed(s.otherMethod)
	return router
}

// otherMethod answers a request whose path has routes for other methods only, and says which.
func (s *Server) otherMethod(w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath
	if path == "" {
		path = r.URL.Path
	}
	for _, method := range [...]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
		http.MethodPatch, http.MethodDelete} {
		if s.router.Match(chi.NewRouteContext(), method, path) {
			w.Header().Add("Allow", method)
		}
	}
	s.fail(w, r, &refusal{status: http.StatusMethodNotAllowed})
}

// open is the handler of a route, closed where the capabilities deny it. Routes without a name are always open.
func (s *Server) open(r route) http.HandlerFunc {
	if r.name != "" {
		if err := s.RPC.Caps.MayVisit(r.name); err != nil && r.name == "mcp" {
			return func(w http.ResponseWriter, _ *http.Request) { plainProblem(w, http.StatusForbidden, "Forbidden") }
		} else if err != nil {
			return func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, err) }
		}
	}
	return func(w http.ResponseWriter, req *http.Request) {
		if err := r.handle(s, w, req); err != nil {
			s.fail(w, req, err)
		}
	}
}

func notFound(name string) error {
	return &refusal{http.StatusNotFound, "The HTTP route '" + name + "' is not found"}
}

// routeName is the first part of a path, without what only a guess at a name would be.
func routeName(path string) string {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' || i > 32 {
			return path[1:i]
		}
	}
	if path == "" {
		return path
	}
	return path[1:]
}
