package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Line is a named curve of points, drawn in the order of X. The colour follows
// from its place in the plot unless Color is set; Step draws stairs.
type Line struct {
	Name  string
	Color string
	X, Y  []float64
	Step  bool
	Thin  bool // faint, and without a name in the legend
}

// Plot is a picture of curves.
type Plot struct {
	Title, Note      string
	XLabel, YLabel   string
	XMin, XMax, YMax float64
	// LogX puts the powers of ten at equal distances; XMin must be above 0.
	LogX  bool
	Lines []Line
	// Bound is a level to compare with, drawn dashed under BoundName; 0 is none.
	Bound     float64
	BoundName string
}

// The picture's measures, in pixels.
const (
	width, height         = 860, 420
	left, right, top, low = 74, 24, 64, 56
	plotW, plotH          = width - left - right, height - top - low
)

var colors = []string{"#1f6feb", "#d1495b", "#2a9d5c", "#e09f3e", "#7b4fb5", "#4a5568"}

// SVG draws the plot.
func (p Plot) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	text(&b, left, 26, "start", "#111827", 17, p.Title)
	text(&b, left, 47, "start", "#6b7280", 12, p.Note)
	p.grid(&b)
	for i, l := range p.Lines {
		p.line(&b, l, p.color(i))
	}
	p.legend(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

func (p Plot) color(i int) string {
	if c := p.Lines[i].Color; c != "" {
		return c
	}
	return colors[i%len(colors)]
}

func text(b *strings.Builder, x, y float64, anchor, color string, size int, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s" font-size="%d">%s</text>`+"\n", x, y, anchor, color, size, html.EscapeString(s))
}

func (p Plot) x(v float64) float64 {
	if p.LogX {
		return left + plotW*math.Log(v/p.XMin)/math.Log(p.XMax/p.XMin)
	}
	return left + plotW*(v-p.XMin)/(p.XMax-p.XMin)
}

func (p Plot) y(v float64) float64 { return top + plotH*(1-min(v, p.YMax)/p.YMax) }

func (p Plot) grid(b *strings.Builder) {
	for _, v := range marks(0, p.YMax) {
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#e5e7eb"/>`+"\n", left, p.y(v), width-right)
		text(b, left-8, p.y(v)+4, "end", "#374151", 12, number(v))
	}
	xs := marks(p.XMin, p.XMax)
	if p.LogX {
		xs = nil
		for v := p.XMin; v <= p.XMax*1.0001; v *= 10 {
			xs = append(xs, v)
		}
	}
	for _, v := range xs {
		fmt.Fprintf(b, `<path d="M%.1f %dv%d" stroke="#e5e7eb"/>`+"\n", p.x(v), top, plotH)
		text(b, p.x(v), top+plotH+18, "middle", "#374151", 12, number(v))
	}
	fmt.Fprintf(b, `<path d="M%d %dV%dH%d" fill="none" stroke="#374151"/>`+"\n", left, top, top+plotH, width-right)
	text(b, left+plotW/2, height-14, "middle", "#374151", 13, p.XLabel)
	fmt.Fprintf(b, `<text transform="translate(20 %d) rotate(-90)" text-anchor="middle" fill="#374151">%s</text>`+"\n", top+plotH/2, html.EscapeString(p.YLabel))
	if p.Bound > 0 {
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#111827" stroke-dasharray="6 4"/>`+"\n", left, p.y(p.Bound), width-right)
		text(b, width-right-4, p.y(p.Bound)-6, "end", "#111827", 12, p.BoundName)
	}
}

func (p Plot) line(b *strings.Builder, l Line, color string) {
	var d strings.Builder
	for i := range l.X {
		switch {
		case i == 0:
			fmt.Fprintf(&d, "M%.1f %.1f", p.x(l.X[i]), p.y(l.Y[i]))
		case l.Step:
			fmt.Fprintf(&d, "H%.1fV%.1f", p.x(l.X[i]), p.y(l.Y[i]))
		default:
			fmt.Fprintf(&d, "L%.1f %.1f", p.x(l.X[i]), p.y(l.Y[i]))
		}
	}
	stroke := `stroke-width="2"`
	if l.Thin {
		stroke = `stroke-width="1" stroke-opacity="0.35"`
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" %s/>`+"\n", d.String(), color, stroke)
}

// legend stands in a row under the axis' label line, right-aligned at the top.
func (p Plot) legend(b *strings.Builder) {
	x := float64(width - right)
	for i := len(p.Lines) - 1; i >= 0; i-- {
		l := p.Lines[i]
		if l.Thin || l.Name == "" {
			continue
		}
		text(b, x, 26, "end", "#111827", 13, l.Name)
		x -= 6.8*float64(len([]rune(l.Name))) + 8
		fmt.Fprintf(b, `<rect x="%.1f" y="16" width="12" height="12" rx="2" fill="%s"/>`+"\n", x-12, p.color(i))
		x -= 30
	}
}

// marks are round numbers from least to most, at most eight.
func marks(least, most float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((most-least)/8)))
	for _, f := range []float64{1, 2, 5, 10} {
		if (most-least)/(step*f) <= 8 {
			step *= f
			break
		}
	}
	var out []float64
	for v := math.Ceil(least/step) * step; v <= most*1.0001; v += step {
		out = append(out, v)
	}
	return out
}

func number(v float64) string {
	if v >= 1000 && v == math.Trunc(v) {
		s := fmt.Sprintf("%.0f", v)
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	}
	return fmt.Sprintf("%.4g", v)
}
