package wire_test

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

func TestEveryOperationCanBeAskedForInSomeVersionOfItsPlane(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	requests := map[string]string{}
	for _, op := range wire.Ops() {
		row := op.Operation()
		if names[row.Name] || !regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`).MatchString(row.Name) {
			t.Errorf("operation %d is called %q", op, row.Name)
		}
		names[row.Name] = true
		forms := 0
		for _, v := range row.Plane.Versions() {
			form, ok := op.Form(v)
			if !ok {
				continue
			}
			forms++
			if other := requests[string(v)+form.Method+form.Path]; other != "" {
				t.Errorf("%s and %s are the same request in %s", row.Name, other, v)
			}
			requests[string(v)+form.Method+form.Path] = row.Name
			if _, err := wire.Expand(form.Path, everySegment()); err != nil {
				t.Errorf("%s: %v", row.Name, err)
			}
			if strings.Contains(form.Path, "/providers/Microsoft.App/") != (row.Plane == wire.ARM) {
				t.Errorf("%s of the %s plane is at %s", row.Name, row.Plane, form.Path)
			}
		}
		if forms == 0 {
			t.Errorf("%s is in no version", row.Name)
		}
	}
}

func everySegment() wire.Segments {
	s := wire.Segments{}
	for _, name := range []string{
		wire.SegSubscription, wire.SegResourceGroup, wire.SegGroup, wire.SegVNet, wire.SegLocation, wire.SegOperation, wire.SegSandbox, wire.SegImage,
		wire.SegSnapshot, wire.SegVolume, wire.SegSecret, wire.SegPolicy, wire.SegConnection, wire.SegCredential, wire.SegPackage,
	} {
		s[name] = "x"
	}
	return s
}

// A POST that may be sent twice is an exception somebody thought about; so is a PUT
// that may not.
func TestWhatMakesOrRunsSomethingIsNeverRepeated(t *testing.T) {
	t.Parallel()
	var never []string
	for _, op := range wire.Ops() {
		row := op.Operation()
		if row.Repeat == wire.RepeatNever {
			never = append(never, row.Name)
			continue
		}
		for _, f := range row.Forms {
			if f.Method == http.MethodPut && strings.HasSuffix(f.Path, "s") && !strings.Contains(f.Path, "{sandbox}") {
				t.Errorf("%s makes something in a collection and may be repeated", row.Name)
			}
		}
	}
	want := []string{
		"sandbox.create", "sandbox.snapshot", "sandbox.commit", "exec.shell", "exec.command", "image.create", "volume.fork", "volume.attach",
		"volume_file.write", "port.add", "connection.create", "connection.attach", "package.upload",
	}
	if !slices.Equal(never, want) {
		t.Errorf("never repeated are %q", never)
	}
}

func TestAnOperationThatIsNoneHasNoForm(t *testing.T) {
	t.Parallel()
	for _, op := range []wire.Op{0, 250} {
		if form, ok := op.Form(wire.V0201); ok || op.String() != "" || op.Operation().Repeat != wire.RepeatNever {
			t.Errorf("operation %d is %+v", op, form)
		}
	}
}

func TestASegmentCannotChangeThePath(t *testing.T) {
	t.Parallel()
	const template = "/a/{sandbox}/b"
	for _, value := range []string{"", ".", "..", "x/y", `x\y`, "x%2Fy", "x?y", "x#y", "x..y", "\x00", "x y", "x\u202ey", "\xff", strings.Repeat("x", 261)} {
		if got, err := wire.Expand(template, wire.Segments{wire.SegSandbox: value}); err == nil {
			t.Errorf("%q gives %s", value, got)
		}
	}
	if got, err := wire.Expand(template, wire.Segments{}); err == nil {
		t.Errorf("no value gives %s", got)
	}
	for value, want := range map[string]string{"x.y": "/a/x.y/b", "x+y": "/a/x+y/b", "ü": "/a/%C3%BC/b", "a:b@c": "/a/a:b@c/b"} {
		if got, err := wire.Expand(template, wire.Segments{wire.SegSandbox: value}); err != nil || got != want {
			t.Errorf("%q gives %s, %v", value, got, err)
		}
	}
}

// Null breaks every list of the official client, so the emulator's answers must not
// have one, whatever was left out when they were made.
func TestNoDocumentIsWrittenWithANullList(t *testing.T) {
	t.Parallel()
	for _, doc := range []any{
		wire.Sandbox{},
		wire.Listing{Entries: &[]wire.FileInfo{}},
		wire.Ports{},
		wire.DecisionLog{},
		wire.EgressPolicy{},
		wire.VolumeCounts{},
		wire.ConnectionIDs{},
		wire.IPRule{},
		[]wire.Sandbox(nil),
		wire.Snapshot{},
		wire.CreateSandbox{},
		wire.Group{},
		wire.GroupPatchBody{},
	} {
		b, err := wire.Encode(doc)
		if err != nil {
			t.Errorf("%T: %v", doc, err)
		}
		for _, bad := range []string{":null,\"ports", `s":null`, "null]", "[null"} {
			if strings.Contains(strings.ReplaceAll(string(b), `"stateDetails":null`, ""), bad) || string(b) == "null" {
				t.Errorf("%T is %s", doc, b)
			}
		}
	}
}

