#!/bin/sh
# SPDX-License-Identifier: ISC
# layers.sh - which room may include which: the table of doc/ARCHITECTURE.md, checked include by include.
#
# Prints TAP; each offence is a comment "room/file:line: room may not include what".
set -eu
src=${top_srcdir:-.}/src

echo 1..4
files=$(cd "$src" && find . -name '*.[ch]' | sed 's|^\./||' | LC_ALL=C sort)

verdict() { # number, name, what was found
	if [ -z "$3" ]; then
		echo "ok $1 - $2"
	else
		printf '%s\n' "$3" | sed 's/^/# /'
		echo "not ok $1 - $2"
	fi
}

# shellcheck disable=SC2086
found=$(cd "$src" && awk '
BEGIN {
	may["base"] = "base/"
	may["events"] = "base/ events/"
	may["core"] = "base/ core/ events/"
	may["conf"] = "base/ conf/ core/spec.h"
	may["os"] = "base/ os/"
	may["probe"] = "base/ os/ probe/"
	may["varlink"] = "base/ varlink/"
	may["helper"] = "base/ os/ probe/ helper/"
	may["ledger"] = "base/ os/ ledger/ core/core.h"
	may["walker"] = "base/ os/ ledger/ walker/"
	may["logd"] = "base/ os/ ledger/ logd/"
	may["daemon"] = "base/ core/ events/ conf/ os/ varlink/ ledger/ walker/ logd/ probe/ helper/ daemon/ paths.h"
	may["ctl"] = "base/ events/ varlink/ ctl/ paths.h"
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
	split(FILENAME, part, "/")
	room = part[1]
	what = $0
	sub(/^[^"]*"/, "", what)
	sub(/".*/, "", what)
	if (what == "config.h" || what == FILENAME)
		next
	n = split(may[room], allowed, " ")
	fine = 0
	for (i = 1; i <= n; i++)
		if (index(what, allowed[i]) == 1)
			fine = 1
	if (!fine)
		print FILENAME ":" FNR ": " room " may not include " what
}' $files)
verdict 1 "every room includes only what the table allows" "$found"

# Which room may use which library, and what the core may use of the C library.
# shellcheck disable=SC2086
found=$(cd "$src" && awk '
BEGIN {
	only["ev.h"] = "daemon helper"
	only["yaml.h"] = "conf"
	only["jansson.h"] = "varlink daemon ctl"
	core = " stdalign.h stdbool.h stddef.h stdint.h limits.h string.h "
}
/^[ \t]*#[ \t]*include[ \t]*</ {
	split(FILENAME, part, "/")
	what = $0
	sub(/^[^<]*</, "", what)
	sub(/>.*/, "", what)
	if ((what in only) && index(" " only[what] " ", " " part[1] " ") == 0)
		print FILENAME ":" FNR ": " part[1] " may not include <" what ">"
	if (part[1] == "core" && index(core, " " what " ") == 0)
		print FILENAME ":" FNR ": core may not include <" what ">"
}' $files)
verdict 2 "libraries are used only in the rooms that own them" "$found"

# shellcheck disable=SC2086
found=$(cd "$src" && awk '
FNR == 1 { n++; file[n] = FILENAME; last[n] = "" }
/^[ \t]*#[ \t]*include/ { last[n] = $0; line[n] = FNR }
END {
	for (i = 1; i <= n; i++)
		if (file[i] ~ /^core\/.*\.c$/ && last[i] !~ /"core\/pure\.h"/)
			print file[i] ":" line[i] ": core/pure.h must be included last"
}' $files)
verdict 3 "every file of the core includes core/pure.h last" "$found"

# Some states have a single writer; core/tree/goal.h is the table of what is wanted of a node,
# daemon/state/proctable.h of how far its process is.
# shellcheck disable=SC2086
found=$(cd "$src" && awk '
BEGIN {
	writer["->(goal|plan\\.[a-z_]+|growth\\.(presence|added)|ending\\.as) = "] = "core/tree/goal.c"
	writer["->failed = "] = "core/decide/failure_report.c"
	writer["->run\\.(begun|readied|was_ready|created|exited_by_itself|attempts) = "] = "core/tree/run.c"
	writer["->part\\.[a-z]+ = "] = "core/tree/part.c"
	writer["->process\\.(state|killed) = "] = "core/move/node_process.c"
	writer["->ending\\.work_failed = "] = "core/decide/significant.c"
	writer["->living\\.(sigstopped|watchdog_expired) = "] = "core/decide/living.c"
	writer["->pace\\.life_counted = "] = "core/decide/pace.c"
	writer["->suspend\\.(decided|own_failure|frozen) = "] = "core/decide/suspend.c"
	writer["(node|child)->growth\\.removing = "] = "core/decide/dynamic.c"
	writer["->gate\\.waits_for = "] = "core/wait/gate.c"
	writer["->watch\\.is_new = "] = "core/wait/watch.c"
	writer["->queued = "] = "core/tree/node_queue.c"
	writer["->children\\.are = "] = "core/move/children.c"
	writer["->hooks\\.(serial|end) = "] = "core/move/hooks.c"
	writer["proc->state = "] = "daemon/state/proctable.c"
	writer["proc->stop = "] = "daemon/processes/procs.c"
}
FILENAME ~ /\.c$/ {
	room = substr(FILENAME, 1, index(FILENAME, "/"))
	for (member in writer)
		if (FILENAME != writer[member] && index(writer[member], room) == 1 && $0 ~ member)
			print FILENAME ":" FNR ": only " writer[member] " may change " $1
}' $files)
verdict 4 "states of a node and of its process are changed only by the file that owns them" "$found"
