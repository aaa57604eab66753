package budget

import (
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/nacredb/nacre/engine/errs"
)

func TestSmallAccountsNeverTouchThePool(t *testing.T) {
	p := NewPool(0)
	a := p.Account()
	for range free / 1024 {
		if err := a.Charge(1024); err != nil {
			t.Fatal(err)
		}
	}
	a.Release(free)
	if err := a.Reach(free); err != nil {
		t.Fatal(err)
	}
	if got := p.Stats(); got != (Stats{}) {
		t.Errorf("after the free bytes: %+v", got)
	}
	if err := a.Charge(free + 1); err == nil {
		t.Error("a pool of nothing gave a byte")
	}
	lasting := p.Lasting()
	if err := lasting.Charge(1); err == nil {
		t.Error("a lasting account has free bytes")
	}
}

// TestAThousandSmallAccountsAreCounted: what each has is little, all of it together is not.
func TestAThousandSmallAccountsAreCounted(t *testing.T) {
	p := NewPool(10 * chunk)
	accounts, refused := make([]Account, 1000), 0
	for i := range accounts {
		accounts[i] = p.Account()
		if accounts[i].Charge(chunk/10) != nil {
			refused++
		}
	}
	if refused < 880 || p.Stats().Taken > 10*chunk {
		t.Errorf("%d of 1000 refused, %d bytes taken", refused, p.Stats().Taken)
	}
	for i := range accounts {
		accounts[i].Close()
	}
	if got := p.Stats().Taken; got != 0 {
		t.Errorf("%d bytes are taken in the end", got)
	}
}

// TestAnonymousClientsHaveAShare: beyond it they are refused while others are not; one that becomes known leaves it.
func TestAnonymousClientsHaveAShare(t *testing.T) {
	p := NewPool(16 * chunk)
	a, b, known := p.Account().OfAnonymous(), p.Account().OfAnonymous(), p.Account()
	if err := a.Charge(2 * chunk); err != nil {
		t.Fatal(err)
	}
	if err := b.Take(chunk); !errors.Is(err, errs.OutOfMemory()) || b.used != 0 {
		t.Errorf("beyond the share: %v, %d bytes used", err, b.used)
	}
	if err := known.Charge(12 * chunk); err != nil {
		t.Errorf("beside the anonymous: %v", err)
	}
	a.Known()
	if err := b.Take(chunk); err != nil {
		t.Errorf("after one has become known: %v", err)
	}
	b.Hold(4 * chunk)
	if got := p.Stats(); got.Anonymous < 5*chunk-free || got.Taken < 19*chunk-3*free {
		t.Errorf("with what is held: %+v", got)
	}
	for _, account := range []*Account{&a, &b, &known} {
		account.Close()
	}
	if got := p.Stats(); got.Anonymous != 0 || got.Taken != 0 {
		t.Errorf("in the end: %+v", got)
	}
}

func TestShrinkGivesBackWhatIsNotCharged(t *testing.T) {
	p := NewPool(16 * chunk)
	a := p.Account()
	if err := a.Charge(8 * chunk); err != nil {
		t.Fatal(err)
	}
	a.Release(7 * chunk)
	a.Shrink()
	if got := p.Stats().Taken; got != chunk-free {
		t.Errorf("%d bytes are taken for a chunk", got)
	}
	a.Release(chunk)
	a.Shrink()
	if got := p.Stats().Taken; got != 0 {
		t.Errorf("%d bytes are taken for nothing", got)
	}
	if err := a.Charge(free); err != nil || p.Stats().Taken != 0 {
		t.Errorf("the free bytes are lost: %v, %+v", err, p.Stats())
	}
}

