package acasemu_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu"
	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasemu/memguests"
)

func (w *world) state(t *testing.T, path string) string {
	t.Helper()
	s, _ := w.get(t, path).doc(t)["state"].(string)
	return s
}

func TestASandboxShowsWhatTheServiceShowsAndWhen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	made := w.must(t, w.request(t, "PUT", w.data("g")+"/sandboxes",
		strings.Replace(smallest, `"labels"`, `"environment":{"A":"b"},"labels"`, 1))).doc(t)
	path := fmt.Sprintf("%s/sandboxes/%v", w.data("g"), made["id"])
	if made["outboundIpAddresses"] != nil || made["state"] != "Running" {
		t.Errorf("made %v", made)
	}
	running := w.get(t, path).doc(t)
	if running["outboundIpAddresses"] == nil || running["region"] != "swedencentral" || running["vmmType"] != "CloudHypervisor" || running["environment"] != nil {
		t.Errorf("running it is %v", running)
	}
	if source := fmt.Sprint(running["sourcesRef"]); strings.Contains(source, "ubuntu") || !strings.Contains(source, "id:") {
		t.Errorf("a public image comes back as %s", source)
	}
	if got := fmt.Sprint(running["resources"]); got != "map[cpu:1000m disk:20480Mi memory:2048Mi]" {
		t.Errorf("resources are %s", got)
	}
	if got := fmt.Sprint(running["lifecycle"]); got != "map[autoSuspendPolicy:map[enabled:true interval:600 mode:Memory]]" {
		t.Errorf("lifecycle is %s", got)
	}
	snapshot := w.post(t, path+"/stop", "").doc(t)
	if snapshot["sandboxId"] != made["id"] || snapshot["state"] != nil {
		t.Errorf("a stop answers %v, no snapshot", snapshot)
	}
	stopped := w.get(t, path).doc(t)
	if stopped["state"] != "Stopped" || stopped["region"] != nil || stopped["vmmType"] != nil || stopped["managementUrl"] != nil {
		t.Errorf("stopped it is %v", stopped)
	}
	if r := w.post(t, path+"/executeShellCommand", `{"command":"true"}`); r.status != http.StatusConflict || r.doc(t)["title"] != "GlobalSandboxNotRunning" || r.doc(t)["errorCode"] != 501.0 {
		t.Errorf("a command there: %d %s", r.status, r.body)
	}
	if r := w.post(t, path+"/egresspolicy", `{"defaultAction":"Deny"}`); r.status != http.StatusConflict || r.doc(t)["title"] != "SandboxNotRunning" {
		t.Errorf("a policy there: %d %s", r.status, r.body)
	}
	w.post(t, path+"/resume", "")
	if again := w.get(t, path).doc(t); again["state"] != "Running" || !strings.Contains(fmt.Sprint(again["stateDetails"]), "UserStopped") {
		t.Errorf("resumed it is %v", again)
	}
	w.post(t, path+"/disable", "")
	if r := w.post(t, path+"/resume", ""); r.status != http.StatusConflict || r.doc(t)["title"] != "SandboxAdminDisabled" {
		t.Errorf("a disabled one resumes: %d %s", r.status, r.body)
	}
	w.post(t, path+"/enable", "")
	if got := w.state(t, path); got != "Stopped" {
		t.Errorf("an enabled one is %s", got)
	}
	if r := w.post(t, path+"/resume", ""); r.status != http.StatusOK {
		t.Errorf("it does not resume: %d %s", r.status, r.body)
	}
}

