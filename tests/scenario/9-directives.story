story 161 resume starts a successor and counts nothing (A-13)
tree
  s one_for_one intensity=0/60s limit=0/infinity decider=exit:10->resume,default
    a
    b
boot
expect S a, S b
exit a 10
expect S a
report failure a exit:10 resume log=warning
view s running window=0
view b generation=1

story 31 C12 resume touches only the failing child, also in a group (A-06)
tree
  s one_for_all decider=exit:10->resume,default
    a
    b
    c
boot
expect S a, S b, S c
exit b 10
expect S b
report failure b exit:10 resume group=no
view a generation=1
view c generation=1

story the sixth resume within a minute is a restart
tree
  s one_for_one intensity=1/1h decider=any->resume
    a
boot
expect S a
exit a 1
reports
expect S a
exit a 1
reports
expect S a
exit a 1
reports
expect S a
exit a 1
reports
after 10ms
expect S a
exit a 1
reports
after 20ms
expect S a
view s window=0
exit a 1
report failure a exit:1 restart reason=guard
after 40ms
expect S a
view s window=1

story resumes that are a minute apart stay resumes
tree
  s one_for_one intensity=0/1h decider=any->resume
    a
boot
expect S a
exit a 1
reports
expect S a
exit a 1
reports
expect S a
exit a 1
reports
expect S a
exit a 1
reports
after 10ms
expect S a
exit a 1
reports
after 20ms
expect S a
after 61s
exit a 1
expect S a
report failure a exit:1 resume
view s window=0

story 163 the preset stopping stops only that child (A-04)
tree decider=stopping
  a
  b
boot
expect S a, S b
signal a SEGV
expect nothing
report failure a signal:SEGV stop preset=stopping log=error
view a failed cause=signal:SEGV
view b running
view /user degraded=yes

story C11 a group stop leaves the supervisor running without children (A-06)
tree
  s one_for_all decider=any->stop
    a
    b
    c
boot
expect S a, S b, S c
exit b 1
expect t c, x c, t a, x a
report failure b exit:1 stop group=yes
view s running
view a stopped
view b failed
view c stopped

story C11 a group stop under rest_for_one stops the later ones
tree
  s rest_for_one decider=any->stop
    a
    b
    c
boot
expect S a, S b, S c
exit b 1
expect t c, x c
report failure b exit:1 stop group=yes
view a running
view b failed
view c stopped

story a failed actor can be started, a stopped sibling too
tree
  s one_for_all decider=any->stop
    a
    b
boot
expect S a, S b
exit a 1
expect t b, x b
reports
start b
expect S b
reply start b done
start a
expect S a
reply start a done

story resume after a failed start is a fresh start
tree
  s one_for_one decider=any->resume
    a
broken a ENOENT 1
boot
expect S a, S a
report failure a exec:ENOENT resume
view a running

story the resume guard looks at the fifth last resume, not at the last
tree
  s one_for_one intensity=0/1h decider=any->resume
    a
boot
expect S a
exit a 1
expect S a
reports
at 30s
exit a 1
expect S a
reports
at 40s
exit a 1
expect S a
reports
at 50s
exit a 1
expect S a
reports
at 55s
exit a 1
expect S a
reports
at 61s
exit a 1
expect S a
report failure a exit:1 resume

story a supervisor that gave up and is to be resumed is restarted, which counts
tree intensity=1/60s decider=any->resume
  s one_for_one intensity=0/60s
    a
boot
expect S a
exit a 1
expect S a
report failure a exit:1 escalate reason=intensity
report gave_up s *
report failure s intensity restart
view /user window=1

story oom is told from a kill: its rule is asked, and success of SIGKILL does not hide it
tree
  s one_for_one decider=oom->stop,default
    a success=KILL
    b
boot
expect S a, S b
signal b KILL
expect S b
report failure b signal:KILL restart
signal a KILL oom
expect nothing
report failure a oom stop
view a failed

story oom is restarted by default
tree
  s one_for_one
    a
boot
expect S a
signal a KILL oom
expect S a
report failure a oom restart
