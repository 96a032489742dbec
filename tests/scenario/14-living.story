story 165 a missed watchdog and resume: left running, one warning a period
tree
  s one_for_one intensity=0/60s decider=watchdog->resume,default
    a watchdog=1s
boot
expect S a
after 900ms
watchdog a
after 900ms
reports
after 100ms
report failure a watchdog resume log=warning
after 999ms
reports
after 1ms
report failure a watchdog resume log=warning
view a running generation=1 restarts=0 failures=0 cause=watchdog
view s running window=0

story 165 a missed watchdog and restart: the signal for it, then a successor
tree
  s one_for_one
    a watchdog=1s
    b
boot
expect S a, S b
after 1s
expect b a, x a, S a
report failure a watchdog restart
view a running generation=2 restarts=1
view b generation=1
after 999ms
expect nothing
after 1ms
expect b a, x a, S a
report failure a watchdog restart

story an actor that is stopped by its watchdog shows its old process (B-13)
tree
  s one_for_one
    a watchdog=1s shutdown=5s
boot
expect S a
deaf a
after 1s
expect b a
report failure a watchdog restart
view a stopping generation=1
obeys a
after 5s
expect K a, x a, S a
report killed_after_timeout a
view a running generation=2

story the watchdog begins when it is ready
tree
  s one_for_one
    a ready=told watchdog=1s
boot
expect S a
after 10s
expect nothing
view a starting watchdog=yes
ready a
after 999ms
expect nothing
after 1ms
expect b a, x a, S a
report failure a watchdog restart

story a process may change its watchdog period, or end it
tree
  s one_for_one
    a watchdog=1s
    b
boot
expect S a, S b
watchdog_every a 5s & watchdog_every b 2s
after 1999ms
expect nothing
after 1ms
expect b b, x b, S b
report failure b watchdog restart
view b running watchdog=no
watchdog_every a 0s
view a running watchdog=no
after 1h
expect nothing
restart a
expect t a, x a, S a
reply restart a done
view a running watchdog=yes
after 1s
expect b a, x a, S a
report failure a watchdog restart

story a process may have its watchdog run out at once
tree
  s one_for_one
    a
boot
expect S a
watchdog_trigger a
expect b a, x a, S a
report failure a watchdog restart

story a directive stop ends it because of its watchdog, too
tree
  s one_for_one decider=stopping
    a watchdog=1s
boot
expect S a
after 1s
expect b a, x a
report failure a watchdog stop
view a failed

story a watchdog that ran out and was resumed is forgotten when it is stopped
tree
  s one_for_one decider=watchdog->resume,default
    a watchdog=1s
boot
expect S a
after 1s
report failure a watchdog resume
stop a
expect t a, x a
reply stop a done

story escalate leaves the process as it is until the level that decides
tree decider=watchdog->resume
  s one_for_all decider=escalating
    a watchdog=1s
    b
boot
expect S a, S b
after 1s
report escalated s watchdog * origin=a
report failure s watchdog resume origin=a
view a running generation=1
view b running generation=1
after 1s
report escalated s watchdog * origin=a
report failure s watchdog resume origin=a

story escalate and restart above: the whole subtree, the silent one with its signal
tree decider=default
  s one_for_one decider=escalating
    a watchdog=1s
    b
boot
expect S a, S b
after 1s
expect t b, x b, b a, x a, S a, S b
report escalated s watchdog * origin=a
report failure s watchdog restart origin=a

story a missed watchdog in a group restarts the group
tree
  s one_for_all
    a watchdog=1s
    b
boot
expect S a, S b
after 1s
expect t b, x b, b a, x a, S a, S b
report failure a watchdog restart group=yes

story a watchdog that keeps running out exceeds the intensity
tree
  s one_for_one intensity=1/60s
    a watchdog=1s
boot
expect S a
after 1s
expect b a, x a, S a
report failure a watchdog restart
after 1s
expect b a, x a, S a
report failure a watchdog escalate reason=intensity
report gave_up s
report failure s intensity restart

story a temporary actor that misses its watchdog is stopped alone
tree
  s one_for_all
    a temporary watchdog=1s
    b
boot
expect S a, S b
after 1s
expect b a, x a, removed a
report failure a watchdog stop reason=temporary

story a process that is asked to end has no watchdog any more
tree
  s one_for_one
    a watchdog=1s shutdown=10s
boot
expect S a
slow a 5s
stop a
expect t a
watchdog_trigger a
self_report a disk
after 5s
expect x a
reply stop a done

story 168 stopped by a signal with the default configuration: nothing is done
tree
  s one_for_one
    a watchdog=1s
boot
expect S a
after 400ms
paused a
view a running sigstopped=yes
after 1h
expect nothing
continued a
view a running sigstopped=no
after 599ms
expect nothing
after 1ms
expect b a, x a, S a
report failure a watchdog restart

