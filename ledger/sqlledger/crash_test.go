package sqlledger_test

func crashing() bool { return false }
