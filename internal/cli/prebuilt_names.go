package cli

import "context"

// prebuiltNames gives the service's own ids of catalogue images their names: of a
// sandbox that was made from one the service tells the id alone. The catalogue is asked
// at most once, and only where an id stands without a name.
type prebuiltNames struct {
	of    *reached
	names map[string]string // by id, nil before it was asked
}

// name completes a source. One that the catalogue does not have, such as a disk image of
// the group's own, stays as it is; so do all where the catalogue cannot be had.
func (p *prebuiltNames) name(ctx context.Context, source *sourceRow) {
	if source.ID == "" || source.Prebuilt != "" {
		return
	}
	if p.names == nil {
		p.names = map[string]string{}
		for image, err := range p.of.PublicImages(ctx) {
			if err != nil {
				break // ids say less than names, and are no less true
			}
			p.names[image.ID] = image.Name
		}
	}
	source.Prebuilt = p.names[source.ID]
}
