package ml

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

type dataSet struct {
	Models []struct {
		File, Header, Name, Version string
		HeaderLength                int `json:"header_length"`
		Keys                        []string
		Cases                       []struct {
			Raw    []any
			Number any
			Object map[string]any
			Result []any
			Error  string
		}
	}
	Forms []struct{ File, Header, Canonical string }
	Bad   []struct{ Name, When, Why, Match string }
}

func theData(t testing.TB) *dataSet {
	d := &dataSet{}
	decode(t, readData(t, "expected.json"), d)
	return d
}

// input makes the numbers of a case as a call does.
func (m *Model) testInput(t *testing.T, raw []any, number any, object map[string]any) ([]float32, bool, error) {
	if object != nil {
		x, err := m.Header.Row(func(key string) (float64, bool, error) {
			v, ok := object[key]
			if !ok {
				return 0, false, nil
			}
			return asNumber(t, v), true, nil
		}, nil)
		return x, true, err
	}
	if number != nil {
		raw = []any{number}
	}
	var x []float32
	for _, v := range raw {
		x = append(x, float32(asNumber(t, v)))
	}
	return x, false, nil
}

func TestModels(t *testing.T) {
	for _, tc := range theData(t).Models {
		t.Run(tc.File, func(t *testing.T) {
			b := readData(t, "svml/"+tc.File+".svml")
			m, err := Load(b, DefaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			if h := m.Header; h.Name != tc.Name || h.Version.String() != tc.Version || len(h.Keys) != len(tc.Keys) {
				t.Errorf("header: got %s %s %v", h.Name, h.Version, h.Keys)
			}
			for i, c := range tc.Cases {
				x, buffered, err := m.testInput(t, c.Raw, c.Number, c.Object)
				var out []float64
				if err == nil {
					out, err = m.Compute(testEnv(t), x)
				}
				if c.Error != "" {
					want := map[string]string{"missing key": "not found in input values", "shape": "Failed to reshape",
						"output type": "first output of the model is text"}[c.Error]
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("case %d: error %v, want %s", i, err, c.Error)
					}
					continue
				}
				if err != nil {
					t.Fatalf("case %d: %v", i, err)
				}
				if buffered {
					m.Header.Restore(out)
				}
				if len(out) != len(c.Result) {
					t.Fatalf("case %d: %d results, want %d", i, len(out), len(c.Result))
				}
				for j, v := range c.Result {
					if !near(out[j], asNumber(t, v)) {
						t.Errorf("case %d, result %d: got %v, want %v", i, j, out[j], v)
					}
				}
			}
		})
	}
}

func TestHeaderIsRewritten(t *testing.T) {
	d := theData(t)
	for _, m := range d.Models {
		d.Forms = append(d.Forms, struct{ File, Header, Canonical string }{m.File, m.Header, ""})
	}
	for _, tc := range d.Forms {
		b := readData(t, "svml/"+tc.File+".svml")
		h, payload, err := Split(b)
		if err != nil {
			t.Fatalf("%s: %v", tc.File, err)
		}
		streamed, err := ReadHeader(bytes.NewReader(b))
		if err != nil || streamed.String() != h.String() {
			t.Errorf("%s: read as a stream: %v, %v", tc.File, streamed, err)
		}
		if err := h.Check(); err != nil {
			t.Errorf("%s: %v", tc.File, err)
		}
		want := tc.Canonical
		if want == "" {
			want = strings.Replace(tc.Header, "=>tensorflow", "=>", 1) // an engine that is not known is left out
		}
		if h.String() != want {
			t.Errorf("%s:\n got %s\nwant %s", tc.File, h, want)
		}
		if again, err := ParseHeader([]byte(h.String())); err != nil || again.String() != want {
			t.Errorf("%s: the written header reads as %v, %v", tc.File, again, err)
		}
		if got := append(h.Bytes(), payload...); tc.Canonical == tc.Header && !bytes.Equal(got, b) {
			t.Errorf("%s: the written file differs", tc.File)
		}
	}
}

func TestEmptyHeader(t *testing.T) {
	h, payload, err := Split([]byte{0, 0, 0, 0, 'x'})
	if err != nil || string(payload) != "x" {
		t.Fatal(payload, err)
	}
	if want := strings.Repeat("//=>", 10); h.String() != want {
		t.Errorf("got %q, want %q", h, want)
	}
}

// TestMalformedFiles expects that a file is refused when it is read, or that its call fails in the end.
func TestMalformedFiles(t *testing.T) {
	for _, tc := range theData(t).Bad {
		t.Run(tc.Name, func(t *testing.T) {
			b := readData(t, "bad/"+tc.Name+".svml")
			h, err := ReadHeader(bytes.NewReader(b))
			if err == nil {
				err = h.Check()
			}
			if strings.HasPrefix(tc.When, "import") && err == nil {
				_, err = Load(b, DefaultLimits)
				if tc.When == "import" {
					t.Fatalf("the header was taken: %v", tc.Why)
				}
			}
			if err == nil {
				err = callMalformed(t, b)
			}
			if err == nil || !strings.Contains(err.Error(), tc.Match) {
				t.Errorf("got %v, want %q (%s)", err, tc.Match, tc.Why)
			}
			t.Log(err)
		})
	}
}

func callMalformed(t *testing.T, b []byte) error {
	m, err := Load(b, DefaultLimits)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	limits := DefaultLimits
	limits.Turns = 10_000
	x := make([]float32, product(m.Input))
	_, err = m.Compute(Call{Ctx: ctx, Limits: limits}, x)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("only the clock ended it")
	}
	return err
}

func TestTimeEndsALoop(t *testing.T) {
	m, err := Load(readData(t, "bad/endless_loop.svml"), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	limits := DefaultLimits
	limits.Turns = 1 << 50
	_, err = m.Compute(Call{Ctx: ctx, Limits: limits}, make([]float32, product(m.Input)))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the time", err)
	}
}

func TestMemoryIsAskedFor(t *testing.T) {
	m, err := Load(readData(t, "svml/transformer_block.svml"), DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, product(m.Input))
	asked := 0
	env := testEnv(t)
	env.Bear = func(n int) error { asked += n; return nil }
	if _, err := m.Compute(env, x); err != nil {
		t.Fatal(err)
	}
	if asked == 0 {
		t.Error("a call took no memory")
	}
	full := errors.New("no memory")
	env.Bear = func(int) error { return full }
	if _, err := m.Compute(env, x); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}