story 160 with stopped_is_failure it is continued: same process, one warning
tree
  s one_for_one intensity=0/60s
    a stopped_is_failure
boot
expect S a
paused a
expect c a
report failure a stopped resume log=warning
view a running sigstopped=no generation=1 restarts=0
continued a
paused a
expect c a
report failure a stopped resume
view s window=0

story stopped and restart: it is asked to end like any other
tree
  s one_for_one decider=stopped->restart,default
    a stopped_is_failure
boot
expect S a
paused a
expect t a, x a, S a
report failure a stopped restart
view a running sigstopped=no generation=2

story stopped and escalate: the child stays stopped until a supervisor above decides
tree decider=stopped->resume
  s one_for_one decider=escalating
    a stopped_is_failure
boot
expect S a
paused a
expect c a
report escalated s stopped * origin=a
report failure s stopped resume origin=a

story 31 a live process that reports a failure is left running by resume
tree
  s one_for_all decider=self_report->resume,default
    a
    b
    c
boot
expect S a, S b, S c
self_report b disk
report failure b self_report:disk resume log=warning group=no
view b running generation=1
view a generation=1
view c generation=1

story a rule may name the failure that a process reports
tree
  s one_for_one decider=self_report:disk->stop,self_report:net->resume,self_report->restart
    a
    b
    c
boot
expect S a, S b, S c
self_report a disk
expect t a, x a
report failure a self_report:disk stop rule=1
self_report b net
report failure b self_report:net resume rule=2
self_report c other
expect t c, x c, S c
report failure c self_report:other restart rule=3

story a report that is told twice is one failure
tree
  s one_for_one decider=self_report->resume
    a
boot
expect S a
self_report a disk
report failure a self_report:disk resume
self_report a disk again
self_report a disk
report failure a self_report:disk resume

story the default decider restarts an actor that reports a failure
tree
  s one_for_one
    a
boot
expect S a
self_report a disk
expect t a, x a, S a
report failure a self_report:disk restart

story a failure reported before readiness is a failed start
tree
  s one_for_one
    a ready=told
boot
expect S a
self_report a disk
expect t a, x a, S a
report failure a self_report:disk restart

story an actor may extend its start timeout, and never shortens it
tree
  s one_for_one
    a ready=told start_timeout=2s
boot
expect S a
extend a 1s
after 1900ms
extend a 5s
after 4999ms
expect nothing
after 1ms
expect t a, x a, S a
report failure a start_timeout restart

story an actor may extend its stop timeout
tree
  s one_for_one
    a shutdown=1s
boot
expect S a
deaf a
stop a
expect t a
after 900ms
extend a 3s
stop_sent a
after 2999ms
expect nothing
obeys a
after 1ms
expect K a, x a
report killed_after_timeout a
reply stop a done

story an extension ends at ten times the timeout
tree
  s one_for_one
    a shutdown=1s start_timeout=2s ready=told
boot
expect S a
extend a 1h
after 19s
extend a 1h
after 999ms
expect nothing
after 1ms
expect t a, x a, S a
report failure a start_timeout restart
ready a
deaf a
stop a
expect t a
extend a 1h
after 9999ms
extend a 1h
expect nothing
obeys a
after 1ms
expect K a, x a
report killed_after_timeout a
reply stop a done

story a running actor has no timeout to extend
tree
  s one_for_one
    a start_timeout=1s ready=told
boot
expect S a
ready a
extend a 1s
after 1h
expect nothing

story health begins at readiness, and fails after so many bad answers
tree
  s one_for_one
    a health=10s/3
boot
expect S a
after 10s
expect p a
probed a bad
after 10s
expect p a
probed a bad
after 10s
expect p a
probed a good
after 10s
expect p a
probed a bad
after 10s
expect p a
probed a bad
after 10s
expect p a
probed a bad
expect t a, x a, S a
report failure a health restart

story good answers make up for bad ones only when there are enough
tree
  s one_for_one decider=health->resume
    a health=10s/2/2
boot
expect S a
after 10s
expect p a
probed a bad
after 10s
expect p a
probed a good
after 10s
expect p a
probed a bad
report failure a health resume log=warning
after 10s
expect p a
probed a bad
after 10s
expect p a
probed a good
after 10s
expect p a
probed a good
after 10s
expect p a
probed a bad
view a running generation=1

story there is never more than one probe of an actor under way
tree
  s one_for_one
    a health=10s/1
boot
expect S a
after 10s
expect p a
after 1h
expect nothing
probed a unknown
after 10s
expect p a
probed a bad
expect t a, x a, S a
report failure a health restart
probed a bad
expect nothing

story an actor stopped by a signal is not probed
tree
  s one_for_one
    a health=10s/1
boot
expect S a
after 10s
expect p a
paused a
probed a bad
after 1h
expect nothing
continued a
after 10s
expect p a

story an actor suspended in the midst of a probe is probed again
tree
  s one_for_one
    a health=10s/1
