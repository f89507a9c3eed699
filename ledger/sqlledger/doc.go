// Package sqlledger is the ledger on an SQL database: SQLite in one file.
//
// What it guarantees: what was answered is on the disk (WAL, synchronous=FULL);
// a call is one transaction; a call that failed changed nothing, in the file
// or in memory. One process owns a file; others may open it for reading.
//
// What it costs: writes are gathered by one goroutine and committed together,
// so a durable write waits for one or two fsyncs, however many callers there
// are. A chunk of 1,000 jobs is one row of outcomes, some hundred bytes, and
// one or a few compressed segments of payload. Counts are sums over the chunk
// rows, kept in memory by the owner; reading a group that is not in memory
// sums its chunks (some milliseconds for ten million jobs).
//
// When not to use it: for several instances on one ledger. A file has one
// owner.
//
// Where things are: writer.go gathers and commits; batch.go is the unit of
// work, in which rows are changed in memory and written once; chunk.go and
// merge.go hold the rules of outcomes; position.go explains the key that
// payloads and outcomes share.
package sqlledger
