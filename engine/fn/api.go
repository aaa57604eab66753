package fn

import (
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// apiFuncs: all but api::invoke are known only inside a MIDDLEWARE clause, which the API's own executor reads.
func apiFuncs() []entry {
	middleware := func(sig, doc string) entry {
		return entry{sig: "volatile method api::" + sig, impl: notCallable, doc: doc}
	}
	return []entry{
		{sig: "volatile api::invoke(path: string, options?: any) -> object", impl: apiInvoke,
			doc: "Calls an API endpoint of the database."},
		middleware("req::body(...strategy: any) -> any", "Middleware: how to read the body of the request."),
		middleware("req::max_body(...limit: any) -> any",
			"Middleware: refuses a request with a body of more bytes than a number or a size such as '1mb'."),
		middleware("res::body(...strategy: any) -> any", "Middleware: how to write the body of the answer."),
		middleware("res::header(...name_and_value: any) -> any", "Middleware: sets a header of the answer."),
		middleware("res::headers(...headers: any) -> any", "Middleware: sets several headers of the answer."),
		middleware("res::status(...status: any) -> any", "Middleware: sets the status of the answer."),
		middleware("timeout(...duration: any) -> any", "Middleware: limits the time of a request."),
	}
}

func apiInvoke(c Call, args []value.Value) (value.Value, error) {
	h, err := need[APIHost](c)
	if err != nil {
		return value.None, err
	}
	options := value.ObjectOf(nil)
	if len(args) == 2 {
		options = args[1]
	}
	return h.InvokeAPI(args[0].Str(), options)
}

// notCallable stands behind paths that only a MIDDLEWARE clause knows; the table keeps calls from getting here.
func notCallable(c Call, _ []value.Value) (value.Value, error) {
	return value.None, errs.Internal("Unknown function '%s' - not found in function registry", c.Func.Name)
}
