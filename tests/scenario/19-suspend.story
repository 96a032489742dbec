# Suspend and resume: which processes stand still, for how long, and the effect on clocks.

story suspend freezes a subtree, resume thaws it
tree
  s one_for_one
    a
    b
  c
boot
expect S a, S b, S c
hear suspended resumed
suspend s
expect freeze a, freeze b
reply suspend s done
report suspended s
report suspended a
report suspended b
view s suspended suspended=1
view a suspended suspended=1 ready=yes
view c running suspended=0
resume s
expect thaw a, thaw b
reply resume s done
report resumed s
report resumed a
report resumed b
view s running suspended=0
view a running suspended=0

story suspending twice needs resuming twice, one resume too many does nothing (A-26)
tree
  a
boot
expect S a
suspend a
expect freeze a
reply suspend a done
suspend a
reply suspend a done
view a suspended suspended=2
resume a
reply resume a done
view a suspended suspended=1
resume a
expect thaw a
reply resume a done
resume a
reply resume a done
view a running suspended=0
suspend a
expect freeze a
reply suspend a done

story the suspensions of all actors above add up
tree
  s one_for_one
    a
boot
expect S a
suspend a
expect freeze a
reply suspend a done
suspend s
reply suspend s done
view a suspended suspended=2
resume a
reply resume a done
view a suspended suspended=1
resume s
expect thaw a
reply resume s done

story what is down cannot be suspended, and resume of it does nothing
tree
  a

boot
expect S a
stop a
expect t a, x a
reply stop a done
suspend a
reply suspend a invalid
resume a
reply resume a done
view a stopped suspended=0

story a stop thaws first, and forgets
tree
  a
boot
expect S a
suspend a
expect freeze a
reply suspend a done
suspend a
reply suspend a done
stop a
expect thaw a, t a, x a
reply stop a done
view a stopped suspended=0
start a
expect S a
reply start a done
view a running suspended=0

story a shutdown thaws first
tree
  s one_for_one
    a
    b
boot
expect S a, S b
suspend s
expect freeze a, freeze b
reply suspend s done
shutdown
expect thaw b, t b, x b, thaw a, t a, x a, exit 0

story a suspended process with brutal_kill is thawed
tree
  a shutdown=brutal_kill
boot
expect S a
suspend a
expect freeze a
reply suspend a done
stop a
expect thaw a, K a, x a
reply stop a done

story a frozen process that dies has failed, and its successor is frozen at once
tree
  s one_for_one
    a backoff=1s/10s
    b
boot
expect S a, S b
suspend s
expect freeze a, freeze b
reply suspend s done
hear exited
signal a KILL
report exited a signal:KILL
report failure a signal:KILL restart delay=1s
view a backoff suspended=1 due=1s
after 1s
expect S a, freeze a
view a suspended suspended=1 restarts=1
resume s
expect thaw a, thaw b
reply resume s done

story an automatic restart keeps its own suspensions, a start by hand forgets them
tree
  a backoff=1s/10s
boot
expect S a
suspend a
expect freeze a
reply suspend a done
signal a KILL
report failure a signal:KILL restart
after 1s
expect S a, freeze a
signal a KILL
report failure a signal:KILL restart
view a backoff suspended=1
start a
expect S a
reply start a done
view a running suspended=0

story a restart by hand forgets them, a start of what runs changes nothing
tree
  a
boot
expect S a
suspend a
expect freeze a
reply suspend a done
start a
reply start a done
view a suspended suspended=1
restart a
expect thaw a, t a, x a, S a
reply restart a done
view a running suspended=0

story an actor that waits for its start can be suspended
tree
  a backoff=1s/10s
boot
expect S a
exit a 1
report failure a exit:1 restart
suspend a
reply suspend a done
view a backoff suspended=1
after 1s
expect S a, freeze a

story leftovers of a process that died frozen are thawed before their TERM
tree
  a
boot
expect S a
lingers a
suspend a
expect freeze a
reply suspend a done
signal a KILL
expect thaw a, t a
report failure a signal:KILL restart
view a stopping suspended=1
gone a
expect x a, S a, freeze a

story a restart of the supervisor forgets what was asked of its children, not of itself
tree
  s one_for_all intensity=0/60s
    a
    b
boot
expect S a, S b
suspend a
expect freeze a
reply suspend a done
suspend s
expect freeze b
reply suspend s done
signal b KILL
report failure b signal:KILL escalate
report gave_up s
expect thaw a, t a, x a
report failure s intensity restart
expect S a, freeze a, S b, freeze b
view s suspended suspended=1
view a suspended suspended=1
resume s
expect thaw a, thaw b
reply resume s done

story 159 suspended time is not healthy time
tree
  a backoff=1s/30s/5s
boot
expect S a
exit a 1
report failure a exit:1 restart delay=1s
after 1s
expect S a
after 4s
suspend a
expect freeze a
reply suspend a done
after 1h
view a suspended failures=1
resume a
expect thaw a
reply resume a done
after 999ms
view a running failures=1
after 1ms
view a running failures=0

