package sqlledger

import (
	"encoding/json"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// remarks is what was last said of each job of a chunk; nil is nothing.
type remarks struct {
	start int64
	jobs  *[spillway.ChunkSize]remark
}

type remark struct {
	known  bool
	status spillway.Status
	reason string
	value  json.RawMessage
}

// notes reads the details of a chunk. A later note replaces an earlier one.
func (r *reading) notes(c *chunk) (said remarks, err error) {
	said.start = c.start()
	if c.merges == 0 {
		return said, nil
	}
	said.jobs = new([spillway.ChunkSize]remark)
	err = r.s.each(func(scan func(...any) error) error {
		var body []byte
		if err := scan(&body); err != nil {
			return err
		}
		notes, err := decodeNotes(body, c.start())
		if err != nil {
			return damaged("reasons and values", c.pos, err)
		}
		for i := range notes {
			said.apply(&notes[i])
		}
		return nil
	}, selectDetails, c.pos)
	return said, err
}

// apply takes a note in. It speaks of one outcome of a job, so what is not of
// the job's present one is passed over when it is asked for.
func (m remarks) apply(n *note) {
	for i := range n.jobs.All {
		m.jobs[i-m.start] = remark{n.status != erased, n.status, n.reason, n.value}
	}
}

func (m remarks) at(i int64) remark {
	if m.jobs == nil {
		return remark{}
	}
	return m.jobs[i-m.start]
}

// record is what is known of a job.
func (c *chunk) record(i int64, said remarks) ledger.JobRecord {
	j := ledger.JobRecord{Index: i, Attempt: 1}
	for _, p := range c.plans {
		if p.jobs.Has(i) {
			j.Attempt, j.NotBefore = p.attempt, fromMicros(p.due)
			break
		}
	}
	j.Status, j.Done = c.status(i)
	r := said.at(i)
	if r.known && (j.Done && r.status == j.Status || !j.Done && again(r.status)) {
		j.Reason, j.Value = r.reason, r.value
	}
	return j
}

// status is the outcome of a job, if it has one.
func (c *chunk) status(i int64) (spillway.Status, bool) {
	for _, s := range []spillway.Status{spillway.OK, spillway.Failed, spillway.Skipped, spillway.InDoubt} {
		if c.set(s).Has(i) {
			return s, true
		}
	}
	return 0, false
}