func TestACreateThatCannotBeIsRefusedAndItsNeighbourIsNot(t *testing.T) {
	t.Parallel()
	guests := memguests.New(memguests.Options{})
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Guests: guests})
	w.group(t, "g")
	const source = `"sourcesRef":{"diskImage":{"name":"ubuntu","isPublic":true}}`
	const sized = source + `,"resources":{"cpu":"1000m","memory":"2048Mi"}`
	for body, status := range map[string]int{
		`{` + sized + `}`: 200,
		`{` + sized + `,"labels":{"k":"` + strings.Repeat("x", 63) + `"}}`:                200,
		`{` + sized + `,"labels":{"k":"` + strings.Repeat("x", 64) + `"}}`:                400,
		`{` + sized + `,"labels":{"k":1}}`:                                                400,
		`{` + source + `}`:                                                                400,
		`{` + source + `,"resources":{"cpu":"4","memory":"8Gi","disk":"80Gi"}}`:           200,
		`{` + source + `,"resources":{"cpu":"4","memory":"8Gi","disk":"81Gi"}}`:           400,
		`{` + source + `,"resources":{"cpu":"1000m","memory":"2048Mi","disk":"20481Mi"}}`: 400,
		`{` + source + `,"resources":{"cpu":"NaN","memory":"2048Mi"}}`:                    400,
		`{` + source + `,"resources":{"cpu":"-1","memory":"2048Mi"}}`:                     400,
		`{"labels":{}}`:                    400,
		`{}`:                               400,
		`[]`:                               400,
		`null`:                             400,
		`{"a":1,"a":2}`:                    400,
		`{"presetSandboxType":"Claude"}`:   200,
		`{"presetSandboxType":"Somebody"}`: 400,
		strings.Replace(`{`+sized+`}`, "ubuntu", "cp/m", 1):                                                          404,
		`{"sourcesRef":{"diskImage":{"id":"nobody"}},"resources":{"cpu":"1000m","memory":"2048Mi"}}`:                 404,
		`{"sourcesRef":{"snapshot":{"id":"nobody"}}}`:                                                                404,
		`{"sourcesRef":{"snapshot":{"id":"a\u0000b"}}}`:                                                              404,
		`{` + sized + `,"customerVnetConnectionName":"none"}`:                                                        404,
		`{` + sized + `,"volumes":[{"volumeName":"none","mountpoint":"/x"}]}`:                                        404,
		`{` + sized + `,"volumes":[{"volumeName":"none","mountpoint":"x"}]}`:                                         400,
		`{` + sized + `,"ports":[{"port":80}]}`:                                                                      200,
		`{` + sized + `,"ports":[{"port":80},{"port":80}]}`:                                                          409,
		`{` + sized + `,"ports":[{"port":65536}]}`:                                                                   400,
		`{` + sized + `,"egressPolicy":{"defaultAction":"Deny"}}`:                                                    200,
		`{` + sized + `,"egressPolicy":{"defaultAction":"Maybe"}}`:                                                   400,
		`{` + sized + `,"lifecycle":{"autoSuspendPolicy":{"enabled":true,"interval":-1}}}`:                           400,
		`{` + sized + `,"lifecycle":{"autoSuspendPolicy":null,"autoDeletePolicy":null},"misspelt":{"is":"ignored"}}`: 200,
	} {
		if r := w.put(t, w.data("g")+"/sandboxes", body); r.status != status {
			t.Errorf("%s: %d %s, not %d", body, r.status, r.body, status)
		}
	}
	var listed []struct{ ID string }
	if err := json.Unmarshal(w.get(t, w.data("g")+"/sandboxes").body, &listed); err != nil {
		t.Fatal(err)
	}
	if len(guests.IDs()) != len(listed) {
		t.Errorf("%d guests of %d sandboxes", len(guests.IDs()), len(listed))
	}
}

// A deletion takes its time, however often somebody looks.
func TestADeletionIsOverWhenItsTimeIs(t *testing.T) {
	t.Parallel()
	now, guests := newClock(), memguests.New(memguests.Options{})
	w := newWorld(t, acasemu.Config{Clock: now, Guests: guests, Pace: &acasemu.Pace{Delete: acasemu.Delay{Time: time.Minute}}})
	w.group(t, "g")
	path := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	if r := w.ask(t, "DELETE", path, ""); r.status != http.StatusOK || string(r.body) != "{}" {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if len(guests.IDs()) != 0 {
		t.Error("its guest is still there")
	}
	for range 20 {
		if got := w.state(t, path); got != "Deleting" {
			t.Fatalf("it is %s", got)
		}
	}
	if r := w.ask(t, "DELETE", path, ""); r.status != http.StatusOK {
		t.Errorf("deleting it again: %d", r.status)
	}
	now.pass(time.Minute)
	for _, r := range []reply{w.get(t, path), w.ask(t, "DELETE", path, "")} {
		if r.status != http.StatusNotFound || r.doc(t)["title"] != "SandboxNotFound" || r.doc(t)["errorCode"] != 1.0 {
			t.Errorf("afterwards: %d %s", r.status, r.body)
		}
	}
	if r := w.get(t, w.data("g")+"/sandboxes"); string(r.body) != "[]" {
		t.Errorf("it is listed: %s", r.body)
	}
}

func TestPoliciesOfTimeAreKept(t *testing.T) {
	t.Parallel()
	now, guests := newClock(), memguests.New(memguests.Options{})
	w := newWorld(t, acasemu.Config{Clock: now, Guests: guests, Pace: atOnce()})
	w.group(t, "g")
	path := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	w.post(t, path+"/lifecycle", `{"autoSuspendPolicy":{"enabled":true,"interval":60,"mode":"Disk"},"autoDeletePolicy":{"enabled":true,"deleteIntervalInSeconds":600}}`)
	now.pass(59 * time.Second)
	w.must(t, w.request(t, "GET", path+"/files/list?path=/", "")) // something happens in it
	now.pass(59 * time.Second)
	if got := w.state(t, path); got != "Running" {
		t.Errorf("in use it is %s", got)
	}
	now.pass(time.Second)
	stopped := w.get(t, path).doc(t)
	if details := fmt.Sprint(stopped["stateDetails"]); stopped["state"] != "Stopped" || !strings.Contains(details, "stoppedReason:Idle") {
		t.Errorf("idle it is %v", stopped)
	}
	now.pass(10 * time.Minute)
	if err := w.emulator.Sweep(t.Context()); err != nil { // nobody asks about it
		t.Fatal(err)
	}
	if len(guests.IDs()) != 0 {
		t.Error("its guest outlived its policy")
	}
	if r := w.get(t, path); r.status != http.StatusNotFound {
		t.Errorf("it outlived its policy: %d", r.status)
	}
}

func TestALifecycleIsReplacedWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce()})
	w.group(t, "g")
	path := w.data("g") + "/sandboxes/" + w.sandbox(t, "g")
	w.must(t, w.request(t, "POST", path+"/lifecycle", `{"autoDeletePolicy":{"enabled":true,"deleteIntervalInSeconds":60}}`))
	if got := fmt.Sprint(w.get(t, path).doc(t)["lifecycle"]); got != "map[autoDeletePolicy:map[deleteIntervalInSeconds:60 enabled:true]]" {
		t.Errorf("lifecycle is %s", got)
	}
}

