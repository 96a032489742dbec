/* SPDX-License-Identifier: ISC */
/* test_faults.c - every fault is found, at its place, with a sentence that helps. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "tests/conf/support.h"

/* A fault and its report: the place, and words that the sentence must have. */
static const struct {
	const char *text;
	const char *place;
	const char *words;
} faults[] = {
    /* keys */
    {"children:\n  a:\n    comand: [x]\n", "3:5: error: children.a.comand",
     "unknown key `comand`, did you mean `command`?"},
    {"strategie: one_for_one\nchildren: {}\n", "1:1: error: strategie",
     "did you mean `strategy`?"},
    {"children: {}\nxyzzyplugh: 1\n", "2:1: error: xyzzyplugh",
     "unknown key `xyzzyplugh`; supd.yaml(5) describes all keys"},
    {"children: {a: {command: [x], backoff: {wibble: 1s}}}\n",
     "1:40: error: children.a.backoff.wibble",
     "there are: min, max, factor, jitter, reset_after, reset, on"},
    {"children: {}\nuser: root\n", "2:1: error: user",
     "`user` is not a key of the top level"},
    {"children: {a: {command: [x], strategy: one_for_one}}\n",
     "1:30: error: children.a.strategy", "this actor has no `children`"},
    {"children: {a: {children: {}, user: root}}\n", "1:30: error: children.a.user",
     "a key of actors with a `command`"},
    {"children: {a: {command: [x], control: {}}}\n", "1:30: error: children.a.control",
     "belongs at the top level"},
    {"children: {}\ndefaults: {command: [x]}\n", "2:12: error: defaults.command",
     "cannot stand in `defaults`"},
    {"children: {}\ntemplates: {t: {use: u}}\n", "2:17: error: templates.t.use",
     "cannot stand in a template"},
    /* 129: twice the same target */
    {"children:\n  a: {command: [x]}\n  b: {command: [x], watch: {a: fail, /user/a: "
     "{stop: "
     "true}}}\n",
     "3:38: error: children.b.watch./user/a",
     "`/user/a` is watched twice, with different reactions; keep one of them"},
    {"children:\n  a: {command: [x]}\n"
     "  b: {command: [x], watch: {a: {signal: HUP}, /user/a: {signal: USR1}}}\n",
     "3:47: error: children.b.watch./user/a", "is watched twice"},
    {"children: {a: {command: [x], watch: {b: {stop: true, restart: true}}}}\n",
     "1:41: error: children.a.watch.b", "one reaction, not 2"},
    {"children:\n  a: {command: [x]}\n"
     "  b: {command: [x], watch: {a: {run: [x, y]}, /user/a: {run: x}}}\n",
     "3:47: error: children.b.watch./user/a", "is watched twice"},
    {"children: {a: {command: [x], watch: {b: {run: []}}}}\n",
     "1:47: error: children.a.watch.b.run", "the command is empty"},
    {"children: {a: {command: [x], watch: {b: {run: 'x \"'}}}}\n",
     "1:47: error: children.a.watch.b.run", "quote"},
    {"children: {a: {command: [x], watch: {b: {}}}}\n", "1:41: error: children.a.watch.b",
     "one reaction, not 0"},
    {"children: {a: {command: [x], watch: {b: die}}}\n",
     "1:41: error: children.a.watch.b", "`die` is not allowed here"},
    {"children: {a: {command: [x], watch: {b: {stop: false}}}}\n",
     "1:48: error: children.a.watch.b.stop", "write `true`"},
    {"children: {a: {children: {}, watch: {b: {signal: HUP}}}}\n",
     "1:41: error: children.a.watch.b", "a supervisor has no process"},
    /* O-40: a permanent one never ends by itself */
    {"children: {s: {auto_shutdown: any_significant, children: {a: {command: [x], "
     "significant: true}}}}\n",
     "1:90: error: children.s.children.a.significant",
     "a permanent actor never ends by itself"},
    /* 122 */
    {"children:\n  a: {command: [x], restart: transient, significant: true}\n",
     "2:54: error: children.a.significant",
     "`significant` has no effect where the supervisor's `auto_shutdown` is `never`"},
    {"children:\n  s:\n    auto_shutdown: any_significant\n    children:\n"
     "      a: {command: [x], restart: transient, significant: true, replicas: 2}\n",
     "5:58: error: children.s.children.a.significant",
     "one of several instances cannot end their supervisor"},
    /* forms */
    {"children:\n", "1:10: error: children", "nothing is not allowed here"},
    {"children: [a]\n", "1:11: error: children", "a list is not allowed here"},
    {"children: {a: }\n", "1:15: error: children.a",
     "nothing is written here; write a mapping with `command`"},
    {"children: {a: x}\n", "1:15: error: children.a", "a text is not an actor"},
    {"children: {a: {command: }}\n", "1:25: error: children.a.command",
     "nothing is written here"},
    {"children: {a: {command: {b: c}}}\n", "1:25: error: children.a.command",
     "a mapping is not allowed here; write a list of texts"},
    {"children: {a: {command: []}}\n", "1:25: error: children.a.command",
     "the command is empty"},
    {"children: {a: {command: [\"\"]}}\n", "1:25: error: children.a.command",
     "the command is empty"},
    {"children: {a: {command: [[x]]}}\n", "1:26: error: children.a.command[0]",
     "a list is not allowed here"},
    {"children: {a: {command: \"x 'y\"}}\n", "1:25: error: children.a.command",
     "the quote ' before `y` is not closed"},
    {"children: {a: {}}\n", "1:12: error: children.a", "`command` is missing"},
    {"children: {a: {command: [x], ready: exit, children: {}}}\n",
     "1:37: error: children.a.ready", "`exit` is for actors without `children`"},
    {"children: {a/b: {command: [x]}}\n", "1:12: error: children.a/b",
     "cannot be the name of an actor"},
    {"children: {-a: {command: [x]}}\n", "1:12: error: children.-a",
     "cannot be the name of an actor"},
    {"children: {x: {command: [y], replicas: 2}, x@7: {command: [y]}}\n",
     "1:44: error: children.x@7", "`x@7` is a name of the replicas of `x` (line 1)"},
    {"children: {x: {command: [y], replicas: many}}\n",
     "1:40: error: children.x.replicas", "write a number from 0 to 100000"},
    /* scalars */
    {"children: {a: {command: [x], shutdown: 5}}\n", "1:40: error: children.a.shutdown",
     "`5` has no unit: write 5s, not 5, for seconds, 5ms for milliseconds"},
    {"children: {a: {command: [x], shutdown: -5s}}\n", "1:40: error: children.a.shutdown",
     "`-5s` is not allowed here; write a duration such as 5s, `brutal_kill` or"},
    {"children: {a: {command: [x], shutdown: 400000d}}\n",
     "1:40: error: children.a.shutdown", "longer than 100 years"},
    {"children: {a: {command: [x], shutdown: brutal}}\n",
     "1:40: error: children.a.shutdown", "`brutal` is not allowed here"},
    {"children: {a: {command: [x], enabled: yes}}\n", "1:39: error: children.a.enabled",
     "write `true` or `false`"},
    {"children: {a: {command: [x], restart: always}}\n",
     "1:39: error: children.a.restart",
     "did you mean `permanent`? Write `permanent`, `transient`, `temporary` or `never`"},
    {"children: {a: {command: [x], restart: no}}\n", "1:39: error: children.a.restart",
     "did you mean `never`?"},
    {"children: {a: {command: [x], restart: \"no\"}}\n",
     "1:39: error: children.a.restart", "did you mean `never`?"},
    {"children: {a: {command: [x], restart: false}}\n", "1:39: error: children.a.restart",
     "did you mean `never`?"},
    {"children: {a: {command: [x], restart: on-failure}}\n",
     "1:39: error: children.a.restart", "did you mean `transient`?"},
    {"children: {}\nstrategy: all_for_one\n", "2:11: error: strategy",
     "did you mean `one_for_all`?"},
    {"children: {a: {command: [x], env: {A: b}}}\n", "1:30: error: children.a.env",
     "unknown key `env`, did you mean `environment`?"},
    {"children: {a: {command: [x], depends_on: [b]}}\n",
     "1:30: error: children.a.depends_on", "did you mean `needs`?"},
    {"children: {a: {command: [x], autorestart: no}}\n",
     "1:30: error: children.a.autorestart", "did you mean `restart`?"},
    {"children: {a: {command: [x], max_restarts: 3}}\n",
     "1:30: error: children.a.max_restarts",
     "unknown key `max_restarts`: its supervisor has `limit`"},
    {"children: {a: {children: {}, max_restarts: 3}}\n",
     "1:30: error: children.a.max_restarts", "did you mean `limit`?"},
    {"children: {a: {command: [x], priority: 3}}\n", "1:30: error: children.a.priority",
     "unknown key `priority`: children start in the order of the file"},
    {"children: {a: {command: [x], ports: [80]}}\n", "1:30: error: children.a.ports",
     "did you mean `sockets`?"},
    {"web:\n  command: x\n", "1:1: error: web",
     "did you mean an actor below `children`?"},
    {"child:\n  web: {command: x}\n", "1:1: error: child",
     "unknown key `child`; actors stand below `children`"},
    {"web: node index.js\n", "1:1: error: web",
     "for a Procfile 'supd --init procfile FILE' prints what it is here"},
    {"children: {}\nintensity: {restarts: 1, period: 5s}\n",
     "2:26: error: intensity.period", "did you mean `within`?"},
    {"children: {}\nlimit: {maxNrOfRetries: 1, within: 5s}\n",
     "2:9: error: limit.maxNrOfRetries", "did you mean `restarts`?"},
    {"children: {a: {command: [x], backoff: {randomFactor: 0.2}}}\n",
     "1:40: error: children.a.backoff.randomFactor", "did you mean `jitter`?"},
    {"children: {a: {command: [x]}}\nexit_code_from: b\n", "2:17: error: exit_code_from",
     "there is no actor `/user/b`"},
    {"children: {a: {command: [x]}}\nexit_code_from: /user\n",
     "2:17: error: exit_code_from", "write the path of one"},
    {"children: {a: {command: [x], exit_code_from: a}}\n",
     "1:30: error: children.a.exit_code_from", "belongs at the top level"},
    {"services: {}\n", "1:1: error: services", "did you mean `children`?"},
    {"children: {a: {command: [x], restart: transiemt}}\n",
     "1:39: error: children.a.restart", "did you mean `transient`?"},
    {"children: {a: {command: [x], stop_signal: TREM}}\n",
     "1:43: error: children.a.stop_signal", "`TREM` is no signal"},
    {"children: {a: {command: [x], stop_signal: RTMIN+31}}\n",
     "1:43: error: children.a.stop_signal", "`RTMIN+31` is no signal"},
    {"children: {a: {command: [x], stop_signal: RTMAX+1}}\n",
     "1:43: error: children.a.stop_signal", "`RTMAX+1` is no signal"},
    {"children: {a: {command: [x], umask: 0022}}\n", "1:37: error: children.a.umask",
     "an octal mode stands in quotes: write \"0022\""},
    {"children: {a: {command: [x], umask: \"0099\"}}\n", "1:37: error: children.a.umask",
     "an octal mode in quotes"},
    {"children: {a: {command: [x], directory: ~joe}}\n",
     "1:41: error: children.a.directory", "only the home of supd's own user"},
    {"children: {a: {command: [x], shell: x}}\n", "1:37: error: children.a.shell",
     "an actor has a `shell` or a `command`, not both"},
    {"log: {when_full: drop}\nchildren: {}\n", "1:7: error: log.when_full",
     "it belongs to the `log` of an actor, or to that of `defaults`"},
    {"children: {a: {shell: 'echo ${nope}'}}\n", "1:23: error: children.a.shell",
     "`${nope}` is not defined"},
    {"templates: {t: {shell: 'x ${nope}'}}\nchildren: {a: {use: t}}\n",
     "1:24: error: children.a.shell", "`${nope}` is not defined"},
    {"children: {a: {shell: [x, y]}}\n", "1:23: error: children.a.shell",
     "a list is not allowed here; write a text"},
    {"children: {a: {command: [x], user: no-such-user-here}}\n",
     "1:36: error: children.a.user", "there is no user `no-such-user-here`"},
    {"children: {a: {command: [x], group: no-such-group-here}}\n",
     "1:37: error: children.a.group", "there is no group `no-such-group-here`"},
    {"children: {a: {command: [x], user: \"4000000001\"}}\n",
     "1:36: error: children.a.user", "write `group` too"},
    {"children: {a: {command: [x], environment: {A=B: c}}}\n",
     "1:44: error: children.a.environment", "`A=B` cannot be a name here"},
    {"children: {a: {command: [x], environment: {A: }}}\n",
     "1:47: error: children.a.environment.A", "nothing is written here"},
    {"children: {a: {command: [x], limits: {nofiles: 5}}}\n",
     "1:39: error: children.a.limits.nofiles", "did you mean `nofile`?"},
    {"children: {a: {command: [x], limits: {nofile: many}}}\n",
     "1:47: error: children.a.limits.nofile", "a number such as 65536"},
    {"children: {a: {command: [x], limits: {nofile: \"9:5\"}}}\n",
     "1:47: error: children.a.limits.nofile", "the soft limit is above the hard one"},
    {"children: {a: {command: [x], success: {exit: [256]}}}\n",
     "1:47: error: children.a.success.exit[0]", "an exit code from 0 to 255"},
    {"children: {a: {command: [x], success: {exit: [78-64]}}}\n",
     "1:47: error: children.a.success.exit[0]", "runs backwards"},
    {"children: {a: {command: [x], success: {exit: [tempfall]}}}\n",
     "1:47: error: children.a.success.exit[0]", "`tempfall` is not allowed here"},
    {"children: {a: {command: [x], output: logg}}\n", "1:38: error: children.a.output",
     "did you mean `log`?"},
    {"children: {a: {command: [x], output: \"file:\"}}\n",
     "1:38: error: children.a.output", "file:PATH or pipe:ACTOR"},
    /* backoff, intensity, limit */
    {"children: {a: {command: [x], backoff: {min: 5s, max: 1s}}}\n",
     "1:39: error: children.a.backoff", "`max` (1s) is smaller than `min` (5s)"},
    {"children: {a: {command: [x], backoff: {min: 0s}}}\n",
     "1:45: error: children.a.backoff.min", "must be longer than 0s"},
    {"children: {a: {command: [x], backoff: {max: infinity}}}\n",
     "1:45: error: children.a.backoff.max", "`infinity` is not allowed here"},
    {"children: {a: {command: [x], backoff: {min: 40s}}}\n",
     "1:39: error: children.a.backoff", "`max` (30s) is smaller than `min` (40s)"},
    {"children: {a: {command: [x], backoff: {jitter: 1.5}}}\n",
     "1:48: error: children.a.backoff.jitter", "a number from 0 to 1"},
    {"children: {a: {command: [x], backoff: {factor: 0.9}}}\n",
     "1:48: error: children.a.backoff.factor", "a number from 1 to 100"},
    {"children: {a: {command: [x], backoff: {factor: 100.001}}}\n",
     "1:48: error: children.a.backoff.factor", "a number from 1 to 100"},
    {"children: {a: {command: [x], backoff: {factor: 1.2345}}}\n",
     "1:48: error: children.a.backoff.factor", "more than three decimals"},
    {"children: {}\nintensity: {restarts: 1, within: 0s}\n",
     "2:34: error: intensity.within", "must be longer than 0s"},
    {"children: {}\nintensity: {restarts: 10001}\n", "2:23: error: intensity.restarts",
     "a number from 0 to 10000"},
    {"children: {}\nintensity: unlimitted\n", "2:12: error: intensity",
     "did you mean `unlimited`?"},
    {"children: {}\nlimit: {within: 5s}\n", "2:8: error: limit", "`restarts` is missing"},
    {"children: {}\nlimit: {restarts: -1, within: 5s}\n", "2:19: error: limit",
     "`restarts: -1` is no limit"},
    {"children: {}\nlimit: {restarts: -2}\n", "2:19: error: limit.restarts",
     "or -1 for no limit"},
    /* deciders */
    {"children: {}\ndecider: otpp\n", "2:10: error: decider", "did you mean `otp`?"},
    {"children: {}\ndecider:\n  - {when: {exti: [1]}, then: stop}\n",
     "3:13: error: decider[0].when.exti", "did you mean `exit`?"},
    {"children: {}\ndecider:\n  - {when: any, then: retry}\n",
     "3:23: error: decider[0].then", "`resume`, `restart`, `stop` or `escalate`"},
    {"children: {}\ndecider:\n  - {when: any}\n", "3:5: error: decider[0]",
     "`then` is missing"},
    {"children: {}\ndecider:\n  - {then: stop}\n", "3:5: error: decider[0]",
     "`when` is missing"},
    {"children: {}\ndecider:\n  - {when: [], then: stop}\n", "3:12: error: decider[0]",
     "matches nothing"},
    {"children: {}\ndecider:\n  - {when: {exec: [ENOSUCH]}, then: stop}\n",
     "3:20: error: decider[0].when.exec[0]", "the name of a system error"},
    {"children: {}\ndecider:\n  - {when: any, then: stop, backoff: {reset: auto}}\n",
     "3:39: error: decider[0].backoff.reset", "there are: min, max, factor, jitter"},
    {"children: {}\ndecider:\n"
     "  - {when: any, then: stop, backoff: {min: 2s, max: 1s}}\n",
     "3:38: error: decider[0]", "`max` is smaller than `min`"},
    /* readiness */
    {"children: {a: {command: [x], ready: exit, restart: permanent}}\n",
     "1:52: error: children.a.restart", "contradicts `ready: exit`"},
    {"children: {a: {command: [x], ready: {}}}\n", "1:37: error: children.a.ready",
     "nothing says how it is asked; write `exec`, `notify`, `exit`, {after: 5s}"},
    {"children: {a: {command: [x], ready: exce}}\n", "1:37: error: children.a.ready",
     "did you mean `exec`?"},
    /* probes */
    {"children: {a: {command: [x], ready: {after: 1s, interval: 1s}}}\n",
     "1:49: error: children.a.ready.interval", "with `after` there are none"},
    {"children: {a: {command: [x], ready: {tcp: 'localhost:80', exec: [x]}}}\n",
     "1:37: error: children.a.ready", "both `tcp` and `exec`; keep one of them"},
    {"children: {a: {command: [x], ready: {tcp: 'localhost'}}}\n",
     "1:43: error: children.a.ready.tcp", "no port from 1 to 65535; write ADDRESS:PORT"},
    {"children: {a: {command: [x], ready: {tcp: 'localhost:0'}}}\n",
     "1:43: error: children.a.ready.tcp", "no port from 1 to 65535"},
    {"children: {a: {command: [x], ready: {tcp: '*:80'}}}\n",
     "1:43: error: children.a.ready.tcp", "says nowhere to connect to"},
    {"children: {a: {command: [x], ready: {tcp: 'db.example:80'}}}\n",
     "1:43: error: children.a.ready.tcp", "names are not looked up"},
    {"children: {a: {command: [x], ready: {tcp: '::1:80'}}}\n",
     "1:43: error: children.a.ready.tcp", "an IPv6 address in brackets"},
    {"children: {a: {command: [x], ready: {http: 'https://127.0.0.1/'}}}\n",
     "1:44: error: children.a.ready.http",
     "TLS is not supported; write an http:// URL, or {exec: [curl, ...]}"},
    {"children: {a: {command: [x], ready: {http: '127.0.0.1:80'}}}\n",
     "1:44: error: children.a.ready.http", "is no URL that can be asked"},
    {"children: {a: {command: [x], ready: {http: 'http://a.example/'}}}\n",
     "1:44: error: children.a.ready.http", "names are not looked up"},
    {"children: {a: {command: [x], ready: {http: 'http://u@127.0.0.1/'}}}\n",
     "1:44: error: children.a.ready.http", "a user in a URL"},
    {"children: {a: {command: [x], ready: {http: 'http://127.0.0.1/a b'}}}\n",
     "1:44: error: children.a.ready.http", "must be written as %XX"},
    {"children: {a: {command: [x], ready: {http: 'http://127.0.0.1:99999/'}}}\n",
     "1:44: error: children.a.ready.http", "no port from 1 to 65535"},
    {"children: {a: {command: [x], ready: {exec: []}}}\n",
     "1:44: error: children.a.ready.exec", "the command is empty"},
    {"children: {a: {command: [x], ready: {tcp: 'localhost:80', interval: 0s}}}\n",
     "1:69: error: children.a.ready.interval", "must be longer than 0s"},
    {"children: {a: {command: [x], health: {}}}\n", "1:38: error: children.a.health",
     "nothing says how it is asked; write `off`, or a mapping"},
    {"children: {a: {command: [x], health: {interval: 1s}}}\n",
     "1:38: error: children.a.health", "nothing says how it is asked"},
    {"children: {a: {command: [x], health: {unix: /s, tcp: 'localhost:80'}}}\n",
     "1:38: error: children.a.health", "both `tcp` and `unix`"},
    {"children: {a: {command: [x], health: on}}\n", "1:38: error: children.a.health",
     "write `off`, or a mapping"},
    {"children: {a: {command: [x], health: {unix: /s, failures: 0}}}\n",
     "1:59: error: children.a.health.failures", "a number from 1 to 1000"},
    {"children: {a: {command: [x], health: {unix: /s, after: 1s}}}\n",
     "1:49: error: children.a.health.after",
     "interval, timeout, failures, successes, initial_delay"},
    {"children: {a: {command: [x], health: {unix: /s, timeout: 5}}}\n",
     "1:58: error: children.a.health.timeout", "write 5s, not 5"},
    /* sockets */
    {"children: {a: {command: [x], sockets: {web: 'tpc:127.0.0.1:80'}}}\n",
     "1:45: error: children.a.sockets.web", "tcp:ADDRESS:PORT"},
    {"children: {a: {command: [x], sockets: {web: 'tcp:127.0.0.1:99999'}}}\n",
     "1:45: error: children.a.sockets.web", "no port from 0 to 65535"},
    {"children: {a: {command: [x], sockets: {web: 'tcp:www.example.org:80'}}}\n",
     "1:45: error: children.a.sockets.web", "is no address; write a numeric one"},
    {"children: {a: {command: [x], sockets: {web: 'tcp:::1:80'}}}\n",
     "1:45: error: children.a.sockets.web", "an IPv6 address in brackets"},
    {"children: {a: {command: [x], sockets: {web: 'unix:'}}}\n",
     "1:45: error: children.a.sockets.web", "`unix:` has no path"},
    {"children: {a: {command: [x], sockets: {\"a:b\": 'unix:/x'}}}\n",
     "1:40: error: children.a.sockets", "`a:b` cannot be a name here"},
    {"children: {a: {command: [x], sockets: {web: {backlog: 5}}}}\n",
     "1:45: error: children.a.sockets.web", "`listen` is missing"},
    {"children: {a: {command: [x], sockets: {web: {listen: 'tcp:*:80', mode: "
     "\"0600\"}}}}\n",
     "1:66: error: children.a.sockets.web.mode", "`mode` is for unix sockets"},
    {"children: {a: {command: [x], sockets: {web: {listen: 'unix:/x', user: "
     "no-such-user-here}}}}\n",
     "1:71: error: children.a.sockets.web.user", "there is no user"},
    {"children: {a: {command: [x], sockets: {s: 'tcp:*:80'}},\n"
     "  b: {command: [x], sockets: {t: 'tcp:*:80'}}}\n",
     "2:31: error: children.b.sockets.t", "is taken by `/user/a`"},
    {"children: {a: {command: [x], replicas: 2, sockets: {s: 'unix:/run/s'}}}\n",
     "1:53: error: children.a.sockets.s", "`unix:/run/s` is taken by `/user/a@1`"},
    /* templates and parameters */
    {"children: {a: {use: nothing}}\n", "1:21: error: children.a.use",
     "there is no template `nothing`"},
    {"templates: {worker: {command: [x]}}\nchildren: {a: {use: wroker}}\n",
     "2:21: error: children.a.use", "did you mean `worker`?"},
    {"templates: {t: {command: [x, '${p}']}}\nchildren: {a: {use: t}}\n",
     "1:30: error: children.a.command[1]", "`${p}` is not defined"},
    {"templates: {t: {command: [x, '${queu}']}}\n"
     "children: {a: {use: t, with: {queue: 1}}}\n",
     "1:30: error: children.a.command[1]", "did you mean `${queue}`?"},
    {"children: {a: {command: [x, '${env:NO_SUCH_NAME}']}}\n",
     "1:29: error: children.a.command[1]", "`${env:NO_SUCH_NAME}`: there is no such"},
    {"children: {a: {command: [x, '${oops']}}\n", "1:29: error: children.a.command[1]",
     "has no closing `}`"},
    {"children: {a: {command: [x, '${replica}']}}\n",
     "1:29: error: children.a.command[1]", "only with `replicas`"},
    {"children: {a: {command: [x], with: [y]}}\n", "1:36: error: children.a.with",
     "a mapping from parameters to texts"},
    {"children: {}\ntemplates: {t: {restart: sometimes}}\n",
     "2:26: error: templates.t.restart",
     "`permanent`, `transient`, `temporary` or `never`"},
    /* limits of the cgroup: the test's machine has memory, pids */
    {"children: {a: {command: [x], cgroup: {memory_max: 12}}}\n",
     "1:51: error: children.a.cgroup.memory_max", "a size of 64K or more"},
    {"children: {a: {command: [x], cgroup: {memory_high: lots}}}\n",
     "1:52: error: children.a.cgroup.memory_high", "such as 512M, or `max`"},
    {"children: {a: {command: [x], cgroup: {cpu_max: 50}}}\n",
     "1:48: error: children.a.cgroup.cpu_max", "such as \"50%\""},
    {"children: {a: {command: [x], cgroup: {cpu_max: '0%'}}}\n",
     "1:48: error: children.a.cgroup.cpu_max", "from 1% to"},
    {"children: {a: {command: [x], cgroup: {cpu_weight: 0}}}\n",
     "1:51: error: children.a.cgroup.cpu_weight", "1 to 10000"},
    {"children: {a: {command: [x], cgroup: {pids_max: 0}}}\n",
     "1:49: error: children.a.cgroup.pids_max", "or `max`"},
    {"children: {a: {command: [x], cgroup: {memory: 1G}}}\n",
     "1:39: error: children.a.cgroup.memory", "memory_max"},
    {"children: {a: {command: [x], cgroup: {cpu_max: '50%'}}}\n",
     "1:48: error: children.a.cgroup.cpu_max",
     "the controller `cpu` is missing in the cgroup v2 hierarchy of this machine (there: "
     "memory pids)"},
    {"children: {a: {command: [x], cgroup: {io_weight: 5, optional: false}}}\n",
     "1:50: error: children.a.cgroup.io_weight", "`optional: true`"},
    {"children: {a: {command: [x], containment: session, cgroup: {pids_max: 9}}}\n",
     "1:60: error: children.a.cgroup", "no cgroup to limit"},
    /* supd's own */
    {"children: {a: {command: [x], needs: {b: up}}, b: {command: [x]}}\n",
     "1:41: error: children.a.needs.b", "write `started`, `ready` or `completed`"},
    {"children: {a: {command: [x], needs: {nobody: ready}}}\n",
     "1:46: error: children.a.needs./user/nobody", "there is no actor `/user/nobody`"},
    {"children: {a: {command: [x], needs: {b: ready}}}\n",
     "1:41: error: children.a.needs./user/b",
     "there is no actor `/user/b`; this actor would never start"},
    {"children: {a: {command: [x], needs: {b: ready}}, b: {command: [x]}}\n",
     "1:41: error: children.a.needs./user/b",
     "a cycle, of which no actor could ever start: /user/a needs /user/b ready"},
    {"children: {}\nlog: {level: loud}\n", "2:14: error: log.level",
     "`debug`, `info`, `notice`, `warning` or `error`"},
    {"children: {}\ncontrol: {group: no-such-group-here}\n", "2:18: error: control.group",
     "there is no group"},
    {"children: {}\ncontrol: {socket: /aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"
     "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg}\n",
     "2:19: error: control.socket", "at most 107 bytes, this one, /aaaa"},
    {"children: {}\nmetrics: {}\n", "2:10: error: metrics", "`listen` is missing here"},
    {"children: {}\nmetrics: {listen: 'tcp:127.0.0.1'}\n", "2:19: error: metrics.listen",
     "has no port"},
    {"children: {}\nmetrics: {listen: /run/x}\n", "2:19: error: metrics.listen",
     "tcp:ADDRESS:PORT or unix:PATH"},
    {"children: {}\nmetrics: tcp:127.0.0.1:9464\n", "2:10: error: metrics",
     "a mapping such as"},
    {"include: [nowhere.yaml]\nchildren: {}\n", "1:11: error: include",
     "nowhere.yaml: No such file or directory"},
    {"include: {a: b}\nchildren: {}\n", "1:10: error: include",
     "a mapping is not allowed here"},
};

