package fn

import "github.com/nacredb/nacre/engine/value"

func evalFuncs() []entry {
	return []entry{
		{sig: "volatile eval eval::surql(text: string, bindings?: object) -> any", impl: evalSurql,
			doc: "Runs one statement given as text in the transaction of the caller, with nothing but the bindings for its parameters."},
	}
}

func evalSurql(c Call, args []value.Value) (value.Value, error) {
	h, err := need[EvalHost](c)
	if err != nil {
		return value.None, err
	}
	var bindings *value.Object
	if len(args) == 2 {
		bindings = args[1].Object()
	}
	return h.EvalText(args[0].Str(), bindings)
}
