// Package script runs the JavaScript of function(…) { … } expressions.
//
// Every call has a runtime of its own: nothing of one call is seen by another. A script sees its arguments and `this`,
// the language's own objects, the classes Record, Uuid, Duration and Decimal, and what the Host lets it do:
// surrealdb.query and the like, console, and fetch with its classes. There is no timer, no file, no process, no module,
// and no code made from text. It is an async function in strict mode: await works, and a promise that it returns is
// settled.
//
// Bounded are the time, the text of the script, what goes in and comes out, nesting, and the growth of the process'
// heap while the script runs. The bounds hold between the steps of the interpreter. Built-in functions that could do
// much in one step are held by limits on their arguments (guard.js), BigInts by their size, regular expressions by a
// time of their own. What remains is the memory of one step, and that the heap is the whole process': scripting is off
// by default, and for authors who are trusted with the process.
//
// No runtime is made, and nothing compiled, before the first script runs.
package script

import (
	"context"
	_ "embed" // guard.js
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
	"github.com/nacredb/nacre/engine/errs"
	"github.com/nacredb/nacre/engine/value"
)

// CallLimits bound one call. The zero value of a field means its default.
type CallLimits struct {
	Time    time.Duration // of one call; 5 s
	Source  int           // bytes of the script's text; 64 KiB
	Data    int           // bytes of the arguments and `this` together, and of the result; 8 MiB
	Items   int           // elements of a list that a built-in function walks; 1 M
	Depth   int           // nesting of data; 100
	Calls   int           // nested calls in the script; 512
	Heap    uint64        // bytes that the heap of the process may grow while the script runs; 256 MiB
	Pattern time.Duration // of one match of a regular expression that backtracks; 1 s. The first Engine's holds for all
}

func (l CallLimits) withDefaults() CallLimits {
	def := func(p *int, d int) {
		if *p == 0 {
			*p = d
		}
	}
	def(&l.Source, 64<<10)
	def(&l.Data, 8<<20)
	def(&l.Items, 1<<20)
	def(&l.Depth, 100)
	def(&l.Calls, 512)
	if l.Time == 0 {
		l.Time = 5 * time.Second
	}
	if l.Heap == 0 {
		l.Heap = 256 << 20
	}
	if l.Pattern == 0 {
		l.Pattern = time.Second
	}
	return l
}

// maxCompiled is how many compiled scripts are kept.
const maxCompiled = 256

// Engine runs scripts. It is safe for concurrent use.
type Engine struct {
	limits  CallLimits
	records value.RecordParser
	guard   func() (*goja.Program, error)

	mu       sync.Mutex // guards compiled; a leaf lock
	compiled map[written]script
}

//go:embed guard.js
var guardSource string

// New makes an Engine; records reads the text form of record ids. It costs nothing until the first Run.
func New(l CallLimits, records value.RecordParser) *Engine {
	l = l.withDefaults()
	return &Engine{limits: l, records: records, compiled: map[written]script{},
		guard: sync.OnceValues(func() (*goja.Program, error) {
			regexp2.DefaultMatchTimeout = l.Pattern // goja compiles with it; only goja uses the package
			return goja.Compile("guard", guardSource, true)
		})}
}

// prefix begins every error of a script.
const prefix = "Problem with embedded script function. "

// failed is the error of a script that did not give a value.
func failed(format string, args ...any) error {
	return errs.Internal("%s%s", prefix, fmt.Sprintf(format, args...))
}

// Disabled is the error of a script where scripts may not run.
func Disabled() error { return failed("Embedded functions are not enabled.") }

// Run calls a script: source is the body of the function, without its braces. A nil host gives it nothing. Errors:
// ctx.Err(), or what went wrong in the script, as an *errs.Error.
func (e *Engine) Run(ctx context.Context, source string, this value.Value, args []value.Value,
	host Host) (value.Value, error) {
	if err := ctx.Err(); err != nil {
		return value.None, err
	}
	if len(source) > e.limits.Source {
		return value.None, failed("The script is longer than %d bytes", e.limits.Source)
	}
	c, err := e.newCall(host)
	if err != nil {
		return value.None, err
	}
	limited, cancel := context.WithTimeout(ctx, e.limits.Time)
	defer cancel()
	stop := context.AfterFunc(limited, func() { c.vm.Interrupt(errTime) })
	defer stop()
	heap := watchHeap(e.limits.Heap, func() { c.vm.Interrupt(errHeap) })
	defer heap.stop()
	v, err := c.run(source, this, args)
	if err == nil {
		return v, nil
	}
	if ctx.Err() != nil {
		return value.None, ctx.Err()
	}
	return value.None, c.explain(err)
}

// What interrupts a script.
var (
	errTime = errors.New("time")
	errHeap = errors.New("heap")
)

// explain turns what ended a script into the error that its caller sees.
func (c *call) explain(err error) error {
	limits := &c.e.limits
	var stopped *goja.InterruptedError
	if errors.As(err, &stopped) {
		if stopped.Value() == errHeap {
			return failed("The script needs more than %d bytes of memory", limits.Heap)
		}
		return failed("The script took longer than %s", limits.Time)
	}
	var deep *goja.StackOverflowError
	if errors.As(err, &deep) {
		return failed("An exception occurred: calls are nested deeper than %d\n", limits.Calls)
	}
	var thrown *goja.Exception
	if errors.As(err, &thrown) {
		return c.exception(thrown.Value())
	}
	var plain *errs.Error
	if errors.As(err, &plain) {
		return err
	}
	return failed("%s", err)
}

// script is a compiled script.
type script struct {
	*goja.Program
	bigInts bool // it can have some
}

// written returns the source from which a script is compiled.
type written struct {
	source string
	given  bool
}

