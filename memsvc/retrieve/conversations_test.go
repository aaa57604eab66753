package retrieve

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// This file makes long conversations with questions whose evidence is known. Questions say things in other words
// than the turns do; other turns speak of similar things at other times or by the other person.

// family is one thing that people tell. S is who tells it, O the other; {x} are slots filled from lists.
type family struct {
	say    []string // openers by S; {when} is a relative date
	follow []string // question by O and answer by S, in turn
	single []string // questions about the opener
	detail []string // questions about the answer
	when   []string // questions about the time
	all    string   // question about every opener of this family by S
	open   string   // question that needs a conclusion
}

var slots = map[string][]string{
	"kin":   {"sister", "brother", "cousin", "aunt", "mom", "dad", "nephew", "grandma"},
	"city":  {"Lisbon", "Denver", "Kyoto", "Boston", "Oslo", "Cape Town", "Chicago", "Prague", "Austin", "Dublin"},
	"sport": {"swimming", "rock climbing", "tennis", "yoga", "rowing", "boxing", "surfing", "badminton"},
	"art":   {"pottery", "watercolors", "woodcarving", "knitting", "calligraphy", "photography"},
	"dish":  {"lasagna", "ramen", "apple pie", "paella", "banana bread", "tamales", "gumbo"},
	"inst":  {"violin", "guitar", "drums", "cello", "ukulele", "clarinet"},
	"book": {"The Silent Orchard", "Winter Harbor", "A Map of Stars", "The Glass River", "Nine Lanterns",
		"Salt and Cedar"},
	"band":  {"the Paper Foxes", "Velvet Harbor", "Slow Comets", "the Marigolds", "Northern Static"},
	"pet":   {"puppy", "kitten", "rabbit", "parrot", "hamster"},
	"petn":  {"Biscuit", "Luna", "Pickles", "Mango", "Shadow", "Olive"},
	"place": {"the mountains", "the lake", "the beach", "the forest", "the desert", "the canyon"},
	"job":   {"nurse", "paralegal", "barista", "teacher", "carpenter", "data analyst", "chef"},
	"cause": {"the food bank", "an animal rescue", "a youth center", "the library", "a homeless shelter",
		"a river cleanup"},
	"thing": {"a telescope", "a mountain bike", "an espresso machine", "a sewing machine", "a kayak",
		"a record player"},
	"ill":    {"the flu", "a sprained ankle", "migraines", "a broken wrist", "back pain"},
	"topic":  {"marine biology", "graphic design", "accounting", "psychology", "carpentry", "astronomy"},
	"fear":   {"flying", "spiders", "public speaking", "heights", "deep water"},
	"friend": {"Priya", "Tomas", "Grace", "Omar", "Hannah", "Felix", "Noor", "Ben"},
	"flower": {"tomatoes", "sunflowers", "roses", "basil", "strawberries", "tulips"},
	"color":  {"teal", "mustard yellow", "lavender", "dark green", "coral"},
	"prize":  {"first place", "second place", "a scholarship", "a medal", "best newcomer"},
}

