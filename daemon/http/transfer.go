package http

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// importStatements applies statements as they arrive, with ?on-failure=stop up to the first that fails. The answer
// lists the failures, its header their lines and the counts; with any failure the status is 422.
func (s *Server) importStatements(w http.ResponseWriter, r *http.Request) error {
	f, ok := accepted(r)
	silent := mediaType(r.Header.Get("Accept")) == "application/octet-stream"
	if !ok && !silent {
		return errMedia
	}
	if r.ContentLength > s.Limits.Import {
		return errTooLarge
	}
	session, err := s.known(r, s.session)
	if err != nil {
		return err
	}
	in, err := s.limited(w, r, session, s.Limits.Import)
	if err != nil {
		return err
	}
	defer in.close()
	opt := engine.ImportOptions{}
	switch r.URL.Query().Get("on-failure") {
	case "", "continue":
	case "stop":
		opt.Stop = true
	default:
		return &refusal{http.StatusBadRequest, "The parameter 'on-failure' is 'continue' or 'stop'"}
	}
	res, err := session.Import(r.Context(), in, opt)
	if broken := in.broken(); broken != nil {
		err = broken
	}
	if err != nil {
		return err
	}
	status := http.StatusOK
	if res.Failures > 0 {
		status = http.StatusUnprocessableEntity
	}
	w.Header().Set("Service-Import-Statements", strconv.FormatInt(res.Statements, 10))
	w.Header().Set("Service-Import-Failures", strconv.FormatInt(res.Failures, 10))
	w.Header().Set("Service-Import-Records", strconv.FormatInt(res.Records, 10))
	if len(res.Lines) > 0 {
		lines := make([]string, len(res.Lines))
		for i, line := range res.Lines {
			lines[i] = strconv.Itoa(line)
		}
		w.Header().Set("Service-Import-Failed-Lines", strings.Join(lines, ","))
	}
	if silent {
		w.WriteHeader(status)
		return nil
	}
	return s.results(w, status, f, res.Failed)
}

// export streams the namespace and database of the session as statements.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	session, err := s.known(r, s.visitor)
	if err != nil {
		return err
	}
	opt, err := s.exportOptions(w, r, session)
	if err != nil {
		return err
	}
	out := &exportWriter{w: w, media: exportType, sent: s.RPC.Metrics.Network}
	err = session.Export(r.Context(), out, opt)
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Kind == errs.KindNotFound {
		err = &refusal{http.StatusNotFound, e.Msg} // a namespace, database or table that does not exist
	}
	return s.finish(r, out, err)
}

// backup streams the whole store, as it is at one moment, to an owner at root level. See package physical for the
// bytes; with ?compress=true they are packed.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) error {
	session, err := s.known(r, s.visitor)
	if err != nil {
		return err
	}
	out := &exportWriter{w: w, media: backupType, sent: s.RPC.Metrics.Network}
	_, err = session.Backup(r.Context(), out,
		engine.BackupOptions{Compress: r.URL.Query().Get("compress") == "true", Product: s.version})
	return s.finish(r, out, err)
}

// finish ends a streamed answer.
func (s *Server) finish(r *http.Request, out *exportWriter, err error) error {
	switch {
	case err != nil && out.begun:
		// The status is out: only a broken transfer can tell the client.
		s.Log.Error("transfer broke off", "route", routeName(r.URL.Path), "err", err)
		panic(http.ErrAbortHandler)
	case err == nil && !out.begun:
		out.begin()
	}
	return err
}

// known is the session that enter gives a client, which must have an identity.
func (s *Server) known(
	r *http.Request, enter func(*http.Request) (*engine.Session, error),
) (*engine.Session, error) {
	session, err := enter(r)
	if err == nil && session.Anonymous() {
		err = &refusal{http.StatusForbidden, notAllowed}
	}
	return session, err
}

const (
	exportType = "text/plain; charset=utf-8"
	backupType = "application/octet-stream"
)

// exportWriter sends the header with the first byte, so that earlier failures have a status of their own.
type exportWriter struct {
	w     http.ResponseWriter
	media string
	begun bool
	sent  func(received, sent int)
}

func (e *exportWriter) begin() {
	e.begun = true
	e.w.Header().Set("Content-Type", e.media)
	e.w.WriteHeader(http.StatusOK)
}

// Write implements io.Writer.
func (e *exportWriter) Write(b []byte) (int, error) {
	if !e.begun && len(b) > 0 {
		e.begin()
	}
	n, err := e.w.Write(b)
	e.sent(0, n)
	return n, err
}

// exportOptions reads the body of an export; without one everything but versions is exported.
func (s *Server) exportOptions(w http.ResponseWriter, r *http.Request,
	by *engine.Session) (engine.ExportOptions, error) {
	opt := engine.DefaultExport()
	if r.Method == http.MethodGet {
		return opt, nil
	}
	b, err := s.read(w, r, by, s.Limits.Export)
	if err != nil {
		return opt, err
	}
	media := mediaType(r.Header.Get("Content-Type"))
	f, ok := formatOf(media)
	if len(b) == 0 && (ok || media == "") {
		return opt, nil
	}
	if !ok {
		return opt, errMedia
	}
	v, err := f.Decode(b, s.decode)
	if err != nil || v.Kind() != value.KindObject && !v.IsNullish() {
		return opt, errBody
	}
	if v.IsNullish() {
		return opt, nil
	}
	return opt, readExportOptions(&opt, v.Object())
}

func readExportOptions(opt *engine.ExportOptions, o *value.Object) error {
	flags := map[string]*bool{
		"users": &opt.Users, "accesses": &opt.Accesses, "params": &opt.Params, "functions": &opt.Functions,
		"analyzers": &opt.Analyzers, "sequences": &opt.Sequences, "versions": &opt.Versions, "records": &opt.Records,
		"apis": &opt.APIs, "buckets": &opt.Buckets, "configs": &opt.Configs, "models": &opt.Models,
		"tables": &opt.AllTables,
	}
	for _, f := range o.Fields() {
		p, known := flags[f.Name]
		switch {
		case !known || f.Value.IsNullish():
		case f.Value.Kind() == value.KindBool:
			*p = f.Value.Bool()
		case f.Name == "tables" && f.Value.Kind() == value.KindArray:
			opt.AllTables = false
			for _, t := range f.Value.Elems() {
				if t.Kind() != value.KindString && t.Kind() != value.KindTable {
					return errs.Validation("Export option 'tables' must be true, false or an array of table names")
				}
				opt.Tables = append(opt.Tables, t.Str())
			}
		default:
			return errs.Validation("Export option '%s' must be true or false", f.Name)
		}
	}
	return nil
}