START_TEST(what_a_report_quotes_does_not_control_a_terminal)
{
	expect_errors("children: {a: {command: [x], \"k\\e[31m\\n\": 1}}\n",
	              "main.yaml:1:30: error: children.a.k\\x1b[31m\\n: unknown key "
	              "`k\\x1b[31m\\n`; supd.yaml(5) describes all keys\n");
}
END_TEST

START_TEST(an_actor_that_is_not_indented_below_children_is_told_so)
{
	expect_errors("children:\nweb:\n  command: [x]\ntemplate: {}\n",
	              "main.yaml:1:10: error: children: nothing is not allowed here; "
	              "write a mapping, {} for none\n"
	              "main.yaml:2:1: error: web: unknown key `web`, did you mean an "
	              "actor below `children`? Indent it\n"
	              "main.yaml:4:1: error: template: unknown key `template`, did you "
	              "mean `templates`?\n");
	expect_errors("children:\n  app:\n    children:\n    used: {use: t}\n",
	              "main.yaml:3:14: error: children.app.children: nothing is not "
	              "allowed here; write a mapping from names to actors; write {} for "
	              "none\n"
	              "main.yaml:4:5: error: children.app.used: unknown key `used`, did "
	              "you mean an actor below `children`? Indent it\n");
}
END_TEST

