package queuetest

var groupCases, claimCases, sizeCases, settleCases, retryCases, feedCases, leaseCases, rateCases, parentCases, breakerCases, orderCases, fairCases, wakeCases, statsCases []testCase
