package acasemu

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// armPage is a list of the ARM plane, which is always an object.
func armPage[T any](e *Emulator, c *call, all []T) (answer, error) {
	if e.cfg.Behaviour.PageSize <= 0 {
		return ok(wire.ListDocument[T]{Value: all})
	}
	return linked(e, c, all, "$skiptoken")
}

// dataPage is a list of the data plane: by page number where the client asks so,
// else a bare array, or linked pages where the emulator is told to.
func dataPage[T any](e *Emulator, c *call, all []T) (answer, error) {
	size, asked, err := c.count("PageSize", 0)
	if err != nil {
		return answer{}, err
	}
	page, _, err := c.count("Page", 1)
	switch {
	case err != nil:
		return answer{}, err
	case asked:
		return ok(window(all, (min(page, 1<<20)-1)*size, size))
	case e.cfg.Behaviour.PageSize > 0:
		return linked(e, c, all, "skip")
	}
	return ok(window(all, 0, len(all)))
}

// window is a part of a list, never nil: a client that finds null where a list
// belongs breaks.
func window[T any](all []T, from, size int) []T {
	from = min(max(from, 0), len(all))
	return append([]T{}, all[from:min(from+size, len(all))]...)
}

// maxPage is the largest page that a client can ask for.
const maxPage = 1000

func (c *call) count(name string, otherwise int) (n int, given bool, err error) {
	text, given := c.query.get(name)
	if !given {
		return otherwise, false, nil
	}
	n, err = strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, true, invalid("%s is a number from 1", name)
	}
	return min(n, maxPage), true, nil
}

// linked is one page with the address of the next, on the host that the client
// used: it follows no link to another.
func linked[T any](e *Emulator, c *call, all []T, parameter string) (answer, error) {
	from := 0
	if text, given := c.query.get(parameter); given {
		var err error
		if from, err = strconv.Atoi(text); err != nil || from < 0 {
			return answer{}, invalid("%s is not one that was given", parameter)
		}
	}
	page := wire.ListDocument[T]{Value: window(all, from, e.cfg.Behaviour.PageSize)}
	if next := from + len(page.Value); next < len(all) && len(page.Value) > 0 {
		values := url.Values{"api-version": {string(c.version)}}
		if labels, given := c.query.get("labels"); given {
			values.Set("labels", labels)
		}
		values.Set(parameter, strconv.Itoa(next))
		page.NextLink = "https://" + c.request.Host + c.request.URL.EscapedPath() + "?" + values.Encode()
	}
	return ok(page)
}

// wanted reads the label filter: all of "k=v,k2=v2".
func (c *call) wanted() (wire.Labels, error) {
	text, given := c.query.get("labels")
	if !given || text == "" {
		return nil, nil
	}
	labels := wire.Labels{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, invalid("labels is k=v,k2=v2")
		}
		labels[name] = value
	}
	return labels, nil
}

// checkLabels is what the service holds labels to.
func checkLabels(labels wire.Labels) error {
	for name, value := range labels {
		if n := len([]rune(value)); n > wire.MaxLabelValue {
			return refuse(400, "InvalidLabels", "Label value for key '%s' exceeds %d characters", name, wire.MaxLabelValue)
		}
	}
	return nil
}
