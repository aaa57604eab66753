package sift_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/nacredb/nacre/engine/ast"
	"github.com/nacredb/nacre/engine/compile"
	"github.com/nacredb/nacre/engine/record"
	"github.com/nacredb/nacre/engine/sift"
	"github.com/nacredb/nacre/engine/value"
)

// listed is a source of records that are at hand; it ends with err.
type listed struct {
	records []record.Stored
	err     error
}

func (l *listed) Batch(dst []record.Stored, n int) []record.Stored {
	n = min(n, len(l.records))
	dst = append(dst, l.records[:n]...)
	l.records = l.records[n:]
	return dst
}

func (l *listed) Err() error { return l.err }

// numbered are n records { n: i, half: i / 2 }; every 100th has a text in the place of half.
func numbered(t *testing.T, n int) []record.Stored {
	t.Helper()
	out := make([]record.Stored, n)
	for i := range out {
		half := value.Int(int64(i / 2))
		if i%100 == 99 {
			half = value.Str("none")
		}
		b, err := value.EncodeRecord(nil, value.NewObject(value.Field{Name: "n", Value: value.Int(int64(i))},
			value.Field{Name: "half", Value: half}))
		if err != nil {
			t.Fatal(err)
		}
		out[i] = b
	}
	return out
}

// even is a program of the rows with an even n and a half that can be doubled.
func even(count bool) *sift.Program {
	set := compile.New(func(ast.Expr) (value.Value, error) { return value.None, errors.New("no constant") })
	n, half := set.Path([]string{"n"}), set.Path([]string{"half"})
	p := &sift.Program{Set: set, Count: count, Where: func(row *value.Fields) (bool, error) {
		v, _ := row.At(n)
		return v.Int()%2 == 1, nil
	}}
	if !count {
		p.Columns = []compile.Column{compile.Computed(func(row *value.Fields) (value.Value, error) {
			v, _ := row.At(half)
			if v.Kind() != value.KindInt {
				return value.None, compile.ErrOpen
			}
			return value.Int(v.Int() * 2), nil
		})}
	}
	return p
}

func TestRowsComeInTheirOrder(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 600, 5000} {
		for _, workers := range []int{0, 1, 4} {
			w := sift.New(&listed{records: numbered(t, n)}, even(false), sift.Options{Workers: workers, After: 100})
			next := 1
			for {
				row, ok, err := w.Next(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				got, err := row.Stored.Field("n")
				if err != nil || got.Int() != int64(next) {
					t.Fatalf("%d records, %d workers: got row %v, %v, want %d", n, workers, got, err, next)
				}
				if row.Open != (next%100 == 99) || !row.Open && row.Columns[0].Int() != int64(next-1) {
					t.Fatalf("row %d: open %v, columns %v", next, row.Open, row.Columns)
				}
				next += 2
			}
			if w.Read() != n || next < n {
				t.Errorf("%d records: %d were read, the last row is before %d", n, w.Read(), next)
			}
			w.Close()
		}
	}
}

func TestCount(t *testing.T) {
	w := sift.New(&listed{records: numbered(t, 4001)}, even(true), sift.Options{Workers: 3, After: 100})
	defer w.Close()
	if row, ok, err := w.Next(context.Background()); ok || err != nil {
		t.Fatalf("got %v, %v", row, err)
	}
	if w.Counted() != 2000 {
		t.Errorf("counted %d, want 2000", w.Counted())
	}
	if runtime.GOMAXPROCS(0) > 0 && w.Shared() != 3 {
		t.Errorf("%d workers, want 3", w.Shared())
	}
}

// TestErrorsComeAfterTheRowsBefore: neither the end of a source nor a damaged record hides the rows before it.
func TestErrorsComeAfterTheRowsBefore(t *testing.T) {
	cut := errors.New("cut off")
	damaged := numbered(t, 1000)
	damaged[901] = record.Stored("?")
	for _, tc := range []struct {
		source *listed
		rows   int
		want   func(error) bool
	}{
		{&listed{records: numbered(t, 1000), err: cut}, 500, func(err error) bool { return errors.Is(err, cut) }},
		{&listed{records: damaged}, 450, func(err error) bool {
			var bad *value.DecodeError
			return errors.As(err, &bad)
		}},
	} {
		for _, workers := range []int{1, 4} {
			source := *tc.source
			w := sift.New(&source, even(false), sift.Options{Workers: workers})
			rows := 0
			var err error
			for ok := true; ok && err == nil; {
				if _, ok, err = w.Next(context.Background()); ok {
					rows++
				}
			}
			if rows != tc.rows || !tc.want(err) {
				t.Errorf("%d workers: %d rows and error %v, want %d", workers, rows, err, tc.rows)
			}
			w.Close()
		}
	}
}

func TestPanicsReachTheCaller(t *testing.T) {
	for _, workers := range []int{1, 4} {
		p := even(false)
		p.Where = func(*value.Fields) (bool, error) { panic("in a condition") }
		w := sift.New(&listed{records: numbered(t, 3000)}, p, sift.Options{Workers: workers})
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != "in a condition" {
					t.Errorf("recovered %s", got)
				}
			}()
			_, _, _ = w.Next(context.Background())
		}()
		w.Close()
	}
}

// TestCloseInTheMidst: workers end with Close, and with a context that ends.
func TestCloseInTheMidst(t *testing.T) {
	records := numbered(t, 20_000)
	before := runtime.NumGoroutine()
	for i := range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		w := sift.New(&listed{records: slices.Clone(records)}, even(false), sift.Options{Workers: 4})
		for range 500 * i {
			if _, ok, err := w.Next(ctx); !ok || err != nil {
				break
			}
		}
		cancel()
		var err error
		for ok := true; ok && err == nil; {
			_, ok, err = w.Next(ctx)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		w.Close()
		w.Close()
	}
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left of %d", runtime.NumGoroutine(), before)
		}
	}
}
