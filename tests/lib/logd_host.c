/* SPDX-License-Identifier: ISC */
/* logd_host.c - the log process on its own, for tests.
 *
 *	logd_host run          with the descriptors of logd.h
 *	logd_host state        sends a new state over the socket at descriptor 3
 *	logd_host tail KEY     the last that a stream said: state at 4, its pipe at 5 or
 *closed
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "logd/read/tail.h"
#include "logd/write/logd.h"
#include "logd/write/state.h"
#include "os/self/pass.h"

static int
send_state(void)
{
	struct err err;
	int fd = state_new(&err);

	if (fd < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return pass_send(3, "state", 5, &(struct pass_fds){&fd, 1}, 0) < 0;
}

static int
print_tail(uint64_t key)
{
	const int pipe_fd = fcntl(5, F_GETFD) >= 0 ? 5 : -1;
	struct tail_stream stream = {.key = key, .pipe_fd = pipe_fd};
	struct tail tail;
	char text[4096];
	uint64_t total;
	size_t len;

	tail_init(&tail);
	tail_open(&tail, 4);
	len = tail_read(&tail, &stream, text, sizeof(text), &total);
	tail_close(&tail);
	printf("%" PRIu64 "\n", total);
	return fwrite(text, 1, len, stdout) != len;
}

int
main(int argc, char **argv)
{
	const struct logd_fds fds = {
	    LOGD_FEED, LOGD_STATE, {LOGD_STAGING, LOGD_STAGING + 1}};

	if (argc == 3 && strcmp(argv[1], "tail") == 0)
		return print_tail(strtoull(argv[2], NULL, 10));
	if (argc == 2 && strcmp(argv[1], "state") == 0)
		return send_state();
	return argc == 2 && strcmp(argv[1], "run") == 0 ? logd_run(&fds) : 64;
}
