story 139 the delay doubles up to its bound
tree
  s one_for_one unlimited
    a backoff=300ms/3s/1h
boot
expect S a
exit a 1
report failure a exit:1 restart delay=300ms
view a backoff failures=1 delay=300ms due=300ms
after 299ms
expect nothing
after 1ms
expect S a
exit a 1
report failure a exit:1 restart delay=600ms
after 600ms
expect S a
exit a 1
report failure a exit:1 restart delay=1200ms
after 1200ms
expect S a
exit a 1
report failure a exit:1 restart delay=2400ms
after 2400ms
expect S a
exit a 1
report failure a exit:1 restart delay=3s
after 3s
expect S a
exit a 1
report failure a exit:1 restart delay=3s
after 2999ms
expect nothing
after 1ms
expect S a

story 142 a process that was ready long enough resets the backoff
tree
  s one_for_one unlimited
    a backoff=200ms/30s/1s
boot
expect S a
exit a 1
reports
after 200ms
expect S a
exit a 1
reports
after 400ms
expect S a
exit a 1
reports
after 800ms
expect S a
exit a 1
reports
after 1600ms
expect S a
reports
view a failures=4
after 1500ms
view a failures=0
exit a 1
report failure a exit:1 restart delay=200ms
after 200ms
expect S a

story 142 a millisecond less than reset_after does not reset
tree
  s one_for_one unlimited
    a backoff=200ms/30s/1s
boot
expect S a
exit a 1
reports
after 200ms
expect S a
reports
after 999ms
exit a 1
report failure a exit:1 restart delay=400ms
after 400ms
expect S a

story 142 time spent waiting does not count as healthy
tree
  s one_for_one unlimited
    a backoff=10s/30s/1s
boot
expect S a
exit a 1
reports
after 10s
expect S a
exit a 1
report failure a exit:1 restart delay=20s
after 20s
expect S a

story 142 healthy time is counted from ready
tree
  s one_for_one unlimited
    a ready=told backoff=200ms/30s/1s
boot
expect S a
ready a
exit a 1
reports
after 200ms
expect S a
reports
after 900ms
ready a
after 500ms
exit a 1
report failure a exit:1 restart delay=400ms
after 400ms
expect S a

story 145 a manual backoff is reset by hand only (B-06)
tree
  s one_for_one unlimited
    a backoff=200ms/30s/1s manual_reset
boot
expect S a
exit a 1
reports
after 200ms
expect S a
exit a 1
reports
after 400ms
expect S a
exit a 1
reports
after 800ms
expect S a
reports
after 5s
exit a 1
report failure a exit:1 restart delay=1600ms
after 1600ms
expect S a
reset a
exit a 1
report failure a exit:1 restart delay=200ms
after 200ms
expect S a

story 146 on failure: a normal end of a permanent actor is not delayed (B-07)
tree
  s one_for_one unlimited
    a backoff=1s/30s on=failure
boot
expect S a
exit a 0
expect S a
view a failures=0

story 146 on stop: every restart is delayed (B-08)
tree
  s one_for_one unlimited
    a backoff=1s/30s
boot
expect S a
exit a 0
expect nothing
view a backoff due=1s
after 1s
expect S a

story 155 a group has one delay, after all of it is gone
tree
  s one_for_all
    a backoff=1s/30s
    b backoff=1s/30s
    c backoff=1s/30s
boot
expect S a, S b, S c
slow a 400ms
slow c 300ms
exit b 1
expect t c
report failure b exit:1 restart delay=1s
after 700ms
expect x c, t a, x a
after 999ms
expect nothing
after 1ms
expect S a, S b, S c
view a failures=0
view b failures=1
view c failures=0

story 155 the delay of a group is the delay of the child that failed first
tree
  s rest_for_one
    a backoff=1s/30s
    b backoff=5s/30s
boot
expect S a, S b
exit a 1
expect t b, x b
report failure a exit:1 restart delay=1s
after 1s
expect S a, S b
exit b 1
report failure b exit:1 restart delay=5s
after 4999ms
expect nothing
after 1ms
expect S b

story the delay runs from the moment the failed one is gone
tree
  a backoff=1s/30s
boot
expect S a
lingers a
exit a 1
expect t a
reports
after 600ms
gone a
expect x a
after 999ms
expect nothing
after 1ms
expect S a

story a restarted supervisor is delayed by its own backoff
tree
  s one_for_one backoff=2s/2s decider=escalating
    a
    b
boot
expect S a, S b
exit a 1
expect t b, x b
report escalated * exit:1
report failure s exit:1 restart delay=2s
view s backoff
after 1999ms
expect nothing
after 1ms
expect S a, S b

story a resume passes the backoff as well
tree decider=any->resume
  a backoff=1s/30s
boot
expect S a
exit a 1
report failure a exit:1 resume delay=1s
after 999ms
expect nothing
after 1ms
expect S a
exit a 1
report failure a exit:1 resume delay=2s
after 2s
expect S a

story a reset_after of infinity never comes
tree
  a backoff=100ms/10s/infinity
boot
expect S a
exit a 1
report failure a exit:1 restart delay=100ms
after 100ms
expect S a
after 1h
exit a 1
report failure a exit:1 restart delay=200ms
after 200ms
expect S a

story a live process that is resumed while it starts has no timeout that was not given
tree decider=killed->resume,default
  a ready=told
boot
expect S a
kill a
expect nothing
report failure a killed resume
after 1h
expect nothing
ready a
view a running

story 145 a process can ask for a reset of its backoff, also while it is not ready
tree
  a ready=told backoff=200ms/30s/1h manual_reset
boot
expect S a
exit a 1
reports
after 200ms
expect S a
exit a 1
reports
after 400ms
expect S a
view a failures=2
backoff_reset a
expect nothing
view a failures=0
exit a 1
report failure a early_exit restart delay=200ms
after 200ms
expect S a

story 147 under a limit of two the third failure ends it (B-09)
tree
  s one_for_one unlimited limit=2/infinity
    a backoff=1s/30s
hear terminated
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
exit a 1
report failure a exit:1 stop reason=limit
report terminated a exit:1
after 1m
expect nothing
view a failed

story 147 the same where every end is delayed
tree
  s one_for_one unlimited limit=2/infinity
    a backoff=1s/30s
hear terminated
boot
expect S a
exit a 1
reports
after 1s
expect S a
exit a 0
reports
after 2s
expect S a
exit a 1
report failure a exit:1 stop reason=limit
report terminated a exit:1
after 1m
expect nothing
view a failed

story I20 a restart of the supervisor forgets the failures of its children
tree
  s one_for_one
    a backoff=1s/8s/1h
boot
expect S a
exit a 1
report failure a exit:1 restart delay=1s
after 1s
expect S a
view a running failures=1
restart s
expect t a, x a, S a
reply restart s done
view a running failures=0
exit a 1
report failure a exit:1 restart delay=1s
after 1s
expect S a

story I20 a failed child that lives until its turn to stop is not healthy meanwhile
tree one_for_all
  a backoff=100ms/1m/500ms
  b shutdown=10s
boot
expect S a, S b
exit a 1
expect t b, x b
report failure a exit:1 restart
after 100ms
expect S a, S b
slow b 2s
self_report a disk
expect t b
report failure a self_report:disk restart
after 2s
expect x b, t a, x a
view a backoff failures=2
after 200ms
expect S a, S b
