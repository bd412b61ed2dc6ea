package eventlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/egress/eventlog"
)

func Example() {
	var file bytes.Buffer // what a host opens itself
	log := eventlog.NewWriter(&file, eventlog.Options{})
	observer := log.For(eventlog.Sandbox{Workload: "report", Backend: "process", ID: "s-1"}, "pip")
	observer.Observe(egress.Event{ // as a sandbox's proxy tells it
		Time: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), Code: sandbox.CodeEgressDenied,
		Layer: egress.LayerConnection, Host: "files.example.net", Port: 443, Count: 1,
	})
	if err := log.Close(); err != nil {
		fmt.Println(err)
	}

	for r := eventlog.NewReader(&file); ; {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Sandbox.Workload, e.Program, e.Code, e.Host, e.Port)
	}
	// Output: report pip egress.denied files.example.net 443
}
