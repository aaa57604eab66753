package fn

import (
	"time"

	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// basicFuncs are the small families: bytes, count, not, sleep, value.
func basicFuncs() []entry {
	return []entry{
		{sig: "bytes::len(bytes: bytes) -> int", impl: arrayLen, on: kindSet(value.KindBytes),
			doc: "The number of bytes."},
		{sig: "count(value?: any) -> int", impl: count,
			doc: "1, or the number of truthy items of an array, or whether another value is truthy; counts rows under GROUP."},
		{sig: "not(value: any) -> bool", impl: not, doc: "Whether the value is not truthy."},
		{sig: "volatile sleep(...duration: any) -> none", impl: sleep, doc: "Pauses for a duration."},
		{sig: "calls pathless value::chain(value: any, step: function) -> any", impl: chain, on: anyKind,
			doc: "The result of a closure that gets the value; a method only."},
		{sig: "calls value::expect(value: any, test: function, message?: any) -> any", impl: expect, on: anyKind,
			doc: "The value if it passes the closure, else an error with the message."},
		{sig: "value::diff(before: any, after: any) -> array", impl: diff, on: anyKind,
			doc: "The JSON patch that turns the first value into the second."},
		{sig: "value::patch(value: any, operations: any) -> any", impl: patch, on: anyKind,
			doc: "A value with the operations of a JSON patch applied."},
	}
}

func count(_ Call, args []value.Value) (value.Value, error) {
	switch {
	case len(args) == 0:
		return value.Int(1), nil
	case args[0].Kind() == value.KindSet:
		return value.Int(int64(args[0].Len())), nil
	case args[0].Kind() == value.KindArray:
		n := int64(0)
		for _, v := range args[0].Elems() {
			if value.Truthy(v) {
				n++
			}
		}
		return value.Int(n), nil
	case value.Truthy(args[0]):
		return value.Int(1), nil
	}
	return value.Int(0), nil
}

func diff(c Call, args []value.Value) (value.Value, error) {
	return value.Diff(args[0], args[1], c.Host.Context().Err)
}

func patch(c Call, args []value.Value) (value.Value, error) {
	return value.Patch(args[0], args[0], args[1], c.Host.Context().Err)
}

func not(_ Call, args []value.Value) (value.Value, error) {
	return value.Bool(!value.Truthy(args[0])), nil
}

func chain(c Call, args []value.Value) (value.Value, error) {
	return c.Host.Invoke(args[1], args[0])
}

// expect answers as THROW does when the value is not what was expected.
func expect(c Call, args []value.Value) (value.Value, error) {
	t := newTest(c, args[1])
	ok, err := t.pass(args[0])
	switch {
	case err != nil:
		return value.None, err
	case ok:
		return args[0], nil
	case len(args) == 3:
		return value.None, errs.Thrown(value.ToString(args[2].Beginning(errs.LongestMsg + 1)))
	}
	return value.None, errs.Thrown("The value is not as expected")
}

// sleep waits in steps, so that durations beyond time.Duration are as long as they say.
func sleep(c Call, args []value.Value) (value.Value, error) {
	if len(args) == 0 {
		return value.None, errs.Internal("Function 'sleep' expects a duration argument")
	}
	if args[0].Kind() != value.KindDuration {
		return value.None, errs.Internal("Function 'sleep' expects a duration argument, got: %s", typeName(args[0]))
	}
	if err := c.outside(); err != nil {
		return value.None, err
	}
	d := args[0].Duration()
	const step = 1 << 32 // seconds
	for d.Secs > 0 || d.Nanos > 0 {
		secs := min(d.Secs, step)
		timer := time.NewTimer(time.Duration(secs)*time.Second + time.Duration(d.Nanos))
		select {
		case <-timer.C:
		case <-c.Host.Context().Done():
			timer.Stop()
			return value.None, errs.Waited(c.Host.Context().Err())
		}
		d.Secs, d.Nanos = d.Secs-secs, 0
	}
	return value.None, nil
}
