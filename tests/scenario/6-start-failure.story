story 82 C5 a failing first start under one_for_all escalates, the later ones are never tried (O-32)
tree decider=escalating
  s one_for_all
    a
    b
    c
    d
broken c ENOENT
boot
expect S a, S b, S c, t b, x b, t a, x a, exit 70
report escalated * exec:ENOENT origin=c
report escalated * exec:ENOENT origin=c
report failure /user exec:ENOENT stop origin=c

story 83 C5 a failing first start under one_for_one is that child's alone
tree
  a
  b
  c
  d
broken c ENOENT
boot
expect S a, S b, S c, S d
report failure c exec:ENOENT stop
view c failed
view d running
view /user running degraded=yes

story 83 under the preset otp a failing first start escalates
tree decider=escalating
  s one_for_one decider=otp
    a
    b
    c
    d
broken c ENOENT
boot
expect S a, S b, S c, t b, x b, t a, x a, exit 70
report escalated * exec:ENOENT origin=c
reports

story 83 under the preset otp an early exit at the first start escalates as well
tree decider=stopping
  s one_for_one decider=otp
    a ready=told start_timeout=1m
    b
boot
expect S a
exit a 1
expect nothing
report escalated * early_exit origin=a
report failure s early_exit stop origin=a

story 84 the restart type does not matter when the first start fails under one_for_all
tree decider=escalating
  s one_for_all
    a
    c temporary
broken c ENOENT
boot
count S a 1, S c 1, t a 1, exit 70 1
reports

story 85 156 retries of a failing start are counted and backed off (O-27, O-34)
tree
  s one_for_one
    a backoff=200ms/30s
    b
boot
expect S a, S b
broken a ENOENT 2
exit a 1
report failure a exit:1 restart delay=200ms
after 200ms
expect S a
report failure a exec:ENOENT restart delay=400ms
view a backoff failures=2 due=400ms
after 400ms
expect S a
report failure a exec:ENOENT restart delay=800ms
after 800ms
expect S a
view a running failures=3
view s window=3
view b generation=1

story 88 a stop ends the retries of a failing start (O-36)
tree
  a backoff=1s/1s
boot
expect S a
broken a ENOENT
exit a 1
reports
after 1s
expect S a
reports
view a backoff due=1s
stop a
expect nothing
reply stop a done
view a stopped due=no
after 1h
expect nothing
fixed a
start a
expect S a
reply start a done
view a running

story 89 the later siblings stay down when the retries of an elder are stopped (O-36)
tree
  s rest_for_one
    c1
    c2 backoff=1s/1s
    c3
boot
expect S c1, S c2, S c3
broken c2 ENOENT
exit c2 1
expect t c3, x c3
reports
after 1s
expect S c2
reports
view c1 running generation=1
view c2 backoff
view c3 waiting
view s children=3
stop c2
expect nothing
reply stop c2 done
view c2 stopped
view c3 stopped
after 1h
expect nothing
fixed c2
exit c1 1
expect S c1, S c2, S c3
report failure c1 exit:1 restart

story 90 a start that takes too long is ended, its cause is start_timeout
tree
  s one_for_one
    a ready=told start_timeout=500ms backoff=100ms/1s
boot
expect S a
view a starting ready=no
after 499ms
expect nothing
after 1ms
count x a 1
report failure a start_timeout restart delay=100ms
view a backoff
after 100ms
expect S a
ready a
view a running ready=yes
after 1h
expect nothing

story 91 the next sibling starts when its elder is ready (O-01)
tree
  a ready=told start_timeout=90s
  b
boot
expect S a
view b waiting
after 1s
expect nothing
ready a
expect S b

story 91 under one_for_all a sequence waits for the child that is retried
tree
  s one_for_all decider=init->restart,default
    a ready=told start_timeout=1s backoff=1s/1s
    b
boot
expect S a
exit a 0
expect nothing
report failure a early_exit restart
view b generation=0
after 1s
expect S a
ready a
expect S b

story 91 under one_for_one a child whose first attempt failed does not hold up the others
tree
  s one_for_one decider=init->restart,default
    a backoff=1s/1s
    b
broken a ENOENT 1
boot
expect S a, S b
report failure a exec:ENOENT restart
after 1s
expect S a
view a running

story 91 a parallel start waits for no sibling
tree start=parallel
  a ready=told
  b ready=told
  c
boot
expect S a, S b, S c

story 92 an end before READY is an early exit, also with 0, also of a transient
tree
  a transient ready=told start_timeout=90s
boot
expect S a
exit a 0
expect S a
report failure a early_exit restart
ready a
exit a 0
expect nothing
view a done

story 92 ready after a while: an earlier end is an early exit
tree
  a ready=after:5s
  b
boot
expect S a
after 4999ms
expect nothing
exit a 0
expect S b, S a
report failure a early_exit restart
view a starting
after 5s
view a running ready=yes

