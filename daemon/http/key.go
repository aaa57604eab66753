package http

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/nacredb/nacre/daemon/rpc"
	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/wire"
)

// keyLimit is how many records GET /key/{table} gives where the client names no limit.
const keyLimit = 100

// keyTexts are the statements of /key by method. Those of one record are made with WHAT as a record id; PUT and
// PATCH then make the record where it is missing, as PUT does everywhere.
var keyTexts = map[string]struct{ all, one string }{
	http.MethodPost:   {"CREATE $_what CONTENT $_data", "CREATE $_what CONTENT $_data"},
	http.MethodPut:    {"UPDATE $_what CONTENT $_data", "UPSERT $_what CONTENT $_data"},
	http.MethodPatch:  {"UPDATE $_what MERGE $_data", "UPSERT $_what MERGE $_data"},
	http.MethodDelete: {"DELETE $_what RETURN BEFORE", "DELETE $_what RETURN BEFORE"},
}

// key works on the records of a table, or on one of them. The statements are fixed texts; table, key and body are
// bound to variables.
func (s *Server) key(w http.ResponseWriter, r *http.Request) error {
	f, ok := accepted(r)
	if !ok {
		return errMedia
	}
	session, err := s.session(r)
	if err != nil {
		return err
	}
	text, vars, err := s.keyStatement(w, r, session)
	if err != nil {
		return err
	}
	return s.execute(w, r, f, session, text, value.NewObject(vars...))
}

func (s *Server) keyStatement(w http.ResponseWriter, r *http.Request,
	by *engine.Session) (string, []value.Field, error) {
	what, one, err := keyTarget(r)
	if err != nil {
		return "", nil, err
	}
	vars := []value.Field{{Name: "_what", Value: what}}
	if r.Method == http.MethodGet {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return "", nil, errs.Validation("The parameters of the address are not valid")
		}
		return keySelect(query, vars, one)
	}
	texts := keyTexts[r.Method]
	text := texts.all
	if one {
		text = texts.one
	}
	if r.Method == http.MethodDelete {
		return text, vars, nil
	}
	data, err := s.keyBody(w, r, by)
	if err != nil {
		return "", nil, err
	}
	return text, append(vars, value.Field{Name: "_data", Value: data}), nil
}

// keyTarget is the table or record that the path names. The text of a key is read as a value if it is one that may be
// a key (7 is the number), else it is the key itself.
func keyTarget(r *http.Request) (what value.Value, one bool, err error) {
	table, err := pathPart(r, "table")
	if err != nil {
		return value.None, false, err
	}
	id, err := pathPart(r, "id")
	if err != nil {
		return value.None, false, err
	}
	if id == "" {
		return value.TableOf(table), false, nil
	}
	key := value.Str(id)
	if v, err := rpc.Constant(id, nil); err == nil {
		switch v.Kind() {
		case value.KindInt, value.KindString, value.KindUUID, value.KindArray, value.KindObject:
			key = v
		}
	}
	return value.Record(table, key), true, nil
}

func pathPart(r *http.Request, name string) (string, error) {
	part := chi.URLParam(r, name)
	if r.URL.RawPath != "" { // chi routes by the escaped path then
		var err error
		if part, err = url.PathUnescape(part); err != nil {
			return "", errs.Validation("The path is not valid")
		}
	}
	return toText(part), nil
}

// keySelect is the statement of a GET.
func keySelect(query url.Values, vars []value.Field, one bool) (string, []value.Field, error) {
	text := "SELECT * FROM $_what"
	if fields := query["fields"]; len(fields) > 0 {
		text = "SELECT type::fields($_fields) FROM $_what"
		list := make([]value.Value, len(fields))
		for i, f := range fields {
			list[i] = value.Str(toText(f))
		}
		vars = append(vars, value.Field{Name: "_fields", Value: value.ArrayOf(list)})
	}
	if one {
		return text, vars, nil
	}
	limit, err := count(query, "limit", keyLimit)
	if err != nil {
		return "", nil, err
	}
	start, err := count(query, "start", 0)
	if err != nil {
		return "", nil, err
	}
	vars = append(vars, value.Field{Name: "_limit", Value: value.Int(limit)},
		value.Field{Name: "_start", Value: value.Int(start)})
	return text + " LIMIT $_limit START $_start", vars, nil
}

func count(query url.Values, name string, absent int64) (int64, error) {
	if !query.Has(name) {
		return absent, nil
	}
	n, err := strconv.ParseUint(query.Get(name), 10, 63)
	if err != nil {
		return 0, errs.Validation("The parameter '%s' must be a number", name)
	}
	return int64(n), nil
}

// keyBody reads a body that is one value. JSON is; else it may be a value of the language, with the parameters of the
// address for its own.
func (s *Server) keyBody(w http.ResponseWriter, r *http.Request, by *engine.Session) (value.Value, error) {
	text, err := s.readText(w, r, by, s.Limits.Key)
	if err != nil {
		return value.None, err
	}
	if v, err := wire.JSON.Decode([]byte(text), s.decode); err == nil {
		return v, nil
	}
	return rpc.Constant(text, variables(r))
}
