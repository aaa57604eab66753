package wire

import (
	"net/http"

	"github.com/nacredb/nacre/engine/errs"
)

// The RPC codes.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeNotAllowed     = -32602
	CodeInvalidParams  = -32603
	CodeLiveMissing    = -32604
	CodeLiveConfig     = -32605
	CodeGraphQLConfig  = -32606
	CodeOther          = -32000
	CodeConnection     = -32001
	CodeAuth           = -32002
	CodeNotExecuted    = -32003
	CodeTimedOut       = -32004
	CodeCancelled      = -32005
	CodeThrown         = -32006
	CodeSerialization  = -32007
	CodeDeserial       = -32008
	CodeConflict       = -32009
)

// class is the look-up key of a row of the table: a kind, and a detail or "" for all others.
type class struct {
	kind   errs.Kind
	detail string
}

// Code is the RPC code of e.
func Code(e *errs.Error) int {
	detail := ""
	if e.Detail != nil {
		detail = e.Detail.Kind
	}
	switch (class{e.Kind, detail}) {
	case class{errs.KindValidation, "Parse"}:
		return CodeParse
	case class{errs.KindValidation, "InvalidRequest"}, class{errs.KindValidation, "NamespaceEmpty"},
		class{errs.KindValidation, "DatabaseEmpty"}, class{errs.KindValidation, "InvalidParameter"},
		class{errs.KindValidation, "InvalidContent"}, class{errs.KindValidation, "InvalidMerge"}:
		return CodeInvalidRequest
	case class{errs.KindValidation, "InvalidParams"}:
		return CodeInvalidParams
	case class{errs.KindNotFound, "Method"}:
		return CodeMethodNotFound
	case class{errs.KindNotAllowed, "Auth"}:
		if e.Detail.Inner != nil && e.Detail.Inner.Kind == "SessionExpired" {
			return CodeOther
		}
		return CodeAuth
	case class{errs.KindNotAllowed, "Method"}, class{errs.KindNotAllowed, "Scripting"},
		class{errs.KindNotAllowed, "Function"}, class{errs.KindNotAllowed, "Target"}:
		return CodeNotAllowed
	case class{errs.KindConfiguration, "LiveQueryNotSupported"}:
		return CodeLiveMissing
	case class{errs.KindConfiguration, "BadLiveQueryConfig"}:
		return CodeLiveConfig
	case class{errs.KindConfiguration, "BadGraphqlConfig"}:
		return CodeGraphQLConfig
	case class{errs.KindQuery, "NotExecuted"}:
		return CodeNotExecuted
	case class{errs.KindQuery, "TimedOut"}:
		return CodeTimedOut
	case class{errs.KindQuery, "Cancelled"}:
		return CodeCancelled
	case class{errs.KindQuery, "TransactionConflict"}:
		return CodeConflict
	case class{errs.KindSerialization, "Deserialization"}:
		return CodeDeserial
	}
	switch e.Kind {
	case errs.KindThrown:
		return CodeThrown
	case errs.KindSerialization:
		return CodeSerialization
	case errs.KindConnection:
		return CodeConnection
	}
	return CodeOther
}

// Status is the HTTP status of e where a whole request fails with it.
func Status(e *errs.Error) int {
	switch e.Kind {
	case errs.KindNotFound:
		if e.Detail != nil && e.Detail.Kind == "Method" {
			return http.StatusNotFound
		}
	case errs.KindNotAllowed:
		return statusNotAllowed(e.Detail)
	case errs.KindQuery:
		if e.Detail != nil && e.Detail.Kind == "TimedOut" {
			return http.StatusGatewayTimeout
		}
		if e.Detail != nil && e.Detail.Kind == "OutOfMemory" {
			return http.StatusServiceUnavailable
		}
	case errs.KindInternal:
		// Internal with a cause is a failure of ours; without one it is the engine's word on a statement.
		if e.Err != nil {
			return http.StatusInternalServerError
		}
	}
	return http.StatusBadRequest
}

func statusNotAllowed(d *errs.Detail) int {
	if d != nil && d.Kind == "Auth" && d.Inner != nil && d.Inner.Kind != "NotAllowed" {
		return http.StatusUnauthorized
	}
	return http.StatusForbidden
}

// The codes of a gRPC status.
const (
	GRPCCancelled          = 1
	GRPCInvalidArgument    = 3
	GRPCDeadlineExceeded   = 4
	GRPCNotFound           = 5
	GRPCAlreadyExists      = 6
	GRPCPermissionDenied   = 7
	GRPCResourceExhausted  = 8
	GRPCFailedPrecondition = 9
	GRPCAborted            = 10
	GRPCUnimplemented      = 12
	GRPCInternal           = 13
	GRPCUnavailable        = 14
	GRPCUnauthenticated    = 16
)

// GRPC is the code of a gRPC status where a whole call fails with e.
func GRPC(e *errs.Error) int {
	detail := ""
	if e.Detail != nil {
		detail = e.Detail.Kind
	}
	switch e.Kind {
	case errs.KindValidation:
		return GRPCInvalidArgument
	case errs.KindConfiguration:
		return GRPCUnimplemented
	case errs.KindQuery:
		return grpcQuery(detail)
	case errs.KindSerialization:
		if detail == "Deserialization" {
			return GRPCInvalidArgument
		}
		return GRPCInternal
	case errs.KindNotAllowed:
		return grpcNotAllowed(e.Detail)
	case errs.KindNotFound:
		if detail == "Method" {
			return GRPCUnimplemented
		}
		return GRPCNotFound
	case errs.KindAlreadyExists:
		return GRPCAlreadyExists
	case errs.KindThrown:
		return GRPCFailedPrecondition
	}
	return GRPCInternal
}

func grpcQuery(detail string) int {
	switch detail {
	case "TimedOut":
		return GRPCDeadlineExceeded
	case "Cancelled":
		return GRPCCancelled
	case "TransactionConflict":
		return GRPCAborted
	case "OutOfMemory":
		return GRPCResourceExhausted
	}
	return GRPCFailedPrecondition
}

func grpcNotAllowed(d *errs.Detail) int {
	switch {
	case d == nil || d.Kind != "Auth" || d.Inner != nil && d.Inner.Kind == "NotAllowed":
		return GRPCPermissionDenied
	case d.Inner != nil && d.Inner.Kind == "TooManyAttempts":
		return GRPCResourceExhausted
	}
	return GRPCUnauthenticated
}