var families = []family{
	{say: []string{"I finally adopted a {pet} {when}! We are both over the moon.", "Big news: {when} we brought home a little {pet}.",
		"There's a new member of the family, a {pet} we picked up {when}."},
		follow: []string{"Aww! What do you call the little one?", "{petn}, because of the fur."},
		single: []string{"What pet did {S} adopt or bring home?"},
		detail: []string{"What is the name of {S}'s {pet}?"}, when: []string{"When did {S} get the {pet}?"}},
	{say: []string{"My {kin} moved to {city} {when} for work.", "{when} my {kin} packed everything and relocated to {city}.",
		"It's quiet here since my {kin} left for {city} {when}."},
		follow: []string{"Wow, how are they settling in?", "It was lonely at first, but they found a flat near the river and joined a choir."},
		single: []string{"Where did {S}'s {kin} move to?",
			"Which city does {S}'s {kin} live in?"}, detail: []string{"How is {S}'s {kin} doing after relocating?"},
		when: []string{"When did {S}'s {kin} move?"}},
	{say: []string{"I started {sport} lessons {when}, my arms are so sore.", "Tried {sport} for the first time {when} and loved it!",
		"Guess who joined a {sport} club {when}? Me!"},
		follow: []string{"That's awesome, who got you into it?", "{friend} from next door dragged me along."},
		single: []string{"Which club did {S} join for exercise, {sport} or something else?"},
		detail: []string{"Who introduced {S} to {sport}?"}, when: []string{"When did {S} take up {sport}?"},
		all: "What sports does {S} do?"},
	{say: []string{"I spent the weekend on {art}, it really calms my mind.", "{art} has become my therapy these days.",
		"I made something with {art} {when} and I'm quite proud of it."},
		follow: []string{"Can you show me? What did you make?", "A small gift for {friend}, blue with silver edges."},
		single: []string{"How does {S} unwind creatively, with {art}?"},
		detail: []string{"Who did {S} make a gift for?"}, all: "What creative hobbies does {S} have?"},
	{say: []string{"We went camping by {place} {when}, the sky was full of stars.", "Just back from {place}. We slept in a tent and told stories {when}.",
		"The kids loved our trip to {place} {when}."},
		follow: []string{"Sounds magical. What was the best part?", "Roasting marshmallows while {friend} played old songs."},
		single: []string{"Where did {S} sleep in a tent, at {place}?"},
		detail: []string{"Who made music around the fire with {S}?"}, when: []string{"When did {S} go to {place}?"},
		all: "Where has {S} been camping?"},
	{say: []string{"I got the job! I start as a {job} next month.", "{when} they hired me as a {job}.",
		"So I'm officially a {job} now, the contract came {when}."},
		follow: []string{"Congratulations! What convinced them?", "They liked the project I did with {friend} and my patience in the interview."},
		single: []string{"What job did {S} start?",
			"What was {S} hired as?"}, detail: []string{"What did they like about {S} in the interview?"},
		when: []string{"When was {S} hired as a {job}?"}},
	{say: []string{"I've been volunteering at {cause} since {when}.", "Helped out at {cause} {when}, it was humbling.",
		"{when} I spent the whole day at {cause} handing things out."},
		follow: []string{"You have such a big heart. Why there?", "They helped my family when I was small, so I want to give something back."},
		single: []string{"Where did {S} volunteer or help out?"},
		detail: []string{"Why does {S} want to give something back?"}, when: []string{"When did {S} help at {cause}?"},
		all:  "Which organizations has {S} helped as a volunteer?",
		open: "Is {S} likely to donate to people in need?"},
	{say: []string{"I bought {thing} {when}. My wallet is crying.", "Treated myself to {thing} {when}!",
		"Look what arrived {when}: {thing}."},
		follow: []string{"Ooh, was it expensive?", "About {num} dollars, but it was on sale."},
		single: []string{"What did {S} buy as a treat?"}, detail: []string{"How much did {S} pay for {thing}?"},
		when: []string{"When did {S} buy {thing}?"}, all: "What has {S} bought?"},
	{say: []string{"I was down with {ill} {when}, couldn't do a thing.", "Ugh, {ill} hit me {when}.",
		"The doctor says I have {ill}. It started {when}."},
		follow: []string{"Oh no, how are you feeling now?", "Better, thanks to tea and lots of rest. {friend} brought me soup."},
		single: []string{"What was {S} down with, or what did the doctor say?"},
		detail: []string{"Who brought {S} soup during the sickness?"}, when: []string{"When was {S} sick with {ill}?"},
		all: "What health issues has {S} had?"},
	{say: []string{"I'm reading {book} at the moment, can't put it down.", "Finished {book} {when}. What an ending!",
		"{friend} lent me {book} and I read it in two days."},
		follow: []string{"What is it about?", "A girl who grows up in a lighthouse and learns to forgive her father."},
		single: []string{"Has {S} read {book}?"}, detail: []string{"What is the story of the novel that {S} read?"},
		all: "What books has {S} read?", open: "Would {S} enjoy a gift card for a bookstore?"},
	{say: []string{"I saw {band} live {when}, my ears are still ringing.", "We had tickets for {band} {when}. What a show!",
		"{when} I danced all night at the {band} concert."},
		follow: []string{"Jealous! Who did you go with?", "With {friend} and two people from the office."},
		single: []string{"Which concert of a band did {S} see live?"},
		detail: []string{"Who went with {S} and people from the office to the show?"},
		when:   []string{"When did {S} attend the concert of {band}?"}, all: "Which bands has {S} seen live?"},
	{say: []string{"I'm learning the {inst}. My neighbors hate me.", "Picked up the {inst} {when}, it's harder than it looks.",
		"I practise the {inst} every evening now."},
		follow: []string{"How long have you been playing?", "About {num} weeks, {friend} gives me lessons."},
		single: []string{"What instrument does {S} play?"}, detail: []string{"Who gives {S} music lessons?"},
		when: []string{"When did {S} begin with the {inst}?"}, all: "What instruments does {S} play?"},
	{say: []string{"I cooked {dish} for everyone {when}, it was gone in minutes.", "Tried a new recipe for {dish} {when}.",
		"My kitchen smells of {dish}, I've been at it all morning."},
		follow: []string{"Yum! Where did you get the recipe?", "It's from {friend}'s grandmother, with a secret spice."},
		single: []string{"What recipe did {S} cook in the kitchen?"},
		detail: []string{"Where does the recipe for {dish} come from?"}, when: []string{"When did {S} make {dish}?"},
		all: "What dishes has {S} cooked?"},
	{say: []string{"I enrolled in a {topic} course {when}.", "Back to school! I'm studying {topic} in the evenings.",
		"{when} I got accepted to the {topic} program."},
		follow: []string{"What made you choose that?", "I've wanted it since I was ten, but money was tight back then."},
		single: []string{"What subject is {S} studying in the course?"},
		detail: []string{"Since what age did {S} want to choose that course?"},
		when:   []string{"When did {S} sign up for the {topic} class?"},
		open:   "Might {S} change careers towards {topic}?"},
	{say: []string{"I'm terrified of {fear}, always have been.", "You know me and {fear}... I froze again {when}.",
		"{fear} still gives me nightmares."},
		follow: []string{"Is there anything that helps?", "Breathing slowly and holding {friend}'s hand."},
		single: []string{"What is {S} terrified of?"}, detail: []string{"What helps {S} to breathe and stay calm?"},
		all: "What fears does {S} have?"},
	{say: []string{"The {flower} in my garden finally came up {when}.", "I planted {flower} {when}, fingers crossed.",
		"{when} I put {flower} on the balcony."},
		follow: []string{"Lovely! Do they need much care?", "Just water every {num} days and a chat now and then."},
		single: []string{"What did {S} plant in the garden or on the balcony?"},
		detail: []string{"How many days are between the times that {S} waters the plants?"}, when: []string{"When did {S} plant {flower}?"},
		all: "What plants does {S} have?"},
	{say: []string{"I won {prize} in the {art} contest {when}!", "Guess what, {prize} for my {art} piece {when}!",
		"They announced it {when}: {prize}, for my {art}."},
		follow: []string{"No way! How did you celebrate?", "We went out for dumplings with {friend} and laughed until midnight."},
		single: []string{"What did {S} win in the contest?"},
		detail: []string{"What did {S} do to celebrate the award?"},
		when:   []string{"When did {S} win the {art} competition?"}},
	{say: []string{"My {kin} got married {when}, I cried the whole ceremony.", "{when} was the wedding of my {kin}.",
		"I was at my {kin}'s wedding {when}, what a party."},
		follow: []string{"So sweet! Where did it take place?", "In an old barn outside of {city}, with lights everywhere."},
		single: []string{"Who of {S}'s family had a wedding?"},
		detail: []string{"In what place with lights was the wedding that {S} attended?"}, when: []string{"When did {S}'s {kin} marry?"}},
	{say: []string{"We painted the living room {color} {when}.", "I finally redecorated: everything is {color} now.",
		"{when} I covered the old walls in {color}."},
		follow: []string{"Bold choice! Does everyone like it?", "{friend} says it looks like a spaceship, but I find it cozy."},
		single: []string{"In what color did {S} paint the room and walls?"},
		detail: []string{"What did {friend} say about the new look of {S}'s home?"}, when: []string{"When did {S} redecorate?"}},
	{say: []string{"I had a huge fight with {friend} {when}.", "{friend} and I are not talking since {when}.",
		"Things got ugly between {friend} and me {when}."},
		follow: []string{"I'm sorry. What was it about?", "Money that I lent last spring and never saw again."},
		single: []string{"Who did {S} have a fight with?"}, detail: []string{"What money did {S} lend?"},
		when: []string{"When did {S} fall out with {friend}?"}},
	{say: []string{"I'm flying to {city} {soon}!", "Booked a trip to {city} for {soon}.",
		"{soon} I'll finally see {city}."},
		follow: []string{"What are you going to do there?", "Museums in the morning, street food at night, and a boat tour with {friend}."},
		single: []string{"Where has {S} booked a trip to?"},
		detail: []string{"What museums and tours does {S} plan for the trip?"},
		when:   []string{"When is {S} going to travel to {city}?"}, all: "Which cities is {S} going to visit?"},
}

