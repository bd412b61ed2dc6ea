package provider

import (
	"strings"
	"testing"
)

func TestRefusalsNameShippedBackendsThatWouldDo(t *testing.T) {
	t.Parallel()
	s := newServer(t, offline()).configure(t, nil)
	strict := with(agents(), map[string]any{"minimum_evidence": "documented", "minimum_isolation": "runtime"})
	for name, c := range map[string]struct {
		workload map[string]any
		want     string
	}{
		"missing guarantees": {
			with(report(with(strict, map[string]any{"egress_guarantees": []string{"dns_confined", "udp_denied"}})), map[string]any{"backend": "acas", "requires": []string{}, "outputs": nil}),
			"Backends that give them: docker (documented), process (documented), wasm (probed)",
		},
		"too low a rung": {
			report(with(strict, map[string]any{"minimum_isolation": "microvm"})),
			"Backends that are strong enough: acas (microvm, documented)",
		},
		"too weak evidence": {
			report(with(strict, map[string]any{"minimum_isolation": "microvm", "minimum_evidence": "probed"})),
			"No other known backend is strong enough with probed evidence; with less: acas (microvm, documented)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, diags := s.plan(t, "sandbox_workload", nil, c.workload)
			if !failed(diags) || !strings.Contains(render(diags), c.want) {
				t.Errorf("no %q in\n%s", c.want, render(diags))
			}
		})
	}
}
