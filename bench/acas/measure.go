package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	starts  = 20
	clients = 8
	// span is how long requests are counted.
	span = 5 * time.Second
)

func (p *page) measure(ctx context.Context, sandboxctl string) error {
	dir, err := os.MkdirTemp("", "bench-acas-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	took := make([]time.Duration, 0, starts)
	for range starts {
		e, err := start(ctx, sandboxctl, dir)
		if err != nil {
			return err
		}
		took = append(took, e.took)
		if err := e.stop(); err != nil {
			return err
		}
	}
	slices.Sort(took)
	p.Start = took[len(took)/2].Milliseconds()
	e, err := start(ctx, sandboxctl, dir)
	if err != nil {
		return err
	}
	return errors.Join(p.load(ctx, e), e.stop())
}

// load counts what clients are answered.
func (p *page) load(ctx context.Context, e *emulator) error {
	const arm = "/subscriptions/s/resourceGroups/rg/providers/Microsoft.App/sandboxGroups/g"
	const data = "/subscriptions/s/resourceGroups/rg/sandboxGroups/g"
	if _, err := e.ask(ctx, http.MethodPut, arm, `{"location":"Sweden Central"}`); err != nil {
		return err
	}
	answer, err := e.ask(ctx, http.MethodPut, data+"/sandboxes", `{"sourcesRef":{"diskImage":{"name":"ubuntu","isPublic":true}},"resources":{"cpu":"1000m","memory":"2048Mi"}}`)
	if err != nil {
		return err
	}
	var sandbox struct{ ID string }
	if err := json.Unmarshal(answer, &sandbox); err != nil {
		return err
	}
	if p.Reads, err = e.rate(ctx, func(int64) (string, string, string) { return http.MethodGet, data + "/sandboxes/" + sandbox.ID, "" }); err != nil {
		return err
	}
	p.Writes, err = e.rate(ctx, func(n int64) (string, string, string) {
		return http.MethodPut, fmt.Sprintf("%s/secrets/s-%d", data, n%200), `{"values":{"k":"v"}}`
	})
	return err
}

// emulator is a process that emulates, and a client that trusts it.
type emulator struct {
	process *exec.Cmd
	took    time.Duration
	url     string
	http    *http.Client
}

func start(ctx context.Context, sandboxctl, dir string) (*emulator, error) {
	ca := filepath.Join(dir, "ca.pem")
	state, err := os.MkdirTemp(dir, "state-")
	if err != nil {
		return nil, err
	}
	e := &emulator{process: exec.CommandContext(ctx, sandboxctl, "emulate", "--ca-out", ca, "--state", filepath.Join(state, "state.db"))}
	e.process.Stderr = os.Stderr
	out, err := e.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := e.process.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	e.took = time.Since(began)
	var ready struct{ URL string }
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	pem, readErr := os.ReadFile(ca)
	if err = errors.Join(err, readErr); err != nil {
		return nil, errors.Join(err, e.stop())
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	e.url = ready.URL
	e.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: clients}}
	return e, nil
}

func (e *emulator) stop() error {
	if e.http != nil {
		e.http.CloseIdleConnections()
	}
	return errors.Join(e.process.Process.Signal(syscall.SIGTERM), e.process.Wait())
}

func (e *emulator) ask(ctx context.Context, method, path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, e.url+path+"?api-version=2026-02-01-preview", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	audience := "https://dynamicsessions.io"
	if strings.Contains(path, "/providers/") {
		audience = "https://management.azure.com"
	}
	req.Header.Set("Authorization", "Bearer e30."+base64.RawURLEncoding.EncodeToString([]byte(`{"aud":"`+audience+`"}`))+".")
	req.Header.Set("Content-Type", "application/json")
	resp, err := e.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return answer, err
}

// rate is how many requests are answered in a second.
func (e *emulator) rate(ctx context.Context, request func(n int64) (method, path, body string)) (int64, error) {
	var n atomic.Int64
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	for range clients {
		g.Go(func() error {
			for time.Since(began) < span {
				method, path, body := request(n.Add(1))
				if _, err := e.ask(ctx, method, path, body); err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := g.Wait()
	return int64(float64(n.Load()) / time.Since(began).Seconds()), err
}