var fillers = []string{"The bus was late again and I got soaked.", "I finally fixed the sink in the bathroom.",
	"My boss gave us Friday off!", "I can't find my glasses anywhere.", "The new bakery on the corner smells wonderful.",
	"I started a journal to sort my thoughts.", "We had pancakes for dinner, don't judge.",
	"My laptop is acting up, I may need a new one.", "There was a rainbow over the harbor this morning.",
	"I signed the papers for the apartment today.", "The neighbors have a trampoline now.",
	"I donated a pile of old clothes.", "Someone left a note on my windshield.",
	"My plants survived the heat wave.", "I beat my personal record on the treadmill.",
	"The kids built a fort out of blankets.", "I forgot my umbrella at the office.",
	"Our team lost the quiz night by one point.", "I dreamed about the ocean again.",
	"The power went out during the meeting.", "That's so cool, tell me more!", "Haha, I can imagine.",
	"I know what you mean, it has been a long week.", "Thanks, that means a lot to me.",
	"How have you been?", "Same here, the weather has been awful.", "You always know what to say.",
	"I should try that some day.", "Really? I had no idea!",
	"Take care of yourself, okay?", "It's been ages since we talked.", "I'm so proud of you.",
	"Life is funny sometimes.", "We should meet up soon.",
	"My phone died yesterday, sorry for the late reply.", "I watched a movie about that, it made me think.",
	"The traffic today was unbelievable.",
	"Work has been busy, but I can't complain.", "Let me know how it goes!", "I remember when we were kids and everything was simple.",
	"Did you see the news about the storm?", "Coffee is the only thing that keeps me going.",
	"I'm trying to sleep more and worry less.",
	"Friends like you make hard times easier.", "I love that for you!", "That must have been quite a challenge.",
	"What a nice surprise.",
	"My family says hi, by the way.", "I keep telling myself to stay positive.",
	"Sometimes a walk in the park is all you need.", "Good luck with everything!",
	"I've been thinking about my goals lately.", "Gotta run, talk soon!", "It's the little things that count.",
	"Hope you get some rest."}