func TestANewVersionSpellsTheSameRequestItsOwnWay(t *testing.T) {
	t.Parallel()
	create := wire.CreateSandbox{CustomerVNetConnectionName: "net"}
	for v, want := range map[wire.Version]string{
		wire.V0201: `{"customerVnetConnectionName":"net"}`, wire.V0901: `{"vnetConnectionName":"net"}`,
	} {
		if b, err := wire.Encode(create.ForVersion(v)); err != nil || string(b) != want {
			t.Errorf("%s: %s, %v", v, b, err)
		}
	}
	image := wire.CreateImage{Image: &wire.ImageSource{Base: "r.example/a:1"}, ManagedIdentityResourceID: "system"}
	for v, want := range map[wire.Version]string{
		wire.V0201: `{"image":{"base":"r.example/a:1"},"managedIdentityResourceId":"system"}`,
		wire.V0901: `{"source":{"kind":"registry","imageUrl":"r.example/a:1","authentication":{"identity":{"type":"SystemAssigned"}}}}`,
	} {
		spelt, err := image.ForVersion(v)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := wire.Encode(spelt); err != nil || string(b) != want {
			t.Errorf("%s: %s, %v", v, b, err)
		}
	}
	image.Image.Cmd = []string{"x"}
	if _, err := image.ForVersion(wire.V0901); err == nil {
		t.Error("a command that cannot be said was dropped")
	}
}

func TestEveryShapeOfAnAnswerIsRead(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"ports":[{"port":80}]}`, `[{"port":80}]`, `{"port":80}`} {
		if ports, err := wire.ReadPorts([]byte(body)); err != nil || len(ports) != 1 || ports[0].Port != 80 {
			t.Errorf("%s: %+v, %v", body, ports, err)
		}
	}
	if _, err := wire.ReadPorts([]byte(`{}`)); err == nil {
		t.Error("an empty object is a port")
	}
	for _, body := range []string{`{"diskImage":{"id":"i"}}`, `{"id":"i"}`, `{"diskImageId":"i"}`} {
		if image, err := wire.ReadCommit([]byte(body)); err != nil || image.ID != "i" {
			t.Errorf("%s: %+v, %v", body, image, err)
		}
	}
	if _, err := wire.ReadCommit([]byte(`{}`)); err == nil {
		t.Error("an empty object is an image")
	}
	for _, body := range []string{
		`{"autoSuspendPolicy":{"enabled":true,"interval":60}}`,
		`{"id":"x","state":"Running","lifecycle":{"autoSuspendPolicy":{"enabled":true,"interval":60}}}`,
	} {
		if policy, err := wire.ReadLifecycle([]byte(body)); err != nil || policy.AutoSuspend == nil || policy.AutoSuspend.Interval != 60 {
			t.Errorf("%s: %+v, %v", body, policy, err)
		}
	}
	for _, body := range []string{`{"networkEgress":{"allowed":[],"denied":[{"host":"h"}]}}`, `{"http":{"denied":[{"host":"h"}]}}`} {
		var d wire.Decisions
		if err := wire.Decode([]byte(body), &d); err != nil || len(d.Log().Denied) != 1 {
			t.Errorf("%s: %+v, %v", body, d, err)
		}
	}
}

func TestAnErrorOfDecodingTellsWhereAndNotWhat(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"id":"x","state":"s","ports":{"secret":"s3ntinel"}}`: "/ports",
		`{"id":"x","labels":{"k":7}}`:                          "/labels/k",
		`{"id":"x","id":"s3ntinel"}`:                           "twice",
		`{"id":"s3ntinel"`:                                     "ends after",
		`{"id":s3ntinel}`:                                      "not JSON at byte",
		`{"id":"x"} s3ntinel`:                                  "not JSON at byte",
	} {
		var s wire.Sandbox
		err := wire.Decode([]byte(body), &s)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3ntinel") || strings.Contains(err.Error(), "wire.") {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestAGuestsBytesDoNotLoseTheAnswer(t *testing.T) {
	t.Parallel()
	var r wire.ExecResult
	if err := wire.DecodeText([]byte("{\"exitCode\":1,\"stdout\":\"a\xffb\\ud800\",\"stderr\":\"\"}"), &r); err != nil || r.Check() != nil || r.Stdout != "a\ufffdb\ufffd" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := wire.Decode([]byte("{\"exitCode\":1,\"stdout\":\"a\xffb\"}"), &r); err == nil {
		t.Error("other documents are read with bytes that are no text")
	}
}