func TestAccountsKeepTheMostTheyHad(t *testing.T) {
	p := NewPool(10 * chunk)
	a, b := p.Account(), p.Account()
	mark := a.Mark()
	step := func(name string, err error, taken int64) {
		t.Helper()
		if got := p.Stats().Taken; err != nil || got != taken*chunk {
			t.Fatalf("%s: %v, %d chunks taken, want %d", name, err, got/chunk, taken)
		}
	}
	step("charge 3½", a.Charge(7*chunk/2), 4)
	a.Rewind(mark)
	step("rewound", a.Charge(3*chunk), 4)
	a.Rewind(mark)
	step("reach 4", a.Reach(4*chunk), 4)
	step("b", b.Charge(5*chunk), 9)
	a.Rewind(mark)
	if err := a.Charge(7 * chunk); !errors.Is(err, errs.OutOfMemory()) {
		t.Errorf("more than is left: %v", err)
	}
	b.Close()
	step("b has closed", nil, 4)
	step("again", a.Reach(0), 7)
	a.Close()
	step("a has closed", nil, 0)
	if err := a.Charge(12 * chunk); err == nil || errors.Is(err, errs.OutOfMemory()) {
		t.Errorf("more than there is: %v", err)
	}
	if got := p.Stats().Refused; got != 2 {
		t.Errorf("refused %d times, want 2", got)
	}
}

func TestTheLastChunkMayBeSmall(t *testing.T) {
	p := NewPool(chunk + 10)
	a := p.Account()
	if err := a.Charge(chunk + free + 10); err != nil || p.Stats().Taken != chunk+10 {
		t.Errorf("all of it: %v, %+v", err, p.Stats())
	}
}

func TestWhatIsThereIsHeldWhateverIsLeft(t *testing.T) {
	p := NewPool(4 * chunk)
	p.Hold(free).Release()
	held := p.Hold(6 * chunk)
	if got := p.Stats().Taken; got != 6*chunk {
		t.Errorf("%d bytes are taken", got)
	}
	a := p.Account()
	if err := a.Charge(2 * chunk); !errors.Is(err, errs.OutOfMemory()) {
		t.Errorf("beside it: %v", err)
	}
	held.Release()
	if err := a.Charge(0); err != nil || p.Stats().Taken != 2*chunk {
		t.Errorf("after it: %v, %+v", err, p.Stats())
	}
	(*Pool)(nil).Hold(1 << 40).Release()
}

func TestTheDefaultHeedsTheLimitOfTheCollector(t *testing.T) {
	all := Default()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(400 << 20))
	if got := Default(); got != 100<<20 || all < got {
		t.Errorf("%d bytes with a limit of 400 MiB, %d without", got, all)
	}
}

func TestWithoutAPoolNothingIsRefused(t *testing.T) {
	var none *Account
	var zero Account
	unbounded := (*Pool)(nil).Account()
	for _, a := range []*Account{none, &zero, &unbounded} {
		for range 3 {
			if err := errors.Join(a.Charge(1<<40), a.Reach(1<<40)); err != nil {
				t.Error(err)
			}
		}
		a.Rewind(a.Mark())
		a.Release(1)
		a.Close()
	}
}

// TestThePoolIsNeverOverdrawn: many goroutines take and give back at once; the sum never exceeds the pool, and
// all of it is back in the end.
func TestThePoolIsNeverOverdrawn(t *testing.T) {
	p := NewPool(16 * chunk)
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 2000 {
				a := p.Account()
				for range r.IntN(6) {
					if a.Charge(r.IntN(8*chunk)) != nil {
						break
					}
					if taken := p.Stats().Taken; taken > 16*chunk || taken < 0 {
						t.Errorf("%d of %d bytes are taken", taken, 16*chunk)
					}
				}
				a.Close()
			}
		})
	}
	wg.Wait()
	if got := p.Stats(); got.Taken != 0 || got.Refused == 0 {
		t.Errorf("in the end: %+v", got)
	}
}

func BenchmarkCharge(b *testing.B) {
	p := NewPool(1 << 40)
	a := p.Account()
	b.ReportAllocs()
	for b.Loop() {
		_ = a.Charge(100)
		a.Release(100)
	}
}
