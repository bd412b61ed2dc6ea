package output

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	stdpath "path"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// Quota bounds what stands in a sink for one owner and scope, however many landings
// brought it. Both bounds are inclusive. A bound that is zero is that of
// [DefaultQuota]; one below zero is none.
type Quota struct {
	MaxBytes int64
	MaxFiles int64
}

// DefaultQuota is what a sink holds scopes to unless it is told otherwise.
func DefaultQuota() Quota { return Quota{MaxBytes: 10 << 30, MaxFiles: 100_000} }

// Or gives the bounds that are zero the other's value.
func (q Quota) Or(other Quota) Quota {
	if q.MaxBytes == 0 {
		q.MaxBytes = other.MaxBytes
	}
	if q.MaxFiles == 0 {
		q.MaxFiles = other.MaxFiles
	}
	return q
}

// Bounds reports whether anything is bounded at all.
func (q Quota) Bounds() bool { return q.MaxBytes >= 0 || q.MaxFiles >= 0 }

// Usage is an amount of files: what stands, or what is asked for.
type Usage struct {
	Bytes int64 `json:"bytes"`
	Files int64 `json:"files"`
}

// Add is the sum of both.
func (u Usage) Add(other Usage) Usage {
	return Usage{Bytes: u.Bytes + other.Bytes, Files: u.Files + other.Files}
}

// Take is what is left without the other, never below zero.
func (u Usage) Take(other Usage) Usage {
	return Usage{Bytes: max(u.Bytes-other.Bytes, 0), Files: max(u.Files-other.Files, 0)}
}

// Admit refuses what would not fit beside what stands and what other landings under
// way have asked for, with [sandbox.CodeLandingQuota].
func (q Quota) Admit(scope string, stands, underWay, asked Usage) error {
	used := stands.Add(underWay)
	over := func(most, used, asked int64) bool { return most >= 0 && (asked > most || used > most-asked) }
	refusal := func(what, limit string, most, stands, underWay, asked int64) error {
		found := fmt.Sprintf("%d %s asked for, %d used", asked, what, stands)
		if underWay > 0 {
			found += fmt.Sprintf(" and %d asked for by other landings under way", underWay)
		}
		return sandbox.Finding{
			Code: sandbox.CodeLandingQuota, Found: found + ", in scope " + sandbox.Echo(scope),
			Required: "at most " + strconv.FormatInt(most, 10) + " " + what + " in a scope",
			Remedy:   "remove what is no longer needed from the sink, write less, or raise the sink's Quota." + limit,
		}.Refusal(nil)
	}
	switch {
	case over(q.MaxBytes, used.Bytes, asked.Bytes):
		return refusal("bytes", "MaxBytes", q.MaxBytes, stands.Bytes, underWay.Bytes, asked.Bytes)
	case over(q.MaxFiles, used.Files, asked.Files):
		return refusal("files", "MaxFiles", q.MaxFiles, stands.Files, underWay.Files, asked.Files)
	}
	return nil
}

// reservation is what a landing under way counts for.
type reservation struct {
	Area string `json:"area"`
	Usage
}

// reserve has the delivery count for what is asked from here on, less what it is
// going to replace.
func (d *dirDelivery) reserve(ctx context.Context, asked Usage) error {
	if !d.sink.quota.Bounds() {
		return nil
	}
	unlock, err := d.sink.lockArea(ctx, d.area)
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.fits(asked, d.replaced); err != nil {
		return err
	}
	content, err := json.Marshal(reservation{Area: d.area, Usage: asked})
	if err != nil {
		return err
	}
	f, err := d.sink.root.OpenFile(d.staging.in(reservedName), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return landingFailed("reserving room", err)
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Close()); err != nil {
		return landingFailed("reserving room", err)
	}
	d.reserved = asked
	return nil
}

// stillFits is asked before a commit that replaces: what was going to be replaced
// may have been replaced, or removed, by others. Without, the reservation holds.
func (d *dirDelivery) stillFits() error {
	if d.replaced == (Usage{}) || !d.sink.quota.Bounds() {
		return nil
	}
	var replaced Usage
	for _, name := range d.names {
		replaced = replaced.Add(d.standing(name))
	}
	return d.fits(d.staged, replaced)
}

// fits counts, under the area's lock, and judges.
func (d *dirDelivery) fits(asked, replaced Usage) error {
	stands, err := d.sink.usage(d.area)
	if err != nil {
		return err
	}
	underWay, err := d.sink.underWay(d.area, d.staging.dir)
	if err != nil {
		return err
	}
	return d.sink.quota.Admit(d.scope, stands.Take(replaced), underWay, asked)
}

// standing is what stands where a name lands.
func (d *dirDelivery) standing(name string) Usage {
	info, err := d.sink.root.Lstat(stdpath.Join(d.base, name))
	if err != nil || !info.Mode().IsRegular() {
		return Usage{}
	}
	return Usage{Bytes: info.Size(), Files: 1}
}

// usage counts the files of an area as they are.
func (s *DirSink) usage(area string) (Usage, error) {
	var used Usage
	err := fs.WalkDir(s.root.FS(), area, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed while counting
			return nil
		case err != nil:
			return err
		case path == stagingDir:
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return ifThere(err)
		}
		used = used.Add(Usage{Bytes: info.Size(), Files: 1})
		return nil
	})
	if err != nil {
		return Usage{}, landingFailed("counting what stands there", err)
	}
	return used, nil
}

// underWay sums what other landings in the area have reserved.
func (s *DirSink) underWay(area, except string) (Usage, error) {
	var sum Usage
	entries, err := s.inStaging()
	if err != nil {
		return sum, err
	}
	for _, e := range entries {
		dir := stagingDir + "/" + e.Name()
		if dir == except || !e.IsDir() {
			continue
		}
		f, err := s.root.Open(dir + "/" + reservedName)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return sum, landingFailed("counting landings under way", err)
		}
		content, err := io.ReadAll(f)
		_ = f.Close()
		if err != nil {
			return sum, landingFailed("counting landings under way", err)
		}
		// What is not whole belongs to a host that died while it wrote, for others
		// write under the lock of their area, and then it is not of this one.
		var r reservation
		if json.Unmarshal(content, &r) == nil && r.Area == area {
			sum = sum.Add(r.Usage)
		}
	}
	return sum, nil
}
