story 53 a decider chooses by cause
tree
  s one_for_one decider=exit:10->resume,exit:20->restart,exit:30->stop
    a
    b
hear terminated
boot
expect S a, S b
exit a 10
expect S a
report failure a exit:10 resume rule=1 reason=rule
view s window=0
exit a 20
expect S a
report failure a exit:20 restart rule=2
view s window=1
exit a 30
expect nothing
report failure a exit:30 stop rule=3
report terminated a exit:30
view a failed
view b running generation=1
view s running restarts=0
start a
expect S a
reply start a done
exit a 99
expect t b, x b, S a, S b
report escalated * exit:99 origin=a
report failure s exit:99 restart origin=a preset=default
report terminated a exit:99
report terminated b *
view s running restarts=1

story 57 a list that matches nothing escalates (A-01)
tree decider=stopping
  s one_for_one decider=exit:1->restart
    a
boot
expect S a
exit a 1
expect S a
report failure a exit:1 restart
exit a 2
expect nothing
report escalated * exit:2 origin=a
report failure s exit:2 stop origin=a

story 59 a resume further up touches only the one that failed (A-27)
tree
  outer one_for_one decider=any->resume
    inner one_for_all decider=escalating
      a keeps
      b
      c
    other
boot
expect clear a, S a, S b, S c, S other
exit a 1
expect S a
report escalated * exit:1 origin=a
report failure inner exit:1 resume origin=a
view b running generation=1
view c running generation=1
view inner running
view outer window=0
view inner window=0

story 60 a stop further up stops all of the subtree in reverse
tree
  outer one_for_one decider=any->stop
    inner one_for_one decider=escalating
      a
      b
      c
    other
    w watch=b:signal:HUP,inner:signal:USR1
hear terminated told
boot
expect S a, S b, S c, S other, S w
exit b 1
expect t c, signal w SIGHUP, x c, t a, x a, signal w SIGUSR1
report escalated * exit:1 origin=b
report failure inner exit:1 stop origin=b
report terminated b exit:1
report told w * of=b
report terminated c *
report terminated a *
report terminated inner *
report told w * of=inner
view inner failed
view other running generation=1

story 60 nothing is stopped before the deciding level has spoken (A-27)
tree decider=any->resume
  l1 one_for_one decider=escalating
    l2 one_for_one decider=escalating
      l3 one_for_one decider=escalating
        a
        b
boot
expect S a, S b
exit a 1
expect S a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report failure l1 exit:1 resume origin=a
view b generation=1

story 60 what no level handles ends supd with 70
tree decider=escalating
  s one_for_one decider=escalating
    a
    b
  c
boot
expect S a, S b, S c
exit a 1
expect t c, x c, t b, x b, exit 70
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report failure /user exit:1 stop origin=a

story 60 /user giving up ends supd with 70
tree intensity=0/60s
  a
  b
boot
expect S a, S b
exit a 1
expect t b, x b, exit 70
report failure a exit:1 * reason=intensity
report gave_up /user
report failure /user intensity stop

story 60 /user giving up ends supd with 70 under the preset otp as well
tree intensity=0/60s decider=otp
  a
  b
boot
expect S a, S b
exit a 1
expect t b, x b, exit 70
reports

story 60 the root restarts the whole tree where /user asks for it
tree decider=escalating on_failure=any->restart backoff=none
  a
  b
boot
expect S a, S b
exit a 1
expect t b, x b, S a, S b
report escalated * exit:1 origin=a
report failure /user exit:1 restart origin=a
view /user running restarts=1

story 62 a limit counts the restarts of a supervisor that escalated
tree
  boss one_for_one limit=1/5s
    s one_for_one decider=escalating
      crasher
boot
expect S crasher
exit crasher 1
expect S crasher
report escalated * exit:1
report failure s exit:1 restart
exit crasher 1
expect nothing
report escalated * exit:1
report failure s exit:1 stop reason=limit
view s failed
view boss running

story on_failure is asked before the supervisor's decider
tree decider=any->stop
  a on_failure=exit:5->restart
boot
expect S a
exit a 5
expect S a
report failure a exit:5 restart reason=on_failure rule=1
exit a 6
expect nothing
report failure a exit:6 stop reason=rule
view a failed

story a preset can stand at the end of a list
tree
  s one_for_one decider=exit:75->stop,default
    a
    b
boot
expect S a, S b
exit a 75
expect nothing
report failure a exit:75 stop rule=1
exit b 1
expect S b
report failure b exit:1 restart preset=default

story 169 the first rule that matches wins
tree
  s one_for_one decider=signal:SEGV->restart,signal:SEGV->stop,core:ABRT->stop,any->escalate
    a
boot
expect S a
signal a SEGV
expect S a
report failure a signal:SEGV restart rule=1
signal a SEGV core
expect S a
report failure a core:SEGV restart rule=1
signal a ABRT core
expect nothing
report failure a core:ABRT stop rule=3

story a failing temporary actor can be escalated by a rule
tree
  s one_for_one decider=any->escalate
    t temporary
    b
boot
expect S t, S b
exit t 1
count t b 1, S b 1
report escalated * exit:1 origin=t
report failure s exit:1 restart origin=t

story 185 nested levels escalate, each once
tree decider=escalating
  l1 one_for_one decider=escalating
    l2 one_for_one decider=escalating
      l3 one_for_one decider=escalating
        l4 one_for_one decider=escalating
          l5 one_for_one decider=escalating
            l6 one_for_one decider=escalating
              l7 one_for_one decider=escalating
                l8 one_for_one decider=escalating
                  a
boot
expect S a
exit a 1
expect exit 70
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report failure /user exit:1 stop origin=a

story a group restart absorbs a failure below a member that waits for its turn
tree
  o one_for_all intensity=1/60s
    a
    s one_for_one intensity=0/60s
      c
    b
boot
expect S a, S c, S b
slow b 1s
exit a 1
report failure a exit:1 restart
expect t b
exit c 1
report nothing
view o window=1
after 1s
expect x b, S a, S c, S b
view o window=1 running
