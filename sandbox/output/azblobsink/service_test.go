package azblobsink_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	token     = "bearer-token-of-the-test"
	signature = "c2VjcmV0IHNpZ25hdHVyZQ=="
	pageSize  = 3
)

// service is a blob service with one container, /box, that keeps its blobs, checks
// its caller as the real one does, takes down every request, and fails when it is told
// to.
type service struct {
	t      *testing.T
	server *httptest.Server

	mu       sync.Mutex
	blobs    map[string]*blobOf
	blocks   map[string]map[string][]byte // uncommitted, by blob and id
	versions int
	requests []string
	largest  int
	fail     func(request int, r *http.Request) failure
}

type blobOf struct {
	content, md5 []byte
	etag, kind   string
	modified     time.Time
}

type failure int

const (
	works failure = iota
	brokenBefore
	brokenAfter
	throttled
	dropped // does it, and ends the connection before the answer
	cut     // does it, and ends the connection within the body of the answer
	precondition
	forbidden
)

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, blobs: map[string]*blobOf{}, blocks: map[string]map[string][]byte{}}
	s.server = httptest.NewTLSServer(s)
	t.Cleanup(s.server.Close)
	return s
}

// answer is what a request is answered, as a whole.
type answer struct {
	status int
	code   string
	header map[string]string
	body   []byte
}

func refused(status int, code string) answer { return answer{status: status, code: code} }

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, describe(r))
	s.largest = max(s.largest, len(body))
	mode := works
	if s.fail != nil {
		mode = s.fail(len(s.requests), r)
	}
	a := refused(http.StatusInternalServerError, "InternalError")
	switch mode {
	case brokenBefore:
	case throttled:
		a = refused(http.StatusTooManyRequests, "ServerBusy")
		a.header = map[string]string{"Retry-After": "0"}
	case precondition:
		a = refused(http.StatusPreconditionFailed, "ConditionNotMet")
	case forbidden:
		a = refused(http.StatusForbidden, "AuthenticationFailed")
		a.body = []byte("<Error><Message>Signature did not match: " + r.URL.RawQuery + " " + r.Header.Get("Authorization") + "</Message></Error>")
	case brokenAfter:
		s.serve(r, body)
	default:
		a = s.serve(r, body)
	}
	s.write(w, r, a, mode)
}

