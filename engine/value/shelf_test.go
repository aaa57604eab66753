package value_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/nacredb/nacre/engine/value"
	"github.com/nacredb/nacre/engine/value/valuetest"
)

// A Shelf makes the objects that RecordObject makes, batch after batch, and empties those of the batch before.
func TestShelf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var shelf value.Shelf
		var before, detached []value.Value
		var texts []string
		for range 4 {
			n := rapid.IntRange(0, 5).Draw(t, "records")
			shelf.Begin(n)
			for i, old := range before {
				if o := old.Object(); o.Len() != 0 {
					t.Fatalf("an object of the last batch still is %s", old.Text())
				}
				if detached[i].Text() != texts[i] {
					t.Fatalf("what was detached is %s, want %s", detached[i].Text(), texts[i])
				}
			}
			before, detached, texts = before[:0], detached[:0], texts[:0]
			for range n {
				o := valuetest.Object(2).Draw(t, "object").Object()
				b := record(t, o)
				if err := shelf.Add(b); err != nil {
					t.Fatal(err)
				}
				rows := shelf.Rows()
				got, want := rows[len(rows)-1], value.ObjectOf(lazy(t, b))
				if value.Weight(got) != value.Weight(want) || got.Text() != want.Text() {
					t.Fatalf("got %s of weight %d, want %s of %d", got.Text(), value.Weight(got), want.Text(),
						value.Weight(want))
				}
				before, detached = append(before, got), append(detached, value.Detach(got))
				texts = append(texts, want.Text())
			}
			if len(shelf.Rows()) != n {
				t.Fatalf("%d rows, want %d", len(shelf.Rows()), n)
			}
		}
		if err := shelf.Add(nil); err == nil {
			t.Fatal("an object of no bytes")
		}
	})
}
