story 67 a child that does not stop in time is killed, and only then the next child is stopped (O-02)
tree
  a
  b
boot
expect S a, S b
deaf b
shutdown
expect t b
after 999ms
expect nothing
after 1ms
expect K b, x b, t a, x a, exit 0
report killed_after_timeout b *

story 67 a child asked to end late, because supd had died, has its full timeout from then on
tree
  a
boot
expect S a
deaf a
stop a
expect t a
after 900ms
stop_sent a
after 999ms
expect nothing
after 1ms
expect K a, x a
reply stop a done
report killed_after_timeout a *

story 68 brutal_kill kills at once (O-06)
tree
  a
  b shutdown=brutal_kill
boot
expect S a, S b
shutdown
expect K b, x b, t a, x a, exit 0

story 69 infinity is never killed (O-08)
tree
  a
  b shutdown=infinity
boot
expect S a, S b
slow b 3h
shutdown
expect t b
after 2h
expect nothing
after 1h
expect x b, t a, x a, exit 0

story 70 C16 stubborn actors are stopped one after another
tree
  a shutdown=300ms
  b shutdown=300ms
boot
expect S a, S b
deaf a
deaf b
shutdown
expect t b
after 300ms
expect K b, x b, t a
report killed_after_timeout b *
after 300ms
expect K a, x a, exit 0
report killed_after_timeout a *

story 70 a shutdown of 0 is legal: signal, then kill (O-07)
tree
  a shutdown=0ms
boot
expect S a
deaf a
shutdown
expect t a, K a, x a, exit 0
report killed_after_timeout a *

story 71 C16 a parallel stop takes as long as the slowest
tree
  s one_for_one stop=parallel
    a shutdown=2s
    b shutdown=2s
    c shutdown=2s
boot
expect S a, S b, S c
slow a 1s
slow b 1s
slow c 5s
shutdown
count t a 1, t b 1, t c 1
after 1s
count x a 1, x b 1
after 1s
expect K c, x c, exit 0
report killed_after_timeout c *

story 73 a tree is stopped depth first from the right
tree
  s1 one_for_one
    a
    b
  s2 one_for_one
    c
    deeper one_for_one
      d
boot
expect S a, S b, S c, S d
shutdown
expect t d, x d, t c, x c, t b, x b, t a, x a, exit 0

story 75 whatever ends an actor while it is stopped is no failure (O-09, O-10)
tree
  a
  b
  c
boot
expect S a, S b, S c
answers a 0
answers b 17
shutdown
expect t c, x c, t b, x b, t a, x a, exit 0
report nothing

story 80 a stopped supervisor is stopped in reverse and comes back from its children
tree
  inner one_for_one
    a
    b
  other
boot
expect S a, S b, S other
stop inner
expect t b, x b, t a, x a
reply stop inner done
view inner stopped
view a stopped
view other running generation=1
start inner
expect S a, S b
reply start inner done
view inner running

story 81 a second shutdown changes nothing, QUIT kills everything
tree
  a
  b
boot
expect S a, S b
deaf b
shutdown
expect t b
shutdown
expect nothing
quit
count K a 1, K b 1, exit 0 1

story 81 QUIT ends supd with 0 and leaves nothing
tree
  s one_for_one
    a
  b
boot
expect S a, S b
quit
count K a 1, K b 1, x a 1, x b 1, exit 0 1

story G a child that dies during a shutdown is not restarted
tree
  a
  b
boot
expect S a, S b
slow b 500ms
shutdown
expect t b
exit a 1
expect nothing
reports
after 500ms
expect x b, exit 0

story G a shutdown gets in between the restarts of a hot loop (O-34)
tree
  a
  b
boot
expect S a, S b
exit a 1 & shutdown
expect t b, x b, exit 0
reports

story G a shutdown ends a backoff
tree
  a backoff=1h/1h
  b
boot
expect S a, S b
exit a 1
report failure a exit:1 restart delay=1h
shutdown
expect t b, x b, exit 0

story G a shutdown during a start waits for the start and then stops it
tree
  a
  b
held a
boot
expect S a
shutdown
spawned a
count t a 1, x a 1, exit 0 1

story G what is left of an actor is killed after its shutdown time
tree
  a
  b
boot
expect S a, S b
lingers b
shutdown
expect t b
after 999ms
expect nothing
after 1ms
expect K b, x b, t a, x a, exit 0
reports

story G an actor is gone only when nothing of it is left
tree
  a
boot
expect S a
lingers a
exit a 1
expect t a
reports
view a stopping
after 500ms
gone a
expect x a, S a
reports
view a running

story G what a crashed actor leaves behind is killed before its successor starts
tree
  a
boot
expect S a
lingers a
exit a 1
expect t a
reports
after 999ms
expect nothing
after 1ms
expect K a, x a, S a
reports

story a shutdown ends although a subtree that has to wait gives up
tree
  s one_for_one intensity=0/60s
    a
  b
boot
expect S a, S b
slow b 1s
shutdown
expect t b
exit a 1
report nothing
after 1s
expect x b, exit 0

story a shutdown ends although a failure escalates while it lasts
tree
  s one_for_one decider=escalating
    a
  b
boot
expect S a, S b
slow b 1s
shutdown
expect t b
exit a 1
after 1s
expect x b, exit 0
