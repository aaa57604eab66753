package script

import (
	_ "embed" // host.js, web.js
	"sync"

	"github.com/dop251/goja"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// Host is the statement that calls a script, as the script may use it: with the rights and in the transaction of that
// statement, and within its limits.
type Host interface {
	// Query runs one statement with further parameters.
	Query(text string, vars *value.Object) (value.Value, error)
	// Value evaluates an expression.
	Value(text string) (value.Value, error)
	// Functions are the paths of the built-in functions; reads says of one that it may wait or read.
	Functions() []string
	Reads(path string) bool
	Function(path string, args []value.Value) (value.Value, error)
	// Send makes a request of the web, if the rules of the network allow it.
	Send(r Request) (Response, error)
	// Log takes a line that the script writes to its console.
	Log(level, line string)
}

// Request is a request of fetch. Response is its answer: of any status.
type (
	Request struct {
		Method, URL string
		Headers     [][2]string
		Body        []byte
		Manual      bool // redirects are answers
	}
	Response struct {
		Status  int
		Text    string // of the status
		URL     string // after redirects
		Headers [][2]string
		Body    []byte
	}
)

// The lines that one call may write to its console, and the bytes of one.
const (
	maxLines = 100
	maxLine  = 4096
)

//go:embed host.js
var hostSource string

//go:embed web.js
var webSource string

var (
	hostProgram = sync.OnceValues(func() (*goja.Program, error) { return goja.Compile("host", hostSource, true) })
	webProgram  = sync.OnceValues(func() (*goja.Program, error) { return goja.Compile("web", webSource, true) })
)

// webNames are the globals that web.js makes.
var webNames = []string{"fetch", "Headers", "Request", "Response", "Blob", "FormData", "URL", "URLSearchParams",
	"TextEncoder", "TextDecoder"}

// defineHost makes the globals that reach the host. What is behind them is made when a script first asks for one.
func (c *call) defineHost() error {
	if c.host == nil {
		return nil
	}
	made := map[string]goja.Value{}
	lazy := func(name string, load func() goja.Value) error {
		get := c.vm.ToValue(func(goja.FunctionCall) goja.Value {
			if made[name] == nil {
				made[name] = load()
			}
			return made[name]
		})
		set := c.vm.ToValue(func(f goja.FunctionCall) goja.Value {
			made[name] = f.Argument(0)
			return goja.Undefined()
		})
		return c.vm.GlobalObject().DefineAccessorProperty(name, get, set, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
	for _, name := range []string{"surrealdb", "console"} {
		if err := lazy(name, func() goja.Value { return c.hostObject().Get(name) }); err != nil {
			return err
		}
	}
	var web *goja.Object
	for _, name := range webNames {
		err := lazy(name, func() goja.Value {
			if web == nil {
				web = c.install(webProgram, c.native(c.send), c.vm.ToValue(parseURL))
			}
			return web.Get(name)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *call) hostObject() *goja.Object {
	if c.hosting == nil {
		c.hosting = c.install(hostProgram, c.native(c.query), c.native(c.value), c.functions(), c.vm.ToValue(c.log))
	}
	return c.hosting
}

// install runs a program that is a function over natives, and gives what that makes.
func (c *call) install(program func() (*goja.Program, error), natives ...goja.Value) *goja.Object {
	p, err := program()
	if err != nil {
		panic(c.thrown(err))
	}
	made, err := c.vm.RunProgram(p)
	if err != nil {
		panic(err)
	}
	f, ok := goja.AssertFunction(made)
	if !ok {
		panic(c.vm.NewTypeError("the globals of the host cannot be made"))
	}
	out, err := f(goja.Undefined(), natives...)
	if err != nil {
		panic(err)
	}
	return out.ToObject(c.vm)
}

// thrown is an error of the host as the script catches it.
func (c *call) thrown(err error) goja.Value {
	text := err.Error()
	if e, ok := err.(*errs.Error); ok {
		text = e.Msg
	}
	o, failed := c.vm.New(c.errors, c.vm.ToValue(text))
	if failed != nil {
		return c.vm.ToValue(text)
	}
	return o
}

// native is a function whose result is a promise, which is settled by then.
func (c *call) native(f func(args []value.Value) (value.Value, error)) goja.Value {
	return c.vm.ToValue(func(in goja.FunctionCall) goja.Value {
		p, resolve, reject := c.vm.NewPromise()
		v, err := c.cross(in.Arguments, f)
		if err != nil {
			_ = reject(c.thrown(err)) // nothing waits for it yet
		} else {
			_ = resolve(v)
		}
		return c.vm.ToValue(p)
	})
}

// cross calls the host with what the arguments are there, and gives what the result is here.
func (c *call) cross(in []goja.Value, f func(args []value.Value) (value.Value, error)) (goja.Value, error) {
	left := c.left
	defer func() { c.left = left }()
	c.left = c.e.limits.Data
	args := make([]value.Value, len(in))
	for i, a := range in {
		var err error
		if args[i], err = c.out(a, 0); err != nil {
			return nil, err
		}
	}
	v, err := f(args)
	if err != nil {
		return nil, err
	}
	c.left = c.e.limits.Data
	return c.in(v, 0)
}

func (c *call) query(args []value.Value) (value.Value, error) {
	var vars *value.Object
	if len(args) > 1 && args[1].Kind() == value.KindObject {
		vars = args[1].Object()
	}
	return c.host.Query(args[0].Str(), vars)
}

func (c *call) value(args []value.Value) (value.Value, error) { return c.host.Value(args[0].Str()) }

// functions is every built-in function by its path, as objects in objects.
func (c *call) functions() goja.Value {
	return c.vm.ToValue(func(in goja.FunctionCall) goja.Value {
		define, ok := goja.AssertFunction(in.Argument(0))
		if !ok {
			return goja.Undefined()
		}
		for _, path := range c.host.Functions() {
			call := func(args []value.Value) (value.Value, error) { return c.host.Function(path, args) }
			f := c.native(call)
			if !c.host.Reads(path) {
				f = c.vm.ToValue(func(in goja.FunctionCall) goja.Value {
					v, err := c.cross(in.Arguments, call)
					if err != nil {
						panic(c.thrown(err))
					}
					return v
				})
			}
			if _, err := define(goja.Undefined(), c.vm.ToValue(path), f); err != nil {
				panic(err)
			}
		}
		return goja.Undefined()
	})
}

func (c *call) log(level, line string) {
	if c.lines++; c.lines > maxLines {
		return
	}
	if len(line) > maxLine {
		line = line[:maxLine] + "…"
	}
	c.host.Log(level, line)
}