story 159 after a suspension the next failure is delayed as if no time had passed
tree
  a backoff=1s/30s/5s
boot
expect S a
exit a 1
report failure a exit:1 restart delay=1s
after 1s
expect S a
suspend a
expect freeze a
reply suspend a done
after 1h
resume a
expect thaw a
reply resume a done
after 4s
exit a 1
report failure a exit:1 restart delay=2s

story the healthy time of a suspended supervisor stands still
tree
  s one_for_one intensity=0/60s backoff=1s/30s/5s
    a
boot
expect S a
exit a 1
report failure a exit:1 escalate
report gave_up s
report failure s intensity restart delay=1s
after 1s
expect S a
view s running failures=1
suspend s
expect freeze a
reply suspend s done
after 1h
view s suspended failures=1
resume s
expect thaw a
reply resume s done
after 4999ms
view s failures=1
after 1ms
view s failures=0

story the start timeout stands still while the actor is suspended
tree
  a ready=told start_timeout=2s
  b
boot
expect S a
after 1s
suspend a
expect freeze a
reply suspend a done
after 1h
view a suspended ready=no
view b waiting
resume a
expect thaw a
reply resume a done
view a starting
after 999ms
after 1ms
report failure a start_timeout restart
expect t a, S b, x a, S a
ready a

story ready: after stands still
tree
  a ready=after:5s
  b
boot
expect S a
after 3s
suspend a
expect freeze a
reply suspend a done
after 1h
view b waiting
resume a
expect thaw a
reply resume a done
after 1999ms
view a starting
after 1ms
expect S b
view a running

story suspended twice in between, the clocks keep what was left
tree
  a ready=after:5s
boot
expect S a
after 1s
suspend a
expect freeze a
reply suspend a done
after 10s
resume a
expect thaw a
reply resume a done
after 1s
suspend a
expect freeze a
reply suspend a done
after 10s
resume a
expect thaw a
reply resume a done
after 2999ms
view a starting
after 1ms
view a running since=0ms

story a child spawned below a suspended supervisor has its whole start timeout after the resume
tree
  s one_for_one
    a ready=told start_timeout=2s backoff=1s/10s
boot
expect S a
suspend s
expect freeze a
reply suspend s done
signal a KILL
report failure a early_exit restart
after 1s
expect S a, freeze a
after 1h
view a suspended
resume s
expect thaw a
reply resume s done
after 1999ms
view a starting
ready a
view a running

story a start without its acknowledgement yet is frozen when that comes
tree
  a
  s one_for_one
    b
held b
boot
expect S a, S b
suspend /user
expect freeze a
reply suspend /user done
spawned b
expect freeze b
view b suspended suspended=1
view s suspended suspended=1
resume /user
expect thaw a, thaw b
reply resume /user done

story a group that is stopped is thawed one after the other, and its successors freeze
tree
  s one_for_all
    a
    b
boot
expect S a, S b
suspend s
expect freeze a, freeze b
reply suspend s done
signal a KILL
report failure a signal:KILL restart
expect thaw b, t b, x b, S a, freeze a, S b, freeze b
resume s
expect thaw a, thaw b
reply resume s done

story an actor that is removed leaves no suspension behind
tree
  s one_for_one
    a
  b
boot
expect S a, S b
suspend s
expect freeze a
reply suspend s done
remove s
expect thaw a, t a, x a, removed a, removed s
view b running suspended=0
suspend b
expect freeze b
reply suspend b done
view b suspended suspended=1

# ---- freeze_while_deciding -----------------------------------------------------------

story 167 A-05 siblings stand still under freeze_while_deciding until the failed child is ready
tree
  s one_for_one freezes=yes
    a hooks=pre_start
    b
    t one_for_one
      c
  d
boot
expect pre_start a start, S a, S b, S c, S d
hook a pre_start lasts 2s
hear suspended resumed
exit a 1
expect freeze b, freeze c, pre_start a restart
report failure a exit:1 restart
report suspended b
report suspended t
report suspended c
view a starting suspended=0
view b suspended suspended=1 ready=yes
view t suspended suspended=1
view d running suspended=0
after 1999ms
expect nothing
after 1ms
expect S a, thaw b, thaw c
report resumed b
report resumed t
report resumed c
view b running suspended=0 restarts=0

story 167 children of a resumed supervisor stand still and live on while its process is replaced
tree
  s one_for_one freezes=yes decider=any->resume
    m one_for_one both hooks=pre_start keep_children=untouched
      w
    x
boot
expect pre_start m start, S m, S w, S x
hook m pre_start lasts 2s
exit m 3
expect freeze w, freeze x, pre_start m restart
report failure m exit:3 resume
after 2s
expect S m, thaw w, thaw x
view w running restarts=0

