// Package world_test loads the world example into a real daemon and compares every answer, through
// every door, with one computed here from the raw documents.
package world_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacredb/nacre/internal/loopback"
)

type country struct {
	Name struct {
		Common string `json:"common"`
	} `json:"name"`
	CCA2       string                     `json:"cca2"`
	CCA3       string                     `json:"cca3"`
	Region     string                     `json:"region"`
	Borders    []string                   `json:"borders"`
	Currencies map[string]json.RawMessage `json:"currencies"`
}

type city struct {
	ID         int64  `json:"cityId"`
	Name       string `json:"name"`
	Country    string `json:"country"`
	Population int64  `json:"population"`
	Loc        struct {
		Coordinates [2]float64 `json:"coordinates"`
	} `json:"loc"`
}

// world is the raw data, read with no help from the database.
type world struct {
	countries []country
	cities    []city
	byCode    map[string]*country // by cca2
	cca2      map[string]string   // cca3 → cca2
}

func readWorld(t testing.TB) *world {
	t.Helper()
	cmd := exec.Command("node", "raw.mjs")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node raw.mjs: %v", err)
	}
	w := &world{byCode: map[string]*country{}, cca2: map[string]string{}}
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var line struct {
			Country *country `json:"country"`
			City    *city    `json:"city"`
		}
		if err := json.Unmarshal(sc.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Country != nil {
			w.countries = append(w.countries, *line.Country)
		} else {
			w.cities = append(w.cities, *line.City)
		}
	}
	if sc.Err() != nil || len(w.countries) != 250 || len(w.cities) != 135233 {
		t.Fatalf("raw data: %d countries, %d cities, %v", len(w.countries), len(w.cities), sc.Err())
	}
	for i := range w.countries {
		c := &w.countries[i]
		w.byCode[c.CCA2] = c
		w.cca2[c.CCA3] = c.CCA2
	}
	return w
}

// question is one query with its answer computed from the raw data.
type question struct {
	name, query string
	want        func(*world) any
}

const pointLon, pointLat, radius = 8.2275, 46.8182, 100_000.0

var questions = []question{
	{"counts", "RETURN [(SELECT VALUE count FROM ONLY (SELECT count() FROM city GROUP ALL) LIMIT 1), (SELECT VALUE count FROM ONLY (SELECT count() FROM country GROUP ALL) LIMIT 1), (SELECT VALUE count FROM ONLY (SELECT count() FROM borders GROUP ALL) LIMIT 1)]",
		func(w *world) any {
			n := 0
			for _, c := range w.countries {
				n += len(c.Borders)
			}
			return []any{len(w.cities), len(w.countries), n}
		}},
	{"neighbours", "RETURN array::sort(country:DE->borders->country.name.common)",
		func(w *world) any { return w.names(w.neighbours([]string{"DE"})) }},
	{"neighbours of neighbours", "RETURN array::sort(array::distinct(country:DE->borders->country->borders->country.name.common))",
		func(w *world) any { return w.names(w.neighbours(w.neighbours([]string{"DE"}))) }},
	{"ten largest cities of each continent",
		"RETURN array::sort(array::distinct((SELECT VALUE region FROM country))).map(|$r| { region: $r, top: (SELECT name, population FROM city WHERE country.region = $r ORDER BY population DESC, name LIMIT 10) })",
		(*world).largest},
	{"cities within 100 km", fmt.Sprintf("RETURN array::sort((SELECT VALUE name FROM city WHERE geo::distance(loc, (%v, %v)) < %v))", pointLon, pointLat, radius),
		(*world).near},
	{"cities without a known country", "CREATE city:0 SET name = 'Nowhere', country = country:ZZ, population = 1, loc = (0, 0) RETURN NONE; SELECT VALUE name FROM city WHERE country.name IS NONE; DELETE city:0",
		func(w *world) any {
			out := []any{}
			for _, c := range append(w.cities, city{Name: "Nowhere", Country: "ZZ"}) {
				if w.byCode[c.Country] == nil {
					out = append(out, c.Name)
				}
			}
			return out
		}},
	{"population per currency",
		"SELECT code, math::sum(population) AS people FROM (SELECT * FROM (SELECT population, object::keys(country.currencies ?? {}) AS code FROM city) SPLIT code) WHERE type::is_string(code) GROUP BY code ORDER BY code",
		(*world).currencies},
}

