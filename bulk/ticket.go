package bulk

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
	"github.com/spillway/spillway/queue"
)

// ticket is what a pull worker holds: the lease and its jobs, signed, so that
// outcomes that come late, after a restart even, still find their jobs.
type ticket struct {
	ID     spillway.LeaseID  `json:"l"`
	Group  spillway.GroupID  `json:"g"`
	Tenant spillway.TenantID `json:"t"`
	Packed []byte            `json:"j"` // Jobs, as Spans.Append writes them
	Jobs   spillway.Spans    `json:"-"`
}

func (e *Engine) ticket(l queue.Lease, jobs spillway.Spans) string {
	body, _ := json.Marshal(ticket{ID: l.ID, Group: l.Group, Tenant: l.Tenant, Packed: jobs.Append(nil)})
	enc := base64.RawURLEncoding
	return enc.EncodeToString(body) + "." + enc.EncodeToString(e.sign(body))
}

func (e *Engine) readTicket(s string, tenant spillway.TenantID) (ticket, error) {
	lost := spillway.Errorf(spillway.CodeNotFound, "there is no such lease")
	head, tail, ok := strings.Cut(s, ".")
	body, err1 := base64.RawURLEncoding.DecodeString(head)
	mac, err2 := base64.RawURLEncoding.DecodeString(tail)
	if !ok || err1 != nil || err2 != nil || !hmac.Equal(mac, e.sign(body)) {
		return ticket{}, lost
	}
	var t ticket
	if json.Unmarshal(body, &t) != nil || (tenant != "" && tenant != t.Tenant) {
		return ticket{}, lost
	}
	var err error
	if t.Jobs, _, err = spillway.ParseSpans(t.Packed); err != nil || len(t.Jobs) == 0 {
		return ticket{}, lost
	}
	return t, nil
}

func (e *Engine) sign(body []byte) []byte {
	h := hmac.New(sha256.New, e.secret)
	h.Write(body)
	return h.Sum(nil)[:16]
}

// kindSecret is the kind of the ledger's setting that signs tickets.
const kindSecret = "secret"

func (e *Engine) loadSecret(ctx context.Context) error {
	settings, err := e.ledger.Load(ctx, kindSecret)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(settings, func(s ledger.Setting) bool { return s.Name == "lease" }); i >= 0 {
		return json.Unmarshal(settings[i].Value, &e.secret)
	}
	e.secret = make([]byte, 32)
	rand.Read(e.secret) // never fails
	if e.cfg.ReadOnly {
		return nil
	}
	value, err := json.Marshal(e.secret)
	if err != nil {
		return err
	}
	now := time.Now()
	return e.ledger.Save(ctx, now, []ledger.Setting{{Kind: kindSecret, Name: "lease", Value: value, By: "spillway", At: now}})
}
