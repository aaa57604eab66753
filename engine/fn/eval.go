package fn

import "github.com/nacredb/nacre/engine/value"

func evalFuncs() []entry {
	return []entry{
		{sig: "volatile eval eval::surql(text: string, bindings?: object) -> any", impl: evalSurql,
			doc: "Runs one statement given as text in the transaction of the caller, with nothing but the bindings for its parameters."},
		{sig: "volatile eval eval::gql(text: string, bindings?: object) -> any", impl: evalGQL,
			doc: "Runs a program in ISO GQL in the transaction of the caller, with nothing but the bindings for its parameters: one row gives that row, several a list."},
	}
}

func evalSurql(c Call, args []value.Value) (value.Value, error) {
	h, err := need[EvalHost](c)
	if err != nil {
		return value.None, err
	}
	return h.EvalText(args[0].Str(), bindingsOf(args))
}

func evalGQL(c Call, args []value.Value) (value.Value, error) {
	h, err := need[EvalHost](c)
	if err != nil {
		return value.None, err
	}
	return h.EvalGQL(args[0].Str(), bindingsOf(args))
}

// bindingsOf is the second argument, where it is given.
func bindingsOf(args []value.Value) *value.Object {
	if len(args) < 2 {
		return nil
	}
	return args[1].Object()
}
