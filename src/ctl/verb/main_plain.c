/* SPDX-License-Identifier: ISC */
/* main_plain.c - supctl: what starts fast, for a verb that is run a thousand times. */
#include "config.h"

#include "ctl/verb/verb.h"

int
main(int argc, char **argv)
{
	return supctl_run(argc, argv, NULL);
}
