package server

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/spillway/spillway/bulk"
	"github.com/spillway/spillway/flow"
)

// metrics is what Prometheus reads: the engine's counters, its resources, and
// the requests of this server.
type metrics struct {
	handler  http.Handler
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(e Engine, version string) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spillway_http_requests_total",
			Help: "Requests answered, by route, method and status.",
		}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "spillway_http_request_duration_seconds",
			Help:    "Time from a request's header to the end of its answer. Uploads, long polls and event streams take as long as they last.",
			Buckets: []float64{.001, .005, .025, .1, .5, 2.5, 10, 60},
		}, []string{"route", "method"}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "spillway_build_info", Help: "Always 1; the labels name the build.",
		ConstLabels: prometheus.Labels{"version": version, "go": goVersion},
	})
	build.Set(1)
	r := prometheus.NewRegistry()
	r.MustRegister(m.requests, m.seconds, build, &engineCollector{e},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return m
}

// observe counts an exchange. Routes are patterns, so that there are few.
func (m *metrics) observe(x *exchange, took time.Duration) {
	_, route, found := strings.Cut(x.r.Pattern, " ")
	if !found {
		route = "other"
	}
	method := x.r.Method
	if !slices.Contains([]string{"GET", "POST", "PUT", "DELETE", "HEAD"}, method) {
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(cmp.Or(x.w.status, http.StatusOK))).Inc()
	m.seconds.WithLabelValues(route, method).Observe(took.Seconds())
}

// metric describes one number of the engine.
func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("spillway_"+name, help, labels, nil)
}

var (
	descJobs      = metric("jobs_total", "Jobs that got an outcome since the start of the process, by outcome. Retried and throttled ones come again.", "outcome")
	descGranted   = metric("granted_total", "Jobs handed out together with their capacity.")
	descDelivered = metric("delivered_total", "Jobs that reached a handler.")
	descRows      = metric("rows_accepted_total", "Rows taken into the ledger.")
	descWorkers   = metric("workers", "Deliveries that can run at once.")
	descBusy      = metric("workers_busy", "Deliveries that run now.")
	descLost      = metric("leases_lost_total", "Leases whose work was done when another had them already.")
	descReclaimed = metric("leases_reclaimed_total", "Leases taken back because their deadline passed.")
	descLedger    = metric("ledger_errors_total", "Writes that the ledger refused; they are repeated.")
	descCallbacks = metric("callbacks_total", "Attempts at callbacks, by result.", "result")
	descDelivery  = metric("delivery_duration_seconds", "Time that a delivery spent in its handler.")
	descSettle    = metric("settle_duration_seconds", "Time that outcomes took to be committed to the ledger.")
	descClaim     = metric("claim_duration_seconds", "Time that the queue took to hand out work.")

	descResourceRate     = metric("resource_rate", "Allowed cost per second; 0 is unlimited. The busiest resources by name, the rest as _other.", "resource")
	descResourceGranted  = metric("resource_granted_total", "Cost granted.", "resource")
	descResourceInFlight = metric("resource_in_flight", "Jobs handed out and not settled.", "resource")
	descResourceReady    = metric("resource_ready", "Jobs that can run as soon as there is capacity.", "resource")
	descResourceWaiting  = metric("resource_waiting", "Jobs that wait for their time, in retry or throttled.", "resource")
	descResourceBroken   = metric("resource_breaker_open", "1 while the resource counts as down.", "resource")
	descResourcePaused   = metric("resource_paused", "1 while an operator has paused the resource.", "resource")
)

// engineCollector reads the engine when it is asked.
type engineCollector struct{ engine Engine }

// Describe implements prometheus.Collector.
func (c *engineCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descJobs, descGranted, descDelivered, descRows, descWorkers, descBusy, descLost, descReclaimed, descLedger,
		descCallbacks, descDelivery, descSettle, descClaim,
		descResourceRate, descResourceGranted, descResourceInFlight, descResourceReady, descResourceWaiting,
		descResourceBroken, descResourcePaused,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *engineCollector) Collect(ch chan<- prometheus.Metric) {
	m := c.engine.Metrics()
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	count(descJobs, m.Succeeded, "succeeded")
	count(descJobs, m.Failed, "failed")
	count(descJobs, m.Skipped, "skipped")
	count(descJobs, m.InDoubt, "in_doubt")
	count(descJobs, m.Retried, "retried")
	count(descJobs, m.Throttled, "throttled")
	count(descGranted, m.Granted)
	count(descDelivered, m.Delivered)
	count(descRows, m.RowsAccepted)
	gauge(descWorkers, float64(m.Workers))
	gauge(descBusy, float64(m.Busy))
	count(descLost, m.LeasesLost)
	count(descReclaimed, m.Reclaimed)
	count(descLedger, m.LedgerErrors)
	count(descCallbacks, m.CallbacksSent, "sent")
	count(descCallbacks, m.CallbacksFailed, "failed")
	histogram(ch, descDelivery, m.Delivery)
	histogram(ch, descSettle, m.Settle)
	histogram(ch, descClaim, m.Claim)
	c.resources(ch)
}

func histogram(ch chan<- prometheus.Metric, d *prometheus.Desc, h bulk.Histogram) {
	buckets := make(map[float64]uint64, len(h.Bounds))
	for i, bound := range h.Bounds {
		buckets[bound] = uint64(h.Counts[i])
	}
	ch <- prometheus.MustNewConstHistogram(d, uint64(h.Count), h.Sum, buckets)
}

// Resources are bounded: their names may be made of tenants, and each is a
// time series for ever.
const (
	topResources   = 50
	collectTimeout = 2 * time.Second
)

func (c *engineCollector) resources(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	all, err := c.engine.Resources(ctx)
	if err != nil {
		return // the ledger's errors are counted
	}
	slices.SortStableFunc(all, func(a, b *bulk.Resource) int { return cmp.Compare(b.Granted, a.Granted) })
	other := bulk.Resource{Name: "_other"}
	for i, r := range all {
		if i < topResources {
			sendResource(ch, r)
			continue
		}
		other.Granted += r.Granted
		other.InFlight += r.InFlight
		other.Ready += r.Ready
		other.Waiting += r.Waiting
	}
	if len(all) > topResources {
		sendResource(ch, &other)
	}
}

func sendResource(ch chan<- prometheus.Metric, r *bulk.Resource) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, string(r.Name))
	}
	flag := map[bool]float64{true: 1}
	rate, _ := flow.ParseRate(r.Rate) // what the engine says is a rate
	send(descResourceRate, prometheus.GaugeValue, rate.PerSecond())
	send(descResourceGranted, prometheus.CounterValue, float64(r.Granted))
	send(descResourceInFlight, prometheus.GaugeValue, float64(r.InFlight))
	send(descResourceReady, prometheus.GaugeValue, float64(r.Ready))
	send(descResourceWaiting, prometheus.GaugeValue, float64(r.Waiting))
	send(descResourceBroken, prometheus.GaugeValue, flag[r.Breaker == "open"])
	send(descResourcePaused, prometheus.GaugeValue, flag[r.Paused])
}
