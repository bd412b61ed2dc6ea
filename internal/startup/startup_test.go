package startup_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

// raw passes messages through unparsed: the measurement needs the reply's size
// and its time, not its content.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T", v)
	}
	return *b, nil
}

func (raw) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot receive into a %T", v)
	}
	*b = slices.Clone(data)
	return nil
}

func (raw) Name() string { return "proto" }

// schemaPlugin asks a provider for its schema.
type schemaPlugin struct{ plugin.NetRPCUnsupportedPlugin }

func (schemaPlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }

func (schemaPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

// startToSchema starts the binary as Terraform does and returns how long it took
// until the schema had arrived, and the schema's size in bytes.
func startToSchema(tb testing.TB, binary string) (time.Duration, int) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	began := time.Now()
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: 6, MagicCookieKey: "TF_PLUGIN_MAGIC_COOKIE",
			MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
		},
		VersionedPlugins: map[int]plugin.PluginSet{6: {"provider": schemaPlugin{}}},
		Cmd:              exec.CommandContext(ctx, binary),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		Logger:           hclog.NewNullLogger(),
	})
	defer client.Kill()
	protocol, err := client.Client()
	if err != nil {
		tb.Fatal(err)
	}
	dispensed, err := protocol.Dispense("provider")
	if err != nil {
		tb.Fatal(err)
	}
	conn, ok := dispensed.(*grpc.ClientConn)
	if !ok {
		tb.Fatalf("dispensed a %T", dispensed)
	}
	request, reply := []byte{}, []byte{}
	err = conn.Invoke(ctx, "/tfplugin6.Provider/GetProviderSchema", &request, &reply,
		grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(64<<20))
	if err != nil {
		tb.Fatal(err)
	}
	return time.Since(began), len(reply)
}

func build(tb testing.TB, pkg string) string {
	tb.Helper()
	binary := filepath.Join(tb.TempDir(), filepath.Base(pkg))
	cmd := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return binary
}

const module = "github.com/sandbox-iac/terraform-provider-sandbox"

// BenchmarkStartToSchema alternates the two, so that what else the machine does
// falls on both.
func BenchmarkStartToSchema(b *testing.B) {
	const rounds = 30
	ours, bare := build(b, module), build(b, module+"/internal/startup/bare")
	startToSchema(b, ours)
	startToSchema(b, bare)
	var times [2][]time.Duration
	var size int
	for b.Loop() {
		times = [2][]time.Duration{}
		for range rounds {
			var d time.Duration
			d, size = startToSchema(b, ours)
			times[0] = append(times[0], d)
			d, _ = startToSchema(b, bare)
			times[1] = append(times[1], d)
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	median, p95 := rounds/2, rounds*95/100
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	b.ReportMetric(ms(times[0][median]), "ours-median-ms")
	b.ReportMetric(ms(times[0][p95]), "ours-p95-ms")
	b.ReportMetric(ms(times[1][median]), "bare-median-ms")
	b.ReportMetric(ms(times[1][p95]), "bare-p95-ms")
	b.ReportMetric(ms(times[0][median])/ms(times[1][median]), "ratio")
	b.ReportMetric(float64(size), "schema-bytes")
	b.ReportMetric(0, "ns/op")
}

func TestTheBareProviderAnswersWithItsSchema(t *testing.T) {
	t.Parallel()
	if _, size := startToSchema(t, build(t, module+"/internal/startup/bare")); size == 0 {
		t.Error("an empty schema")
	}
}
