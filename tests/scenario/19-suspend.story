# Suspend and resume: who stands still, for how long, and what that does to clocks.

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

story the counts of all above add up
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

story who is killed at once is thawed as well
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

story who dies frozen has failed, and its successor is frozen as soon as it is there
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

story one that waits for its start can be suspended
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

story what is left of one that died frozen is thawed before it is told to end
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

story 159 the failure after it is delayed as if there had been no time
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

story a supervisor's healthy time stands still, too
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

story the start timeout stands still, and nobody is hurried
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

story who is spawned below a suspended one has its whole time when that is resumed
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

story a start whose spawn is not acknowledged is frozen when it is
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
