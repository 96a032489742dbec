story B-08 DECISIONS 45 a normal end is delayed as a failure is, unless told otherwise
tree
  a backoff=200ms/30s
boot
expect S a
exit a 0
expect nothing
view a backoff failures=1 delay=200ms due=200ms
after 200ms
expect S a

story the first three lives that are short are followed at once, then there is a floor
tree
  a
loops a 0
boot
expect S a, S a, S a, S a
after 9ms
expect nothing
view a backoff delay=10ms due=1ms failures=4
after 1ms
expect S a
after 19ms
expect nothing
after 1ms
expect S a
after 40ms
expect S a
after 80ms
expect S a
after 160ms
expect S a
after 320ms
expect S a
after 640ms
expect S a
after 999ms
expect nothing
after 1ms
expect S a
after 10s
count S a 10
view a backoff delay=1s

story the floor is there for normal ends that `backoff` leaves alone, and counts no failure
tree
  a backoff=none on=failure
loops a 0
boot
expect S a, S a, S a, S a
view a backoff delay=10ms failures=0
after 10ms
expect S a

story the floor holds whatever the preset, for starts that fail and for resumes
tree
  s one_for_one unlimited decider=otp
    a
  t one_for_one unlimited decider=any->resume
    b
boot
expect S a, S b
broken a ENOENT
exit a 1
expect S a, S a, S a
view a backoff delay=10ms
reports
after 10ms
expect S a
reports
exit b 1
expect S b
reports
exit b 1
expect S b
reports
exit b 1
expect S b
reports
exit b 1
expect nothing
view b backoff delay=10ms
reports
after 9ms
expect nothing
reports
after 1ms
expect S b
after 10ms
expect S a
reports
fixed a
after 1m
reports
expect S a

story a life of a second ends it, one of a millisecond less does not
tree
  a
boot
expect S a
exit a 1
expect S a
reports
exit a 1
expect S a
reports
exit a 1
expect S a
reports
after 999ms
exit a 1
reports
expect nothing
after 10ms
expect S a
after 1s
exit a 1
expect S a
reports
exit a 1
expect S a
reports
exit a 1
expect S a
reports
exit a 1
expect S a
reports
exit a 1
expect nothing
reports
after 10ms
expect S a
reports

story the floor is below the delay of a group, and of those it takes along a long life counts
tree
  s one_for_all unlimited
    a
    b
boot
expect S a, S b
exit a 1
expect t b, x b, S a, S b
reports
exit a 1
expect t b, x b, S a, S b
reports
exit a 1
expect t b, x b, S a, S b
reports
exit a 1
expect t b, x b
reports
after 9ms
expect nothing
after 1ms
expect S a, S b
exit b 1
expect t a, x a, S a, S b
reports
exit b 1
expect t a, x a, S a, S b
reports
exit b 1
expect t a, x a, S a, S b
reports
after 2s
exit a 1
expect t b, x b, S a, S b
reports
exit b 1
expect t a, x a, S a, S b
reports

story a supervisor that gives up again and again is paced, and its child goes on counting
tree
  outer one_for_one unlimited
    inner one_for_one intensity=0/1s
      a
loops a 1
boot
expect S a, S a, S a, S a
view inner backoff delay=10ms
reports
after 10ms
expect S a
reports
after 20ms
expect S a
reports

story an actor on demand that ends at once while it is needed is paced, without a backoff too
tree
  a on_demand
boot
expect listen a
loops a 0
demand a
expect S a, listen a
demand a
expect S a, listen a
demand a
expect S a, listen a
demand a
expect S a
view a backoff due=10ms
after 10ms
expect listen a

story the restart of a watcher has the floor, too
tree
  a
  b watch=a:restart on=failure
boot
expect S a, S b
exit b 1
expect S b
reports
exit b 1
expect S b
reports
exit b 1
expect S b
reports
stop a
expect t a, x a, t b, x b
reply stop a done
after 9ms
expect nothing
after 1ms
expect S b
reports

story a start or a reset by hand begins anew, what the process says does not
tree
  a
boot
expect S a
exit a 1
expect S a
reports
exit a 1
expect S a
reports
exit a 1
expect S a
reports
backoff_reset a
exit a 1
expect nothing
reports
after 10ms
expect S a
reset a
exit a 1
expect S a
reports
exit a 1
expect S a
reports
exit a 1
expect S a
reports
stop a
expect t a, x a
reply stop a done
start a
expect S a
reply start a done
exit a 1
expect S a
reports

story DECISIONS 49 a start after a final end is a new incarnation: limit and backoff are new
tree
  s one_for_one unlimited limit=1/infinity
    a backoff=200ms/30s
boot
expect S a
exit a 1
reports
after 200ms
expect S a
exit a 1
reports
view a failed
start a
expect S a
reply start a done
view a running failures=0
exit a 1
report failure a exit:1 restart delay=200ms
# A start during a backoff keeps both.
start a
expect S a
reply start a done
view a running failures=1
exit a 1
report failure a exit:1 stop reason=limit

story DECISIONS 49 a stop and a start of what runs keep neither, a restart both
tree
  s one_for_one unlimited limit=2/infinity
    a backoff=200ms/30s
boot
expect S a
exit a 1
reports
after 200ms
expect S a
restart a
expect t a, x a, S a
reply restart a done
exit a 1
report failure a exit:1 restart delay=400ms
after 400ms
expect S a
slow a 1s
stop a
expect t a
start a
reply stop a superseded
after 1s
expect x a, S a
reply start a done
view a running failures=0
exit a 1
report failure a exit:1 restart delay=200ms