story 92 a one-shot is ready when it ended normally
tree
  a ready=exit
  b
boot
expect S a
view a starting
view b waiting
exit a 0
expect S b
view a done

story 96 a rule can have a failing first start retried
tree
  s one_for_one decider=init->restart
    a
broken a ENOENT 1
boot
expect S a, S a
report failure a exec:ENOENT restart
view a running

story 99 a fork that fails is retried until there is room (DECISIONS 46)
tree
  a backoff=300ms/1s
boot
expect S a
broken a EAGAIN 1
exit a 1
reports
after 300ms
expect S a
view a backoff failures=1 delay=200ms due=200ms
after 200ms
expect S a
view a running failures=1 restarts=1

story 100 a nested failing boot can be stopped by the outer decider
tree
  outer one_for_one decider=init->stop
    inner one_for_all
      a
      b
    c
broken b ENOENT
boot
count S a 1, S b 1, t a 1, x a 1, S c 1
report escalated * exec:ENOENT origin=b
report failure inner exec:ENOENT stop origin=b
view inner failed
view a stopped
view c running

story O-35 one_for_all starts everything again when one of the group cannot start
tree
  s one_for_all
    a
    b
    c
boot
expect S a, S b, S c
broken b ENOENT 1
exit c 1
expect t b, x b, t a, x a, S a, S b, t a, x a, S a, S b, S c
report failure c exit:1 restart window=1
report failure b exec:ENOENT restart window=2
view s window=2

story O-35 rest_for_one starts again only from the one that could not start
tree
  s rest_for_one
    a
    b
    c
boot
expect S a, S b, S c
broken c ENOENT 1
exit b 1
expect t c, x c, S b, S c, S c
report failure b exit:1 restart window=1
report failure c exec:ENOENT restart window=2
view a generation=1
view b generation=2

story 111 a disabled actor stays stopped until it is started (O-33)
tree
  a
  b disabled
  c
boot
expect S a, S c
view b stopped
start b
expect S b
reply start b done

story A-25 a start that fails under a limit is tried limit and one times
tree
  s one_for_one unlimited decider=init->restart limit=3/infinity
    a
broken a ENOENT
boot
expect S a, S a, S a, S a
reports
view a failed

story 99 a first start that fails because the machine is short of something is retried
tree
  s one_for_one intensity=2/60s
    a
    b
broken a EAGAIN 1
boot
expect S a, S b
view a backoff due=200ms
after 200ms
expect S a
view a running
view s window=0

story a supervisor with a failed restart stops its started children before the supervisor above gives up
tree
  top one_for_one intensity=1/1m decider=otp
    s one_for_one decider=otp
      a
      b
    y
boot
expect S a, S b, S y
slow a 1s
broken b ENOENT 1
kill s
report failure s killed restart *
expect t b, x b, t a
after 1s
expect x a, S a, S b, t a
report escalated s exec:ENOENT *
after 1s
expect x a, t y, x y, S a, S b, S y
report failure s exec:ENOENT escalate *
report gave_up top *
reports

story a supervisor that cannot start is resumed two levels above: it starts anew once what it had started is gone
tree
  top one_for_one decider=init->resume,default
    mid one_for_one decider=escalating
      s one_for_one decider=escalating
        a
        b
      y
broken b ENOENT 1
slow a 1s
boot
expect S a, S b, t a
report escalated s exec:ENOENT origin=b
report nothing
after 1s
expect x a, S y, S a, S b
report escalated mid exec:ENOENT origin=b
report failure mid exec:ENOENT resume origin=b
view s running restarts=0 failures=1
view a running
view b running

story a supervisor that cannot start is resumed by the one above: that means restart, and is counted
tree
  top one_for_one decider=init->resume,default
    s one_for_one decider=escalating
      a
      b
broken b ENOENT 1
boot
expect S a, S b, t a, x a, S a, S b
report escalated s exec:ENOENT origin=b
report failure s exec:ENOENT restart origin=b window=1
view s running restarts=1

story a supervisor that cannot start is resumed five times within a minute, then what fails is restarted
tree
  top one_for_one intensity=1/1m decider=init->resume,default
    mid one_for_one decider=escalating
      s one_for_one decider=escalating
        a
        b
broken b ENOENT 6
boot
count S a 4, S b 4, t a 4, x a 4
reports
after 10s
count S a 3, S b 3, t a 2, x a 2
view mid running restarts=1
reports

story a temporary supervisor that cannot start is not resumed
tree
  top one_for_one decider=init->resume,default
    mid one_for_one decider=escalating
      s temporary one_for_one decider=escalating
        a
        b
      y
broken b ENOENT 1
boot
expect S a, S b, t a, x a, removed s, S y
report escalated s exec:ENOENT origin=b
report escalated mid exec:ENOENT origin=b
report failure mid exec:ENOENT resume origin=b
view mid running
view y running
