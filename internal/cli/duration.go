package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// span is a length of time as a flag: as Go writes it, and in whole days, "7d".
type span struct {
	time.Duration

	given bool
}

// Set reads a length of time.
func (s *span) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return errors.New("not a number of whole days")
		}
		s.Duration, s.given = time.Duration(n)*24*time.Hour, true
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("not a length of time such as 90m, 2h or 7d")
	}
	s.Duration, s.given = d, true
	return nil
}

// String is empty until something is given, which keeps help from naming a default.
func (s *span) String() string {
	if !s.given {
		return ""
	}
	return s.Duration.String()
}

// Type is what help calls it.
func (*span) Type() string { return "duration" }

// ago is an age in its two largest units: "45s", "12m", "3h12m", "5d3h".
func ago(d time.Duration) string {
	days, d := d/(24*time.Hour), d%(24*time.Hour)
	hours, d := d/time.Hour, d%time.Hour
	minutes := d / time.Minute
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%dh", days, hours)
	case hours > 0:
		return fmt.Sprintf("%dh%dm", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%dm", minutes)
	default:
		return fmt.Sprintf("%ds", d/time.Second)
	}
}
