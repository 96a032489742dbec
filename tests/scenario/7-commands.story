story start of what runs and stop of what is stopped change nothing
tree
  a
boot
expect S a
start a
expect nothing
reply start a done
stop a
expect t a, x a
reply stop a done
view a stopped
stop a
expect nothing
reply stop a done

story a plain stop sticks until a start
tree
  a
  b
boot
expect S a, S b
stop a
expect t a, x a
reply stop a done
exit b 1
expect S b
report failure b exit:1 restart
after 1h
view a stopped
start a
expect S a
reply start a done

story a start during a backoff starts now, and the counters stay
tree
  a backoff=10s/1m
boot
expect S a
exit a 1
report failure a exit:1 restart delay=10s
view a backoff failures=1 due=10s
after 1s
start a
expect S a
reply start a done
view a running failures=1 due=no
after 1h
expect nothing

story a failed start after a restart by supd itself is retried
tree
  a backoff=1s/1s
boot
expect S a
broken a ENOENT 1
restart a unasked
report failure a exec:ENOENT restart
expect t a, x a, S a
after 1s
expect S a

story a failed manual start is not retried
tree
  a
boot
expect S a
stop a
expect t a, x a
reply stop a done
broken a ENOENT
start a
expect S a
reply start a failed
report failure a exec:ENOENT stop reason=manual
view a failed
view /user window=0
after 1h
expect nothing

story a start of a stopping actor starts it when its process is gone
tree
  a
boot
expect S a
slow a 500ms
stop a
expect t a
start a
expect nothing
reply stop a superseded
after 500ms
expect x a, S a
reply start a done

story a stop while it is restarted ends where the last wish said
tree
  a
boot
expect S a
slow a 500ms
restart a
expect t a
stop a
expect nothing
after 500ms
expect x a
reply restart a superseded, stop a done
view a stopped

story a restart while it stops ends where the last wish said
tree
  a
boot
expect S a
slow a 500ms
stop a
expect t a
restart a
expect nothing
reply stop a superseded
after 500ms
expect x a, S a
reply restart a done

story a start that waits is answered when it is ready
tree
  a ready=told
boot
expect S a
stop a
expect t a, x a
reply stop a done
start a
expect S a
reply nothing
after 1s
ready a
reply start a done

story a restart of a stopped, done or failed actor starts it
tree decider=any->stop
  a
  b transient
  c
boot
expect S a, S b, S c
stop a
expect t a, x a
reply stop a done
exit b 0
exit c 1
reports
restart a
expect S a
reply restart a done
restart b
expect S b
reply restart b done
restart c
expect S c
reply restart c done

story a hold survives group restarts and restarts of the supervisor
tree
  s one_for_all
    a
    b
boot
expect S a, S b
stop b hold
expect t b, x b
reply stop b done
view b stopped held=yes
exit a 1
expect S a
report failure a exit:1 restart
restart s
expect t a, x a, S a
reply restart s done
restart b
expect nothing
reply restart b invalid
start b
expect S b
reply start b done
view b running held=no

story a plain stop does not survive a restart of the supervisor
tree
  s one_for_one
    a
    b
boot
expect S a, S b
stop b
expect t b, x b
reply stop b done
restart s
expect t a, x a, S a, S b
reply restart s done

story a restart of a supervisor means its subtree
tree
  s one_for_one
    a
    inner one_for_one
      b
    c
  d
boot
expect S a, S b, S c, S d
restart s
expect t c, x c, t b, x b, t a, x a, S a, S b, S c
reply restart s done
view d generation=1
view /user window=0
view s window=0

story kill is a failure with cause killed, which stops by default (A-03)
tree
  a
  b
boot
expect S a, S b
kill a
expect t a, x a
report failure a killed stop
view a failed
view b running generation=1
start a
expect S a
reply start a done

story kill is decided like any other failure
tree decider=killed->restart,default
  a
boot
expect S a
kill a
expect t a, x a, S a
report failure a killed restart
view /user window=0

story reset forgets failures and counts
tree
  s one_for_one intensity=2/60s
    a backoff=1s/1m
