/* SPDX-License-Identifier: ISC */
/* gzip.c - pack and unpack, in a process that can do nothing else. */
#include "config.h"

#include "logd/write/gzip.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <zlib.h>

#include "os/self/confine.h"
#include "os/self/fd.h"

/* The form of gzip(1), with the largest window; the memory and the level are zlib's and
 * gzip's defaults. */
#define GZIP_WINDOW_BITS (16 + MAX_WBITS)
#define GZIP_MEMORY      8
#define CHUNK            (64 * 1024)

static unsigned char input[CHUNK], output[CHUNK];

static ssize_t
read_some(unsigned char *ret, size_t size)
{
	ssize_t n;

	do {
		n = read(STDIN_FILENO, ret, size);
	} while (n < 0 && errno == EINTR);
	return n;
}

/*
 * From stdin to stdout, until the input ends.  What is unpacked may be several packed
 * files, one behind the other.  Returns false for input that cannot be read, is not
 * packed, or not whole, and for output that cannot be written.
 */
static bool
pump(z_stream *stream, enum gzip_mode mode)
{
	int r = Z_OK;
	ssize_t n;

	do {
		n = read_some(input, sizeof(input));
		if (n < 0 || (n == 0 && mode == GZIP_UNPACK))
			return n == 0 && r == Z_STREAM_END;
		stream->next_in = input;
		stream->avail_in = (unsigned int)n;
		do {
			if (r == Z_STREAM_END)
				(void)inflateReset(stream);
			stream->next_out = output;
			stream->avail_out = sizeof(output);
			r = mode == GZIP_UNPACK
			        ? inflate(stream, Z_NO_FLUSH)
			        : deflate(stream, n == 0 ? Z_FINISH : Z_NO_FLUSH);
			if ((r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR) ||
			    fd_write_all(STDOUT_FILENO, output,
			                 sizeof(output) - stream->avail_out) < 0)
				return false;
		} while (stream->avail_in > 0 ||
		         (stream->avail_out == 0 && r != Z_STREAM_END));
	} while (n > 0);
	return true;
}

static bool
work(enum gzip_mode mode)
{
	z_stream stream = {.zalloc = Z_NULL};
	int r = mode == GZIP_UNPACK
	            ? inflateInit2(&stream, GZIP_WINDOW_BITS)
	            : deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED,
	                           GZIP_WINDOW_BITS, GZIP_MEMORY, Z_DEFAULT_STRATEGY);

	return r == Z_OK && pump(&stream, mode);
}

/* Keep these two descriptors alone, as stdin and stdout; false: that failed. */
static bool
take_descriptors(int in, int out)
{
	/* Neither is in the place of the other. */
	in = fcntl(in, F_DUPFD, STDERR_FILENO + 1);
	out = fcntl(out, F_DUPFD, STDERR_FILENO + 1);
	if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 ||
	    dup2(out, STDOUT_FILENO) < 0)
		return false;
	fd_close_strangers(STDERR_FILENO);
	return true;
}

/*
 * Start a process that packs or unpacks from one descriptor to the other.  It ends with
 * the caller, which waits for its end: status 0, or 1 where it has failed.  Returns its
 * pid or -errno.
 */
pid_t
gzip_start(enum gzip_mode mode, int in, int out)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGPIPE, SIG_DFL);
		if (getppid() != parent || !take_descriptors(in, out))
			_exit(1);
		/* With more rights than it needs it does the same. */
		(void)os_confine(CONFINE_GZIP, NULL);
		_exit(work(mode) ? 0 : 1);
	}
	return pid < 0 ? -errno : pid;
}