var whens = []string{"yesterday", "last Friday", "last week", "two days ago", "last Sunday", "two weeks ago",
	"last month", "on Tuesday", "the other day", "last night", "last weekend", "a few days ago"}

var soons = []string{"next month", "in two weeks", "next summer", "next week", "in three weeks"}

type evalTurn struct {
	id, session, speaker, text string
	seq                        int
	at                         time.Time
}

type evalQuestion struct {
	kind, text string
	evidence   []string
}

type conversation struct {
	turns     []evalTurn
	questions []evalQuestion
}

type told struct {
	family  int
	speaker int
	fill    map[string]string
	opener  string
	answer  string
}

// converse makes a conversation of about 600 turns.
func converse(seed uint64) conversation {
	r := rand.New(rand.NewPCG(seed, 42))
	people := [][2]string{{"Caroline", "Melanie"}, {"James", "Maria"}, {"Evan", "Sam"}, {"Nina", "Robert"},
		{"Leila", "Marcus"}}[seed%5]
	var c conversation
	var facts []told
	used := map[[2]int]int{}
	at := time.Date(2023, 1, 5, 18, 0, 0, 0, time.UTC)
	for s := range 22 {
		at = at.Add(time.Duration(5+r.IntN(16)) * 24 * time.Hour).Add(time.Duration(r.IntN(300)) * time.Minute)
		session := fmt.Sprintf("s%02d", s)
		seq := 0
		say := func(who int, line string) string {
			id := fmt.Sprintf("%s-%08d", session, seq)
			c.turns = append(c.turns, evalTurn{id, session, people[who], line, seq,
				at.Add(time.Duration(seq) * time.Minute)})
			seq++
			return id
		}
		turn := r.IntN(2)
		for len(c.turns) < (s+1)*27 {
			f := told{family: r.IntN(len(families)), speaker: turn, fill: fillSlots(r)}
			if r.IntN(100) < 75 || used[[2]int{f.family, turn}] == 3 {
				say(turn, fillers[r.IntN(len(fillers))])
				turn = 1 - turn
				continue
			}
			used[[2]int{f.family, turn}]++
			fam := families[f.family]
			line := put(fam.say[r.IntN(len(fam.say))], f.fill)
			if r.IntN(2) == 0 {
				line = fillers[r.IntN(len(fillers))] + " " + line
			}
			f.opener = say(turn, line)
			if r.IntN(100) < 65 {
				say(1-turn, put(fam.follow[0], f.fill))
				f.answer = say(turn, put(fam.follow[1], f.fill))
			}
			turn = 1 - turn
			facts = append(facts, f)
		}
	}
	c.questions = ask(r, people, facts)
	return c
}