func (w *world) neighbours(of []string) []string {
	seen := map[string]bool{}
	for _, code := range of {
		for _, b := range w.byCode[code].Borders {
			seen[w.cca2[b]] = true
		}
	}
	out := []string{}
	for code := range seen {
		out = append(out, code)
	}
	return out
}

func (w *world) names(codes []string) any {
	out := []string{}
	for _, c := range codes {
		out = append(out, w.byCode[c].Name.Common)
	}
	slices.Sort(out)
	return out
}

func (w *world) largest() any {
	by := map[string][]city{}
	for _, c := range w.countries {
		by[c.Region] = nil
	}
	for _, c := range w.cities {
		if k := w.byCode[c.Country]; k != nil {
			by[k.Region] = append(by[k.Region], c)
		}
	}
	out := []any{}
	for region, cities := range by {
		slices.SortFunc(cities, func(a, b city) int {
			return cmp.Or(cmp.Compare(b.Population, a.Population), strings.Compare(a.Name, b.Name))
		})
		top := []any{}
		for _, c := range cities[:min(10, len(cities))] {
			top = append(top, map[string]any{"name": c.Name, "population": c.Population})
		}
		out = append(out, map[string]any{"region": region, "top": top})
	}
	slices.SortFunc(out, func(a, b any) int {
		return strings.Compare(a.(map[string]any)["region"].(string), b.(map[string]any)["region"].(string))
	})
	return out
}

