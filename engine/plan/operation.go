package plan

import "github.com/nacredb/nacre/engine/value"

// Operation is a step of a statement that writes, as its clause EXPLAIN answers it.
func Operation(name string, detail ...value.Field) value.Value {
	return object(value.Field{Name: "detail", Value: object(detail...)},
		value.Field{Name: "operation", Value: value.Str(name)})
}

// IndexOperation is the operation that finds records of a table by an index; step says how.
func IndexOperation(table value.Field, step ...value.Field) value.Value {
	return Operation("Iterate Index", value.Field{Name: "plan", Value: object(step...)}, table)
}

// ofIndex is the field of a step that names its index.
func ofIndex(index string) value.Field { return value.Field{Name: "index", Value: value.Str(index)} }

// By is a step through an index for what an operator finds.
func By(index, operator string, of value.Value) []value.Field {
	return []value.Field{ofIndex(index), {Name: "operator", Value: value.Str(operator)}, {Name: "value", Value: of}}
}

// Between is a step through an index from a bound to another.
func Between(index string, from, to value.Bound) []value.Field {
	bound := func(b value.Bound) value.Value {
		return object(value.Field{Name: "inclusive", Value: value.Bool(b.Kind == value.Included)},
			value.Field{Name: "value", Value: b.Value})
	}
	return []value.Field{ofIndex(index), {Name: "direction", Value: value.Str("forward")},
		{Name: "from", Value: bound(from)}, {Name: "to", Value: bound(to)}}
}

// LeadOf is what a step says of the leading columns that it looks for: one by itself, several as a list.
func LeadOf(lead []value.Value) value.Value {
	if len(lead) == 1 {
		return lead[0]
	}
	return value.ArrayOf(lead)
}

func object(fields ...value.Field) value.Value { return value.ObjectOf(value.NewObject(fields...)) }