/* 109 153 B-04 122 O-40. */
START_TEST(each_fault_is_reported_once_at_its_place)
{
	expect_fault(faults[_i].text, faults[_i].place, faults[_i].words);
}
END_TEST

static const char twenty_faults[] = "strategy: one_for_most\n"
                                    "intensity: {restarts: lots, within: 10}\n"
                                    "metrics: {listen: x}\n"
                                    "control: {mode: 0666}\n"
                                    "defaults:\n"
                                    "  shutdwon: 5s\n"
                                    "templates:\n"
                                    "  t: {command: [x, '${nobody}'], nice: 55}\n"
                                    "children:\n"
                                    "  a:\n"
                                    "    comand: [x]\n"
                                    "    shutdown: 5\n"
                                    "  b:\n"
                                    "    command: [x]\n"
                                    "    restart: sometimes\n"
                                    "    limits: {nofile: many}\n"
                                    "    backoff: {min: 0s, jitter: 2}\n"
                                    "  c: {use: t}\n"
                                    "  d:\n"
                                    "    children:\n"
                                    "      e f: {command: [x]}\n"
                                    "      g: {}\n"
                                    "      h: {command: [x], stop_signal: FOO}\n"
                                    "    decider:\n"
                                    "      - {when: {exti: [1]}, then: retry}\n"
                                    "  b: {command: [y]}\n";