// compile compiles a script, or finds it compiled. given says that its arguments hold BigInts.
func (e *Engine) compile(source string, given bool) (script, error) {
	key := written{source, given}
	e.mu.Lock()
	s, ok := e.compiled[key]
	e.mu.Unlock()
	if ok {
		return s, nil
	}
	program, err := goja.Parse("script", "(async function() {"+source+"\n})", parser.WithDisableSourceMaps)
	if err != nil {
		return s, failed("An exception occurred: %s\n", err)
	}
	var refused string
	if s.bigInts, refused = guardBigInts(program, source, given); refused != "" {
		return s, failed("An exception occurred: SyntaxError: %s\n", refused)
	}
	if s.Program, err = goja.CompileAST(program, true); err != nil {
		return s, failed("An exception occurred: %s\n", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.compiled) >= maxCompiled {
		clear(e.compiled)
	}
	e.compiled[key] = s
	return s, nil
}

// call is one run of a script.
type call struct {
	vm     *goja.Runtime
	e      *Engine
	hosted map[*goja.Object]value.Value // what the objects stand for that JavaScript has no like of
	dates  map[*goja.Object]date
	protos map[value.Kind]*goja.Object // of the classes of hosted objects
	left   int                         // bytes that may still be converted
	big    bool                        // a BigInt went in

	sets, maps, errors *goja.Object // Set, Map and Error

	host    Host         // nil: the script reaches nothing
	hosting *goja.Object // surrealdb and console, once they are made
	lines   int          // that were written to the console
	plain   bool         // the script has no BigInts
}

// newCall makes a runtime with its bounds in place.
func (e *Engine) newCall(host Host) (*call, error) {
	guard, err := e.guard()
	if err != nil {
		return nil, fmt.Errorf("compile the guard of scripts: %w", err)
	}
	c := &call{vm: goja.New(), e: e, host: host, hosted: map[*goja.Object]value.Value{}, dates: map[*goja.Object]date{},
		protos: map[value.Kind]*goja.Object{}}
	c.vm.SetMaxCallStackSize(e.limits.Calls)
	install, err := c.vm.RunProgram(guard)
	if err != nil {
		return nil, fmt.Errorf("guard a script: %w", err)
	}
	f, ok := goja.AssertFunction(install)
	if !ok {
		return nil, errors.New("guard a script: it is no function")
	}
	vm := c.vm
	if _, err := f(goja.Undefined(), vm.ToValue(e.limits.Data), vm.ToValue(e.limits.Items), vm.ToValue(e.limits.Depth),
		vm.ToValue(nesting)); err != nil {
		return nil, fmt.Errorf("guard a script: %w", err)
	}
	c.sets, c.maps, c.errors = vm.Get("Set").ToObject(vm), vm.Get("Map").ToObject(vm), vm.Get("Error").ToObject(vm)
	if err := c.defineHost(); err != nil {
		return nil, err
	}
	return c, c.defineClasses()
}

// run calls the script and settles what it returns.
func (c *call) run(source string, this value.Value, args []value.Value) (result value.Value, err error) {
	c.left = c.e.limits.Data
	self, err := c.in(this, 0)
	if err != nil {
		return value.None, err
	}
	in := make([]goja.Value, len(args))
	for i, a := range args {
		if in[i], err = c.in(a, 0); err != nil {
			return value.None, err
		}
	}
	s, err := c.e.compile(source, c.big || c.host != nil && strings.Contains(source, "surrealdb"))
	if err != nil {
		return value.None, err
	}
	if c.plain = !s.bigInts; c.plain {
		if err := dropBigInts(c.vm); err != nil {
			return value.None, fmt.Errorf("guard a script: %w", err)
		}
	}
	made, err := c.vm.RunProgram(s.Program)
	if err != nil {
		return value.None, err
	}
	f, ok := goja.AssertFunction(made)
	if !ok {
		return value.None, errors.New("the script is no function")
	}
	out, err := f(self, in...)
	if err != nil {
		return value.None, err
	}
	if out, err = c.settled(out); err != nil {
		return value.None, err
	}
	c.left = c.e.limits.Data
	if thrown := c.within(func() { result, err = c.out(out, 0) }); thrown != nil {
		return value.None, thrown
	}
	return result, err
}

// within runs f where it may call code of the script, and gives what that throws or is stopped by.
func (c *call) within(f func()) error {
	native, ok := goja.AssertFunction(c.vm.ToValue(func(goja.FunctionCall) goja.Value {
		f()
		return goja.Undefined()
	}))
	if !ok {
		return errors.New("a native function cannot be called")
	}
	_, err := native(goja.Undefined())
	return err
}

// exception is the error of what a script threw, which may have code of its own to say what it is: the message of an
// Error. A line feed ends it, where a stack would follow.
func (c *call) exception(thrown goja.Value) error {
	text := "an exception that cannot be shown"
	err := c.within(func() {
		if o, ok := thrown.(*goja.Object); ok && c.vm.InstanceOf(o, c.errors) {
			thrown = o.Get("message")
		}
		text = thrown.String()
	})
	if err != nil {
		text = "an exception that cannot be shown"
	}
	return failed("An exception occurred: %s\n", text)
}

// settled returns the outcome of a promise; all that could run has run by now.
func (c *call) settled(v goja.Value) (goja.Value, error) {
	p, ok := v.Export().(*goja.Promise)
	if !ok {
		return v, nil
	}
	switch p.State() {
	case goja.PromiseStateFulfilled:
		return p.Result(), nil
	case goja.PromiseStateRejected:
		return nil, c.exception(p.Result())
	}
	return nil, failed("The script waits for a promise that nothing settles")
}

// nesting is how deep brackets nest in a JSON text.
func nesting(s string) int {
	deep, depth, quoted := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deep = max(deep, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deep
}
