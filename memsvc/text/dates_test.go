package text

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDatesCountFromWhenTheTextWasSaid(t *testing.T) {
	ref := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC) // a Monday
	for s, want := range map[string]string{
		"I went yesterday":            "2023-05-07 2023-05-08",
		"it was on 7 May 2022, early": "2022-05-07 2022-05-08",
		"May 7th, 2022":               "2022-05-07 2022-05-08",
		"on 2021-02-03.":              "2021-02-03 2021-02-04",
		"in June 2021":                "2021-06-01 2021-07-01",
		"last Friday was fun":         "2023-05-05 2023-05-06",
		"next Friday":                 "2023-05-12 2023-05-13",
		"two weeks ago":               "2023-04-24 2023-05-01",
		"last week":                   "2023-05-01 2023-05-08",
		"next month":                  "2023-06-01 2023-07-01",
		"last year":                   "2022-01-01 2023-01-01",
		"last weekend":                "2023-05-06 2023-05-08",
		"three days ago":              "2023-05-05 2023-05-06",
		"a couple of months ago":      "2023-03-01 2023-04-01",
		"in two weeks":                "2023-05-22 2023-05-29",
		"last summer":                 "2022-06-01 2022-09-01",
		"back in 2019":                "2019-01-01 2020-01-01",
		"on December 20":              "2022-12-20 2022-12-21",
		"last March":                  "2023-03-01 2023-04-01",
		"I may go":                    "",
		"I have 2019 apples":          "",
	} {
		got := ""
		for _, m := range Dates(s, ref) {
			got += " " + m.From.Format("2006-01-02") + " " + m.To.Format("2006-01-02")
		}
		if want != "" {
			want = " " + want
		}
		if got != want {
			t.Errorf("%q: got%s, want%s", s, got, want)
		}
	}
	if got := Dates("yesterday, and on 7 May 2022", time.Time{}); len(got) != 1 {
		t.Errorf("without a time of its own a text names %d times, want 1", len(got))
	}
}

// TestDatesLeaveNoPatternOut holds that a pattern is left out only where it would find nothing.
func TestDatesLeaveNoPatternOut(t *testing.T) {
	words := strings.Fields("on in the of at last next this past coming following other yesterday tomorrow today tonight night " +
		"morning day days week weekend month years ago back before later from now a few two couple 5 12th 2023 03/04/2024 " +
		"2024-05-06 may, may2023 7may January mon Friday tues summer fall since by day_after 31.12. jan. sept_2020 émay 3days")
	r := rand.New(rand.NewPCG(3, 4))
	ref := time.Date(2024, 2, 29, 10, 0, 0, 0, time.UTC)
	for range 20_000 {
		var list []string
		for range 1 + r.IntN(9) {
			list = append(list, words[r.IntN(len(words))])
		}
		s := strings.ToLower(strings.Join(list, " "))
		if got, want := dates(s, ref, kindsOf(s)), dates(s, ref, ^uint16(0)); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %v, want %v", s, got, want)
		}
	}
}

func FuzzDates(f *testing.F) {
	f.Add("last Friday, 7 May 2022, İ in 3 weeks")
	ref := time.Date(2023, 5, 8, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		for _, m := range Dates(s, ref) {
			if m.Start < 0 || m.End > len(s) || m.Start >= m.End || !m.From.Before(m.To) {
				t.Fatalf("%q: %+v", s, m)
			}
		}
		for _, w := range Words(s) {
			if s[w.Start:w.End] != w.Text {
				t.Fatalf("%q: %+v", s, w)
			}
		}
	})
}