static const char *const twenty_places[] = {
    "1:11: error: strategy: ",
    "2:23: error: intensity.restarts: ",
    "2:37: error: intensity.within: ",
    "3:19: error: metrics.listen: ",
    "4:17: error: control.mode: ",
    "6:3: error: defaults.shutdwon: ",
    "8:20: error: children.c.command[1]: ",
    "8:40: error: templates.t.nice: ",
    "11:5: error: children.a.comand: ",
    "12:15: error: children.a.shutdown: ",
    "15:14: error: children.b.restart: ",
    "16:22: error: children.b.limits.nofile: ",
    "17:20: error: children.b.backoff.min: ",
    "17:32: error: children.b.backoff.jitter: ",
    "21:7: error: children.d.children.e f: ",
    "22:7: error: children.d.children.g: ",
    "23:38: error: children.d.children.h.stop_signal: ",
    "25:17: error: children.d.decider[0].when.exti: ",
    "25:35: error: children.d.decider[0].then: ",
    "26:3: error: children.b: the key `b` is written twice, first at line 13",
};

START_TEST(twenty_faults_are_twenty_reports_in_the_order_of_the_lines)
{
	struct conf_reports reports;

	put_file("main.yaml", twenty_faults);
	ck_assert_ptr_null(load_main(false, &reports));
	for (size_t i = 0; i < reports.n && i < ARRAY_SIZE(twenty_places); i++) {
		struct strbuf line;
		char place[128];

		strbuf_init(&line, 4096);
		conf_report_format(&reports.at[i], &line);
		(void)snprintf(place, sizeof(place), "/main.yaml:%s", twenty_places[i]);
		ck_assert_msg(strstr(strbuf_str(&line), place) != NULL,
		              "number %zu is not at %s but: %s", i, twenty_places[i],
		              strbuf_str(&line));
		strbuf_done(&line);
	}
	ck_assert_uint_eq(reports.n, ARRAY_SIZE(twenty_places));
	ck_assert_uint_eq(reports.n_errors, ARRAY_SIZE(twenty_places));
	conf_reports_done(&reports);
}
END_TEST

