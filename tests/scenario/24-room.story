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
# The first start succeeded: a failure from now on begins another episode.
broken a EMFILE 1
restart a
expect t a, x a, S a
report shortage a exec:EMFILE delay=200ms
after 200ms
expect S a
report started a window=1
reply restart a done

story DECISIONS 46 a start that fails for another reason after a shortage is still the first start
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

story DECISIONS 46 a start without room for its pre_start is tried again, slower and slower
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

story DECISIONS 46 a supervisor without room for its pre_start tries again, slower and slower
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

story DECISIONS 46 an actor that waits for room for its pre_start can be stopped
tree
  a hooks=pre_start
hook a pre_start broken ENOMEM
boot
expect pre_start a start
stop a
view a stopped
reply stop a done

story DECISIONS 46 siblings behind an actor without room wait for it in a group, and not under one_for_one
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

story DECISIONS 46 a member of a group that meets a shortage takes no sibling along
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

story DECISIONS 46 a rule that names the errno of a shortage decides about it
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

story DECISIONS 46 an actor that waits for room can be stopped, and started at once
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

story DECISIONS 46 after another failure, or a stop, the next shortage is told as a new one
tree decider=any->restart
  a backoff=1s/1s
hear shortage
broken a ENOMEM 1
boot
expect S a
report shortage a exec:ENOMEM delay=200ms
broken a ENOENT 1
after 200ms
expect S a
report failure a exec:ENOENT restart
broken a ENOMEM
after 1s
expect S a
report shortage a exec:ENOMEM delay=200ms
stop a
reply stop a done
start a
expect S a
report shortage a exec:ENOMEM delay=200ms

story DECISIONS 46 a start without room is no short life
tree
  a
broken a ENOMEM 5
boot
expect S a
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
exit a 1
report failure a exit:1 restart
expect S a
