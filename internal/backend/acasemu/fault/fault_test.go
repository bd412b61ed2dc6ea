package fault_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/fault"
)

func set(t *testing.T, specs ...string) *fault.Set {
	t.Helper()
	var s fault.Set
	for _, text := range specs {
		f, err := fault.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Add(f)
	}
	return &s
}

var create = fault.Request{Op: "sandbox.create", Method: "PUT", Path: "/g/sandboxes"}

func TestAFaultMeetsWhomItSays(t *testing.T) {
	t.Parallel()
	for spec, meets := range map[string]bool{
		"status=500":                                   true,
		"status=500,op=sandbox.create":                 true,
		"status=500,op=sandbox.get":                    false,
		"status=500,method=put":                        true,
		"status=500,method=GET":                        false,
		"status=500,path=*/sandboxes":                  true,
		"status=500,path=/g/*":                         true,
		"status=500,path=*g*boxes*":                    true,
		"status=500,path=/g":                           false,
		"status=500,path=*/images":                     false,
		"status=500,path=/g/sandboxes*/g/sandboxes":    false, // the two ends may not overlap
		"status=500,skip=1":                            false,
		"status=500,times=0":                           false,
		"status=500,times=1":                           true,
		"error-once":                                   true,
		"error-once,op=sandbox.get":                    false,
		"status=500,path=/g/sandboxes,op=sandbox.stop": false,
	} {
		if got := set(t, spec).Meet(create).Status == 500; got != meets {
			t.Errorf("%s meets it: %v", spec, got)
		}
	}
}

func TestAFaultRunsOut(t *testing.T) {
	t.Parallel()
	s := set(t, "status=429,retry-after=3,skip=1,times=2")
	var got []int
	for range 5 {
		got = append(got, s.Meet(create).Status)
	}
	if want := []int{0, 429, 429, 0, 0}; !equal(got, want) {
		t.Errorf("statuses are %v, not %v", got, want)
	}
	s.Clear()
	if len(s.List()) != 0 {
		t.Error("a cleared set lists faults")
	}
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestLaterFaultsAreHeardAndOthersAdded(t *testing.T) {
	t.Parallel()
	own, err := fault.Parse("latency=1.5")
	if err != nil {
		t.Fatal(err)
	}
	e := set(t, "status=500", "status=503,body=empty").Meet(create, own)
	if e.Status != 503 || e.Body != "empty" || e.Latency != 1500*time.Millisecond {
		t.Errorf("together they are %+v", e)
	}
}

func TestEveryNamedFaultDoesSomething(t *testing.T) {
	t.Parallel()
	for name := range fault.Presets() {
		if e := set(t, name).Meet(create); e == (fault.Effect{}) {
			t.Errorf("%s does nothing", name)
		}
	}
}

func TestFaultsThatSayNothingOrNonsenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "times=1", "op=sandbox.get", "nonsense", "status=99", "status=600", "status=abc", "drop=sometimes", "times=-1,status=500",
		"latency=soon", "body=pdf,status=500", "location=a\r\nb,status=307", "image=slow:x", "flags=all", "status", "throttle=1",
	} {
		if f, err := fault.Parse(text); err == nil {
			t.Errorf("%q is a fault: %s", text, f)
		}
	}
}

func FuzzAnythingIsAFaultOrAnError(f *testing.F) {
	for name, spec := range fault.Presets() {
		f.Add(name)
		f.Add(spec)
	}
	f.Add("path=*a*b*,status=500,skip=2")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := fault.Parse(text)
		if err != nil {
			return
		}
		var s fault.Set
		s.Add(parsed)
		for range 3 {
			s.Meet(create)
			s.Meet(fault.Request{Path: strings.Repeat("/a", 50)})
		}
		if parsed.String() != text {
			t.Errorf("%q is told as %q", text, parsed)
		}
	})
}