boot
expect S a
exit a 1
report failure a exit:1 restart delay=1s
after 1s
expect S a
exit a 1
report failure a exit:1 restart delay=2s
after 2s
expect S a
view a failures=2
view s window=2
reset a
reset s
expect nothing
view a failures=0
view s window=0
exit a 1
report failure a exit:1 restart delay=1s
after 1s
expect S a

story a stopped elder does not hold up a start
tree
  a
  b
boot
expect S a, S b
stop a & stop b
count t a 1, t b 1, x a 1, x b 1
reply stop a done, stop b done
start b
expect S b
reply start b done

story a temporary actor that is stopped disappears
tree
  a temporary
boot
expect S a
stop a
expect t a, x a, removed a
reply stop a done
view a unknown

story stop of a waiting actor
tree
  a ready=told
  b
boot
expect S a
view b waiting
stop b
expect nothing
reply stop b done
ready a
expect nothing
view b stopped

story a stop during a start stops what was started
tree
  a
held a
boot
expect S a
stop a
spawned a
count t a 1, x a 1
reply stop a done
view a stopped

story wait answers when it has come, or at once when it cannot come
tree
  a ready=told
  b transient
boot
expect S a
wait a ready
reply nothing
ready a
expect S b
reply wait a done
wait b done
reply nothing
exit b 0
reply wait b done
wait b ready
reply wait b failed
wait a stopped
stop a
expect t a, x a
reply wait a done, stop a done

story wait for a failure
tree decider=any->stop
  a
boot
expect S a
wait a failed
exit a 1
report failure a exit:1 stop
reply wait a done

story B-11 stop during a backoff cancels it
tree
  a backoff=1s/1s
boot
expect S a
exit a 1
reports
stop a
expect nothing
reply stop a done
after 1h
expect nothing
view a stopped due=no

story stop of a supervisor in a group restart ends the restart
tree
  s one_for_all
    a backoff=1s/1s
    b
boot
expect S a, S b
slow b 300ms
exit a 1
expect t b
reports
stop s
after 2s
expect x b
reply stop s done
view s stopped
view a stopped

story a stop and a start in one turn: it is stopped and started
tree
  a
boot
expect S a
stop a & start a
expect t a, x a, S a
reply stop a superseded, start a done

story a start of a member that a group stop has not reached yet
tree
  s one_for_all decider=exit:9->stop,default
    a
    b
    c
boot
expect S a, S b, S c
slow c 1s
exit b 9
expect t c
report failure b exit:9 stop
start a
after 1s
expect x c, t a, x a, S a
reply start a done
view a running

story a kill of what is told to stop is refused
tree
  s one_for_one decider=killed->restart,default
    a
boot
expect S a
stop a & kill a
expect t a, x a
reply stop a done
view a stopped

story a start of one member of a group that waits for its delay starts the whole group
tree
  s one_for_all
    a backoff=10s/10s
    b
    c
boot
expect S a, S b, S c
exit a 1
expect t c, x c, t b, x b
report failure a exit:1 restart delay=10s
after 1s
start b
expect S a, S b, S c
reply start b done
view s window=1

story I29 a start of a group member is answered when its retries end
tree one_for_all
  a backoff=1s/1s/1h/1000/0
  b
boot
expect S a, S b
stop b hold
expect t b, x b
reply stop b done
broken a ENOENT
exit a 1
report failure a exit:1 restart
after 1s
expect S a
report failure a exec:ENOENT restart
start b
expect nothing
stop a
reply stop a done
reply start b superseded
expect nothing

story I29 a start of a group member is answered when the group is stopped for good
tree rest_for_one
  a
  b backoff=1s/1s/1h/1000/0
boot
expect S a, S b
exit b 1
report failure b exit:1 restart
stop b
reply stop b done
start b
expect nothing
kill a
expect t a, x a
report failure a killed stop
reply start b superseded
expect nothing

story a watch that comes behind the end in one turn is told of that end
tree
  a
boot
expect S a
stop a
expect t a, x a
reply stop a done
wait a terminated
reply wait a done
