package fulltext

import (
	"strings"
	"unicode/utf8"
)

// greekStem is the stemmer of G. Ntais for modern Greek, in the form that Snowball gave it. The word is in lower case.
func greekStem(word string) string {
	w := strings.Map(greekPlain, word)
	if utf8.RuneCountInString(w) < 3 {
		return w
	}
	w, cut := greekIrregular(w)
	for i := range greekRules {
		var applied bool
		w, applied = greekRules[i].apply(w)
		cut = cut || applied && !greekRules[i].goesOn
	}
	return greekComparison(greekEnding(w, cut))
}

// greekPlain takes accents off, and makes the final sigma a plain one.
func greekPlain(r rune) rune {
	switch r {
	case 'ά':
		return 'α'
	case 'έ':
		return 'ε'
	case 'ή', 'ϊ', 'ΐ': // an iota with dots becomes an eta in Snowball's stemmer too
		return 'η'
	case 'ί':
		return 'ι'
	case 'ό':
		return 'ο'
	case 'ύ', 'ϋ', 'ΰ':
		return 'υ'
	case 'ώ':
		return 'ω'
	case 'ς':
		return 'σ'
	}
	return r
}

// greekIrregular shortens nouns of their own kind.
func greekIrregular(w string) (string, bool) {
	for i := range greekIrregulars {
		g := &greekIrregulars[i]
		if _, end := cutSuffix(w, g.endings); end != "" {
			return strings.TrimSuffix(w, end) + g.stem, true
		}
	}
	return w, false
}

// cutSuffix takes the longest of some endings off.
func cutSuffix(w, endings string) (stem, ending string) {
	for end := range strings.FieldsSeq(endings) {
		if len(end) > len(ending) && strings.HasSuffix(w, end) {
			ending = end
		}
	}
	return strings.TrimSuffix(w, ending), ending
}

func oneOf(w, words string) bool {
	for x := range strings.FieldsSeq(words) {
		if x == w {
			return true
		}
	}
	return false
}

func endsIn(w, endings string) bool {
	_, end := cutSuffix(w, endings)
	return end != ""
}

// greekRule takes endings off, and puts something back behind certain stems.
type greekRule struct {
	endings string
	back    []greekBack
	goesOn  bool // the endings of nouns and verbs may still be taken off
}

// greekBack is what is put back: where the stem is one of some words, or ends in one of others, or (unless) does not.
type greekBack struct {
	put    string
	is     string
	ends   string
	unless string
}

func (g *greekRule) apply(w string) (string, bool) {
	stem, end := cutSuffix(w, g.endings)
	if end == "" {
		return w, false
	}
	for _, b := range g.back {
		if oneOf(stem, b.is) || endsIn(stem, b.ends) || b.unless != "" && !endsIn(stem, b.unless) {
			return stem + b.put, true
		}
	}
	return stem, true
}

// greekEnding takes off the endings of nouns and verbs that are left, unless a rule has taken one off.
func greekEnding(w string, cut bool) string {
	if stem, end := cutSuffix(w, "ματα ματων ματοσ"); end != "" {
		w = stem + "μα"
	}
	if cut {
		return w
	}
	stem, _ := cutSuffix(w, greekEndings)
	return stem
}

// greekComparison takes off what makes comparatives and superlatives.
func greekComparison(w string) string {
	stem, _ := cutSuffix(w, "εστερ εστατ οτερ οτατ υτερ υτατ ωτερ ωτατ")
	return stem
}

const greekVowels = "α ε η ι ο υ ω"
const greekVowelsButY = "α ε η ι ο ω"

var greekIrregulars = []struct{ endings, stem string }{
	{"φαγια φαγιου φαγιων", "φα"},
	{"σκαγια σκαγιου σκαγιων", "σκα"},
	{"ολογιου ολογια ολογιων", "ολο"},
	{"σογιου σογια σογιων", "σο"},
	{"τατογια τατογιου τατογιων", "τατο"},
	{"κρεασ κρεατοσ κρεατα κρεατων", "κρε"},
	{"περασ περατοσ περατη περατα περατων", "περ"},
	{"τερασ τερατοσ τερατα τερατων", "τερ"},
	{"φωσ φωτοσ φωτα φωτων", "φω"},
	{"καθεστωσ καθεστωτοσ καθεστωτα καθεστωτων", "καθεστ"},
	{"γεγονοσ γεγονοτοσ γεγονοτα γεγονοτων", "γεγον"},
}

