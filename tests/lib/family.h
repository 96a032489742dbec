/* SPDX-License-Identifier: ISC */
/* family.h - the fixture of a test program that calls a booted fake_family(). */
#ifndef TESTS_LIB_FAMILY_H
#define TESTS_LIB_FAMILY_H

#include "tests/lib/fake_rooms.h"

static struct fake *fake;
static struct client client;

static void
set_up(void)
{
	fake = fake_family();
	client_open(&client, fake);
}

static void
tear_down(void)
{
	client_close(&client);
	fake_free(fake);
}

#endif