boot
expect S a
after 10s
expect p a
suspend a
expect freeze a
reply suspend a done
probed a bad
after 1h
expect nothing
resume a
expect thaw a
reply resume a done
probed a bad
after 9999ms
expect nothing
after 1ms
expect p a
probed a bad late
view a running generation=1
probed a bad
expect t a, x a, S a
report failure a health restart

story a suspended actor is not probed, and the interval stands still
tree
  s one_for_one
    a health=10s/1
boot
expect S a
# its turn in each 10s is at 4721ms
at 4721ms
expect p a
probed a good
at 14s
suspend a
expect freeze a
reply suspend a done
after 1h
expect nothing
resume a
expect thaw a
reply resume a done
after 720ms
expect nothing
after 1ms
expect p a

story a late answer counts once, and puts off nothing
tree
  s one_for_one
    a health=10s/2
boot
expect S a
# its turn in each 10s is at 4721ms
at 4721ms
expect p a
at 12s
probed a bad
probed a bad
at 14720ms
expect nothing
at 14721ms
expect p a
at 40s
probed a good
at 44721ms
expect p a
probed a bad
at 54721ms
expect p a
probed a bad
expect t a, x a, S a
report failure a health restart

story what cannot be asked is no bad answer
tree
  s one_for_one
    a health=10s/1
boot
expect S a
after 10s
expect p a
probed a unknown
after 10s
expect p a
probed a unknown
view a running generation=1

story what another health asked does not count
tree
  s one_for_one
    a health=10s/1
boot
expect S a
after 10s
expect p a
update a health=20s/1
probed a bad
after 20s
expect p a
probed a bad
expect t a, x a, S a
report failure a health restart

story a health failure by the strategy, and what is left alone
tree
  s rest_for_one
    a
    b health=10s/1
    c
boot
expect S a, S b, S c
after 10s
expect p b
probed b bad
expect t c, x c, t b, x b, S b, S c
report failure b health restart group=yes
view a generation=1

story health and resume: the same process, and it is asked on
tree
  s one_for_one decider=health->resume
    a health=10s/1
boot
expect S a
after 10s
expect p a
probed a bad
report failure a health resume log=warning
after 10s
expect p a
probed a good
view a running generation=1 restarts=0 failures=0 cause=health

story the first probe comes after the initial delay
tree
  s one_for_one
    a health=10s/1/1/60s
boot
expect S a
after 60s
expect nothing
after 10s
expect p a

story actors have their turn at different times
tree
  s one_for_one
    a health=10s/1
    b health=10s/1
    c health=10s/1
boot
expect S a, S b, S c
after 10s
count p a 1, p b 1, p c 1
probed a good & probed b good & probed c good
after 10s
count p a 1, p b 1, p c 1

story a new health begins anew, and none ends it
tree
  s one_for_one
    a
boot
expect S a
update a health=10s/1
after 10s
expect p a
probed a good
update a health=off
after 1h
expect nothing

story ready: by a probe that succeeds
tree
  s one_for_one
    a ready=probed:1s start_timeout=10s
    b
boot
expect S a, p a
probed a bad
after 1s
expect p a
probed a good
expect S b
view a running ready=yes

story ready: an actor that cannot be probed is probed again
tree
  s one_for_one
    a ready=probed:1s start_timeout=10s
    b
boot
expect S a, p a
probed a unknown
after 1s
expect p a
probed a good late
probed a good
expect S b

story ready by a probe, and from then on asked for its health
tree
  s one_for_one
    a ready=probed:1s start_timeout=10s health=10s/1
boot
expect S a, p a
probed a bad
after 1s
expect p a
probed a good
view a running ready=yes
after 10s
expect p a
probed a bad
expect t a, x a, S a, p a
report failure a health restart

story ready: an actor that never answers well fails by start timeout
tree
  s one_for_one
    a ready=probed:1s start_timeout=2500ms
boot
expect S a, p a
after 2499ms
expect nothing
probed a bad
after 1ms
expect t a, x a, S a, p a
report failure a start_timeout restart

story an actor that is resumed has its full period again
tree
  s one_for_one decider=self_report->resume,default
    a watchdog=1s
boot
expect S a
after 600ms
self_report a disk
report failure a self_report:disk resume
after 999ms
reports
expect nothing
after 1ms
expect b a, x a, S a
report failure a watchdog restart

story an actor that is kept after its watchdog ran out has its full period again, and is stopped as ever
tree
  s one_for_one keep_children=untouched decider=watchdog->escalate,default
    a temporary watchdog=1s
boot
expect S a
after 900ms
watchdog_trigger a
report escalated s watchdog
report failure s watchdog restart origin=a
after 999ms
expect nothing
after 1ms
report escalated s watchdog
report failure s watchdog restart origin=a
stop a
expect t a, x a, removed a
reply stop a done
