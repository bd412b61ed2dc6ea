package acasapi

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
	"github.com/sandbox-iac/terraform-provider-sandbox/sandbox"
)

// maxPages bounds a list whose pages never end.
const maxPages = 10_000

// listing is a list operation: what is asked for, what an item is, and how pages
// come.
type listing[T any] struct {
	call call
	// key is where an object has its items.
	key   string
	check func(*T) error
	id    func(*T) string
	// numbered asks for pages by number, which a service that answers bare arrays
	// needs to give more than its first.
	numbered bool
}

// all gives every item, page after page, in either form the service has. An item
// that cannot be used ends the list with an error: passing over it would be a list
// that says less than there is.
func (l listing[T]) all(ctx context.Context, p *plane) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		seen := map[string]bool{}
		followed := map[string]bool{}
		numbered := l.numbered && p.client.cfg.PageSize > 0
		var link *url.URL
		for number := 1; number <= maxPages; number++ {
			page, a, err := l.page(ctx, p, number, numbered && link == nil, link)
			if err != nil {
				yield(none, err)
				return
			}
			fresh := 0
			for i := range page.Items {
				if err := l.check(&page.Items[i]); err != nil {
					yield(none, a.unusable(err, wire.Unknown(&page.Items[i])))
					return
				}
				id := l.id(&page.Items[i])
				if id != "" && seen[id] {
					continue // a service that ignores page numbers answers the same again
				}
				seen[id] = true
				fresh++
				if !yield(page.Items[i], nil) {
					return
				}
			}
			switch {
			case page.Next != "":
				if link, err = p.follow(page.Next); err == nil && followed[link.String()] {
					err = fmt.Errorf("the pages of a list lead in a circle")
				}
				if err != nil {
					yield(none, a.unusable(err, nil))
					return
				}
				followed[link.String()] = true
			case link != nil, !numbered, fresh == 0, len(page.Items) < p.client.cfg.PageSize:
				return
			}
		}
		yield(none, refusal(sandbox.CodeServiceTooLarge, l.call.object, "more than "+strconv.Itoa(maxPages)+" pages", "a list that ends", ""))
	}
}

func (l listing[T]) page(ctx context.Context, p *plane, number int, numbered bool, link *url.URL) (wire.Page[T], *answer, error) {
	c := l.call
	c.link = link
	if numbered {
		c.query = append(slices.Clip(c.query),
			param{"Page", strconv.Itoa(number)}, param{"PageSize", strconv.Itoa(p.client.cfg.PageSize)})
	}
	a, err := p.send(ctx, c)
	if err != nil {
		return wire.Page[T]{}, nil, err
	}
	page, err := wire.DecodePage[T](a.body, l.key)
	if err != nil {
		return wire.Page[T]{}, nil, a.unusable(err, nil)
	}
	p.client.canary.note(a.op, &page.Items)
	for name := range page.Extra {
		p.client.canary.met(Unfamiliar{a.op, fieldWord(name)})
	}
	return page, a, nil
}

// follow checks a URL that an answer gave before a token goes there.
func (p *plane) follow(link string) (*url.URL, error) {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the answer's link is no URL")
	case !sameOrigin(p.base, u):
		return nil, refusal(sandbox.CodeEndpointNotAllowed, "link in an answer", sandbox.Echo(u.Scheme+"://"+u.Host), p.base.String(), "")
	case u.Query().Get("api-version") == "":
		q := u.RawQuery
		if q != "" {
			q += "&"
		}
		u.RawQuery = q + "api-version=" + url.QueryEscape(string(p.version))
	}
	return u, nil
}

// gather reads a whole list.
func gather[T any](items iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}