func TestAMissingFieldIsNotAZero(t *testing.T) {
	t.Parallel()
	for body, check := range map[string]func([]byte) error{
		`{"stdout":""}`: checked((*wire.ExecResult).Check),
		`{"name":"x","path":"/x","size":0,"isDir":false}`:                     checked((*wire.FileInfo).Check),
		`{"name":"x","path":"/x","size":0,"isSymlink":false}`:                 checked((*wire.FileInfo).Check),
		`{"name":"x","path":"/x","size":-1,"isDir":false,"isSymlink":false}`:  checked((*wire.FileInfo).Check),
		`{"name":"x","path":"/x","size":0,"isDir":"no","isSymlink":false}`:    checked((*wire.FileInfo).Check),
		`{"name":"x","path":"/x","size":1.5,"isDir":false,"isSymlink":false}`: checked((*wire.FileInfo).Check),
		`{"path":"/"}`:                checked((*wire.Listing).Check),
		`{"path":"/","entries":null}`: checked((*wire.Listing).Check),
		`{"path":"/","entries":[{}]}`: checked((*wire.Listing).Check),
		`{"state":"Running"}`:         checked((*wire.Sandbox).Check),
		`{"id":"../x","state":"s"}`:   checked((*wire.Sandbox).Check),
		`{"success":false}`:           checked((*wire.Done).Check),
		`{"id":""}`:                   checked((*wire.Image).Check),
		`{"values":null}`:             checked((*wire.SecretValues).Check),
		`{}`:                          checked((*wire.SecretKeyList).Check),
	} {
		if check([]byte(body)) == nil {
			t.Errorf("%s passes", body)
		}
	}
	if err := checked((*wire.FileInfo).Check)([]byte(`{"name":"x","path":"/x","size":0,"isDir":false,"isSymlink":false}`)); err != nil {
		t.Error(err)
	}
}

func checked[T any](check func(*T) error) func([]byte) error {
	return func(b []byte) error {
		var doc T
		if err := wire.Decode(b, &doc); err != nil {
			return err
		}
		return check(&doc)
	}
}

// Every answer keeps what it does not know, at every level: otherwise the canary is
// deaf there.
func TestEveryAnswerKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	for _, doc := range []any{
		wire.Sandbox{},
		wire.Group{},
		wire.VNetConnection{},
		wire.Status{},
		wire.Image{},
		wire.Snapshot{},
		wire.Volume{},
		wire.VolumeCounts{},
		wire.Secret{},
		wire.SecretValues{},
		wire.SecretKeyList{},
		wire.ExecResult{},
		wire.FileInfo{},
		wire.Listing{},
		wire.Done{},
		wire.Ports{},
		wire.EgressPolicy{},
		wire.Decisions{},
		wire.Lifecycle{},
		wire.Package{},
		wire.ConnectionIDs{},
		wire.NamedEgressPolicy{},
		wire.Problem{},
	} {
		keeps(t, reflect.TypeOf(doc), seen)
	}
}

// onlySent are the types that carry credentials and stand in no answer.
var onlySent = []string{"RegistryCredentials", "ImageAuthentication", "ImageIdentity"}

func keeps(t *testing.T, typ reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		keeps(t, typ.Elem(), seen)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[typ] || slices.Contains(onlySent, typ.Name()) {
		return
	}
	seen[typ] = true
	extra, ok := typ.FieldByName("Extra")
	if !ok || extra.Type != reflect.TypeFor[wire.Extra]() || extra.Tag.Get("json") != ",embed" {
		t.Errorf("%s drops what it does not know", typ)
	}
	for field := range typ.Fields() {
		keeps(t, field.Type, seen)
	}
}
