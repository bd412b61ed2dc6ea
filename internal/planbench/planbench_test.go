package planbench_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkPlan200 alternates the providers, so that what else the machine does
// falls on all. Where much else runs, CPU time is steadier than the clock; it
// counts terraform and the providers that it started.
//
// "bare" logs as little as ours does, so that the ratio is what deciding costs;
// "logging" is the same provider as the framework leaves it.
func BenchmarkPlan200(b *testing.B) {
	n := size{policies: 200, hosts: 50}
	if testing.Short() {
		n = size{policies: 20, hosts: 10}
	}
	ours, logging := withBinary(b, module), withBinary(b, module+"/internal/planbench/bare")
	bare := logging.silenced()
	for _, f := range []form{shorthand, fullRules} {
		dir := written(b, configuration(n, f))
		b.Run(string(f), func(b *testing.B) {
			rounds := map[string][]step{}
			for b.Loop() {
				rounds["ours"] = append(rounds["ours"], ours.round(b, dir))
				rounds["bare"] = append(rounds["bare"], bare.round(b, dir))
				rounds["logging"] = append(rounds["logging"], logging.round(b, dir))
			}
			report(b, rounds)
		})
		b.Run("served/"+string(f), func(b *testing.B) {
			served := withServed(b)
			for b.Loop() {
				served.round(b, dir)
			}
		})
	}
}

func TestTheBareProviderPlansWhatOursDoes(t *testing.T) {
	t.Parallel()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("set TF_ACC=1 to run tests through the real command line")
	}
	ours, bare := withBinary(t, module), withBinary(t, module+"/internal/planbench/bare")
	for _, f := range []form{shorthand, fullRules} {
		dir := written(t, configuration(size{policies: 1, hosts: 2}, f))
		ours.round(t, dir)
		bare.round(t, dir)
	}
}

// step is one round of one provider: what each command cost.
type step map[string]cost

func (t terraform) round(tb testing.TB, dir string) step {
	tb.Helper()
	return step{"validate": t.measure(tb, dir, "validate", "-no-color"), "plan": t.measure(tb, dir, "plan", "-no-color", "-input=false", "-lock=false")}
}

func report(b *testing.B, rounds map[string][]step) {
	b.Helper()
	of := map[string]func(step) time.Duration{
		"wall": func(s step) time.Duration { return s.sum().wall },
		"cpu":  func(s step) time.Duration { return s.sum().cpu },
	}
	for command := range rounds["ours"][0] {
		of[command+"-wall"] = func(s step) time.Duration { return s[command].wall }
		of[command+"-cpu"] = func(s step) time.Duration { return s[command].cpu }
	}
	for name, of := range of {
		medians := map[string]float64{}
		for who, steps := range rounds {
			medians[who] = median(steps, of).Seconds()
			b.ReportMetric(medians[who], who+"-"+name+"-s")
		}
		b.ReportMetric(medians["ours"]/medians["bare"], name+"-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

func (s step) sum() (all cost) {
	for _, c := range s {
		all.wall, all.cpu = all.wall+c.wall, all.cpu+c.cpu
	}
	return all
}

func median(steps []step, of func(step) time.Duration) time.Duration {
	times := make([]time.Duration, len(steps))
	for i, s := range steps {
		times[i] = of(s)
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func written(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}
