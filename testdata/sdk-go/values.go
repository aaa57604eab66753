package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gofrs/uuid"
	surrealdb "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// geometries go there and come back as what they were, with their type in the language.
func geometries(ctx context.Context, c *client) error {
	p := func(x, y float64) models.GeometryPoint { return models.GeometryPoint{Longitude: x, Latitude: y} }
	line := models.GeometryLine{p(1, 2), p(3, 4)}
	polygon := models.GeometryPolygon{{p(0, 0), p(4, 0), p(4, 4), p(0, 0)}}
	for kind, v := range map[string]any{
		"geometry<point>": p(1.5, -2.25), "geometry<line>": line, "geometry<polygon>": polygon, "geometry<multipoint>": models.GeometryMultiPoint{p(1, 2), p(3, 4)},
		"geometry<multiline>": models.GeometryMultiLine{line, line}, "geometry<multipolygon>": models.GeometryMultiPolygon{polygon, polygon},
		"geometry<collection>": models.GeometryCollection{p(1, 2), line, polygon},
	} {
		back, err := one[any](ctx, c.DB, "RETURN $v", map[string]any{"v": v})
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if err := want(kind, back, v); err != nil {
			return err
		}
		of, err := one[string](ctx, c.DB, "RETURN type::of($v)", map[string]any{"v": v})
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		if err := want("type", of, kind); err != nil {
			return err
		}
	}
	return nil
}

// limits of numbers, times and durations, decoded into types of the caller.
func limits(ctx context.Context, c *client) error {
	for _, n := range []int64{0, 1, -1, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64} {
		if got, err := one[int64](ctx, c.DB, "RETURN $v", map[string]any{"v": n}); err != nil || got != n {
			return fmt.Errorf("int %d: %d %v", n, got, err)
		}
	}
	for _, f := range []float64{0.1, -1.5, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1)} {
		if got, err := one[float64](ctx, c.DB, "RETURN $v", map[string]any{"v": f}); err != nil || got != f {
			return fmt.Errorf("float %v: %v %v", f, got, err)
		}
	}
	for _, d := range []time.Duration{0, 1, time.Second + 1, math.MaxInt64} {
		if got, err := one[models.CustomDuration](ctx, c.DB, "RETURN $v", map[string]any{"v": models.CustomDuration{Duration: d}}); err != nil || got.Duration != d {
			return fmt.Errorf("duration %v: %v %v", d, got.Duration, err)
		}
	}
	for _, text := range []string{"1815-12-10T00:00:00Z", "1969-12-31T23:59:59.999999999Z", "2024-02-29T12:00:00.000000001Z", "9999-12-31T23:59:59Z"} {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return err
		}
		if got, err := one[models.CustomDateTime](ctx, c.DB, "RETURN $v", map[string]any{"v": models.CustomDateTime{Time: at}}); err != nil || !got.Equal(at) {
			return fmt.Errorf("datetime %s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "\x00\n", "héllo ⟨x⟩ 😀", strings.Repeat("x", 1<<17)} {
		if got, err := one[string](ctx, c.DB, "RETURN $v", map[string]any{"v": text}); err != nil || got != text {
			return fmt.Errorf("text of %d bytes: %d bytes, %v", len(text), len(got), err)
		}
	}
	return nil
}

// recordKeys are record ids of every kind of key: made, read, changed, found by a parameter and deleted.
func recordKeys(ctx context.Context, c *client) error {
	if _, err := surrealdb.Query[any](ctx, c.DB, "DEFINE TABLE OVERWRITE keyed", nil); err != nil {
		return err
	}
	id := models.UUID{UUID: uuid.Must(uuid.FromString("01a1ff8e-6163-7761-a50f-13f3db900459"))}
	for name, key := range map[string]any{
		"text": "ada", "odd text": "a b⟩`'", "digits": "42", "no text": "", "int": 42, "negative": -42, "largest": int64(math.MaxInt64), "uuid": id,
		"array": []any{"London", uint64(7), id}, "no array": []any{}, "object": map[string]any{"city": "London", "n": uint64(1)}, "nested": []any{[]any{uint64(1)}, map[string]any{"a": "b"}},
	} {
		rid := recordID("keyed", key)
		made, err := surrealdb.Create[struct {
			ID   models.RecordID `json:"id"`
			Name string          `json:"name"`
		}](ctx, c.DB, rid, map[string]any{"name": name})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		// The client reads a uuid in a key as a bare tag: the server compares.
		if same, err := one[bool](ctx, c.DB, "RETURN $made = $id", map[string]any{"made": made.ID, "id": rid}); err != nil || !same || made.Name != name {
			return fmt.Errorf("%s: made %v, %v", name, made.ID, err)
		}
		if got, err := one[string](ctx, c.DB, "SELECT VALUE name FROM ONLY $id", map[string]any{"id": rid}); err != nil || got != name {
			return fmt.Errorf("%s: found %q, %v", name, got, err)
		}
		if got, err := surrealdb.Merge[person](ctx, c.DB, rid, map[string]any{"age": 1}); err != nil || got.Age != 1 {
			return fmt.Errorf("%s: merged %v, %v", name, got, err)
		}
		if got, err := surrealdb.Delete[person](ctx, c.DB, rid); err != nil || got.Name != name {
			return fmt.Errorf("%s: deleted %v, %v", name, got, err)
		}
	}
	return nil
}

// ranges of values and of records, as parameters.
func ranges(ctx context.Context, c *client) error {
	type bounds = models.Range[int, models.BoundIncluded[int], models.BoundExcluded[int]]
	v := bounds{Begin: &models.BoundIncluded[int]{Value: 1}, End: &models.BoundExcluded[int]{Value: 4}}
	if got, err := one[[]int](ctx, c.DB, "RETURN <array> $v", map[string]any{"v": &v}); err != nil || fmt.Sprint(got) != "[1 2 3]" {
		return fmt.Errorf("range: %v, %v", got, err)
	}
	if _, err := surrealdb.Query[any](ctx, c.DB, "REMOVE TABLE IF EXISTS ranged; FOR $i IN 0..6 { CREATE type::record('ranged', $i) SET n = $i }", nil); err != nil {
		return err
	}
	got, err := one[[]int](ctx, c.DB, "SELECT VALUE n FROM type::record('ranged', $v)", map[string]any{"v": &v})
	if err != nil {
		return err
	}
	return want("records of a range", got, []int{1, 2, 3})
}

// nothing: NONE and NULL, apart from one another.
func nothing(ctx context.Context, c *client) error {
	got, err := one[[]bool](ctx, c.DB, "RETURN [$none = NONE, $none = NULL, $null = NULL, $null = NONE]", map[string]any{"none": models.CustomNil{}, "null": nil})
	if err != nil {
		return err
	}
	if err := want("none and null", got, []bool{true, false, true, false}); err != nil {
		return err
	}
	row, err := one[struct {
		A *int `json:"a"`
		B *int `json:"b"`
		C *int `json:"c"`
	}](ctx, c.DB, "RETURN { a: 1, b: NULL, c: NONE }", nil)
	if err != nil || row.A == nil || *row.A != 1 || row.B != nil || row.C != nil {
		return fmt.Errorf("fields: %+v, %v", row, err)
	}
	return nil
}
