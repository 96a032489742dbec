#!/bin/sh
# SPDX-License-Identifier: ISC
# hardened.sh - the built programs have the protection that compiler and linker offer.
#
# What configure found the compiler unable to do is skipped, not missed.
set -eu
cd "${top_builddir:-.}"
echo 1..6

has_flag() { # name of a variable of the Makefile, a flag
	sed -n "s/^$1 = //p" Makefile | tr ' ' '\n' | grep -qx -e "$2"
}

all() { # number, what, command...: for each of the programs
	number=$1
	what=$2
	shift 2
	for program in supd supctl supctl-terminal; do
		if ! "$@" "$program"; then
			echo "not ok $number - $what: $program lacks it"
			return
		fi
	done
	echo "ok $number - $what"
}

skip() { # number, what, why
	echo "ok $1 - $2 # SKIP $3"
}

is_pie() {
	readelf -hW "$1" | grep -q 'Type: *DYN'
}

is_bound() {
	readelf -lW "$1" | grep -q GNU_RELRO && readelf -dW "$1" | grep -q 'FLAGS.*NOW'
}

no_stack() {
	readelf -lW "$1" | awk '$1 == "GNU_STACK" { fine = $7 == "RW" } END { exit !fine }'
}

# The level that is asked for is 3, where compiler and C library have it.
is_highest() {
	grep -q '^#define FORTIFY 3$' config.h || ! printf '%s\n' '#include <stdio.h>' |
		${CC:-cc} -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -Werror -x c -c -o /dev/null - 2>/dev/null
}

is_fortified() {
	is_highest &&
		readelf -sW "$1" | grep -q '__[a-z]*printf_chk' &&
		readelf -sW "$1" | grep -q __stack_chk_fail
}

# Of our objects: in some distributions the ones that start a program have no such note.
guards_jumps() {
	[ "$1" = supd ] || return 0
	for library in lib*.a; do
		readelf -nW "$library" | awk '/^File:/ { files++ } /IBT, SHSTK/ { notes++ }
			END { exit files == 0 || files != notes }' || return 1
	done
}

if ! command -v readelf >/dev/null 2>&1; then
	for n in 1 2 3 4 5 6; do
		skip $n "the programs are hardened" "there is no readelf"
	done
	exit 0
fi
if has_flag HARDEN_LDFLAGS -pie; then
	all 1 "the programs are loaded at any address" is_pie
else
	skip 1 "the programs are loaded at any address" "the linker cannot"
fi
if has_flag HARDEN_LDFLAGS -Wl,-z,now && has_flag HARDEN_LDFLAGS -Wl,-z,relro; then
	all 2 "what is linked is bound at the start, and read-only from then on" is_bound
else
	skip 2 "what is linked is bound at the start" "the linker cannot"
fi
if has_flag HARDEN_LDFLAGS -Wl,-z,noexecstack; then
	all 3 "the stack is not executable" no_stack
else
	skip 3 "the stack is not executable" "the linker cannot"
fi
if grep -q '^#define FORTIFY ' config.h && grep -q '^CFLAGS =.*-O[1-9s]' Makefile; then
	all 4 "buffers on the stack and calls of the C library are checked" is_fortified
else
	skip 4 "calls of the C library are checked" "it is built without optimization"
fi
if has_flag HARDEN_CFLAGS -fcf-protection && [ "$(uname -m)" = x86_64 ]; then
	all 5 "jumps and returns are guarded" guards_jumps
else
	skip 5 "jumps and returns are guarded" "the compiler cannot"
fi
# Nothing in a program tells of it.
if has_flag HARDEN_CFLAGS -fstack-clash-protection; then
	echo "ok 6 - a large frame touches each page of the stack"
elif echo 'int main(void) { return 0; }' | \
	${CC:-cc} -fstack-clash-protection -Werror -x c -c -o /dev/null - 2>/dev/null; then
	echo "not ok 6 - a large frame touches each page of the stack: configure did not ask for it"
else
	skip 6 "a large frame touches each page of the stack" "the compiler cannot"
fi
