#!/bin/sh
# SPDX-License-Identifier: ISC
# purity.sh - the decision core calls nothing but memory and string functions.
#
# Looks at the symbols that libcore.a leaves undefined, less those that it or libbase.a's
# harmless parts (names, rng, sum, units) define.
set -eu
lib=${top_builddir:-.}/libcore.a
base=${top_builddir:-.}/src/base

echo 1..2
defined() {
	"${NM:-nm}" -g --defined-only "$@" 2>/dev/null | awk 'NF == 3 { print $3 }'
}

{
	defined "$lib"
	defined "$base/names.o" "$base/rng.o" "$base/sum.o"
} | awk '{ print "d", $1 }' >purity.$$.tmp
trap 'rm -f purity.$$.tmp' EXIT
"${NM:-nm}" -u "$lib" | awk 'NF == 2 && $1 == "U" { print "u", $2 }' >>purity.$$.tmp

found=$(awk '
$1 == "d" { defined[$2] = 1 }
$1 == "u" { used[$2] = 1 }
END {
	for (s in used) {
		if (s in defined)
			continue
		if (s ~ /^(__)?(mem|str)[a-z]+(_chk)?$/)
			continue
		if (s ~ /^(__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)$/)
			continue
		print "# forbidden symbol: " s
	}
}' purity.$$.tmp | LC_ALL=C sort)
if [ -z "$found" ]; then
	echo "ok 1 - the core calls nothing but memory and string functions"
else
	printf '%s\n' "$found"
	echo "not ok 1 - the core calls nothing but memory and string functions"
fi

# Writable data would be state outside of the core's block of memory.
found=$("${NM:-nm}" "$lib" | awk '$2 ~ /^[bBcC]$/ || ($2 ~ /^[dD]$/ && $3 !~ /_names$/) {
	print "# writable data: " $3 }')
if [ -z "$found" ]; then
	echo "ok 2 - the core has no variables of its own"
else
	printf '%s\n' "$found"
	echo "not ok 2 - the core has no variables of its own"
fi
