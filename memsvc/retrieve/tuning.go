package retrieve

// Tuning is the weights of the ranking. They were chosen on one half of a generated set of conversations.
type Tuning struct {
	K1, B                       float32
	Before2, Before1, Next1     float32 // how much of a neighbour's words count as own
	Next2                       float32
	Own                         float32 // BM25 of the unit alone, beside that of its window
	Group                       float32 // BM25 of the whole session
	Speaker, NotSpeaker         float32 // factor for units of a speaker that the query names, and of others
	Asking                      float32
	Near, NearLeast             float32
	NearMost, KinMost           int
	Meaning                     float32 // how near a word is that a thesaurus names
	Topic, SoftTopic            float32 // how near a word is that belongs to a topic: in lists, and in soft
	Name                        float32 // a name of the query in the text
	Time, Dated, Numbered       float32
	Vector                      float32
	Provided                    float32 // the same for the vectors of a provider
	Feedback                    float32 // weight of words of the best units
	FeedbackDocs, FeedbackTerms int
	Hop                         float32 // names that the best units bring in
	Question, AsksBack          float32 // factor for a turn that asks, and for one that tells something before
	Reply, Impersonal           float32 // factor for a turn that speaks to the other one alone, and of neither
	Answer                      float32 // how much of a question counts as said in the answer
	Brief                       float32 // factor for a turn without a word that says something
	Person, PersonShare         float32 // for a unit of or about somebody that the query names; of the best score
	Absent                      float32 // factor for a passage that does not name whom the query names
	Named                       float32 // for a unit with names, when the question asks for one
	Crowd                       float32 // factor for a unit next to one that ranks before it
	Assistant                   float32
	Cover                       float32 // how much a unit loses that holds few of the words of a query
	VectorBefore, VectorNext    float32 // the part that neighbours have in the meaning of a unit
	Recent                      float32 // for the newest of the units, the oldest gets nothing
	Latest                      float32 // loss by days of age, when the question asks for the present
	Fact                        float32 // factor for a fact about somebody that the query names
	Direct                      float32 // factor for the fact that the query asks for by its key
	Stale                       float32 // factor for a turn that states what is so no longer
	Soft, SoftLeast             float32 // what a similar word counts, and how similar it has to be
	SoftBefore, SoftNext        float32 // the part of the turns beside it
	SoftDocs                    int
	Plain                       float32 // what a frequent word of the language loses
	Later                       float32 // factor for what was said after the time that a query looks from
}

// Default is the tuning in use.
var Default = Tuning{
	K1: 0.5, B: 0.12, Before2: 0.45, Before1: 0.2, Next1: 0.25, Next2: 0.1, Own: 0.1, Group: 0.3,
	Speaker: 1.3, NotSpeaker: 0.9, Asking: 0.2, Near: 0.8, NearLeast: 0.5, NearMost: 16, KinMost: 64,
	Meaning: 1.2, Topic: 1, SoftTopic: 1,
	Name: 0.8, Time: 0.6, Dated: 0.12, Numbered: 0.1, Vector: 0.15, Provided: 1, VectorBefore: 0.2, VectorNext: 0.1,
	Feedback: 0.03, FeedbackDocs: 6, FeedbackTerms: 8, Hop: 0.15,
	Question: 0.7, AsksBack: 0.85, Reply: 0.8, Impersonal: 0.92, Answer: 1, Brief: 0.3, Named: 0.2,
	Person: 0.1, PersonShare: 0.12, Absent: 0.6, Crowd: 0.9, Assistant: 0.9, Recent: 0.02,
	Latest: 0.02, Later: 0.3, Fact: 1.5, Direct: 2, Stale: 0.5,
	Cover: 0.2,
	Soft:  1.6, SoftLeast: 0.1, SoftBefore: 0.6, SoftNext: 0.45, SoftDocs: 3, Plain: 1,
}