// near uses the haversine formula on a sphere of 6,371,008.8 m (IUGG mean radius).
func (w *world) near() any {
	rad := func(deg float64) float64 { return deg * math.Pi / 180 }
	out := []string{}
	for _, c := range w.cities {
		lon, lat := c.Loc.Coordinates[0], c.Loc.Coordinates[1]
		h := math.Pow(math.Sin(rad(lat-pointLat)/2), 2) +
			math.Cos(rad(lat))*math.Cos(rad(pointLat))*math.Pow(math.Sin(rad(lon-pointLon)/2), 2)
		if 2*6371008.8*math.Asin(math.Sqrt(h)) < radius {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (w *world) currencies() any {
	people := map[string]int64{}
	for _, c := range w.cities {
		if k := w.byCode[c.Country]; k != nil {
			for code := range k.Currencies {
				people[code] += c.Population
			}
		}
	}
	out := []any{}
	for code, n := range people {
		out = append(out, map[string]any{"code": code, "people": n})
	}
	slices.SortFunc(out, func(a, b any) int {
		return strings.Compare(a.(map[string]any)["code"].(string), b.(map[string]any)["code"].(string))
	})
	return out
}

// daemon is a running nacre of the binary under test.
type daemon struct {
	bin, addr string
	cmd       *exec.Cmd
}

func start(t *testing.T, bin, store string) *daemon {
	t.Helper()
	addr, err := loopback.Free()
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{bin: bin, addr: addr}
	d.cmd = exec.Command(bin, "start", "--no-banner", "--bind", d.addr, "--user", "root", "--pass", "root", store)
	d.cmd.Stderr = os.Stderr
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.stop(t) })
	if out, err := exec.Command(bin, "isready", "--wait", "30s", "-e", "http://"+d.addr).CombinedOutput(); err != nil {
		t.Fatalf("isready: %v\n%s", err, out)
	}
	return d
}

// stop ends the daemon as an operator would and wants a clean exit.
func (d *daemon) stop(t *testing.T) {
	if d.cmd == nil {
		return
	}
	cmd := d.cmd
	d.cmd = nil
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Errorf("stop: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("daemon ended with %v", err)
	}
}

// run runs a client command against d with the world's namespace and database.
func (d *daemon) run(t *testing.T, stdin io.Reader, args ...string) []byte {
	t.Helper()
	args = append(args[:1:1],
		append([]string{"-e", "http://" + d.addr, "-u", "root", "-p", "root", "--ns", "world", "--db", "world"},
			args[1:]...)...)
	cmd := exec.Command(d.bin, args...)
	cmd.Stdin = stdin
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("nacre %s: %v\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	return out
}

// doors are the ways in; each gives the answers to all statements of a text as JSON values.
var doors = map[string]func(t *testing.T, d *daemon, query string) []any{
	"repl": func(t *testing.T, d *daemon, query string) []any {
		dec := json.NewDecoder(bytes.NewReader(d.run(t, nil, "sql", "--json", "-c", query)))
		var out []any
		for {
			var v any
			if err := dec.Decode(&v); err == io.EOF {
				return out
			} else if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
	},
	"http": func(t *testing.T, d *daemon, query string) []any {
		req, _ := http.NewRequest("POST", "http://"+d.addr+"/sql", strings.NewReader(query))
		req.SetBasicAuth("root", "root")
		req.Header.Set("Service-NS", "world")
		req.Header.Set("Service-DB", "world")
		req.Header.Set("Accept", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var body []struct {
			Status string
			Result any
		}
		if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		var out []any
		for _, b := range body {
			if b.Status != "OK" {
				t.Fatalf("/sql: %v", b.Result)
			}
			out = append(out, b.Result)
		}
		return out
	},
	"sdk": func(t *testing.T, d *daemon, query string) []any {
		cmd := exec.Command("node", "ask.mjs", "ws://"+d.addr, query)
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("ask.mjs: %v", err)
		}
		var out []any
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatal(err)
		}
		return out
	},
}

// asked picks the answer of the question out of its statements: the middle one of three, or the only one.
func asked(answers []any) any { return answers[len(answers)/2] }

func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (d *daemon) ask(t *testing.T, w *world) {
	t.Helper()
	for _, q := range questions {
		want := plain(t, q.want(w))
		for door, send := range doors {
			t.Run(q.name+"/"+door, func(t *testing.T) {
				if got := plain(t, asked(send(t, d, q.query))); !reflect.DeepEqual(got, want) {
					t.Errorf("%s\n got %.600v\nwant %.600v", q.query, got, want)
				}
			})
		}
	}
}

func TestWorld(t *testing.T) {
	if testing.Short() {
		t.Skip("short: the world takes some seconds")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("node is not installed: scripts/test installs it")
	}
	if _, err := os.Stat("node_modules"); err != nil {
		t.Fatal("the npm packages are not installed: run scripts/test, or npm ci in examples/world")
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "nacre")
	build := exec.Command("go", "build", "-o", bin, "../../cmd/nacre")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	w := readWorld(t)

	store := filepath.Join(dir, "world.db")
	d := start(t, bin, "bolt://"+store)
	load(t, d, w)
	t.Run("loaded", func(t *testing.T) { d.ask(t, w) })
	d.stop(t)

	d = start(t, bin, "bolt://"+store)
	t.Run("restarted", func(t *testing.T) { d.ask(t, w) })
	first := d.run(t, nil, "export", "-")
	d.stop(t)

	d = start(t, bin, "memory")
	d.run(t, bytes.NewReader(first), "import", "-")
	t.Run("imported again", func(t *testing.T) { d.ask(t, w) })
	if second := d.run(t, nil, "export", "-"); !bytes.Equal(first, second) {
		t.Errorf("export → import → export differs: %d and %d bytes, first at %d", len(first), len(second), differ(first, second))
	}
}

// load pipes the generator into the importer, as the README says.
func load(t *testing.T, d *daemon, w *world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	gen := exec.CommandContext(ctx, "node", "generate.mjs")
	gen.Stderr = os.Stderr
	pipe, err := gen.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := gen.Start(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	d.run(t, pipe, "import", "-")
	took := time.Since(began)
	if err := gen.Wait(); err != nil {
		t.Fatal(err)
	}
	n := len(w.cities) + len(w.countries) + 649
	t.Logf("imported %d records in %v: %.0f records/s", n, took.Round(time.Millisecond), float64(n)/took.Seconds())
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
