/* SPDX-License-Identifier: ISC */
/* test_lint.c - what is legal and probably not meant, and what is neither. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "tests/conf/support.h"

#define SH "command: [/bin/sh]"

static const struct {
	const char *text;
	const char *place;
	const char *words;
} doubts[] = {
    {"children:\n  s:\n    intensity: {restarts: 5, within: 10s}\n    children:\n"
     "      a: {" SH ", backoff: {min: 1s, max: 60s}}\n",
     "3:38: warning: children.s.intensity.within",
     "5 restarts within 10s can never be exceeded by an actor that keeps failing: the "
     "backoff of `a` alone takes 1s + 2s + 4s + 8s + 16s = 31s, more than 10s"},
    {"children:\n  s:\n    intensity: {restarts: 1000, within: 1h}\n    children:\n"
     "      a: {" SH "}\n",
     "3:41: warning: children.s.intensity.within",
     "200ms + 400ms + 800ms + 1s600ms + 3s200ms + 6s400ms + … = 8h16m"},
    {"children:\n  s:\n    children:\n"
     "      a: {" SH ", backoff: {min: 50s, max: 60s}}\n",
     "2:3: warning: children.s.intensity.restarts", "= 4m50s, more than 1m"},
    {"children:\n  a: {" SH ", backoff: {min: 1s, max: 2s, reset_after: 1m}}\n",
     "2:68: warning: children.a.backoff.reset_after",
     "1m is outside of `min` to `max` (1s to 2s)"},
    {"decider:\n  - {when: {exit: [1]}, then: restart}\nchildren: {}\n",
     "2:3: warning: decider", "no rule for `any`"},
    {"decider:\n  - {when: any, then: restart}\n  - {when: {signal: [SEGV]}, then: "
     "stop}\n"
     "children: {}\n",
     "3:5: warning: decider[1]", "shadowed"},
    {"decider:\n  - {when: {exit: [1, 2]}, then: restart}\n"
     "  - {when: {exit: [3]}, then: restart}\n"
     "  - {when: {exit: [2, 3]}, then: stop}\n  - default\nchildren: {}\n",
     "4:5: warning: decider[2]", "shadowed"},
    {"decider:\n  - {when: {signal: [SEGV]}, then: restart}\n"
     "  - {when: {core: [SEGV]}, then: stop}\n  - default\nchildren: {}\n",
     "3:5: warning: decider[1]", "shadowed"},
    {"decider:\n  - default\n  - {when: killed, then: stop}\nchildren: {}\n",
     "3:5: warning: decider[1]", "shadowed"},
    {"templates: {t: {command: [sleep, \"${time}\"], with: {time: \"9\"}}}\n"
     "children:\n  a: {use: t, with: {tiem: \"5\"}}\n",
     "3:22: warning: children.a.with.tiem",
     "nothing uses the parameter `tiem`; did you mean `time`?"},
    {"children:\n  a: {" SH ", replicas: 2, with: {zebra: 1, yes: 2},\n"
     "      environment: {A: \"${yes}\"}}\n",
     "2:47: warning: children.a.with.zebra", "there is no ${…} with this name"},
    {"log: {directory: /etc/passwd/logs}\nchildren: {}\n", "1:18: warning: log.directory",
     "cannot write there"},
    {"log: {directory: /proc/logs}\nchildren: {}\n", "1:18: warning: log.directory",
     "cannot write there"},
    {"log: {directory: /sys/kernel/logs}\nchildren: {}\n", "1:18: warning: log.directory",
     "cannot write there"},
    {"children:\n  a: {command: echo hello}\n", "2:16: warning: children.a.command",
     "`echo` ends by itself, and is started again whenever it has, since the actor is "
     "permanent: write `restart: transient`"},
    {"children:\n  a: {command: [/bin/true]}\n", "2:16: warning: children.a.command",
     "`/bin/true` ends by itself"},
    {"children:\n  a: {command: [/bin/sh, -c, \"sleep 9 & \"]}\n",
     "2:16: warning: children.a.command", "write it without the `&`"},
    {"children:\n  a: {command: '/bin/sleep 9 | wc -l'}\n",
     "2:16: warning: children.a.command",
     "`|` is given to the program as it is, as no shell reads this; write `shell:`"},
    {"children:\n  a: {command: '/bin/sleep \"$NAP\"'}\n",
     "2:16: warning: children.a.command", "`$NAP` is given to the program as it is"},
    {"children:\n  a: {command: /bin/sleep 9 && true}\n",
     "2:16: warning: children.a.command", "`&&` is given"},
    {"children:\n  s:\n    auto_shutdown: any_significant\n    children:\n"
     "      a: {" SH ", restart: transient, significant: true}\n",
     "3:20: warning: children.s.auto_shutdown",
     "it is started again as soon as it has shut itself down"},
    {"children:\n  a: {" SH ", on_failure: [otp, {when: oom, then: stop}]}\n",
     "2:45: warning: children.a.on_failure[1]", "shadowed"},
    {"decider:\n  - {when: {exit: [75]}, then: resume}\n  - default\nchildren: {}\n",
     "2:1: warning: decider[0]", "`resume` after a cause that leaves no process"},
    {"children:\n  a: {" SH ", on_failure: [{when: {signal: [SEGV]}, then: resume}]}\n",
     "2:1: warning: children.a.on_failure[0]", "without `fd_store`"},
    {"children:\n  s:\n    shutdown: 10s\n    children:\n"
     "      a: {" SH ", shutdown: 6s}\n      b: {" SH "}\n",
     "3:15: warning: children.s.shutdown",
     "10s is less than the time that its children may take, 11s"},
    {"children:\n  a: {" SH ", watch: {/user/b: fail}}\n  bb: {" SH "}\n",
     "2:44: warning: children.a.watch./user/b",
     "there is no actor `/user/b` in this file, did you mean `/user/bb`?"},
    {"children:\n  a: {" SH ", watch: {b: fail}}\n  b: {" SH ", replicas: 2}\n",
     "2:38: warning: children.a.watch./user/b", "watch one of them, such as `/user/b@1`"},
    {"children:\n  a: {" SH ", watch: {a: fail}}\n", "2:35: warning: children.a.watch.a",
     "an actor is not told of its own end"},
    {"children:\n  a: {" SH ", watch: {b: fail}}\n  b: {" SH ", watch: {c: fail}}\n"
     "  c: {" SH ", watch: {a: fail, b: {stop: true}}}\n",
     "4:38: warning: children.c.watch./user/a",
     "a circle of death pacts: when one of them ends all do: /user/a -> /user/b -> "
     "/user/c -> /user/a"},
    {"children:\n  s:\n    shutdown: 10s\n    children:\n"
     "      t: {children: {a: {" SH ", shutdown: infinity}}}\n",
     "3:15: warning: children.s.shutdown", "children may take, infinity"},
    {"children:\n  s:\n    intensity: {restarts: 11, within: 1h}\n    children:\n"
     "      t:\n        intensity: {restarts: 10, within: 1h}\n        children: {}\n",
     "6:31: warning: children.s.children.t.intensity.restarts",
     "10 restarts here for each of 11 further up: together more than 100"},
    {"children:\n  a: {" SH ", ready: notify, start_timeout: infinity}\n",
     "2:57: warning: children.a.start_timeout", "READY=1"},
    {"children:\n  a: {" SH ", ready: {unix: /s}, start_timeout: infinity}\n",
     "2:61: warning: children.a.start_timeout", "with a probe that never succeeds"},
    {"children:\n  a: {" SH ", sockets: {s: {listen: 'unix:/s', rate: 5/s}}}\n",
     "2:60: warning: children.a.sockets.s.rate",
     "has no effect with `while_down: queue`"},
    {"children:\n  a: {" SH ", sockets: {s: 'unix:/s'}, health: {unix: /s}}\n",
     "2:60: warning: children.a.health",
     "supd itself keeps this socket open (`sockets.s`)"},
    {"children:\n  a: {" SH ", sockets: {s: 'tcp:*:80'}, ready: {tcp: '[::1]:80'}}\n",
     "2:60: warning: children.a.ready", "probe with `http` or `exec`"},
    {"children:\n  a: {" SH ", ready: exit, health: {unix: /s}}\n",
     "2:48: warning: children.a.health", "has no effect with `ready: exit`"},
    {"children:\n  a: {" SH ", health: {exec: [/nonexistent/x]}}\n",
     "2:42: warning: children.a.health.exec", "there is no program `/nonexistent/x`"},
    {"children:\n  a: {" SH ", ready: {exec: /etc/passwd}}\n",
     "2:41: warning: children.a.ready.exec", "is not an executable file"},
    {"children:\n  a:\n    command: [/nonexistent/x]\n",
     "3:14: warning: children.a.command", "there is no program `/nonexistent/x`"},
    {"children:\n  a:\n    command: [no-such-program-here]\n",
     "3:14: warning: children.a.command",
     "there is no program `no-such-program-here` in PATH"},
    {"children:\n  a:\n    command: [/etc/passwd]\n", "3:14: warning: children.a.command",
     "is not an executable file"},
    {"children:\n  a:\n    command: [sh]\n    environment: {PATH: /nonexistent}\n",
     "3:14: warning: children.a.command", "there is no program `sh` in PATH"},
    {"children:\n  a: {" SH ", log: {max_size: 100M}}\n",
     "2:43: warning: children.a.log.max_size",
     "all files together may have less (`total`, 50M) than one of them (`max_size`, "
     "100M)"},
    {"children:\n  a: {" SH ", log: {total: 5000}}\n",
     "2:40: warning: children.a.log.total",
     "all files together may have less (`total`, 5000) than one of them (`max_size`, "
     "10M)"},
    {"children:\n  a: {" SH ", directory: /nonexistent}\n",
     "2:38: warning: children.a.directory", "there is no directory `/nonexistent`"},
    {"children:\n  a: {" SH ", root: /, directory: /nonexistent}\n",
     "2:47: warning: children.a.directory",
     "there is no directory `/nonexistent` below /"},
    {"children:\n  a: {" SH ", root: /nonexistent, directory: /nonexistent}\n",
     "2:33: warning: children.a.root", "there is no directory `/nonexistent`"},
    {"children:\n  a: {" SH ", stdin: file:/nonexistent}\n",
     "2:34: warning: children.a.stdin", "there is no file `/nonexistent`"},
    {"children:\n  a: {" SH ", io_priority: {class: idle, level: 3}}\n",
     "2:61: warning: children.a.io_priority.level", "`idle` has no levels"},
    {"control: {observers: 7, mode: \"0660\"}\nchildren: {}\n",
     "1:31: warning: control.mode", "shuts the `observers` out"},
};

/* 51 169. */
START_TEST(each_doubt_is_one_warning)
{
	expect_fault(doubts[_i].text, doubts[_i].place, doubts[_i].words);
}
END_TEST

