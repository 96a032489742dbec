#!/bin/sh
# SPDX-License-Identifier: ISC
# installing.sh - the files that `make install` writes, and the files that it leaves alone.
set -eu
cd "${top_builddir:-.}"
unset MAKEFLAGS MAKELEVEL MFLAGS
echo 1..7

root=$(mktemp -d "${TMPDIR:-/tmp}/supd-install.XXXXXX")
trap 'rm -rf "$root"' EXIT
trap 'exit 1' HUP INT TERM

do_make() { # target
	make -s "$1" DESTDIR="$root" >"$root/log" 2>&1 || sed 's/^/# /' "$root/log"
}

verdict() { # number, name, what is wrong
	if [ -z "$3" ]; then
		echo "ok $1 - $2"
	else
		printf '%s\n' "$3" | sed 's/^/# /'
		echo "not ok $1 - $2"
	fi
}

do_make install
conf=$(find "$root" -path '*/supd/supd.yaml')
example=$(find "$root" -path '*/examples/supd.yaml')
wrong=
[ -n "$conf" ] && [ -n "$example" ] && cmp -s "$conf" "$example" ||
	wrong="the configuration: '$conf', the example: '$example'"
verdict 1 "a fresh system gets the configuration, and the example to compare it with" "$wrong"

wrong=
for name in supctl _supctl supctl.fish; do
	find "$root" -name "$name" -size +0 -path '*/share/*' | grep -q . ||
		wrong="$wrong $name"
done
verdict 2 "what completes supctl is where the shells look" "$wrong"

wrong=
grep -q '^systemdsystemunit_DATA' Makefile && for name in systemd/system/supd.service \
	systemd/system/supd@.service systemd/user/supd.service sysusers.d/supd.conf \
	tmpfiles.d/supd.conf; do
	find "$root" -path "*/$name" -size +0 | grep -q . || wrong="$wrong $name"
done
! grep -rn '@[a-z]*dir@' systemd || wrong="$wrong places"
find "$root" -name supd.schema.json -size +10k | grep -q . || wrong="$wrong schema"
verdict 3 "units, group, log directory and schema are where systemd and editors look" "$wrong"

docs=$(dirname "$(find "$root" -name TUTORIAL.md)")
wrong=$(grep -o '](examples/[^)]*)' "$docs/TUTORIAL.md" "$docs/MIGRATING.md" | sed 's/.*](\(.*\))/\1/' |
	while read -r link; do [ -s "$docs/$link/README.md" ] || echo "no $link"; done)
! grep -n ']([^)]*\.\./' "$docs/TUTORIAL.md" "$docs/MIGRATING.md" || wrong="$wrong leads out"
[ -x "$docs/examples/alert/alert.sh" ] || wrong="$wrong alert.sh"
verdict 4 "the examples are where the documents that link to them are" "$wrong"

echo '# mine' >>"$conf"
cp "$conf" "$root/mine"
do_make install
wrong=
cmp -s "$conf" "$root/mine" || wrong="it was overwritten"
verdict 5 "a configuration that was there is not overwritten" "$wrong"

do_make uninstall
wrong=
cmp -s "$conf" "$root/mine" || wrong="it was removed"
verdict 6 "one that was changed stays when supd goes" "$wrong"

rm "$conf"
do_make install
do_make uninstall
rm -f "$root/log" "$root/mine"
verdict 7 "nothing else stays" "$(find "$root" ! -type d)"
