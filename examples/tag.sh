#!/bin/sh
# Tags customers by plan and by what they spent: one JSON line in, one out.
# Started once per batch; sh and awk only.
#
#   {"index":17,…,"data":{"id":"1017",…}}  →  {"index":17,"status":"ok","value":"pro"}
#
# A customer without an e-mail address fails: there is nobody to tag.
LC_ALL=C exec awk '
# field gives the text of a string in the line, as it is written there. The
# payload comes last, so the last "name": counts; a quote inside a value is
# escaped and cannot end it.
function field(name,   rest, at) {
	at = index(data, "\"" name "\":\"")
	if (!at) return ""
	rest = substr(data, at + length(name) + 4)
	match(rest, /^([^"\\]|\\.)*/)
	return substr(rest, 1, RLENGTH)
}
{
	at = index($0, "\"index\":")
	job = substr($0, at + 8) + 0
	data = substr($0, index($0, "\"data\":"))
	plan = field("plan")
	if (field("email") == "") {
		printf "{\"index\":%d,\"status\":\"failed\",\"error\":\"no e-mail address\"}\n", job
		next
	}
	tag = plan
	if (plan == "free" && field("spent") + 0 >= 150) tag = "upsell"
	if (plan == "pro" && field("spent") + 0 >= 3000) tag = "vip"
	printf "{\"index\":%d,\"status\":\"ok\",\"value\":\"%s\"}\n", job, tag
}'
