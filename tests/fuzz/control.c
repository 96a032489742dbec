/* SPDX-License-Identifier: ISC */
/* control.c - bytes on a connection of the control socket, with the real core behind it.
 *
 * The first byte chooses the caller: root, an observer, or a stranger.
 */
#include "config.h"

#include <sys/socket.h>

#include "tests/fuzz/fuzz.h"
#include "tests/lib/fake_rooms.h"

const unsigned int fuzz_runs = 120;

#define OBSERVERS 777

static struct fake *
make_tree(void)
{
	struct fake *fake = fake_new();

	fake->conf.has_observers = true;
	fake->conf.observers_gid = OBSERVERS;
	(void)fake_add(fake, "/user/a", NODE_WORKER);
	(void)fake_add(fake, "/user/b", NODE_WORKER);
	(void)fake_add(fake, "/user/app", NODE_SUPERVISOR);
	(void)fake_add(fake, "/user/app/api", NODE_WORKER);
	(void)fake_add(fake, "/user/app/crawl@1", NODE_WORKER);
	fake_boot(fake);
	return fake;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fake *fake;
	struct client client;
	json_t *reply;

	if (size == 0)
		return 0;
	fake = make_tree();
	if (data[0] % 3 == 0)
		client_open(&client, fake);
	else
		client_open_as(&client, fake, 54321,
		               data[0] % 3 == 1 ? OBSERVERS : 54321);
	(void)send(client.fd, data + 1, size - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	while ((reply = client_reply(&client)) != NULL)
		json_decref(reply);
	client_close(&client);
	fake_free(fake);
	return 0;
}
