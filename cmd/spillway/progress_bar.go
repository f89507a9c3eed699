package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// isTerminal reports whether a writer is a terminal that can draw.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
}

// bar draws progress on a terminal; log lines go above it.
type bar struct {
	logs     *swapWriter
	terminal io.Writer
	p        *mpb.Progress
	bar      *mpb.Bar
	now      atomic.Pointer[progress]
}

func newBar(a *app) *bar {
	b := &bar{logs: a.logs}
	b.p = mpb.New(mpb.WithOutput(a.stderr), mpb.WithRefreshRate(150*time.Millisecond), mpb.WithWidth(40), mpb.WithAutoRefresh())
	b.bar = b.p.New(0, mpb.BarStyle(), mpb.BarFillerTrim(),
		mpb.PrependDecorators(decor.Any(b.head)), mpb.AppendDecorators(decor.Any(b.tail)),
		mpb.BarExtender(mpb.BarFillerFunc(b.below), false))
	b.terminal = a.logs.swap(b.p)
	return b
}

func (b *bar) head(decor.Statistics) string {
	p := b.now.Load()
	if p == nil {
		return "starting "
	}
	more := ""
	if !p.Sealed {
		more = "+"
	}
	return fmt.Sprintf("%s %s/%s%s ", p.State, count(p.Done()), count(p.Total), more)
}

func (b *bar) tail(decor.Statistics) string {
	p := b.now.Load()
	if p == nil {
		return ""
	}
	words := progressWords(p)[1:]
	if len(p.Reasons) > 0 {
		words = words[:len(words)-1]
	}
	return " " + strings.Join(words, ", ")
}

// below lists the most frequent errors.
func (b *bar) below(w io.Writer, s decor.Statistics) error {
	p := b.now.Load()
	if p == nil {
		return nil
	}
	for _, r := range p.Reasons {
		if _, err := fmt.Fprintf(w, "  %s\n", shorten(r.String(), max(20, s.AvailableWidth-4))); err != nil {
			return err
		}
	}
	return nil
}

func (b *bar) show(p *progress) {
	b.now.Store(p)
	b.bar.SetTotal(max(p.Total, 1), false)
	b.bar.SetCurrent(p.Done())
}

func (b *bar) note(e event) { fmt.Fprintln(b.logs, e.Message) }

func (b *bar) close() {
	b.bar.Abort(false)
	b.p.Wait()
	b.logs.swap(b.terminal)
}
