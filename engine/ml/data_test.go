package ml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/nacredb/nacre/engine/ml/onnx"
)

// dataDir holds the models and their expected values.
const dataDir = "../../testdata/models"

func readData(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dataDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// number is a JSON number, or a text for what JSON cannot say.
func asNumber(t testing.TB, v any) float64 {
	t.Helper()
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			t.Fatal(err)
		}
		return f
	case bool:
		return float64(truth(v))
	case string:
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	t.Fatalf("not a number: %v", v)
	return 0
}

func near(got, want float64) bool {
	if got == want || got != got && want != want {
		return math.Signbit(got) == math.Signbit(want) || want != 0
	}
	return math.Abs(got-want) <= 1e-6+1e-5*math.Abs(want)
}

var typeNames = map[string]onnx.ElemType{"float32": onnx.Float, "float64": onnx.Double, "int64": onnx.Int64,
	"int32": onnx.Int32, "bool": onnx.Bool, "uint8": onnx.Uint8, "int8": onnx.Int8, "string": onnx.String}

// jsonTensor is a tensor in the data set.
type jsonTensor struct {
	Type string
	Dims []int
	Data []any
}

func (j jsonTensor) tensor(t testing.TB) *Tensor {
	t.Helper()
	out, err := (&run{ctx: t.Context(), limits: DefaultLimits}).alloc(typeNames[j.Type], j.Dims)
	if err != nil {
		t.Fatal(err)
	}
	out.store = nil
	for i, v := range j.Data {
		switch out.Type {
		case onnx.String:
			out.Str[i] = v.(string)
		case onnx.Int64, onnx.Int32, onnx.Int8, onnx.Uint8:
			n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			out.setInt(i, n)
		default:
			out.setFloat(i, asNumber(t, v))
		}
	}
	return out
}

// differs tells how got is not what the data set has; "" if it is.
func (j jsonTensor) differs(t testing.TB, got *Tensor) string {
	if got.Type != typeNames[j.Type] || !sameDims(got.Dims, j.Dims) && len(got.Dims)+len(j.Dims) > 0 {
		return fmt.Sprintf("got %s%s, want %s%v", got.Type, shapeText(got.Dims), j.Type, j.Dims)
	}
	for i, v := range j.Data {
		switch {
		case got.Str != nil:
			if got.Str[i] != v.(string) {
				return fmt.Sprintf("element %d is %q, want %q", i, got.Str[i], v)
			}
		case isFloat(got.Type):
			if want := asNumber(t, v); !near(got.float(i), want) {
				return fmt.Sprintf("element %d is %v, want %v", i, got.float(i), want)
			}
		case got.Type == onnx.Bool:
			if (got.U8[i] != 0) != v.(bool) {
				return fmt.Sprintf("element %d is %v, want %v", i, got.U8[i] != 0, v)
			}
		default:
			if s := strconv.FormatInt(got.int(i), 10); s != fmt.Sprint(v) {
				return fmt.Sprintf("element %d is %s, want %v", i, s, v)
			}
		}
	}
	return ""
}

func decode(t testing.TB, b []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(to); err != nil {
		t.Fatal(err)
	}
}

func testEnv(t testing.TB) Call { return Call{Ctx: t.Context(), Limits: DefaultLimits} }
