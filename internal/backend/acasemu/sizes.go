package acasemu

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// tiers are the sizes that sandboxes come in, the smallest first. One that lies
// between two is of the larger one's tier.
var tiers = []struct{ cpuMillis, memoryMi, diskMi int64 }{
	{250, 512, 20480}, {500, 1024, 20480}, {1000, 2048, 20480}, {2000, 4096, 40960}, {4000, 8192, 81920},
}

// size is a sandbox's size in numbers.
type size struct{ cpuMillis, memoryMi, diskMi int64 }

// readSize judges the resources of a create. A disk that is not given is the
// service's to choose.
func readSize(r *wire.Resources) (size, error) {
	var s size
	var err error
	if s.cpuMillis, err = millis(r.CPU); err != nil {
		return s, tierRefusal("cpu: %v", err)
	}
	if s.memoryMi, err = mebibytes(r.Memory); err != nil {
		return s, tierRefusal("memory: %v", err)
	}
	for _, t := range tiers {
		if s.cpuMillis > t.cpuMillis || s.memoryMi > t.memoryMi {
			continue
		}
		s.diskMi = tiers[0].diskMi
		if r.Disk != "" {
			if s.diskMi, err = mebibytes(r.Disk); err != nil {
				return s, tierRefusal("disk: %v", err)
			}
		}
		if s.diskMi > t.diskMi {
			return s, tierRefusal("a disk of %dMi is above the %dMi of its tier", s.diskMi, t.diskMi)
		}
		return s, nil
	}
	return s, tierRefusal("there is no tier of cpu %s and memory %s", r.CPU, r.Memory)
}

func tierRefusal(detail string, args ...any) error {
	return &refusal{
		status: http.StatusBadRequest, code: wire.TitleInvalidTier, detail: fmt.Sprintf(detail, args...), number: new(wire.ErrorCodeInvalidTier),
	}
}

// written is a size as the service shows it: disks in Mi whatever they came in.
func (s size) written(asked *wire.Resources) *wire.Resources {
	return &wire.Resources{CPU: asked.CPU, Memory: asked.Memory, Disk: fmt.Sprintf("%dMi", s.diskMi)}
}

// millis reads "1000m" or "1".
func millis(text string) (int64, error) {
	number, scale := text, 1000.0
	if n, ok := strings.CutSuffix(text, "m"); ok {
		number, scale = n, 1
	}
	return quantity(number, scale, text, "1000m")
}

// mebibytes reads "2048Mi" or "2Gi".
func mebibytes(text string) (int64, error) {
	if n, ok := strings.CutSuffix(text, "Mi"); ok {
		return quantity(n, 1, text, "2048Mi")
	}
	if n, ok := strings.CutSuffix(text, "Gi"); ok {
		return quantity(n, 1024, text, "2Gi")
	}
	return 0, fmt.Errorf("%.40q is not a size such as 2048Mi or 2Gi", text)
}

func quantity(number string, scale float64, text, such string) (int64, error) {
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(n) || n <= 0 || n*scale > 1e9 {
		return 0, fmt.Errorf("%.40q is not a size such as %s", text, such)
	}
	return int64(n * scale), nil
}
