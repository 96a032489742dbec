#!/bin/sh
# SPDX-License-Identifier: ISC
# style.sh - what can be counted of the code style: lengths, comments, words, includes.
set -eu
cd "${top_srcdir:-.}"

functions_max=60
lines_max=500

echo 1..7
files=$(find src tests -name '*.[ch]' | LC_ALL=C sort)
scripts=$(find bench examples tests -name '*.py' | LC_ALL=C sort)

verdict() { # number, name, what was found
	if [ -z "$3" ]; then
		echo "ok $1 - $2"
	else
		printf '%s\n' "$3" | sed 's/^/# /'
		echo "not ok $1 - $2"
	fi
}

# shellcheck disable=SC2086
found=$(awk -v max=$functions_max '
/^\{/ { start = FNR; file = FILENAME }
/^\}/ && start && file == FILENAME {
	if (FNR - start + 1 > max)
		print FILENAME ":" start ": a function of " FNR - start + 1 " lines"
	start = 0
}' $files)
verdict 1 "no function is longer than $functions_max lines" "$found"

# shellcheck disable=SC2086
found=$(awk -v max=$lines_max '
{ n[FILENAME]++ }
END { for (f in n) if (n[f] > max) print f ": " n[f] " lines" }' $files $scripts)
verdict 2 "no file is longer than $lines_max lines" "$found"

# Text of comments and strings taken out, what is left may not have these.
# shellcheck disable=SC2086
found=$(awk '
FNR == 1 { comment = 0; body = 0 }
{
	s = $0
	if (comment) {
		if (!match(s, /\*\//))
			next
		s = substr(s, RSTART + 2)
		comment = 0
	}
	gsub(/\\\\/, "", s)
	gsub(/\\"/, "", s)
	gsub(/\047"\047/, "", s)
	gsub(/"[^"]*"/, "", s)
	gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", s)
	if (match(s, /\/\*/)) {
		s = substr(s, 1, RSTART - 1)
		comment = 1
	}
	at = FILENAME ":" FNR ": "
	if (s ~ /\/\//)
		print at "a // comment"
	if (s ~ /(^|[^a-z_])alloca[ \t]*\(/)
		print at "alloca"
	if (s ~ /^\{/)
		body = 1
	if (s ~ /^\}/)
		body = 0
	if (body && s ~ /^[ \t]+static[ \t]/ && s !~ /static[ \t]+const[ \t]/)
		print at "a static variable in a function"
	if (body && s ~ /^[ \t]*#[ \t]*if/ && FILENAME !~ /^src\/os\//)
		print at "a conditional inside a function"
}' $files)
verdict 3 "no // comments, alloca, static variables or #if in functions" "$found"

# shellcheck disable=SC2086
found=$(grep -nE '(^|[^A-Za-z])(TO''DO|FIX''ME|XX''X|HA''CK)([^A-Za-z]|$)' $files || true)
verdict 4 "nothing is left to be done later" "$found"

# shellcheck disable=SC2086
found=$(awk '
FNR == 1 && $0 !~ /SPDX-License-Identifier: ISC/ { print FILENAME ":1: no licence line" }
FNR == 2 {
	name = FILENAME
	sub(/.*\//, "", name)
	if (index($0, name " - ") == 0)
		print FILENAME ":2: does not say what it is for: \"" name " - ...\""
}' $files)
verdict 5 "every file begins with its licence and what it is for" "$found"

# shellcheck disable=SC2086
found=$(awk '
FNR == 1 { seen = 0 }
/^[ \t]*#[ \t]*include/ {
	is = $0 ~ /"config\.h"/
	if (FILENAME ~ /\.h$/ && is)
		print FILENAME ":" FNR ": a header may not include config.h"
	if (FILENAME ~ /\.c$/ && !seen && !is)
		print FILENAME ":" FNR ": config.h must be the first include"
	seen = 1
}' $files)
verdict 6 "config.h is the first include of each .c and of no header" "$found"

# shellcheck disable=SC2086
found=$(grep -nE '[ 	]+$' $files || true)
verdict 7 "no blanks at the end of a line" "$found"