func TestAnImageInUseStaysAndACopyKeepsItsDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{Pace: atOnce(), Guests: memguests.New(memguests.Options{})})
	w.group(t, "g")
	big := strings.Replace(smallest, `"1000m","memory":"2048Mi"`, `"2000m","memory":"4096Mi","disk":"40960Mi"`, 1)
	id := w.must(t, w.request(t, "PUT", w.data("g")+"/sandboxes", big)).doc(t)["id"]
	path := fmt.Sprintf("%s/sandboxes/%v", w.data("g"), id)
	commit := w.must(t, w.request(t, "POST", path+"/commit", `{}`)).doc(t)
	image, _ := commit["diskImage"].(map[string]any)
	from := func(disk string) string {
		return fmt.Sprintf(`{"sourcesRef":{"diskImage":{"id":"%v"}},"resources":{"cpu":"2000m","memory":"4096Mi"%s}}`, image["id"], disk)
	}
	if r := w.put(t, w.data("g")+"/sandboxes", from(`,"disk":"20480Mi"`)); r.status != http.StatusBadRequest {
		t.Errorf("a smaller disk: %d %s", r.status, r.body)
	}
	made := w.must(t, w.request(t, "PUT", w.data("g")+"/sandboxes", from(""))).doc(t)
	if got := fmt.Sprint(made["resources"]); !strings.Contains(got, "disk:40960Mi") {
		t.Errorf("resources are %s", got)
	}
	imagePath := fmt.Sprintf("%s/diskimages/%v", w.data("g"), image["id"])
	if r := w.ask(t, "DELETE", imagePath, ""); r.status != http.StatusConflict {
		t.Errorf("an image in use: %d", r.status)
	}
	w.ask(t, "DELETE", fmt.Sprintf("%s/sandboxes/%v", w.data("g"), made["id"]), "")
	if r := w.ask(t, "DELETE", imagePath, ""); r.status != http.StatusNoContent {
		t.Errorf("an image that nobody uses: %d %s", r.status, r.body)
	}
}

func TestReferencesTurnOutAsTheEmulatorWasTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, acasemu.Config{
		Pace: atOnce(), OnlyKnownImages: true,
		Images: []acasemu.KnownImage{{Reference: "r.example/good:1"}, {Reference: "r.example/bad:1", Fails: "manifest unknown"}},
	})
	w.group(t, "g")
	for reference, want := range map[string]string{
		"r.example/good:1": "Ready", "r.example/bad:1": "Failed", "r.example/unknown:1": "Failed",
	} {
		made := w.must(t, w.request(t, "PUT", w.data("g")+"/diskimages", `{"image":{"base":"`+reference+`"}}`)).doc(t)
		status, _ := w.get(t, fmt.Sprintf("%s/diskimages/%v", w.data("g"), made["id"])).doc(t)["status"].(map[string]any)
		if status["state"] != want || (want == "Failed") != (status["errorMessage"] != nil && status["message"] != nil) {
			t.Errorf("%s is %v", reference, status)
		}
	}
}
