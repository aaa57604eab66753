package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// mostCompletions is how many values one answer offers.
const mostCompletions = 100

// complete offers names for an argument of a prompt or a part of an address. What cannot be looked up has no names.
func complete(ctx context.Context, q *request) (object, error) {
	var arg struct{ Name, Value string }
	if raw, ok := q.Params["argument"]; !ok || json.Unmarshal(raw, &arg) != nil || arg.Name == "" {
		return nil, badParams("completion/complete needs `argument` with the texts `name` and `value`")
	}
	if _, ok := q.Params["ref"]; !ok {
		return nil, badParams("completion/complete needs `ref`")
	}
	place := completionContext(q.Params["context"])
	names, err := q.names(ctx, arg.Name, place)
	if _, fault := errors.AsType[*Fault](err); err != nil && !fault {
		names = nil // a place that is not there, or not for this client
	}
	fits := []string{}
	for _, n := range names {
		if strings.HasPrefix(n, arg.Value) {
			fits = append(fits, n)
		}
	}
	slices.Sort(fits)
	total := len(fits)
	return object{"completion": object{"values": fits[:min(total, mostCompletions)], "total": total,
		"hasMore": total > mostCompletions}}, nil
}

// completionContext are the parts of an address that are chosen already.
func completionContext(raw json.RawMessage) map[string]string {
	var c struct{ Arguments map[string]string }
	if len(raw) == 0 || json.Unmarshal(raw, &c) != nil {
		return nil
	}
	return c.Arguments
}

// names lists the possible values of an argument.
func (q *request) names(ctx context.Context, arg string, chosen map[string]string) (names []string, err error) {
	text, list := "", ""
	switch arg {
	case "table", "target", "focus":
		text, list = "INFO FOR DB", "tables"
	case "function":
		text, list = "INFO FOR DB", "functions"
	case "namespace":
		text, list = "INFO FOR ROOT", "namespaces"
	case "database":
		text, list = "INFO FOR NS", "databases"
	default:
		return nil, nil
	}
	err = q.with(ctx, args{}, true, func(ctx context.Context, c *call) error {
		if err := c.settle(ctx, chosen["namespace"], chosen["database"]); err != nil {
			return err
		}
		v, err := c.one(ctx, text, nil)
		if err != nil {
			return err
		}
		of, _ := v.Object().Get(list)
		for _, f := range of.Object().Fields() {
			name := f.Name
			if arg == "function" {
				name = "fn::" + name
			}
			names = append(names, name)
		}
		return nil
	})
	return names, err
}
