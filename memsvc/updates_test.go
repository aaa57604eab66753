package memsvc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// update is something that was so, and is another way now.
type update struct {
	old, new     string // sentences
	was, is      string // the words that tell them apart
	question     string
	key, subject string // of a triple
}

// updates are changes in the lives of some people, each in its own words.
func updates() []update {
	var out []update
	people := []string{"Ada", "Bruno", "Carla", "Dmitri", "Esra", "Farid", "Greta", "Hugo"}
	words := strings.Fields
	cities := words("Paris Lisbon Oslo Kyoto Dublin Prague Boston Cairo Lima Rome Vienna Sofia Quito Accra Turin Leeds")
	firms := words("Initech Globex Hooli Acme Umbra Vandelay Wonka Stark Wayne Tyrell Oscorp Cyberdyne Soylent " +
		"Massive Gringotts Pied")
	drinks := words("coffee tea lemonade cocoa cider espresso ginger milk water kombucha cola juice mate chai " +
		"punch broth")
	jobs := words("nurse pilot baker lawyer teacher chef farmer dentist driver writer plumber tailor barber singer " +
		"judge scout")
	colors := words("teal maroon ochre violet crimson indigo beige olive amber coral silver lilac khaki ivory " +
		"scarlet jade")
	for i, p := range people {
		j := i + len(people) // no new value is the old one of another person
		add := func(key, question, was, is, before, after string) {
			out = append(out, update{fmt.Sprintf(before, was), fmt.Sprintf(after, is), was, is, question, key, p})
		}
		add("lives_in", "Where does "+p+" live?", cities[i], cities[j], "I live in %s.",
			"I moved to %s last month, finally.")
		add("works_at", "Which company does "+p+" work for?", firms[i], firms[j], "I work at %s.",
			"Guess what, I work at %s now.")
		add("favourite_drink", "What is the favourite drink of "+p+"?", drinks[i], drinks[j],
			"My favourite drink is %s.", "By the way, my favourite drink is %s these days.")
		add("occupation", "What is "+p+"'s job?", jobs[i], jobs[j], "I work as a %s.", "I was hired as a %s!")
		add("favourite_color", "Which color does "+p+" like best?", colors[i], colors[j], "My favourite color is %s.",
			"My favourite color is %s since the summer.")
	}
	return out
}

// firstOf is which of two words the best hit that holds one of them holds.
func firstOf(a answer, was, is string) string {
	for _, h := range a.list("hits") {
		text := fmt.Sprint(h.(map[string]any)["text"])
		switch w, i := strings.Contains(text, was), strings.Contains(text, is); {
		case i && !w:
			return "new"
		case w && !i:
			return "old"
		}
	}
	return "nothing"
}

// TestUpdatedQuestionsAnswerTheNewValue holds what a query finds first after something changed, what it finds first
// with asOf in the past, and that it never finds what was forgotten.
func TestUpdatedQuestionsAnswerTheNewValue(t *testing.T) {
	for _, way := range []string{"sentences", "triples"} {
		t.Run(way, func(t *testing.T) {
			s := start(t, "MEMSVC_LOG_LEVEL", "error")
			s.patch(200, `{"llm_extraction_enabled": true}`)
			all := updates()
			for round, at := range []string{"2023-01-10T10:00:00Z", "2023-08-10T10:00:00Z"} {
				for _, u := range all {
					text, value := u.old, u.was
					if round == 1 {
						text, value = u.new, u.is
					}
					if way == "sentences" {
						s.post(200, "/facts", map[string]any{"text": text, "name": u.subject, "observed_at": at})
						continue
					}
					triple := map[string]any{"key": u.key, "value": value,
						"entity": map[string]string{"type": "person", "name": u.subject}}
					s.post(200, "/facts", map[string]any{"observed_at": at, "triples": []any{triple}})
				}
			}
			fresh, past, direct := 0, 0, 0
			for _, u := range all {
				ask := map[string]any{"query": u.question}
				a := s.post(200, "/query", ask)
				if a.str("tier") == "direct" && a.str("classificationKind") == "direct_lookup" {
					direct++
				}
				if got := firstOf(a, u.was, u.is); got == "new" {
					fresh++
				} else {
					t.Logf("%s: %s first", u.question, got)
				}
				ask["asOf"] = "2023-03-01T00:00:00Z"
				if got := firstOf(s.post(200, "/query", ask), u.was, u.is); got == "old" {
					past++
				} else {
					t.Logf("%s as of March: %s first", u.question, got)
				}
			}
			t.Logf("%d changes: the new value first %d, asOf the old one first %d; %d by a direct look-up", len(all),
				fresh, past, direct)
			if 2*direct < len(all) {
				t.Errorf("%d of %d questions are answered by a direct look-up", direct, len(all))
			}
			if 100*fresh < 95*len(all) || 100*past < 95*len(all) {
				t.Errorf("the new value comes first %d times of %d, asOf the old one %d times", fresh, len(all), past)
			}
			neverAgain(t, s, all)
		})
	}
}

// neverAgain forgets every second person and asks for everything.
func neverAgain(t *testing.T, s *service, all []update) {
	t.Helper()
	for i := 0; i < len(all); i += 10 {
		who := all[i].subject
		s.must(204, s.key, "DELETE", "/api/v1/main/entities/person/"+who, nil)
		for _, u := range all {
			if u.subject == who {
				s.post(200, "/forget", map[string]any{"query": u.new})
				s.post(200, "/forget", map[string]any{"query": u.old})
			}
		}
		for _, u := range all {
			if u.subject != who {
				continue
			}
			for _, path := range []string{"/query", "/context"} {
				a := s.post(200, path, map[string]any{"query": u.question})
				hits, err := json.Marshal([]any{a.at("hits"), a.at("context")})
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range []string{u.old, u.new} {
					if strings.Contains(string(hits), text) {
						t.Errorf("%s: %s is found after a forget: %s", u.question, text, hits)
					}
				}
				if strings.Contains(string(hits), strings.ToLower(who)+" · ") {
					t.Errorf("%s: a fact about %s is found after a forget: %s", u.question, who, hits)
				}
			}
		}
	}
}
