#!/bin/sh
# alert.sh - a hook: tell of the failure that SUPD_PATH is restarted for.
# MAIL_TO: to this address by sendmail(8).  WEBHOOK_URL: to this URL by curl(1).
# Without them it writes to files in DIR, to be tried.
[ -n "$SUPD_CAUSE" ] || exit 0

text="$SUPD_PATH failed: $SUPD_CAUSE (restart $SUPD_RESTART_COUNT on $(uname -n))"
json="{\"actor\": \"$SUPD_PATH\", \"cause\": \"$SUPD_CAUSE\", \"text\": \"$text\"}"

if [ -n "${MAIL_TO:-}" ]; then
	printf 'To: %s\nSubject: %s\n\nsupctl explain %s has the story.\n' \
		"$MAIL_TO" "$text" "$SUPD_PATH" | /usr/sbin/sendmail -t
else
	echo "$text" >>"${DIR:?}/mail"
fi
if [ -n "${WEBHOOK_URL:-}" ]; then
	curl -fsS -m 5 -H 'Content-Type: application/json' -d "$json" "$WEBHOOK_URL"
else
	echo "$json" >>"${DIR:?}/webhook"
fi