static const char *const fine[] = {
    /* used by a child, by one of two that share it, in an actor of a template */
    "templates: {t: {command: [sleep, \"${time}\"], with: {time: \"9\"}},\n"
    "  p: {children: {b: {use: t, with: {time: \"${n}\"}}}}}\n"
    "children:\n  a: {use: t, with: &w {time: \"${actor.name}\", n: \"5\"}}\n"
    "  c: {use: p, with: *w}\n  d: {use: p, with: {n: \"5\"}}\n",
    /* 0.2 + 0.4 + 0.8 + 1.6 + 3.2 = 6.2 s: reached well within 60 s */
    "children:\n  s:\n    children:\n      a: {" SH "}\n",
    "children:\n  s:\n    intensity: {restarts: 5, within: 10s}\n    children:\n"
    "      a: {" SH ", backoff: {min: 1s, max: 60s}}\n      b: {" SH ", backoff: none}\n",
    "children:\n  s:\n    intensity: {restarts: 5, within: 10s}\n    children:\n"
    "      a: {" SH ", backoff: {min: 1s, max: 60s}, restart: temporary}\n",
    "intensity: {restarts: 9, within: infinity}\nchildren:\n"
    "  a: {" SH ", backoff: {min: 60s, max: 60s}}\n",
    "decider:\n  - {when: {core: [SEGV]}, then: restart}\n"
    "  - {when: {signal: [SEGV]}, then: stop}\n  - default\nchildren: {}\n",
    "children:\n  a: {" SH ", watch: {b: fail}}\n  b: {" SH
    ", watch: {c: fail, a: {restart: true}}}\n  c: {" SH
    ", watch: {/system/log: fail}}\n",
    "children:\n  a: {" SH ", watch: {b: fail, /user/b: fail}}\n  b: {" SH "}\n",
    "children:\n  a: {" SH ", sockets: {s: 'tcp:127.0.0.1:80', u: 'unix:/s'}, ready: "
    "{http: 'http://127.0.0.1/'}, health: {tcp: '127.0.0.2:80'}}\n",
    "decider:\n  - {when: {exit: [1]}, then: restart}\n  - {when: any, then: stop}\n"
    "  - {when: normal, then: restart}\nchildren: {}\n",
    "decider:\n  - {when: {watchdog, health}, then: resume}\n  - escalating\nchildren: "
    "{}\n",
    "children:\n  a: {" SH ", on_failure: [{when: {exit: [1]}, then: stop}]}\n",
    "children:\n  s:\n    shutdown: 6s\n    stop: parallel\n    children:\n"
    "      a: {" SH ", shutdown: 6s}\n      b: {" SH "}\n",
    "children:\n  s:\n    shutdown: 5s\n    children:\n"
    "      a: {" SH ", shutdown: brutal_kill}\n      b: {" SH "}\n",
    "children:\n  s:\n    intensity: {restarts: 10, within: 1h}\n    children:\n"
    "      t:\n        intensity: {restarts: 10, within: 1h}\n        children: {}\n",
    "children:\n  a: {command: [sh]}\n  b: {command: [/bin/sh]}\n"
    "  c: {command: \"/bin/sleep 'a | b' \\\\> x?a=1&b=2\"}\n",
    "children:\n  a: {command: [sh], root: /, directory: /bin, stdin: file:/dev/zero}\n",
    "children:\n  a: {command: [sh], clear_environment: true}\n",
    "control: {observers: 7}\nchildren: {}\n",
};

START_TEST(what_is_fine_gives_no_warning)
{
	expect_warnings(fine[_i], "");
}
END_TEST

START_TEST(without_the_wish_there_are_no_warnings)
{
	expect_errors("control: {observers: 7, mode: \"0660\"}\n"
	              "decider: [{when: {exit: [1]}, then: resume}]\n"
	              "children: {a: {command: [/nonexistent/x]}}\n",
	              "");
}
END_TEST

Suite *
suite_lint(void)
{
	Suite *suite = suite_create("lint");
	TCase *tcase = new_case("lint");

	tcase_add_loop_test(tcase, each_doubt_is_one_warning, 0, (int)ARRAY_SIZE(doubts));
	tcase_add_loop_test(tcase, what_is_fine_gives_no_warning, 0,
	                    (int)ARRAY_SIZE(fine));
	tcase_add_test(tcase, without_the_wish_there_are_no_warnings);
	suite_add_tcase(suite, tcase);
	return suite;
}