var greekRules = []greekRule{
	{endings: "ιζα ιζεσ ιζε ιζαμε ιζατε ιζαν ιζανε ιζω ιζεισ ιζει ιζουμε ιζετε ιζουν ιζουνε", back: []greekBack{
		{put: "ι", is: "αναμπα εμπα επα ξαναπα πα περιπα αθρο συναθρο δανε"},
		{put: "ιζ", is: "μαρκ κορν αμπαρ αρρ βαθυρι βαρκ β βολβορ γκρ γλυκορ γλυκυρ ιμπ λ λου μαρ μ πρ μπρ πολυρ π ρ πιπερορ"}}},
	{endings: "ωθηκα ωθηκεσ ωθηκε ωθηκαμε ωθηκατε ωθηκαν ωθηκανε", back: []greekBack{
		{put: "ων", is: "αλ βι εν υψ λι ζω σ χ"}}},
	{endings: "ισα ισεσ ισε ισαμε ισατε ισαν ισανε", back: []greekBack{
		{put: "ι", is: "αναμπα αθρο εμπα εσε εσωκλε επα ξαναπα επε περιπα συναθρο δανε κλε χαρτοπα εξαρχα μετεπε αποκλε απεκλε εκλε πε"},
		{put: "ισ", is: "αν αφ γε γιγαντοαφ γκε δημοκρατ κομ γκ μ π πουκαμ ολο λαρ"}}},
	{endings: "ισω ισεισ ισει ισουμε ισετε ισουν ισουνε", back: []greekBack{
		{put: "ι", is: "αναμπα εμπα εσε εσωκλε επα ξαναπα επε περιπα αθρο συναθρο δανε κλε χαρτοπα εξαρχα μετεπε αποκλε απεκλε εκλε πε"}}},
	{endings: "ιστοσ ιστου ιστο ιστε ιστοι ιστων ιστουσ ιστη ιστησ ιστα ιστεσ", back: []greekBack{
		{put: "ι", is: "δανε συναθρο κλε σε εσωκλε ασε πλε"},
		{put: "ιστ", is: "μ π απ αρ ηδ κτ σκ σχ υψ φα χρ χτ ακτ αορ ασχ ατα αχν αχτ γεμ γυρ εμπ ευπ εχθ ηφα καθ κακ κυλ λυγ μακ μεγ ταχ φιλ χωρ"}}},
	{endings: "ισμο ισμοι ισμοσ ισμου ισμουσ ισμων", back: []greekBack{
		{put: "ισμ", is: "σε μετασε μικροσε εγκλε αποκλε"},
		{put: "ι", is: "δανε αντιδανε"}}},
	{endings: "ουδακι ουδακια", back: nil},
	{endings: "αρακι αρακια", back: []greekBack{{put: "αρακ", is: "σ χ"}}},
	{endings: "ακι ακια ιτσα ιτσασ ιτσεσ ιτσων", back: []greekBack{
		{put: "ακ", is: "βαμβ βρ καιμ κον κορ λαβρ λουλ μερ μουστ ναγκασ πλ ρ ρυ σ σκ σοκ σπαν τζ φαρμ χ καπακ αλισφ αμβρ ανθρ κ φυλ κατραπ κλιμ μαλ σλοβ φ σφ τσεχοσλοβ"},
		{put: "ιτσ", is: "β βαλ γιαν γλ ζ ηγουμεν καρδ μακρυν νυφ πατερ π τοσ τριπολ"}}},
	{endings: "ιδιο ιδια ιδιων", back: []greekBack{{put: "ιδ", is: "αιφν ιρ ολο ψαλ", ends: "ε παιχν"}}},
	{endings: "ισκοσ ισκου ισκο ισκε", back: []greekBack{{put: "ισκ", is: "δ ιβ μην ρ φραγκ λυκ οβελ"}}},
	{endings: "αδεσ αδων", goesOn: true,
		back: []greekBack{{put: "αδ", unless: "οκ μαμ μαν μπαμπ πατερ γιαγι νταντ κυρ θει πεθερ"}}},
	{endings: "εδεσ εδων", goesOn: true, back: []greekBack{{put: "εδ", ends: "οπ ιπ εμπ υπ γηπ δαπ κρασπ μιλ"}}},
	{endings: "ουδεσ ουδων", goesOn: true,
		back: []greekBack{{put: "ουδ", ends: "αρκ καλιακ πεταλ λιχ πλεξ σκ σ φλ φρ βελ λουλ χν σπ τραγ φε"}}},
	{endings: "εωσ εων", back: []greekBack{{put: "ε", is: "θ δ ελ γαλ ν π ιδ παρ"}}},
	{endings: "ια ιου ιων", back: []greekBack{{put: "ι", ends: greekVowels}}},
	{endings: "ικα ικο ικου ικων", back: []greekBack{{put: "ικ", ends: greekVowels,
		is: "αλ αδ ενδ αμαν αμμοχαλ ηθ ανηθ αντιδ φυσ βρωμ γερ εξωδ καλπ καλλιν καταδ μουλ μπαν μπαγιατ μπολ μποσ νιτ ξικ συνομηλ πετσ πιτσ πικαντ πλιατσ ποστελν πρωτοδ σερτ συναδ τσαμ υποδ φιλον φυλοδ χασ"}}},
	{endings: "αγαμε ησαμε ουσαμε ηκαμε ηθηκαμε", back: nil},
	{endings: "αμε", back: []greekBack{{put: "αμ", is: "αναπ αποθ αποκ αποστ βουβ ξεθ ουλ πεθ πικρ ποτ σιχ χ"}}},
	{endings: "αγανε ησανε ουσανε ιοντανε ιοτανε ιουντανε οντανε οτανε ουντανε ηκανε ηθηκανε", back: []greekBack{{put: "αγαν", is: "τρ τσ"}}},
	{endings: "ανε", back: []greekBack{{put: "αν", ends: greekVowelsButY,
		is: "βετερ βουλκ βραχμ γ δραδουμ θ καλπουζ καστελ κορμορ λαοπλ μωαμεθ μ μουσουλμ ν ουλ π πελεκ πλ πολισ πορτολ σαρακατσ σουλτ τσαρλατ ορφ τσιγγ τσοπ φωτοστεφ χ ψυχοπλ αγ γαλ γερ δεκ διπλ αμερικαν ουρ πιθ πουριτ σ ζωντ ικ καστ κοπ λιχ λουθηρ μαιντ μελ σιγ σπ στεγ τραγ τσαγ φ ερ αδαπ αθιγγ αμηχ ανικ ανοργ απηγ απιθ ατσιγγ βασ βασκ βαθυγαλ βιομηχ βραχυκ διατ διαφ ενοργ θυσ καπνοβιομηχ καταγαλ κλιβ κοιλαρφ λιβ μεγλοβιομηχ μικροβιομηχ νταβ ξηροκλιβ ολιγοδαμ ολογαλ πενταρφ περηφ περιτρ πλατ πολυδαπ πολυμηχ στεφ ταβ τετ υπερηφ υποκοπ χαμηλοδαπ ψηλοταβ"}}},
	{endings: "ησετε", back: nil},
	{endings: "ετε", back: []greekBack{{put: "ετ",
		ends: greekVowelsButY + " οδ αιρ φορ ταθ διαθ σχ ενδ ευρ τιθ υπερθ ραθ ενθ ροθ σθ πυρ αιν συνδ συν συνθ χωρ πον βρ καθ ευθ εκθ νετ ρον αρκ βαρ βολ ωφελ",
		is:   "αβαρ βεν εναρ αβρ αδ αθ αν απλ βαρον ντρ σκ κοπ μπορ νιφ παγ παρακαλ σερπ σκελ συρφ τοκ υ δ εμ θαρρ θ"}}},
	{endings: "οντασ ωντασ", back: []greekBack{{put: "οντ", is: "αρχ"}, {put: "ωντ", ends: "κρε"}}},
	{endings: "ομαστε ιομαστε", back: []greekBack{{put: "ομαστ", is: "ον"}}},
	{endings: "ιεστε", back: []greekBack{{put: "ιεστ", is: "π απ συμπ ασυμπ ακαταπ αμεταμφ"}}},
	{endings: "εστε", back: []greekBack{{put: "ιεστ", is: "αλ αρ εκτελ ζ μ ξ παρακαλ προ νισ"}}},
	{endings: "ηθηκα ηθηκεσ ηθηκε", back: nil},
	{endings: "ηκα ηκεσ ηκε",
		back: []greekBack{{put: "ηκ", is: "διαθ θ παρακαταθ προσθ συνθ", ends: "σκωλ σκουλ ναρθ σφ οθ πιθ"}}},
	{endings: "ουσα ουσεσ ουσε", back: []greekBack{{put: "ουσ",
		is:   "φαρμακ χαδ αγκ αναρρ βρομ εκλιπ λαμπιδ λεχ μ πατ ρ λ μεδ μεσαζ υποτειν αμ αιθ ανηκ δεσποζ ενδιαφερ δε δευτερευ καθαρευ πλε τσα",
		ends: "ποδαρ βλεπ πανταχ φρυδ μαντιλ μαλλ κυματ λαχ ληγ φαγ ομ πρωτ"}}},
	{endings: "αγα αγεσ αγε", back: []greekBack{
		{put: "", is: "ψοφ ναυλοχ", ends: "κολλ"},
		{put: "αγ", ends: "οφ πελ χορτ λλ σφ ρπ φρ πρ λοχ σμην",
			is: "αβαστ πολυφ αδηφ παμφ ρ ασπ αφ αμαλ αμαλλι ανυστ απερ ασπαρ αχαρ δερβεν δροσοπ ξεφ νεοπ νομοτ ολοπ ομοτ προστ προσωποπ συμπ συντ τ υποτ χαρ αειπ αιμοστ ανυπ αποτ αρτιπ διατ εν επιτ κροκαλοπ σιδηροπ λ ναυ ουλαμ ουρ π τρ μ"}}},
	{endings: "ησε ησου ησα", back: []greekBack{{put: "ησ", is: "ν χερσον δωδεκαν ερημον μεγαλον επταν"}}},
	{endings: "ηστε", back: []greekBack{{put: "ηστ", is: "ασβ σβ αχρ χρ απλ αειμν δυσχρ ευχρ κοινοχρ παλιμψ"}}},
	{endings: "ουνε ησουνε ηθουνε", back: []greekBack{{put: "ουν", is: "ν ρ σπι στραβομουτσ κακομουτσ εξων"}}},
	{endings: "ουμε ησουμε ηθουμε", back: []greekBack{{put: "ουμ", is: "παρασουσ φ χ ωριοπλ αζ αλλοσουσ ασουσ"}}},
}

const greekEndings = "α αγατε αγαν αει αμαι αν ασ ασαι αται αω ε ει εισ ειτε εσαι εσ εται ι ιεμαι ιεμαστε ιεται ιεσαι ιεσαστε ιομασταν ιομουν " +
	"ιομουνα ιονταν ιοντουσαν ιοσασταν ιοσαστε ιοσουν ιοσουνα ιοταν ιουμα ιουμαστε ιουνται ιουνταν η ηδεσ ηδων ηθει ηθεισ ηθειτε ηθηκατε " +
	"ηθηκαν ηθουν ηθω ηκατε ηκαν ησ ησαν ησατε ησει ησεσ ησουν ησω ο οι ομαι ομασταν ομουν ομουνα ονται ονταν οντουσαν οσ οσασταν οσαστε " +
	"οσουν οσουνα οταν ου ουμαι ουμαστε ουν ουνται ουνταν ουσ ουσαν ουσατε υ υσ ω ων"
