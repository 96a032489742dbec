/* SPDX-License-Identifier: ISC */
/* fake_upgrade.c - an upgrade without a binary: a test says what became of it. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "daemon/state/post.h"
#include "ledger/ledger.h"
#include "tests/lib/fake_rooms.h"

struct upgrade {
	struct fake *fake;
	upgrade_on_checked *on_checked;
	void *user;
	enum upgrade_verdict verdict;
};

static struct fake *
of(const struct upgrader *upgrader)
{
	const char *member = (const char *)upgrader;

	return (struct fake *)(uintptr_t)(member - offsetof(struct fake, upgrader));
}

struct upgrade *
upgrade_new(const struct upgrader *upgrader, upgrade_on_checked *on_checked, void *user,
            struct err *err)
{
	struct upgrade *upgrade = calloc(1, sizeof(*upgrade));

	(void)err;
	ASSERT(of(upgrader)->upgrade == NULL);
	*upgrade = (struct upgrade){of(upgrader), on_checked, user, UPGRADE_OPEN};
	of(upgrader)->upgrade = upgrade;
	return upgrade;
}

void
upgrade_free(struct upgrade *upgrade)
{
	upgrade->fake->upgrade = NULL;
	free(upgrade);
}

enum upgrade_verdict
upgrade_verdict(const struct upgrade *upgrade)
{
	return upgrade->verdict;
}

json_t *
upgrade_errors(const struct upgrade *upgrade)
{
	(void)upgrade;
	return NULL;
}

const char *
upgrade_sentence(const struct upgrade *upgrade)
{
	(void)upgrade;
	return "it is a fake";
}

const char *
upgrade_path(const char *binary, char buf[UPGRADE_PATH_MAX])
{
	(void)binary;
	(void)snprintf(buf, UPGRADE_PATH_MAX, "/fake");
	return buf;
}

int
upgrade_go(struct upgrade *upgrade)
{
	if (upgrade->fake->go_result == 0)
		upgrade->fake->gone = true;
	return upgrade->fake->go_result;
}

/* The look at the new binary is over. */
void
fake_checked(struct fake *fake, enum upgrade_verdict verdict)
{
	fake->upgrade->verdict = verdict;
	fake->upgrade->on_checked(fake->upgrade->user);
	if (!fake->gone)
		control_upgrade_if_due(fake->supd.control);
}

/* The next supd, as far as clients can tell. */
void
fake_successor(struct fake *fake, const struct upgrade_story *story)
{
	control_free(fake->supd.control);
	fake->gone = false;
	fake_hand_over(fake);
	fake->supd.control = control_alloc(&fake->uses);
	control_answer_caller(fake->supd.control, story);
	fake_settle(fake);
}

/* A guardian dies, and what was posted and not stepped with it; the next one goes on with
 * the same ledger and core. */
void
fake_guardian_dies(struct fake *fake)
{
	const struct event others = {
	    .kind = EVENT_UNWAIT, .ref = REF_NONE, .token = TOKEN_OTHERS};

	control_free(fake->supd.control);
	queue_clear(&fake->supd.post->posted);
	fake->cut = false;
	fake->supd.control = control_alloc(&fake->uses);
	tokens_init(fake->supd.control);
	post_event(fake->supd.post, &others);
}
