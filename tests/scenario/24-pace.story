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

story one that ends at once while it is needed is paced, without a backoff too
tree
  a on_demand
boot
expect listen a
loops a 0
knock a
expect S a, listen a
knock a
expect S a, listen a
knock a
expect S a, listen a
knock a
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

story DECISIONS 46 without room a start is tried again, slower and slower, and nothing counted
tree decider=stopping
  a backoff=1s/30s
hear shortage backoff
broken a ENOMEM 7
boot
expect S a
report shortage a exec:ENOMEM delay=200ms
view a backoff due=200ms failures=0 restarts=0 window=0
after 200ms
expect S a
after 400ms
expect S a
after 800ms
expect S a
after 1600ms
expect S a
after 3200ms
expect S a
after 4999ms
expect nothing
after 1ms
expect S a
hear started
after 5s
expect S a
report started a window=7
view a running restarts=0 failures=0 generation=1
# That was its first start: what fails now is another episode.
broken a EMFILE 1
restart a
expect t a, x a, S a
report shortage a exec:EMFILE delay=200ms
after 200ms
expect S a
report started a window=1
reply restart a done

story DECISIONS 46 a first start that fails for another reason after that is the first still
tree
  a
broken a ENOSPC 1
boot
expect S a
broken a ENOENT 1
after 200ms
expect S a
report failure a exec:ENOENT stop
view a failed

story DECISIONS 46 without room for its pre_start a start is tried again in the same way
tree decider=stopping
  a hooks=all backoff=1s/30s
hear shortage
hook a pre_start broken EAGAIN 3
boot
expect pre_start a start
report shortage a exec:EAGAIN delay=200ms
view a backoff due=200ms failures=0 restarts=0
after 200ms
expect pre_start a start
after 400ms
expect pre_start a start
hear started
after 800ms
expect pre_start a start, S a, post_start a start
report started a window=3
view a running restarts=0 failures=0 generation=1

story DECISIONS 46 so it is with the pre_start of a supervisor
tree
  s one_for_one hooks=pre_start
    a
hear shortage
hook s pre_start broken ENOMEM 1
boot
expect pre_start s start
report shortage s exec:ENOMEM delay=200ms
hear started
after 200ms
expect pre_start s start, S a
report started s window=1
report started a

story DECISIONS 46 one that waits for room for its pre_start can be stopped
tree
  a hooks=pre_start
hook a pre_start broken ENOMEM
boot
expect pre_start a start
stop a
view a stopped
reply stop a done

story DECISIONS 46 those in order behind it wait in a group, and do not where each is alone
tree
  s one_for_all
    a
    b
  t one_for_one
    c
    d
broken a ETXTBSY 1
broken c EBUSY 1
boot
expect S a
after 200ms
expect S a, S b, S c, S d
after 200ms
expect S c
view s running window=0
view t running window=0

story DECISIONS 46 a member of a group without room takes nobody along
tree
  s one_for_all intensity=1/60s
    a
    b
boot
expect S a, S b
broken b ENFILE 2
exit a 1
expect t b, x b, S a, S b
report failure a exit:1 restart window=1
after 200ms
expect S b
after 400ms
expect S b
view a generation=2
view s running window=1

story DECISIONS 46 a resume without room keeps what it keeps
tree decider=any->resume
  a keeps
boot
expect clear a, S a
broken a EAGAIN 1
exit a 1
reports
expect S a
after 200ms
expect S a

story DECISIONS 46 a rule that names the errno is asked all the same
tree decider=exec:ENOMEM->stop,any->restart
  a
  b
boot
expect S a, S b
broken a ENOMEM
exit a 1
expect S a
report failure a exit:1 restart
report failure a exec:ENOMEM stop
broken b EAGAIN 1
exit b 1
expect S b
report failure b exit:1 restart
after 200ms
expect S b

story DECISIONS 46 one that waits for room can be stopped, and started at once
tree
  a
broken a ENOMEM
boot
expect S a
start a
expect S a
stop a
reply start a superseded
reply stop a done
view a stopped
after 1m
expect nothing
fixed a
start a
expect S a
reply start a done

story DECISIONS 46 an actor that is added waits for room
tree
boot
cast c
broken c ENOMEM 1
grow /user c
expect S c
after 200ms
expect S c
reply add c done

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
