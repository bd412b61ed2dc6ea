package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// exchange is one recorded request of a real client, with what it was answered.
type exchange struct {
	Request *struct {
		Method, Path string
		Query        map[string]string
		Body         json.RawMessage
	}
	Response *struct {
		Status int
		Body   json.RawMessage
	}
}

// What real clients sent and accepted is all known here: a field this package lacks
// is one that the emulator would ignore and the client would call unfamiliar.
func TestWhatRealClientsSentAndGotIsKnown(t *testing.T) {
	t.Parallel()
	const variable = "SANDBOX_TEST_INTEROP_DIR"
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("recorded exchanges are named by %s", variable)
	}
	files, err := filepath.Glob(filepath.Join(dir, "traces", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded exchanges in %s: %v", variable, err)
	}
	strange, read := map[string]int{}, map[wire.Op]int{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var x exchange
			if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
				t.Fatalf("%s: %v", filepath.Base(file), err)
			}
			if x.Request != nil && x.Response != nil && x.Response.Status < 300 {
				judge(x, strange, read)
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	for _, s := range slices.Sorted(maps.Keys(strange)) {
		t.Errorf("%d× %s", strange[s], s)
	}
	if len(read) < 40 {
		t.Errorf("only %d operations were met: %v", len(read), read)
	}
}

func judge(x exchange, strange map[string]int, read map[wire.Op]int) {
	version := wire.Version(x.Request.Query["api-version"])
	for _, op := range wire.Ops() {
		form, ok := op.Form(version)
		if !ok || form.Method != x.Request.Method || !matches(form.Path, x.Request.Path) {
			continue
		}
		read[op]++
		known := documents[op]
		for side, doc := range map[string]func([]byte) ([]string, error){"request": known.request, "answer": known.answer} {
			body := x.Request.Body
			if side == "answer" {
				body = x.Response.Body
			}
			if doc == nil || len(body) == 0 || bytes.Equal(body, []byte("null")) || bytes.Contains(body, []byte(`"sha256"`)) {
				continue
			}
			unknown, err := doc(body)
			if err != nil {
				strange[fmt.Sprintf("%s, %s: %v", op, side, err)]++
			}
			for _, field := range unknown {
				strange[fmt.Sprintf("%s, %s: %s", op, side, field)]++
			}
		}
		return
	}
	strange[fmt.Sprintf("%s %s in %s is no operation", x.Request.Method, x.Request.Path, version)]++
}

var segment = regexp.MustCompile(`\{\w+\}`)

func matches(template, path string) bool {
	if strings.HasSuffix(path, "/public") != strings.HasSuffix(template, "/public") || strings.HasSuffix(path, "/count") != strings.HasSuffix(template, "/count") {
		return false // a literal stands before a placeholder
	}
	return regexp.MustCompile("(?i)^" + segment.ReplaceAllString(template, "[^/]+") + "$").MatchString(path)
}

func of[T any](check func(*T) error) func([]byte) ([]string, error) {
	return func(b []byte) ([]string, error) {
		var doc T
		if err := wire.DecodeText(b, &doc); err != nil {
			return nil, err
		}
		if check != nil {
			if err := check(&doc); err != nil {
				return nil, err
			}
		}
		return wire.Unknown(&doc), nil
	}
}

func listOf[T any](key string) func([]byte) ([]string, error) {
	return func(b []byte) ([]string, error) {
		page, err := wire.DecodePage[T](b, key)
		return wire.Unknown(&page.Items), err
	}
}

func portsOf(b []byte) ([]string, error) {
	ports, err := wire.ReadPorts(b)
	return wire.Unknown(&ports), err
}

func commitOf(b []byte) ([]string, error) {
	image, err := wire.ReadCommit(b)
	return wire.Unknown(&image), err
}

func lifecycleOf(b []byte) ([]string, error) {
	_, err := wire.ReadLifecycle(b) // a whole sandbox or the policy
	return nil, err
}

// documents are the two sides of each operation that the clients were seen to use.
var documents = map[wire.Op]struct {
	request, answer func([]byte) ([]string, error)
}{
	wire.GroupGet:         {nil, of[wire.Group](nil)},
	wire.GroupPut:         {of[wire.Group](nil), of[wire.Group](nil)},
	wire.GroupPatch:       {of[wire.GroupPatchBody](nil), of[wire.Group](nil)},
	wire.GroupList:        {nil, listOf[wire.Group]("value")},
	wire.VNetPut:          {of[wire.VNetConnection](nil), of[wire.VNetConnection](nil)},
	wire.OperationStatus:  {nil, of[wire.Status](nil)},
	wire.SandboxCreate:    {of[wire.CreateSandbox](nil), of((*wire.Sandbox).Check)},
	wire.SandboxGet:       {nil, of((*wire.Sandbox).Check)},
	wire.SandboxList:      {nil, listOf[wire.Sandbox]("value")},
	wire.SandboxResume:    {nil, of((*wire.Sandbox).Check)},
	wire.SandboxStats:     {nil, of[wire.Stats](nil)},
	wire.SandboxLifecycle: {of[wire.Lifecycle](nil), lifecycleOf},
	wire.SandboxSnapshot:  {of[wire.LabelsBody](nil), of((*wire.Snapshot).Check)},
	wire.SandboxCommit:    {of[wire.LabelsBody](nil), commitOf},
	wire.ExecShell:        {of[wire.ShellCommand](nil), of((*wire.ExecResult).Check)},
	wire.FileWrite:        {nil, of((*wire.Done).Check)},
	wire.FileStat:         {nil, of((*wire.FileInfo).Check)},
	wire.FileList:         {nil, of((*wire.Listing).Check)},
	wire.FileMkdir:        {of[wire.Mkdir](nil), of((*wire.Done).Check)},
	wire.FileDelete:       {nil, of((*wire.Done).Check)},
	wire.ImageCreate:      {of[wire.CreateImage](nil), of((*wire.Image).Check)},
	wire.ImageGet:         {nil, of((*wire.Image).Check)},
	wire.ImageList:        {nil, listOf[wire.Image]("value")},
	wire.ImagePublicList:  {nil, listOf[wire.Image]("value")},
	wire.ImagePublicGet:   {nil, of((*wire.Image).PublicCheck)},
	wire.SnapshotGet:      {nil, of((*wire.Snapshot).Check)},
	wire.SnapshotList:     {nil, listOf[wire.Snapshot]("value")},
	wire.VolumePut:        {of[wire.Volume](nil), of((*wire.Volume).Check)},
	wire.VolumeGet:        {nil, of((*wire.Volume).Check)},
	wire.VolumeList:       {nil, listOf[wire.Volume]("value")},
	wire.VolumeAttach:     {of[wire.VolumeMountBody](nil), nil},
	wire.SecretPut:        {of((*wire.SecretValues).Check), of((*wire.Secret).Check)},
	wire.SecretList:       {nil, listOf[wire.Secret]("secrets")},
	wire.SecretKeys:       {nil, of((*wire.SecretKeyList).Check)},
	wire.SecretPeek:       {nil, of((*wire.SecretValues).Check)},
	wire.PortAdd:          {of[wire.Port](nil), portsOf},
	wire.PortRemove:       {of[wire.PortRef](nil), portsOf},
	wire.PortReplace:      {of[wire.Ports](nil), portsOf},
	wire.EgressSet:        {of[wire.EgressPolicy](nil), of[wire.EgressPolicy](nil)},
	wire.EgressDecisions:  {nil, of[wire.Decisions](nil)},
}