story without freeze_while_deciding no actor stands still
tree
  s one_for_one
    a backoff=1s/10s
    b
boot
expect S a, S b
exit a 1
report failure a exit:1 restart
after 1s
expect S a

story freeze_while_deciding lasts through the backoff and each further failure
tree
  s one_for_one freezes=yes
    a backoff=1s/10s ready=told
    b
boot
expect S a
ready a
expect S b
exit a 1
expect freeze b
report failure a exit:1 restart delay=1s
after 1s
expect S a
exit a 1
report failure a early_exit restart delay=2s
view b suspended suspended=1
after 2s
expect S a
view b suspended
ready a
expect thaw b
view b running suspended=0

story freeze_while_deciding ends with the final end of the failed child
tree
  s one_for_one freezes=yes decider=exit:9->stop,default
    a
    b
boot
expect S a, S b
lingers a
exit a 9
expect t a, freeze b
report failure a exit:9 stop
view b suspended
gone a
expect x a, thaw b
view a failed
view b running

story a failure that is resumed at once freezes no actor
tree
  s one_for_one freezes=yes decider=self_report:disk->resume,default
    a
    b
boot
expect S a, S b
self_report a disk
report failure a self_report:disk resume
view b running suspended=0

story siblings outside of a group stand still until each member is ready
tree
  s rest_for_one freezes=yes
    a
    b ready=told
    c ready=told
boot
expect S a, S b
ready b
expect S c
ready c
exit b 1
expect freeze c, thaw c, t c, freeze a, x c, S b
report failure b exit:1 restart
view a suspended suspended=2
ready b
expect S c, freeze b
view a suspended suspended=1
view b suspended suspended=1
ready c
expect thaw a, thaw b
view a running suspended=0

story freeze_while_deciding adds up with suspensions by command, and with those of actors above
tree
  s one_for_one freezes=yes
    a backoff=1s/10s
    b
boot
expect S a, S b
suspend b
expect freeze b
reply suspend b done
exit a 1
report failure a exit:1 restart
view b suspended suspended=2
resume b
reply resume b done
view b suspended suspended=1
suspend s
reply suspend s done
view b suspended suspended=2
after 1s
expect S a, freeze a
view b suspended suspended=1
resume s
expect thaw a, thaw b
reply resume s done

story freeze_while_deciding waits for both of two children that failed at once
tree
  s one_for_one freezes=yes
    a backoff=1s/10s
    b backoff=2s/10s
    c
boot
expect S a, S b, S c
exit a 1 & exit b 1
expect freeze c
report failure a exit:1 restart
report failure b exit:1 restart
view c suspended suspended=2
after 1s
expect S a, freeze a
view c suspended suspended=1
after 1s
expect S b, thaw a, thaw c

story a starting actor goes on under freeze_while_deciding: no circle of waits
tree
  s one_for_one freezes=yes
    a backoff=1s/10s
    b ready=told
    c
boot
expect S a, S b
exit a 1
report failure a exit:1 restart
view b starting suspended=0
ready b
expect S c, freeze b, freeze c
view c suspended
after 1s
expect S a, thaw b, thaw c

story a stop by command ends freeze_while_deciding, and reaches frozen actors
tree
  s one_for_one freezes=yes
    a backoff=10s/10s
    b
    c
boot
expect S a, S b, S c
exit a 1
expect freeze b, freeze c
report failure a exit:1 restart
stop b
expect thaw b, t b, x b
reply stop b done
stop a
expect thaw c
reply stop a done
view c running suspended=0

story a shutdown ends freeze_while_deciding
tree
  s one_for_one freezes=yes
    a backoff=10s/10s
    b
boot
expect S a, S b
exit a 1
expect freeze b
report failure a exit:1 restart
shutdown
expect thaw b, t b, x b, exit 0

story a reload with another policy ends freeze_while_deciding
tree
  s one_for_one freezes=yes
    a backoff=10s/10s
    b
boot
expect S a, S b
exit a 1
expect freeze b
report failure a exit:1 restart
update s freezes=no
expect thaw b

story a supervisor that gives up freezes no actor any more
tree
  s one_for_one freezes=yes intensity=1/60s
    a backoff=1s/10s ready=told
    b
boot
expect S a
ready a
expect S b
exit a 1
expect freeze b
report failure a exit:1 restart
after 1s
expect S a
exit a 1
expect thaw b, t b, x b
report failure a early_exit escalate
report gave_up s
report failure s intensity restart
expect S a
ready a
expect S b
view b running suspended=0

story time while others stand still is no healthy time, and no time of its watchdog
tree
  s one_for_one freezes=yes
    a backoff=1m/10m
    b watchdog=10s
boot
expect S a, S b
after 6s
exit a 1
expect freeze b
report failure a exit:1 restart
after 1m
expect S a, thaw b
after 3999ms
expect nothing
after 1ms
expect b b, freeze a, x b, S b, thaw a
report failure b watchdog restart
