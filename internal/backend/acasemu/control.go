package acasemu

import (
	"io"
	"net/http"
	"strings"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// controlPrefix begins the paths that are the emulator's own:
//
//	GET    /_emulator/health                     is it there?
//	GET    /_emulator/requests                   the last requests
//	DELETE /_emulator/requests                   forget them
//	GET    /_emulator/faults                     the faults that are switched on
//	POST   /_emulator/faults {"fault":"…"}       switch one on
//	DELETE /_emulator/faults                     switch all off
//
// They ask for no token, except where tokens are configured.
const controlPrefix = "/_emulator/"

type faultBody struct {
	Fault string `json:"fault"`
}

func (e *Emulator) control(w http.ResponseWriter, r *http.Request) {
	c := &call{request: r, id: newID(), trace: newTrace(), plane: wire.Data, now: e.cfg.Clock.Now().UTC()}
	a, err := e.controlled(c)
	if err != nil {
		a = c.no(err)
	}
	e.write(w, c, a)
}

func (e *Emulator) controlled(c *call) (answer, error) {
	if fromWebPage(c.request.Header) {
		return answer{}, refuseWebPage()
	}
	if misdirected(c.request) {
		return answer{}, refuse(http.StatusMisdirectedRequest, "MisdirectedRequest", "the emulator's own paths are asked for by its address or name")
	}
	if token, _ := bearer(c.request.Header); e.HasTokens() && !e.knows(token) {
		return answer{}, refuse(http.StatusUnauthorized, "Unauthorized", "the token is not one of this emulator's")
	}
	what := strings.TrimPrefix(c.request.URL.Path, controlPrefix)
	switch c.request.Method + " " + what {
	case "GET health":
		return ok(struct {
			OK bool `json:"ok"`
		}{true})
	case "GET requests":
		return ok(e.Requests())
	case "DELETE requests":
		e.ClearRequests()
		return nothing()
	case "GET faults":
		return ok(e.faults.List())
	case "POST faults":
		var body faultBody
		var err error
		if c.body, err = io.ReadAll(io.LimitReader(c.request.Body, maxLogged)); err != nil {
			return answer{}, invalid("the body did not arrive whole")
		}
		if err := c.document(&body, false); err != nil {
			return answer{}, err
		}
		if err := e.Fault(body.Fault); err != nil {
			return answer{}, invalid("%v", err)
		}
		return nothing()
	case "DELETE faults":
		e.ClearFaults()
		return nothing()
	default:
		return answer{}, refuse(http.StatusNotFound, "NotFound", "the emulator has no such control path")
	}
}
