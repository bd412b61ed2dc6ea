package fault

import (
	"cmp"
	"strconv"
	"strings"
)

// add lets o's words replace those of e.
func (e *Effect) add(o Effect) {
	e.Latency = cmp.Or(o.Latency, e.Latency)
	e.Status = cmp.Or(o.Status, e.Status)
	e.Body = cmp.Or(o.Body, e.Body)
	e.RetryAfter = cmp.Or(o.RetryAfter, e.RetryAfter)
	e.RetryAfterMS = cmp.Or(o.RetryAfterMS, e.RetryAfterMS)
	e.Location = cmp.Or(o.Location, e.Location)
	e.Drop = cmp.Or(o.Drop, e.Drop)
	e.Truncate = e.Truncate || o.Truncate
	e.ContentType = cmp.Or(o.ContentType, e.ContentType)
	e.Token = cmp.Or(o.Token, e.Token)
	e.Roles = cmp.Or(o.Roles, e.Roles)
	e.Sandbox = cmp.Or(o.Sandbox, e.Sandbox)
	e.Image = cmp.Or(o.Image, e.Image)
	e.ARM = cmp.Or(o.ARM, e.ARM)
	e.Suspend = cmp.Or(o.Suspend, e.Suspend)
	e.NoFlags = e.NoFlags || o.NoFlags
	e.Skew = cmp.Or(o.Skew, e.Skew)
}

// SlowImage is how many looks a slow build takes, and whether it is one.
func (e *Effect) SlowImage() (looks int, ok bool) {
	count, ok := strings.CutPrefix(e.Image, "slow:")
	if !ok {
		return 0, false
	}
	looks, err := strconv.Atoi(count)
	return looks, err == nil
}