START_TEST(too_many_faults_are_counted_and_the_first_ones_shown)
{
	static const char last[] =
	    "and more: only the first 200 are shown (300 errors)\n";
	struct conf_reports reports;
	struct strbuf text;
	struct strbuf out;

	strbuf_init(&text, 1 << 20);
	strbuf_init(&out, 1 << 20);
	strbuf_adds(&text, "children:\n");
	for (int i = 0; i < 300; i++)
		strbuf_addf(&text, "  a%d: {command: [x], shutdown: 5}\n", i);
	put_file("main.yaml", strbuf_str(&text));
	ck_assert_ptr_null(load_main(false, &reports));
	ck_assert_uint_eq(reports.n, CONF_REPORTS_MAX);
	ck_assert_uint_eq(reports.n_errors, 300);
	ck_assert(reports.truncated);
	conf_reports_format(&reports, &out);
	ck_assert_ptr_nonnull(strstr(strbuf_str(&out), last));
	conf_reports_done(&reports);
	strbuf_done(&text);
	strbuf_done(&out);
}
END_TEST

START_TEST(a_fault_of_a_template_is_reported_once_for_all_its_actors)
{
	expect_fault("templates: {t: {command: [x], shutdown: 5}}\n"
	             "children:\n"
	             "  a: {use: t}\n"
	             "  b: {use: t, replicas: 5}\n",
	             "1:41: error: templates.t.shutdown", "write 5s, not 5");
}
END_TEST

Suite *
suite_faults(void)
{
	Suite *suite = suite_create("faults");
	TCase *tcase = new_case("faults");

	tcase_add_loop_test(tcase, each_fault_is_reported_once_at_its_place, 0,
	                    (int)ARRAY_SIZE(faults));
	tcase_add_test(tcase, twenty_faults_are_twenty_reports_in_the_order_of_the_lines);
	tcase_add_test(tcase, what_a_report_quotes_does_not_control_a_terminal);
	tcase_add_test(tcase, an_actor_that_is_not_indented_below_children_is_told_so);
	tcase_add_test(tcase, too_many_faults_are_counted_and_the_first_ones_shown);
	tcase_add_test(tcase, a_fault_of_a_template_is_reported_once_for_all_its_actors);
	suite_add_tcase(suite, tcase);
	return suite;
}
