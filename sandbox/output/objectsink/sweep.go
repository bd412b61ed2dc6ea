package objectsink

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox/output"
)

// Sweep removes objects that are in no index and were written before the given time
// ago: what hosts left behind that died in the middle of a commit, and what a landing
// replaced and could not remove. A store has no lock that ends with its holder, so age
// is the only sign that nobody comes back for them; less than the time a landing may
// take is refused. It answers what it removed, also with an error.
func (s *Sink) Sweep(ctx context.Context, age time.Duration) (removed output.Usage, err error) {
	if age < s.options.MaxDuration {
		return removed, fmt.Errorf("sweeping an object sink: objects of %v ago may be of a landing under way, which may take %v", age, s.options.MaxDuration)
	}
	cut := s.options.Now().Add(-age)
	old := map[string][]Object{} // by call
	err = s.store.List(ctx, s.options.Prefix, func(o Object) error {
		parts := strings.Split(strings.TrimPrefix(o.Key, s.options.Prefix), "/")
		if len(parts) == 4 && o.Modified.Before(cut) {
			call := s.options.Prefix + parts[0] + "/" + parts[1] + "/"
			old[call] = append(old[call], o)
		}
		return nil
	})
	if err != nil {
		return removed, failed("listing what stands there", err)
	}
	for call, objects := range old {
		index, err := s.readIndex(ctx, keys{call: call}.index())
		if err != nil {
			return removed, err
		}
		kept := map[string]bool{}
		for _, e := range index.Entries {
			kept[e.Object] = true
		}
		for _, o := range objects {
			if kept[o.Key] {
				continue
			}
			if err := s.store.Delete(ctx, o.Key); err != nil {
				return removed, failed("removing what is in no index", err)
			}
			removed = removed.Add(output.Usage{Bytes: o.Size, Files: 1})
		}
	}
	return removed, nil
}
