package api

import (
	"net/http"

	"github.com/nacredb/nacre/memsvc/grant"
	"github.com/nacredb/nacre/memsvc/store"
)

// table is every route of the service.
func (s *Server) table() []route {
	var t []route
	t = append(t, s.probeRoutes()...)
	t = append(t, s.managementRoutes()...)
	t = append(t, s.identityRoutes()...)
	t = append(t, s.memoryRoutes()...)
	t = append(t, s.stateRoutes()...)
	t = append(t, s.synthesisRoutes()...)
	t = append(t, s.documentRoutes()...)
	t = append(t, s.jobRoutes()...)
	t = append(t, s.upkeepRoutes()...)
	return t
}

func (s *Server) probeRoutes() []route {
	get := http.MethodGet
	return []route{
		{method: get, path: "/openapi.json", summary: "This API", handle: s.openAPI},
		{method: get, path: "/api/v1/openapi.json", summary: "This API", handle: s.openAPI},
		{method: http.MethodPost, path: "/mcp", summary: "Tools for agents, by the Model Context Protocol", handle: s.serveMCP},
		{method: get, path: "/status", summary: "The process runs", handle: s.status},
		{method: get, path: "/health", summary: "The database answers", handle: s.health},
		{method: get, path: "/api/v1/health", summary: "The database answers", handle: s.health},
		{method: get, path: "/ready", summary: "Requests are served", handle: s.ready},
		{method: get, path: "/metrics", summary: "Metrics in the text form of Prometheus", handle: s.writeMetrics},
	}
}

func (s *Server) managementRoutes() []route {
	const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	const one = "/api/v1/contexts/{id}"
	const who = one + "/principals/{pid}"
	t := []route{
		{method: get, path: "/api/v1/contexts", summary: "List Contexts", handle: s.listContexts},
		{method: post, path: "/api/v1/contexts", summary: "Make a Context", handle: s.createContext,
			in: createContext{}, out: contextBody{}, status: created},
		{method: post, path: one, summary: "Make a Context", handle: s.createContext, in: createContext{},
			out: contextBody{}, status: created},
		{method: get, path: one, summary: "A Context with its effective settings", handle: s.getContext,
			out: contextBody{}},
		{method: patch, path: one, summary: "Merge a patch into the settings of a Context", handle: s.patchContext,
			in: patchContext{}, out: contextBody{}},
		{method: del, path: one, summary: "Delete a Context with all of its data", handle: s.deleteContext,
			status: http.StatusNoContent},
		{method: post, path: one + "/principals", summary: "Make a principal, or find it by external_id",
			handle: s.createPrincipal, in: principalRequest{}, out: store.Principal{}, status: created},
		{method: get, path: one + "/principals", summary: "List principals", handle: s.principals},
		{method: get, path: who, summary: "A principal", handle: s.getPrincipal, out: store.Principal{}},
		{method: patch, path: who, summary: "Change a principal", handle: s.patchPrincipal, in: principalRequest{},
			out: store.Principal{}},
		{method: del, path: who, summary: "Delete a principal and its keys", handle: s.deletePrincipal,
			status: http.StatusNoContent},
		{method: post, path: who + "/grants", summary: "Add grants", handle: s.addGrants, in: grantRequest{},
			out: store.Principal{}},
		{method: del, path: who + "/grants", summary: "Take grants away", handle: s.removeGrants,
			in: grantRequest{}, out: store.Principal{}},
		{method: post, path: who + "/keys/{name}", summary: "Mint a key", handle: s.mintManaged, in: mintRequest{},
			out: minted{}, status: created},
		{method: get, path: who + "/keys", summary: "List the keys of a principal", handle: s.listManaged},
		{method: post, path: who + "/keys/{name}/rotate", summary: "Give a key a new secret", handle: s.rotateKey,
			in: mintRequest{}, out: minted{}},
		{method: del, path: who + "/keys/{name}", summary: "Revoke a key", handle: s.deleteKey,
			status: http.StatusNoContent},
		{method: get, path: one + "/keys", summary: "List the keys of a Context", handle: s.listManaged},
		{method: post, path: one + "/keys/{name}/rotate", summary: "Give a key a new secret", handle: s.rotateKey,
			in: mintRequest{}, out: minted{}},
		{method: del, path: one + "/keys/{name}", summary: "Revoke a key", handle: s.deleteKey,
			status: http.StatusNoContent},
		{method: post, path: one + "/access-tokens", summary: "Mint a key for an identity of another system",
			handle: s.broker, in: mintRequest{}, out: minted{}, status: created},
		{method: get, path: "/api/v1/verbs", summary: "List the verbs of grants", handle: s.listVerbs},
	}
	for i := range t {
		t[i].plane = management
	}
	return t
}

// of makes routes of the user API.
func of(t []route) []route {
	for i := range t {
		t[i].plane = data
		t[i].path = "/api/v1/{ctx}" + t[i].path
	}
	return t
}

func (s *Server) identityRoutes() []route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	return of([]route{
		{method: get, path: "/me", summary: "Who the key is, and what it may", handle: s.me},
		{method: get, path: "/keys", summary: "List own keys", handle: s.listSelf},
		{method: post, path: "/keys", summary: "Mint a key for oneself", handle: s.mintSelf, in: mintRequest{},
			out: minted{}, status: created},
		{method: post, path: "/keys/{name}/rotate", summary: "Give an own key a new secret", handle: s.rotateKey,
			in: mintRequest{}, out: minted{}},
		{method: del, path: "/keys/{name}", summary: "Revoke an own key", handle: s.deleteKey,
			status: http.StatusNoContent},
		{method: get, path: "/providers", summary: "List the providers of language models that can be reached", handle: s.listProviders},
		{method: get, path: "/principals", verb: grant.Manage, summary: "List principals", handle: s.principals},
		{method: get, path: "/principals/{pid}", verb: grant.Manage, summary: "A principal", handle: s.getPrincipal,
			out: store.Principal{}},
		{method: get, path: "/principals/{pid}/effective", summary: "What a principal may do", handle: s.effective},
		{method: post, path: "/principals/{pid}/grants", verb: grant.Manage,
			summary: "Add grants that the caller holds", handle: s.addGrants, in: grantRequest{},
			out: store.Principal{}},
		{method: del, path: "/principals/{pid}/grants", verb: grant.Manage, summary: "Take grants away",
			handle: s.removeGrants, in: grantRequest{}, out: store.Principal{}},
	})
}
