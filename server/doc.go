// Package server is the HTTP API of the engine: groups, jobs, resources,
// tenants, keys and leases as JSON, uploads and results as streams, events,
// metrics and probes. The API's document is generated from the code and served
// at /openapi.json.
//
// What it guarantees: a tenant's key sees and changes only that tenant's
// groups; every error is a problem document with a stable code; jobs of an
// upload run while it uploads, and the rows accepted before an upload breaks
// off stand. Whatever a client does, it holds at most a bounded number of
// connections' worth of memory: bodies, uploads and event streams are bounded,
// and a client that stalls is cut off.
//
// What it costs: one look into a cached list of keys per request, and for a
// tenant's key one more read of the group.
//
// When not to use it: inside one process; use package bulk.
package server
