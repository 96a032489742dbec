story A-29 what is left of an earlier life does nothing
tree
  a
boot
expect S a
ready a
ready a
expect nothing
exit a 1
expect S a
reports
view a running

story law 6 there is no restart within a turn
tree
  a
  b
boot
expect S a, S b
exit a 1 & stop a
expect nothing
reports
reply stop a done
view a stopped

story a stop and a crash in the same turn end in a stop
tree
  a
boot
expect S a
stop a & exit a 1
expect nothing
reports
reply stop a done
view a stopped

story a tree without actors boots and shuts down
tree
boot
expect nothing
view /user running
shutdown
expect exit 0

story a supervisor without children is running
tree
  s one_for_one
  a
boot
expect S a
view s running

story the last child is done and its supervisor runs on
tree
  s one_for_one
    a transient
boot
expect S a
exit a 0
view a done
view s running

story law 6 nothing restarts in the turn of its failure, even if the timer rings in it
tree
  a
boot
expect S a
once exit a 1 & tick
expect nothing
report failure a exit:1 restart
once tick
expect S a

story a failure below a supervisor that gives up is not decided upon any more
tree decider=stopping
  s one_for_one intensity=0/60s
    a
    b
    c
boot
expect S a, S b, S c
exit a 1 & exit b 1
expect t c, x c
report failure a exit:1 * reason=intensity
report gave_up s
report failure s intensity stop
report nothing

story an end below a supervisor that is to stop is no failure (A-28)
tree
  s one_for_one
    a
    b
boot
expect S a, S b
stop s & exit a 1
expect t b, x b
report nothing
reply stop s done
view s stopped

story an end in a shutdown that has just begun is no failure
tree
  a
  b
boot
expect S a, S b
shutdown & exit a 1
expect t b, x b, exit 0
report nothing

story a restart starts no child below a supervisor that stops
tree
  a
  b
boot
expect S a, S b
slow b 500ms
shutdown
expect t b
bounce b
after 500ms
expect x b, t a, x a, exit 0

story a supervisor that is resumed goes on as it is
tree decider=killed->resume,default
  s one_for_one
    a
    b
boot
expect S a, S b
kill s
expect nothing
report failure s killed resume
view s running generation=1

story a stop reaches a waiting actor before its turn comes
tree
  a ready=told
  b
boot
expect S a
ready a & stop b
expect nothing
reply stop b done
view b stopped

story a limit can change from a fixed to a sliding window
tree
  s one_for_one unlimited limit=2/10s,fixed
    a
boot
expect S a
exit a 1
expect S a
reports
update s limit=2/10s
exit a 1
expect S a
reports
view s running

story a supervisor removed while it gives up has not failed
tree
  s one_for_one intensity=0/60s
    a
    b
  c
boot
expect S a, S b, S c
slow b 500ms
exit a 1
expect t b
reports
remove s
after 500ms
count removed s 1, x b 1
report nothing

story a temporary actor is not resumed from further up either
tree decider=any->resume
  s one_for_one decider=any->escalate
    t temporary
    b
boot
expect S t, S b
exit t 1
expect removed t
reports
view b running generation=1
view t unknown

story a start during a group restart waits for the group
tree
  s one_for_all
    a
    b
    c
boot
expect S a, S b, S c
stop c hold
expect t c, x c
reply stop c done
slow b 500ms
exit a 1
expect t b
reports
start c
expect nothing
after 500ms
count x b 1, S a 1, S b 1, S c 1
reply start c done

story nothing is left of a group restart when its supervisor has stopped
tree one_for_all
  a backoff=1s/1s
  b
hear backoff
boot
expect S a, S b
exit a 1 & stop a
reports
reply stop a done
count t b 1
shutdown
reports
count exit 0 1
after 1h
report nothing

story a start is answered when its supervisor is stopped in the same turn
tree
  s one_for_one
    a
    b
boot
expect S a, S b
stop b
expect t b, x b
reply stop b done
start b & stop s
expect t a, x a
reply start b superseded, stop s done
view b stopped