func (s *service) write(w http.ResponseWriter, r *http.Request, a answer, mode failure) {
	if mode == dropped {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("X-Ms-Request-Id", strconv.Itoa(len(s.requests)))
	if a.code != "" {
		w.Header().Set("X-Ms-Error-Code", a.code)
	}
	for name, value := range a.header {
		w.Header().Set(name, value)
	}
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	if mode == cut && len(a.body) > 0 {
		_, _ = w.Write(a.body[:len(a.body)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(a.body)
}

// describe is a request without what is new in each: "PUT block key".
func describe(r *http.Request) string {
	what := r.URL.Query().Get("comp")
	if what == "" {
		what = "blob"
	}
	return r.Method + " " + what + " " + strings.TrimPrefix(r.URL.Path, "/box/")
}

var apiVersion = regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)

// check is what every request has to have.
func (s *service) check(r *http.Request, body []byte) {
	if !apiVersion.MatchString(r.Header.Get("X-Ms-Version")) {
		s.t.Errorf("%s: the version is %q", describe(r), r.Header.Get("X-Ms-Version"))
	}
	if r.Header.Get("Authorization") != "Bearer "+token && r.URL.Query().Get("sig") != signature {
		s.t.Errorf("%s: nobody's request", describe(r))
	}
	if r.Header.Get("X-Ms-Lease-Id") != "" {
		s.t.Errorf("%s: with a lease", describe(r))
	}
	if r.Method != http.MethodPut {
		return
	}
	if r.ContentLength != int64(len(body)) {
		s.t.Errorf("%s: %d bytes, and %d were said", describe(r), len(body), r.ContentLength)
	}
	sum := md5.Sum(body)
	if r.URL.Query().Get("comp") != "blocklist" && r.Header.Get("Content-Md5") != base64.StdEncoding.EncodeToString(sum[:]) {
		s.t.Errorf("%s: the MD5 of %d bytes is given as %q", describe(r), len(body), r.Header.Get("Content-Md5"))
	}
}

func (s *service) serve(r *http.Request, body []byte) answer {
	s.check(r, body)
	query := r.URL.Query()
	key, below := strings.CutPrefix(r.URL.Path, "/box/")
	switch {
	case r.URL.Path == "/box" && query.Get("comp") == "list":
		return s.list(query.Get("prefix"), query.Get("marker"))
	case !below:
		return refused(http.StatusNotFound, "ContainerNotFound")
	case r.Method == http.MethodPut && query.Get("comp") == "block":
		return s.putBlock(key, query.Get("blockid"), body)
	case r.Method == http.MethodPut && query.Get("comp") == "blocklist":
		return s.putBlockList(key, r, body)
	case r.Method == http.MethodPut && query.Get("comp") == "":
		return s.putBlob(key, r, body)
	case r.Method == http.MethodDelete:
		if s.blobs[key] == nil {
			return refused(http.StatusNotFound, "BlobNotFound")
		}
		delete(s.blobs, key)
		return answer{status: http.StatusAccepted}
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return s.getBlob(key, r)
	}
	s.t.Errorf("%s: no such call", describe(r))
	return refused(http.StatusBadRequest, "UnsupportedHttpVerb")
}

func (s *service) putBlock(key, id string, body []byte) answer {
	raw, err := base64.StdEncoding.DecodeString(id)
	if err != nil || len(raw) == 0 || len(raw) > 64 || len(body) == 0 {
		return refused(http.StatusBadRequest, "InvalidQueryParameterValue")
	}
	if s.blocks[key] == nil {
		s.blocks[key] = map[string][]byte{}
	}
	for other := range s.blocks[key] {
		if len(other) != len(id) {
			return refused(http.StatusBadRequest, "InvalidBlobOrBlock")
		}
	}
	s.blocks[key][id] = bytes.Clone(body)
	return answer{status: http.StatusCreated}
}

func (s *service) putBlockList(key string, r *http.Request, body []byte) answer {
	if refusal, met := s.condition(key, r); !met {
		return refusal
	}
	var list struct {
		Latest, Uncommitted, Committed []string
	}
	if err := xml.Unmarshal(body, &list); err != nil || len(list.Committed) > 0 {
		return refused(http.StatusBadRequest, "InvalidXmlDocument")
	}
	var content []byte
	for _, id := range append(list.Latest, list.Uncommitted...) {
		block, sent := s.blocks[key][id]
		if !sent {
			return refused(http.StatusBadRequest, "InvalidBlockList")
		}
		content = append(content, block...)
	}
	delete(s.blocks, key)
	return s.put(key, r, content)
}

func (s *service) putBlob(key string, r *http.Request, body []byte) answer {
	if refusal, met := s.condition(key, r); !met {
		return refusal
	}
	if r.Header.Get("X-Ms-Blob-Type") != "BlockBlob" {
		return refused(http.StatusBadRequest, "InvalidHeaderValue")
	}
	return s.put(key, r, bytes.Clone(body))
}

// condition holds every write to having one: nothing is ever written over unseen.
func (s *service) condition(key string, r *http.Request) (answer, bool) {
	there, match, none := s.blobs[key], r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case none == "*" && match == "":
		return refused(http.StatusConflict, "BlobAlreadyExists"), there == nil
	case match != "" && none == "":
		return refused(http.StatusPreconditionFailed, "ConditionNotMet"), there != nil && there.etag == match
	}
	s.t.Errorf("%s: If-Match %q, If-None-Match %q", describe(r), match, none)
	return refused(http.StatusBadRequest, "MultipleConditionHeadersNotSupported"), false
}

func (s *service) put(key string, r *http.Request, content []byte) answer {
	whole, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Ms-Blob-Content-Md5"))
	if sum := md5.Sum(content); err != nil || !bytes.Equal(whole, sum[:]) {
		s.t.Errorf("%s: the MD5 of the blob is given as %x", describe(r), whole)
	}
	s.versions++
	b := &blobOf{
		content: content, md5: whole, etag: fmt.Sprintf(`"0x%X"`, s.versions), kind: r.Header.Get("X-Ms-Blob-Content-Type"),
		modified: time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	s.blobs[key] = b
	return answer{status: http.StatusCreated, header: map[string]string{"Etag": b.etag}}
}

func (s *service) getBlob(key string, r *http.Request) answer {
	b := s.blobs[key]
	if b == nil {
		return refused(http.StatusNotFound, "BlobNotFound")
	}
	if match := r.Header.Get("If-Match"); match != "" && match != b.etag {
		return refused(http.StatusPreconditionFailed, "ConditionNotMet")
	}
	header := map[string]string{
		"Etag": b.etag, "Content-Md5": base64.StdEncoding.EncodeToString(b.md5), "Content-Type": b.kind,
		"Last-Modified": b.modified.Format(http.TimeFormat), "X-Ms-Blob-Type": "BlockBlob",
	}
	if r.Method == http.MethodHead {
		header["Content-Length"] = strconv.Itoa(len(b.content))
		return answer{status: http.StatusOK, header: header}
	}
	from := 0
	if asked := r.Header.Get("X-Ms-Range"); asked != "" {
		if _, err := fmt.Sscanf(asked, "bytes=%d-", &from); err != nil || from > len(b.content) {
			return refused(http.StatusRequestedRangeNotSatisfiable, "InvalidRange")
		}
		header["Content-Range"] = fmt.Sprintf("bytes %d-%d/%d", from, len(b.content)-1, len(b.content))
		return answer{status: http.StatusPartialContent, header: header, body: b.content[from:]}
	}
	return answer{status: http.StatusOK, header: header, body: b.content}
}

func (s *service) list(prefix, marker string) answer {
	var page strings.Builder
	page.WriteString(`<?xml version="1.0" encoding="utf-8"?><EnumerationResults ContainerName="box"><Blobs>`)
	shown, next := 0, ""
	for _, key := range slices.Sorted(maps.Keys(s.blobs)) {
		if !strings.HasPrefix(key, prefix) || key < marker {
			continue
		}
		if shown++; shown > pageSize {
			next = key
			break
		}
		b := s.blobs[key]
		fmt.Fprintf(&page, `<Blob><Name>%s</Name><Properties><Last-Modified>%s</Last-Modified><Etag>%s</Etag>`+
			`<Content-Length>%d</Content-Length><BlobType>BlockBlob</BlobType></Properties></Blob>`,
			key, b.modified.Format(http.TimeFormat), strings.Trim(b.etag, `"`), len(b.content))
	}
	page.WriteString("</Blobs><NextMarker>" + next + "</NextMarker></EnumerationResults>")
	return answer{status: http.StatusOK, header: map[string]string{"Content-Type": "application/xml"}, body: []byte(page.String())}
}

// data lists the blobs that are neither an index nor a ledger.
func (s *service) data() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.blobs {
		if !strings.HasSuffix(key, ".json") {
			keys = append(keys, key)
		}
	}
	return keys
}