func fillSlots(r *rand.Rand) map[string]string {
	m := map[string]string{"when": whens[r.IntN(len(whens))], "soon": soons[r.IntN(len(soons))],
		"num": fmt.Sprint(3 + r.IntN(40))}
	for _, k := range sortedKeys(slots) {
		m[k] = slots[k][r.IntN(len(slots[k]))]
	}
	return m
}

func put(s string, fill map[string]string) string {
	for _, k := range sortedKeys(fill) {
		s = strings.ReplaceAll(s, "{"+k+"}", fill[k])
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// ask makes the questions. Those whose slots do not tell one fact from another have several pieces of evidence.
func ask(r *rand.Rand, people [2]string, facts []told) []evalQuestion {
	var out []evalQuestion
	seen := map[string]int{}
	add := func(kind, tmpl string, f told, evidence string) {
		fill := map[string]string{"S": people[f.speaker]}
		for k, v := range f.fill {
			fill[k] = v
		}
		text := put(tmpl, fill)
		if i, ok := seen[text]; ok {
			out[i].evidence = append(out[i].evidence, evidence)
			if out[i].kind == "single" {
				out[i].kind = "multi"
			}
			return
		}
		seen[text] = len(out)
		out = append(out, evalQuestion{kind, text, []string{evidence}})
	}
	for _, f := range facts {
		fam := families[f.family]
		for _, q := range fam.single {
			add("single", q, f, f.opener)
			if wrong := f; r.IntN(6) == 0 {
				wrong.speaker = 1 - f.speaker
				add("adversarial", q+" ", wrong, f.opener)
			}
		}
		for _, q := range fam.detail {
			if f.answer != "" {
				add("single", q, f, f.answer)
			}
		}
		for _, q := range fam.when {
			add("temporal", q, f, f.opener)
		}
		if fam.all != "" {
			add("multi", fam.all, f, f.opener)
		}
		if fam.open != "" {
			add("open", fam.open, f, f.opener)
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	for i := range out {
		for j := i + 1; j < len(out); j++ {
			if out[j] < out[i] {
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return out
}
