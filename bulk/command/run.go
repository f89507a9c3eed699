package command

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/internal/wire"
)

// run is one execution: a command that has been started on a batch.
type run struct {
	cmd     *exec.Cmd
	guard   *guard
	group   group
	outputs [2]*pipe
	out     output
	err     tail
	feeder  sync.WaitGroup
	reader  sync.WaitGroup
}

// start starts the command, and the goroutines that serve its pipes.
func (c *Command) start(b *bulk.Batch) (*run, error) {
	cmd := exec.Command(c.shell, "-c", c.text)
	cmd.Dir, cmd.SysProcAttr = c.options.Dir, leaderAttr()
	cmd.Env = append(c.env[:len(c.env):len(c.env)],
		"SPILLWAY_GROUP="+string(b.Group), "SPILLWAY_TENANT="+string(b.Tenant), "SPILLWAY_ACTION="+string(b.Action))
	stdin, stdout, stderr, err := pipes(cmd)
	if err == nil {
		err = c.guard.start(cmd)
	}
	if err != nil {
		for _, p := range []io.Closer{stdin, stdout, stderr} {
			if p != nil {
				p.Close()
			}
		}
		return nil, err
	}
	r := &run{cmd: cmd, outputs: [2]*pipe{newPipe(stdout), newPipe(stderr)}, guard: c.guard, group: group{id: cmd.Process.Pid, grace: c.options.Grace}, out: output{report: b.Report}}
	r.feeder.Go(func() { feed(stdin, b) })
	r.reader.Go(func() { r.out.read(r.outputs[0]) })
	r.reader.Go(func() { _, _ = io.Copy(&r.err, onlyReader{r.outputs[1]}) })
	return r, nil
}

func pipes(cmd *exec.Cmd) (stdin io.WriteCloser, stdout, stderr io.ReadCloser, err error) {
	if stdin, err = cmd.StdinPipe(); err != nil {
		return nil, nil, nil, err
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		return stdin, nil, nil, err
	}
	stderr, err = cmd.StderrPipe()
	return stdin, stdout, stderr, err
}

// feed writes the batch. A command need not read it: that the pipe breaks is
// no error.
func feed(stdin io.WriteCloser, b *bulk.Batch) {
	defer stdin.Close()
	buf := buffers.Get().(*[]byte)
	*buf = appendBatch((*buf)[:0], b)
	_, _ = stdin.Write(*buf)
	if cap(*buf) <= maxPooled {
		buffers.Put(buf)
	}
}

// maxPooled is the largest buffer that is kept for the next batch.
const maxPooled = 4 << 20

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// appendBatch encodes the jobs, a line each.
func appendBatch(out []byte, b *bulk.Batch) []byte {
	head := append([]byte(nil), `{"group":`...)
	head = wire.AppendString(head, string(b.Group))
	head = append(head, `,"tenant":`...)
	head = wire.AppendString(head, string(b.Tenant))
	head = append(head, ',')
	for i := range b.Jobs {
		out = append(out, head...)
		out = wire.AppendJob(out, &b.Jobs[i])
		out = append(out, '}', '\n')
	}
	return out
}

// finish waits for the command's end and judges it. Whatever is left of the
// process group then is killed: a batch is over when its command is.
func (r *run) finish(ctx context.Context, began time.Time) error {
	stop := context.AfterFunc(ctx, r.group.terminate)
	awaitExit(r.cmd.Process.Pid)
	stopped := wire.StopReason(ctx, began)
	r.awaitOutput()
	stop()
	r.group.end()
	r.guard.remove(r.group.id)
	_ = r.cmd.Wait() // closes the pipes; the state says the rest
	r.feeder.Wait()
	return verdict(ending{stopped: stopped, state: r.cmd.ProcessState, garbage: r.out.err, stderr: r.err.last()})
}

// awaitOutput reads what was written, and gives processes in the background
// that hold the outputs a moment to end.
func (r *run) awaitOutput() {
	for _, p := range r.outputs {
		_ = p.SetReadDeadline(time.Now().Add(r.group.grace))
	}
	r.reader.Wait()
}

// onlyReader hides the file's other methods, which io.Copy would prefer.
type onlyReader struct{ io.Reader }

// ending is all that is known about how a command ended.
type ending struct {
	stopped string           // why it was stopped, if it was
	state   *os.ProcessState // how it exited
	garbage error            // the first bad line of its output
	stderr  string           // the last line of its errors
}

// Exit codes with a meaning, from sysexits.h: EX_UNAVAILABLE, EX_TEMPFAIL.
const (
	exitThrottled = 69
	exitRetry     = 75
)

// verdict is the error for the jobs without a result of their own. A command
// that was stopped is believed when it certifies that nothing took effect,
// not when it says that all went well. One whose output holds a line that
// cannot be read certifies nothing.
func verdict(e ending) error {
	code := e.state.ExitCode()
	certifies := code == exitRetry || code == exitThrottled
	switch {
	case e.stopped != "" && (!certifies || e.garbage != nil):
		return &bulk.Failure{Status: spillway.Retry, Reason: e.stopped}
	case e.garbage != nil && (certifies || code == 0):
		return e.garbage
	case code == 0:
		return nil
	case code == exitRetry:
		return &bulk.Failure{Status: spillway.Retry, Reason: reason(e), Certain: true}
	case code == exitThrottled:
		return &bulk.Failure{Status: spillway.Throttled, Reason: reason(e), Certain: true}
	}
	return &bulk.Failure{Status: spillway.Retry, Reason: reason(e)}
}

// reason is the last line of the errors, or else "exit status 1" or "signal: killed".
func reason(e ending) string {
	if e.stderr != "" {
		return e.stderr
	}
	return e.state.String()
}
