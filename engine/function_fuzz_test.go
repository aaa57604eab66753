package engine_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nacredb/nacre/engine"
	"github.com/nacredb/nacre/engine/auth"
	"github.com/nacredb/nacre/engine/decimal"
	"github.com/nacredb/nacre/engine/fn"
	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/internal/footprint"
)

// source makes values out of bytes; when they are used up, all further ones are zero.
type source struct{ b []byte }

func (s *source) byte() byte {
	if len(s.b) == 0 {
		return 0
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c
}

// pick is a number below n.
func (s *source) pick(n int) int { return (int(s.byte())<<8 | int(s.byte())) % n }

func (s *source) word() uint64 {
	var b [8]byte
	s.b = s.b[copy(b[:], s.b):]
	return binary.LittleEndian.Uint64(b[:])
}

func (s *source) integer() int64 {
	odd := []int64{0, 1, -1, 2, 3, 7, 12, 60, 255, 256, 1 << 20, 1 << 31, 1<<53 + 1, math.MaxInt64, math.MinInt64, -8334601228800, 8210266876799}
	if i := s.pick(2 * len(odd)); i < len(odd) {
		return odd[i]
	}
	return int64(s.word())
}

func (s *source) number() value.Value {
	floats := []float64{0, math.Copysign(0, -1), 0.5, -1.5, 1e-320, 1e308, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 1 << 63, 90, 180, -180.0000001}
	switch s.pick(6) {
	case 0, 1:
		return value.Int(s.integer())
	case 2:
		return value.Float(floats[s.pick(len(floats))])
	case 3:
		return value.Float(math.Float64frombits(s.word()))
	case 4:
		return value.DecimalOf(decimal.Decimal{Lo: s.word(), Hi: uint32(s.word()), Scale: uint8(s.pick(29)), Neg: s.pick(2) == 1})
	}
	return value.Int(int64(s.pick(20)))
}

func (s *source) text() string {
	odd := []string{"", "a", "é😀", "ß\u0301\u200d", "\x00", "%Y-%m-%dT%H:%M:%S%.3f %z", "%", "%Q", "%999999999d", "(a+)+$", "[", "(?i)x{1000}{1000}", "http://[::1]:80/../a?b#c", "a@b.c", "1.2.3-a+b",
		"18446744073709551615.0.0", "t:1", "t:⟨x⟩", "9q8yyk8ytpxr", "<b a=1>x<script>", "2024-02-29T23:59:60Z", "RETURN 1", "CREATE t", "{\"a\":[1e999]}", strings.Repeat("[", 5000), "desc", "minmax",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV", "$argon2id$v=19$m=4294967295,t=4294967295,p=255$AAAA$AAAA", "$2b$31$0CS92chVWhDCFX2ezNTeFua4/QFpwbdrC.SoAmdIevkqPjhekOKui",
		"$scrypt$ln=63,r=8,p=1$AAAA$AAAA", "$pbkdf2-sha256$i=4294967295,l=4294967295$AAAA$AAAA", "year", "t", "an", "q", "b", "/a", "/k", "POST", "json"}
	switch i := s.pick(2*len(odd) + 2); {
	case i < len(odd):
		return odd[i]
	case i == 2*len(odd):
		return strings.Repeat("ab c", 1<<16)
	case i == 2*len(odd)+1:
		return strings.Repeat("日", 1<<14)
	}
	n := s.pick(24)
	raw := make([]byte, 0, n)
	for range n {
		raw = append(raw, s.byte())
	}
	if text := string(raw); utf8.ValidString(text) {
		return text
	}
	return strings.ToValidUTF8(string(raw), "\U0010ffff")
}

func (s *source) list(depth int) []value.Value {
	switch s.pick(24) {
	case 0: // long
		out, v := make([]value.Value, 5000), s.value(0)
		for i := range out {
			if out[i] = v; i%2 == 1 {
				out[i] = value.Int(int64(i))
			}
		}
		return out
	case 1: // deep
		v := s.value(0)
		for range 60 {
			v = value.Array(v)
		}
		return []value.Value{v}
	case 2, 3, 4, 5, 6, 7: // of numbers
		out := make([]value.Value, s.pick(8))
		for i := range out {
			out[i] = s.number()
		}
		return out
	}
	out := make([]value.Value, s.pick(6))
	for i := range out {
		out[i] = s.value(depth - 1)
	}
	return out
}

func (s *source) object(depth int) *value.Object {
	keys := []string{"a", "b", "", "id", "type", "coordinates", "op", "path", "value", "limit", "prefix", "method", "body", "n", "$x", "é"}
	var fields []value.Field
	for range s.pick(5) {
		fields = append(fields, value.Field{Name: keys[s.pick(len(keys))], Value: s.value(depth - 1)})
	}
	return value.NewObject(fields...)
}

func (s *source) geometry(depth int) *value.Geometry {
	point := func() value.Point {
		spots := []float64{0, 180, -180, 90, -90, 1e308, math.NaN(), math.Inf(1), 13.4, 52.5}
		return value.Point{X: spots[s.pick(len(spots))], Y: spots[s.pick(len(spots))]}
	}
	line := func() (out []value.Point) {
		for range s.pick(5) {
			out = append(out, point())
		}
		return out
	}
	g := &value.Geometry{Kind: value.GeometryKind(s.pick(7))}
	switch g.Kind {
	case value.GeometryPoint:
		g.Point = point()
	case value.GeometryLine, value.GeometryMultiPoint:
		g.Line = line()
	case value.GeometryPolygon, value.GeometryMultiLine:
		for range s.pick(3) {
			g.Rings = append(g.Rings, line())
		}
	case value.GeometryMultiPolygon:
		g.Polys = [][][]value.Point{{line()}, {}}
	default:
		for range s.pick(3) {
			if depth > 0 {
				g.Items = append(g.Items, s.geometry(depth-1))
			}
		}
	}
	return g
}

func (s *source) datetime() value.Datetime {
	ends := []int64{-8334601228800, 8210266876799, 0, -1, 951782400, -2203891200, 9223372036, -9223372037}
	d := value.Datetime{Secs: ends[s.pick(len(ends))], Nanos: uint32(s.pick(2)) * 999_999_999}
	if s.pick(2) == 0 {
		d.Secs = int64(s.word() % 8_000_000_000_000)
	}
	return d
}

func (s *source) duration() value.Duration {
	secs := []uint64{0, 1, 60, 86400, math.MaxUint64, math.MaxInt64, 9223372036, 9223372037}
	return value.Duration{Secs: secs[s.pick(len(secs))], Nanos: uint32(s.pick(2)) * 999_999_999}
}

func (s *source) value(depth int) value.Value {
	kinds := 14
	if depth > 0 {
		kinds = 19
	}
	switch s.pick(kinds) {
	case 0:
		return value.None
	case 1:
		return value.Null
	case 2:
		return value.Bool(s.pick(2) == 1)
	case 3, 4, 5:
		return s.number()
	case 6, 7:
		return value.Str(s.text())
	case 8:
		return value.DurationOf(s.duration())
	case 9:
		return value.DatetimeOf(s.datetime())
	case 10:
		u := value.UUID{6: s.byte(), 8: s.byte(), 9: s.byte()}
		return value.UUIDOf(u)
	case 11:
		return value.BytesOf([]byte(s.text()))
	case 12:
		return value.GeometryOf(s.geometry(2))
	case 13:
		return value.FileOf(&value.File{Bucket: "b", Key: "/" + s.text()})
	case 14:
		return value.ArrayOf(s.list(depth))
	case 15:
		return value.SetOf(s.list(depth))
	case 16:
		return value.ObjectOf(s.object(depth))
	case 17:
		return value.Record("t", value.Int(int64(s.pick(4))))
	}
	r := &value.Range{Start: value.Bound{Kind: value.BoundKind(s.pick(3))}, End: value.Bound{Kind: value.BoundKind(s.pick(3))}}
	if r.Start.Kind != value.Unbounded {
		r.Start.Value = s.number()
	}
	if r.End.Kind != value.Unbounded {
		r.End.Value = s.number()
	}
	return value.RangeOf(r)
}

// fitting makes a value of a parameter's type, most of the time.
func (s *source) fitting(t *value.Type) value.Value {
	if s.pick(8) == 0 {
		return s.value(2)
	}
	switch t.Kind {
	case value.TypeInt:
		return value.Int(s.integer())
	case value.TypeFloat, value.TypeNumber:
		return s.number()
	case value.TypeString:
		return value.Str(s.text())
	case value.TypeBytes:
		return value.BytesOf([]byte(s.text()))
	case value.TypeBool:
		return value.Bool(s.pick(2) == 1)
	case value.TypeDatetime:
		return value.DatetimeOf(s.datetime())
	case value.TypeDuration:
		return value.DurationOf(s.duration())
	case value.TypeObject:
		return value.ObjectOf(s.object(2))
	case value.TypeGeometry:
		return value.GeometryOf(s.geometry(2))
	case value.TypeRecord:
		return value.Record("t", value.Int(int64(s.pick(4))))
	case value.TypeSet:
		return value.SetOf(s.list(2))
	case value.TypeFile:
		return value.FileOf(&value.File{Bucket: "b", Key: "/" + s.text()})
	case value.TypeArray:
		if t.Elem == nil {
			return value.ArrayOf(s.list(2))
		}
		out := make([]value.Value, s.pick(7))
		for i := range out {
			out[i] = s.fitting(t.Elem)
		}
		return value.ArrayOf(out)
	}
	return s.value(2)
}

// closures that are given where a function takes one, or anything.
var closures = []string{"|$x| $x", "|$a, $b| $a + $b", "|$x| array::map($x, |$y| $y)", "|$a: int, $b| -> int { $a }", "|| 1", "|$x| { THROW 'x' }", "|$x| $x.len()", "|$x| string::repeat($x, 9)",
	"|$a, $b| [$a, $b]", "|$x| { CREATE t; $x }", "|$x| $x > 1", "|$x| eval::surql('RETURN 1')"}

// callText is a statement that calls a function of the library in one of its forms, with its parameters.
func callText(f *fn.Func, s *source) (string, *value.Object) {
	n := f.MinArgs() + s.pick(len(f.Params)+2-f.MinArgs())
	if s.pick(8) == 0 {
		n = s.pick(6)
	}
	var vars []value.Field
	args := make([]string, n)
	for i := range args {
		t := value.Any
		if len(f.Params) > 0 {
			t = f.Params[min(i, len(f.Params)-1)].Type
		}
		if t.Kind == value.TypeFunction || t.Kind == value.TypeAny && s.pick(3) == 0 {
			args[i] = "(" + closures[s.pick(len(closures))] + ")"
			continue
		}
		name := fmt.Sprintf("a%d", i)
		args[i] = "$" + name
		vars = append(vars, value.Field{Name: name, Value: s.fitting(t)})
	}
	call := f.Name + "(" + strings.Join(args, ", ") + ")"
	form := s.pick(4)
	if len(f.Methods) > 0 && n > 0 && form == 0 {
		m := f.Methods[s.pick(len(f.Methods))]
		call = args[0] + "." + m.Name + "(" + strings.Join(args[1:], ", ") + ")"
	}
	switch form {
	case 1:
		call = "SELECT " + call + " AS r FROM t GROUP ALL"
	case 2:
		call = "SELECT VALUE " + call + " FROM t WHERE s @1@ 'a'"
	default:
		call = "RETURN " + call
	}
	return call, value.NewObject(vars...)
}

// functionPlace is what called functions find.
type functionPlace struct {
	e   *engine.Engine
	s   *engine.Session
	log *strings.Builder
	n   int // calls so far
}

func (p *functionPlace) open(t testing.TB) {
	caps := auth.DefaultCapabilities()
	caps.Experimental.Allow, caps.Eval = auth.NewSet("files"), auth.Everything()
	p.log = &strings.Builder{}
	e, err := engine.Open(context.Background(), "memory", engine.Options{
		NoDefaults: true, Capabilities: caps, Limits: fuzzLimits, Log: slog.New(slog.NewTextHandler(p.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	p.e, p.s, p.n = e, owner(t, e), 0
	if _, err := p.s.Execute(context.Background(), fuzzPlace+`DEFINE BUCKET b BACKEND "memory"; DEFINE API "/a" FOR any THEN { { body: $request.body } }; f"b:/k".put("x")`, nil); err != nil {
		t.Fatal(err)
	}
}

func (p *functionPlace) close(t testing.TB) {
	if err := p.e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// call runs one call and holds that it did not panic. The place is made anew from time to time, as calls may fill it.
func (p *functionPlace) call(t testing.TB, text string, vars *value.Object) {
	if p.n++; p.n > 2000 {
		p.close(t)
		p.open(t)
	}
	res, err := p.s.Execute(context.Background(), text, vars)
	if err == nil {
		for _, r := range res {
			if r.Err == nil {
				_ = r.Value.Text()
			} else if r.Err.Msg == "An internal error occurred" {
				t.Errorf("%s with %s: a fault inside: %v", text, value.ObjectOf(vars), r.Err.Err)
			}
		}
	}
	if strings.Contains(p.log.String(), "panic") {
		t.Errorf("%s with %s: %s", text, value.ObjectOf(vars), p.log.String())
		p.log.Reset()
	}
}

// callable are the functions of the library that can be called without the network.
func callable() []*fn.Func {
	table := fn.Library()
	return append(table.Functions(), table.MethodsOnly()...)
}

// bearable is how many bytes a call may hold beyond its arguments: 64 MiB, and what a password hash is made with.
func bearable(name string) uint64 {
	if strings.HasPrefix(name, "crypto::") && strings.Count(name, "::") == 2 {
		return 384 << 20
	}
	return 64 << 20
}

// FuzzFunctionCalls checks that no function panics, hangs or holds more than 64 MiB, with any arguments.
func FuzzFunctionCalls(f *testing.F) {
	funcs := callable()
	r := rand.New(rand.NewPCG(7, 7))
	for i := range funcs {
		for range 3 {
			seed := make([]byte, 120)
			for j := range seed {
				seed[j] = byte(r.Uint32())
			}
			f.Add(uint16(i), seed)
		}
	}
	p := &functionPlace{}
	p.open(f)
	f.Cleanup(func() { p.close(f) })
	f.Fuzz(func(t *testing.T, which uint16, seed []byte) {
		g := funcs[int(which)%len(funcs)]
		text, vars := callText(g, &source{seed})
		footprint.Within(30*time.Second, text, func() {
			over := footprint.Over(bearable(g.Name), func() { p.call(t, text, vars) })
			if over > 0 {
				t.Fatalf("%s holds %d MiB, with %.2000s", text, over>>20, value.ObjectOf(vars))
			}
		})
	})
}

// TestEveryFunctionBearsEverything is a short round of the same, over every function there is.
func TestEveryFunctionBearsEverything(t *testing.T) {
	p := &functionPlace{}
	p.open(t)
	defer func() { p.close(t) }()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for _, g := range callable() {
		rounds := 12
		if strings.HasPrefix(g.Name, "crypto::") && strings.HasSuffix(g.Name, "::generate") || g.Name == "sleep" {
			rounds = 1 // slow on purpose
		}
		for range rounds {
			seed := make([]byte, 160)
			for j := range seed {
				seed[j] = byte(r.Uint32())
			}
			text, vars := callText(g, &source{seed})
			p.call(t, text, vars)
		}
	}
}
