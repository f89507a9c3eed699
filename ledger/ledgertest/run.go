package ledgertest

import (
	"testing"

	"github.com/spillway/spillway/ledger"
)

// Store is one place where a ledger lives.
type Store struct {
	// Open opens the ledger of this place; the first time it is empty. It is
	// called again only after the ledger was closed, and then must find what
	// was written before.
	Open func() (ledger.Ledger, error)
}

// Run runs the suite. store makes a new, empty place for each test.
func Run(t *testing.T, store func(t *testing.T) Store) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of the time goes into waiting for the disk
			b := &bench{T: t, store: store(t), now: epoch}
			b.open()
			t.Cleanup(b.close)
			c.test(b)
		})
	}
	t.Run("Random", func(t *testing.T) { runRandom(t, store) })
}

// cases are the tests by name, in the order of the contract.
var cases = []struct {
	name string
	test func(*bench)
}{
	{"Create", testCreate},
	{"CreateKey", testCreateKey},
	{"CreateLimit", testCreateLimit},
	{"Append", testAppend},
	{"AppendRefused", testAppendRefused},
	{"AppendOneBadOfMany", testAppendOneBadOfMany},
	{"AppendLimit", testAppendLimit},
	{"AppendBadRows", testAppendBadRows},
	{"ChangeVersions", testChangeVersions},
	{"Adjust", testAdjust},
	{"ChangeRefused", testChangeRefused},
	{"PauseAndSeal", testPauseAndSeal},
	{"ResumeForgives", testResumeForgives},
	{"Find", testFind},
	{"FindSnapshot", testFindSnapshot},
	{"Checkpoint", testCheckpoint},
	{"Complete", testComplete},
	{"CompleteOnce", testCompleteOnce},
	{"CompleteCancelled", testCompleteCancelled},
	{"Index", testIndex},
	{"Adopt", testAdopt},
	{"AdoptAtMostOnce", testAdoptAtMostOnce},
	{"AdoptFullChunk", testAdoptFullChunk},
	{"Tenants", testTenants},
	{"PrunePayloads", testPrunePayloads},
	{"PruneGroups", testPruneGroups},
	{"PruneTenant", testPruneTenant},
	{"PruneTenantRunning", testPruneTenantRunning},
	{"Verify", testVerify},
	{"VerifyIntend", testVerifyIntend},
	{"VerifyIntendRace", testVerifyIntendRace},
	{"Payload", testPayload},
	{"SettleRules", testSettleRules},
	{"SettleTwice", testSettleTwice},
	{"SettleMany", testSettleMany},
	{"SettleRefused", testSettleRefused},
	{"SettleRace", testSettleRace},
	{"LateAfterReclaim", testLateAfterReclaim},
	{"LateAfterCancel", testLateAfterCancel},
	{"RetryFailed", testRetryFailed},
	{"RetryFailedLateRetry", testRetryFailedLateRetry},
	{"RetryFailedLeavesBadRows", testRetryFailedLeavesBadRows},
	{"Large", testLarge},
	{"Resolve", testResolve},
	{"ResolveLate", testResolveLate},
	{"ResolveRetry", testResolveRetry},
	{"Waiting", testWaiting},
	{"Read", testRead},
	{"ReadReasons", testReadReasons},
	{"ReadPages", testReadPages},
	{"Outbox", testOutbox},
	{"OutboxRace", testOutboxRace},
	{"Settings", testSettings},
	{"Reopen", testReopen},
	{"CancelledContext", testCancelledContext},
	{"Closed", testClosed},
}
