/* SPDX-License-Identifier: ISC */
/* test_files.c - files that a child opens for itself: as its user, and only what is
 * meant.
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process/reap.h"
#include "os/self/fd.h"
#include "os/spawn/spawn.h"
#include "tests/lib/check_main.h"

#define NOBODY 65534
#define OTHER  65533

static char directory[64];
static struct spawner spawner;
static char room[1024];
static char text_read[1024];
static char paths[64][PATH_MAX];
static unsigned int next_path;

/* The shell that most tests start. */
static const int fds[] = {-1, -1, -1};
static char sh[] = "/bin/sh", dash_c[] = "-c", script_text[256];
static char *sh_argv[] = {sh, dash_c, script_text, NULL};
static char *sh_envp[2];

static void
set_up(void)
{
	(void)snprintf(directory, sizeof(directory), "/tmp/test_files.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_int_eq(chmod(directory, 0777), 0);
	ck_assert_int_eq(os_spawn_init(&spawner, NULL), 0);
	/* A busy machine is no fault of a child. */
	spawner.patience_ms = 600000;
}

static void
tear_down(void)
{
	char command[128];

	os_spawn_done(&spawner);
	(void)snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

static const char *
in(const char *name)
{
	char *path = paths[next_path++ % 64];

	(void)snprintf(path, PATH_MAX, "%s/%s", directory, name);
	return path;
}

/* A file with a text; its owner only where this is root. */
static void
make(const char *name, const char *text, uid_t owner, mode_t mode)
{
	FILE *file = fopen(in(name), "we");

	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod(in(name), mode), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(chown(in(name), owner, owner), 0);
}

static const char *
content(const char *name)
{
	FILE *file = fopen(in(name), "re");
	size_t n;

	ck_assert_ptr_nonnull(file);
	n = fread(text_read, 1, sizeof(text_read) - 1, file);
	text_read[n] = '\0';
	ck_assert_int_eq(fclose(file), 0);
	return text_read;
}

/* What most tests start from: a shell, as an ordinary user. */
static struct spawn
plain(const char *script)
{
	(void)snprintf(script_text, sizeof(script_text), "%s", script);
	sh_envp[0] = NULL;
	return (struct spawn){
	    .file = sh,
	    .argv = sh_argv,
	    .envp = sh_envp,
	    .fds = fds,
	    .n_fds = 3,
	    .cgroup_fd = -1,
	    .has_ids = geteuid() == 0,
	    .uid = NOBODY,
	    .gid = NOBODY,
	    .umask = SPAWN_UMASK_INHERIT,
	};
}

static void
assert_runs(const struct spawn *spawn)
{
	struct spawn_result child;
	struct reap end;
	int r = os_spawn(&spawner, spawn, &child);

	ck_assert_msg(r == 0, "%s: %s", spawn_step_names[child.step], strerror(-r));
	ck_assert_int_eq(os_reap_wait(child.pidfd, child.pid, 60000, &end), 1);
	ck_assert_int_eq(end.status, 0);
	(void)close(child.pidfd);
}

static const char *said;

static void
assert_fails(const struct spawn *spawn, int code, const char *step)
{
	struct spawn_result child;
	int r = os_spawn(&spawner, spawn, &child);

	said = child.said;
	ck_assert_msg(r == -code, "%s: %s, not %s", spawn->files[1], strerror(-r),
	              strerror(code));
	ck_assert_str_eq(spawn_step_names[child.step], step);
	ck_assert_int_eq(child.pid, -1);
}

/* What the actor cannot have meant is not read from this path, where nothing is yet. */
static void
assert_reads_none_of_others(const struct spawn *spawn, const char *name, const char *step)
{
	make("first", "KEY=value", NOBODY, 0644);
	ck_assert_int_eq(link(in("first"), in(name)), 0);
	assert_fails(spawn, EMLINK, step);
	ck_assert_int_eq(unlink(in(name)), 0);
	ck_assert_int_eq(mkdir(in(name), 0755), 0);
	assert_fails(spawn, EINVAL, step);
	ck_assert_int_eq(rmdir(in(name)), 0);
}

static void
assert_output_fails(const char *name, int code)
{
	struct spawn spawn = plain("echo hello");

	spawn.files[1] = in(name);
	assert_fails(&spawn, code, "open output");
	spawn.is_apart = true;
	assert_fails(&spawn, code, "open output");
}

START_TEST(output_is_made_with_its_directories_as_the_user_and_appended_to)
{
	struct spawn spawn = plain("echo one; echo two >&2");
	struct stat st;

	spawn.files[1] = spawn.files[2] = in("a/b/out");
	assert_runs(&spawn);
	assert_runs(&spawn);
	ck_assert_str_eq(content("a/b/out"), "one\ntwo\none\ntwo\n");
	ck_assert_int_eq(stat(in("a/b/out"), &st), 0);
	ck_assert_uint_eq(st.st_mode, S_IFREG | (0640 & ~022));
	ck_assert_uint_eq(st.st_uid, geteuid() == 0 ? NOBODY : geteuid());
}
END_TEST

START_TEST(two_outputs_are_two_files)
{
	struct spawn spawn = plain("echo one; echo two >&2");

	make("out", "zero\n", NOBODY, 0644);
	spawn.files[1] = in("out");
	spawn.files[2] = in("err");
	assert_runs(&spawn);
	ck_assert_str_eq(content("out"), "zero\none\n");
	ck_assert_str_eq(content("err"), "two\n");
}
END_TEST

START_TEST(links_in_the_path_are_not_followed)
{
	make("secret", "secret\n", 0, 0666);
	ck_assert_int_eq(symlink(in("secret"), in("link")), 0);
	ck_assert_int_eq(symlink(in("nothing"), in("dangling")), 0);
	ck_assert_int_eq(mkdir(in("directory"), 0777), 0);
	assert_output_fails("link", ELOOP);
	assert_output_fails("dangling", ELOOP);
	assert_output_fails("directory", EISDIR);
	ck_assert_int_eq(link(in("secret"), in("hard")), 0);
	assert_output_fails("hard", EMLINK);
	ck_assert_int_eq(unlink(in("hard")), 0);
	ck_assert_int_eq(mkfifo(in("pipe"), 0666), 0);
	ck_assert_int_eq(chmod(in("pipe"), 0666), 0);
	assert_output_fails("pipe", ENXIO);
	ck_assert_str_eq(content("secret"), "secret\n");
}
END_TEST

START_TEST(devices_are_what_they_are)
{
	struct spawn spawn = plain("test ! -s /dev/stdin; read x && exit 1; echo hello");

	spawn.files[0] = "/dev/null";
	spawn.files[1] = "/dev/null";
	assert_runs(&spawn);
}
END_TEST

START_TEST(input_is_read_from_its_beginning_and_a_pipe_has_no_end)
{
	struct spawn spawn = plain("read x; echo $x");
	int fd;

	make("in", "first\nsecond\n", NOBODY, 0400);
	spawn.files[0] = in("in");
	spawn.files[1] = in("out");
	assert_runs(&spawn);
	ck_assert_str_eq(content("out"), "first\n");
	ck_assert_int_eq(symlink(in("in"), in("link")), 0);
	spawn.files[0] = in("link");
	assert_fails(&spawn, ELOOP, "open stdin");
	spawn.files[0] = in("nowhere");
	assert_fails(&spawn, ENOENT, "open stdin");
	assert_reads_none_of_others(&spawn, "nowhere", "open stdin");

	/* Opened without a writer; the bytes of a writer that left are there. */
	ck_assert_int_eq(mkfifo(in("pipe"), 0666), 0);
	ck_assert_int_eq(chmod(in("pipe"), 0666), 0);
	fd = open(in("pipe"), O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(write(fd, "piped\n", 6), 6);
	spawn.files[0] = in("pipe");
	assert_runs(&spawn);
	(void)close(fd);
	ck_assert_str_eq(content("out"), "first\npiped\n");
}
END_TEST

START_TEST(with_a_root_of_its_own_the_paths_count_from_ours)
{
	struct spawn spawn = plain("echo below");
	char command[512];

	CHECK_NEEDS(geteuid() == 0, "root");
	(void)snprintf(command, sizeof(command),
	               "cd %s && mkdir -p r/bin && cp /bin/sh r/bin && for f in "
	               "$(ldd /bin/sh | grep -o '/[^ ]*'); do mkdir -p r$(dirname $f) "
	               "&& cp $f r$f; done && ln -s %s absolute",
	               directory, directory);
	ck_assert_int_eq(system(command), 0);
	spawn.root = in("r");
	/* Also behind a link in the middle that begins at the root. */
	spawn.files[1] = in("absolute/out");
	assert_runs(&spawn);
	ck_assert_str_eq(content("out"), "below\n");
}
END_TEST

/* ---- environment files ------------------------------------------------------------- */

static char variable[256];

static int
on_file(void *data, const char *path, char *text, size_t len, struct err *err)
{
	(void)data;
	(void)path;
	if (text[0] == '!') {
		err_set(err, 0, "it begins with %c", '!');
		return -EINVAL;
	}
	memcpy(variable, text, len + 1);
	sh_envp[0] = variable;
	sh_envp[1] = NULL;
	return 0;
}

static struct spawn
with_files(char **files)
{
	struct spawn spawn = plain("echo $KEY");

	spawn.environment_files = files;
	spawn.on_file = on_file;
	spawn.room = room;
	spawn.room_size = sizeof(room);
	spawn.files[1] = in("out");
	return spawn;
}

START_TEST(environment_files_are_read_by_the_child_as_its_user)
{
	char *files[] = {strdup(in("variables")), NULL};
	char *optional[] = {malloc(PATH_MAX), NULL};
	struct spawn spawn = with_files(files);

	make("variables", "KEY=value", 0, 0644);
	spawn.is_apart = _i != 0;
	assert_runs(&spawn);
	ck_assert_str_eq(content("out"), "value\n");
	make("variables", "!", 0, 0644);
	assert_fails(&spawn, EINVAL, "environment_file");
	ck_assert_str_eq(said, "it begins with !");
	ck_assert_int_eq(unlink(files[0]), 0);
	assert_fails(&spawn, ENOENT, "environment_file");
	ck_assert_ptr_nonnull(strstr(said, "variables"));
	assert_reads_none_of_others(&spawn, "variables", "environment_file");
	ck_assert_int_eq(symlink("/etc/passwd", files[0]), 0);
	assert_fails(&spawn, ELOOP, "environment_file");
	ck_assert_int_eq(unlink(files[0]), 0);
	ck_assert_int_eq(mkfifo(files[0], 0666), 0);
	assert_fails(&spawn, EINVAL, "environment_file");
	(void)snprintf(optional[0], PATH_MAX, "-%s", in("nowhere"));
	spawn.environment_files = optional;
	sh_envp[0] = NULL;
	assert_runs(&spawn);
	ck_assert_int_eq(unlink(files[0]), 0);
	make("variables", "", 0, 0644);
	ck_assert_int_eq(truncate(files[0], sizeof(room)), 0);
	spawn.environment_files = files;
	assert_fails(&spawn, EFBIG, "environment_file");
	free(files[0]);
	free(optional[0]);
}
END_TEST

/* ---- files of other users ---------------------------------------------------------- */

START_TEST(no_output_goes_into_a_file_of_another_user_or_below_a_closed_directory)
{
	CHECK_NEEDS(geteuid() == 0, "root");
	make("others", "", OTHER, 0666);
	assert_output_fails("others", EPERM);
	make("roots", "", 0, 0600);
	assert_output_fails("roots", EACCES);
	ck_assert_int_eq(mkdir(in("closed"), 0755), 0);
	assert_output_fails("closed/out", EACCES);
	assert_output_fails("closed/a/out", EACCES);
}
END_TEST

START_TEST(no_input_comes_from_a_file_of_a_third_user)
{
	struct spawn spawn = plain("read x");

	CHECK_NEEDS(geteuid() == 0, "root");
	make("in", "text", OTHER, 0644);
	spawn.files[0] = in("in");
	assert_fails(&spawn, EPERM, "open stdin");
}
END_TEST

START_TEST(no_environment_comes_from_a_file_of_a_third_user_or_of_root_alone)
{
	char path[PATH_MAX];
	char *files[] = {path, NULL};
	struct spawn spawn = with_files(files);

	CHECK_NEEDS(geteuid() == 0, "root");
	(void)snprintf(path, sizeof(path), "%s", in("variables"));
	spawn.is_apart = _i != 0;
	make("variables", "KEY=value", OTHER, 0644);
	assert_fails(&spawn, EPERM, "environment_file");
	make("variables", "KEY=secret", 0, 0600);
	assert_fails(&spawn, EACCES, "environment_file");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("files");
	TCase *tcase = tcase_create("files");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase,
	               output_is_made_with_its_directories_as_the_user_and_appended_to);
	tcase_add_test(tcase, two_outputs_are_two_files);
	tcase_add_test(tcase, links_in_the_path_are_not_followed);
	tcase_add_test(tcase, devices_are_what_they_are);
	tcase_add_test(tcase, input_is_read_from_its_beginning_and_a_pipe_has_no_end);
	tcase_add_test(tcase, with_a_root_of_its_own_the_paths_count_from_ours);
	tcase_add_loop_test(tcase, environment_files_are_read_by_the_child_as_its_user, 0,
	                    2);
	tcase_add_test(
	    tcase,
	    no_output_goes_into_a_file_of_another_user_or_below_a_closed_directory);
	tcase_add_test(tcase, no_input_comes_from_a_file_of_a_third_user);
	tcase_add_loop_test(
	    tcase, no_environment_comes_from_a_file_of_a_third_user_or_of_root_alone, 0,
	    2);
	suite_add_tcase(suite, tcase);
	return check_run(srunner_create(suite));
}
