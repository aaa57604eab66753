package http

import (
	"errors"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/ml"
)

// modelType is the media type of model files.
const modelType = "application/octet-stream"

// importModel stores the model file in the body, as it arrives, and defines the model that it names.
func (s *Server) importModel(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > s.Limits.Model {
		return errTooLarge
	}
	session, err := s.known(r, s.session)
	if err != nil {
		return err
	}
	in, err := s.limited(w, r, session, s.Limits.Model)
	if err != nil {
		return err
	}
	defer in.close()
	_, err = session.ImportModel(r.Context(), in)
	if broken := in.broken(); broken != nil {
		err = broken
	}
	if err != nil {
		return badModel(err)
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// badModel answers 400 with its reason to a file that cannot be taken.
func badModel(err error) error {
	e, ok := errors.AsType[*errs.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case errs.KindValidation, errs.KindInternal, errs.KindAlreadyExists:
		return &refusal{http.StatusBadRequest, e.Msg}
	}
	return err
}

// exportModel streams the file of a model.
func (s *Server) exportModel(w http.ResponseWriter, r *http.Request) error {
	session, err := s.known(r, s.visitor)
	if err != nil {
		return err
	}
	name, version := chi.URLParam(r, "name"), chi.URLParam(r, "version")
	if !ml.ValidName(name) {
		return notFound("Model")
	}
	if _, err := ml.ParseVersion(version); err != nil {
		return notFound("Model")
	}
	out := &exportWriter{w: w, media: modelType, sent: s.RPC.Metrics.Network}
	err = session.ExportModel(r.Context(), name, version, out)
	if e, ok := errors.AsType[*errs.Error](err); ok && e.Kind == errs.KindNotFound {
		err = &refusal{http.StatusNotFound, "The HTTP route '" + e.Msg + "' is not found"}
	}
	return s.finish(r, out, err)
}
