story 32 the restart too many ends the supervisor, and the failed child gets no signal (O-29)
tree decider=stopping
  s one_for_one intensity=2/1h
    a
    b
boot
expect S a, S b
exit a 1
expect S a
report failure a exit:1 restart window=1 limit=2
exit b 1
expect S b
report failure b exit:1 restart window=2 limit=2
exit a 1
expect t b, x b
report failure a exit:1 * reason=intensity
report gave_up s * origin=a limit=2
report failure s intensity stop origin=s
view s failed
shutdown
expect exit 0

story 33 restarts that are far enough apart go on for ever
tree decider=stopping
  s one_for_one intensity=1/1s
    a
boot
expect S a
exit a 1
reports
expect S a
after 2100ms
exit a 1
reports
expect S a
after 2100ms
exit a 1
reports
expect S a
after 2100ms
exit a 1
expect S a
reports
view s running window=1

story 34 an entry exactly as old as the period still counts
tree decider=stopping
  s one_for_one intensity=1/5s
    a
boot
expect S a
exit a 1
reports
expect S a
after 5s
exit a 1
expect nothing
reports
view s failed

story 34 C3 an entry one millisecond older than the period does not count (O-25)
tree decider=stopping
  s one_for_one intensity=1/5s
    a
boot
expect S a
exit a 1
reports
expect S a
after 5001ms
exit a 1
expect S a
reports
view s running window=1

story 37 a sliding limit forgets
tree
  s one_for_one unlimited limit=2/500ms
    a
boot
expect S a
exit a 1
reports
expect S a
exit a 1
reports
expect S a
after 700ms
exit a 1
expect S a
reports
view a window=1

story 38 a limit stops the child, its supervisor and siblings live on (A-09)
tree
  s one_for_one limit=2/1s
    a
    b
boot
expect S a, S b
exit a 1
reports
expect S a
exit a 1
expect S a
reports
exit a 1
expect nothing
report failure a exit:1 stop reason=limit
view a failed
view b running generation=1
view s running window=2 degraded=yes

story NEW a failed actor degrades all that are above it, until it is started or gone
tree
  top one_for_one
    s one_for_one limit=0/1s
      a
      b
boot
expect S a, S b
exit a 1
expect nothing
report failure a exit:1 stop reason=limit
view a failed
view s running degraded=yes
view top running degraded=yes
view /user running degraded=yes
start a
expect S a
reply start a done
view s running degraded=no
view /user running degraded=no
exit a 1
expect nothing
report failure a exit:1 stop reason=limit
view top degraded=yes
delete a
reply delete a done
expect removed a
view s running degraded=no
view top running degraded=no
view /user running degraded=no

story 39 without limits a hundred crashes are a hundred restarts
tree
  s one_for_one unlimited
    a
boot
expect S a
broken a ENOENT 99
exit a 1
expect S a, S a, S a
reports
after 100s
count S a 97
reports
view a running restarts=100

story 41 a limit of none stops the child at its first failure
tree
  s one_for_one limit=0/infinity
    a
boot
expect S a
exit a 1
expect nothing
report failure a exit:1 stop reason=limit
view a failed

story 42 a limit without a range never forgets
tree
  s one_for_one unlimited limit=3/infinity
    a
boot
expect S a
exit a 1
reports
expect S a
after 2h
exit a 1
reports
expect S a
after 2h
exit a 1
reports
expect S a
after 2h
reports
exit a 1
expect nothing
report failure a exit:1 stop reason=limit

story 42 a limit can escalate
tree decider=stopping
  s one_for_one limit=0/infinity,escalate
    a
    b
boot
expect S a, S b
exit a 7
expect t b, x b
report escalated * exit:7 origin=a
report failure s exit:7 stop origin=a
view s failed

story 44 one counter for all children of a supervisor (O-26)
tree decider=stopping
  s one_for_one intensity=2/60s
    a
    b
    c
    d
boot
expect S a, S b, S c, S d
exit a 1
reports
expect S a
after 300ms
exit b 1
reports
expect S b
after 300ms
reports
exit c 1
expect t d, x d, t b, x b, t a, x a
report failure c exit:1 * reason=intensity
report gave_up s
report failure s intensity stop

story 45 a group restart counts once (O-26)
tree decider=stopping
  s one_for_all intensity=2/60s
    a
    b
    c
    d
    e
boot
expect S a, S b, S c, S d, S e
exit a 1
reports
count S a 1, S b 1, S c 1, S d 1, S e 1
exit e 1
count S a 1, S b 1, S c 1, S d 1, S e 1
reports
view s running window=2

story 47 nested intensities multiply (O-31, I16)
tree decider=stopping
  outer one_for_one intensity=2/60s
    inner one_for_one intensity=3/60s
      idle
      loop
loops loop 1
boot
count S loop 5, S idle 2
reports
after 3s
count S loop 7, S idle 1
reports
view outer failed
view inner failed

story 47 attempts that can never succeed are one and the sum of the intensities (O-31)
tree decider=stopping
  outer one_for_one transient intensity=2/60s decider=otp
    inner one_for_one intensity=3/60s decider=otp
      a
boot
expect S a
broken a ENOENT
exit a 1
count S a 5
reports
view outer done

story 49 retries of a group restart count until the supervisor gives up
tree decider=stopping
  s one_for_all intensity=4/1h
    a
    b
boot
expect S a, S b
broken b ENOENT
exit a 1
count S a 4, S b 4, t a 4
reports
view s failed

story 50 counts are forgotten when the supervisor itself is restarted
tree
  s one_for_one intensity=1/60s decider=exit:9->escalate,default
    a
boot
expect S a
exit a 1
expect S a
report failure a exit:1 restart
view s window=1
exit a 9
expect S a
reports
view s running window=0
exit a 1
expect S a
report failure a exit:1 restart window=1

story 52 a limit under one_for_all asks every child and stops them all (A-10)
tree
  s one_for_all unlimited limit=1/infinity
    a
    b
    c
boot
expect S a, S b, S c
exit a 1
count S a 1, S b 1, S c 1
report failure a exit:1 restart
exit b 1
expect t c, x c, t a, x a
report failure b exit:1 stop reason=limit
view s running
view a stopped
view b failed
view c stopped

story 158 a limit within a short range never strikes behind a longer backoff
tree
  s one_for_one unlimited limit=3/10ms
    a backoff=100ms/100ms
boot
expect S a
exit a 1
reports
after 100ms
expect S a
exit a 1
reports
after 100ms
expect S a
exit a 1
reports
after 100ms
expect S a
exit a 1
reports
after 100ms
expect S a
exit a 1
reports
after 100ms
expect S a
reports
view a running restarts=5

story C1 a limit refuses before the intensity counts
tree
  s one_for_one intensity=1/60s limit=0/infinity
    a
    b
boot
expect S a, S b
exit a 1
expect nothing
report failure a exit:1 stop reason=limit
exit b 1
expect nothing
report failure b exit:1 stop reason=limit
view s running window=0

story commands are never counted (O-27)
tree decider=stopping
  s one_for_one intensity=0/60s
    a
boot
expect S a
restart a
expect t a, x a, S a
reply restart a done
stop a
expect t a, x a
reply stop a done
start a
expect S a
reply start a done
view s running window=0
view a restarts=0

story C4 a transient supervisor that gives up has failed and is restarted (O-30)
tree
  s one_for_one transient intensity=0/60s
    a
    b
boot
expect S a, S b
exit a 1
expect t b, x b, S a, S b
report failure a exit:1 * reason=intensity
report gave_up s
report failure s intensity restart origin=s
view s running restarts=1

story C4 under the preset otp a transient supervisor that gives up has ended normally (O-30)
tree
  s one_for_one transient intensity=0/60s decider=otp
    a
    b
boot
expect S a, S b
exit a 1
expect t b, x b
report failure a exit:1 * reason=intensity
report gave_up s
report nothing
view s done

story C4 under the preset otp a permanent supervisor that gives up is restarted and counted
tree
  top one_for_one
    s one_for_one intensity=0/60s decider=otp
      a
boot
expect S a
exit a 1
expect S a
report failure a exit:1 * reason=intensity
report gave_up s
report nothing
view s running restarts=1
view top window=1

story a limit that ends a child after a normal end is told as a failure
tree
  s one_for_one limit=0/1m
    a
boot
expect S a
exit a 0
report failure a normal stop reason=limit
view a failed

story O-24 a restart counts as long as it is not older than the period
tree intensity=5/60s
  a
boot
expect S a
exit a 1
expect S a
report failure a exit:1 restart window=1
after 60s
view /user window=1
after 1ms
view /user window=0

story C2 A-11 A-14 a fixed window lets almost twice as many through around its end
tree
  s one_for_one unlimited limit=3/10s,fixed
    a
  t one_for_one unlimited limit=3/10s
    b
boot
expect S a, S b
exit a 1 & exit b 1
expect S a, S b
reports
at 9900ms
exit a 1 & exit b 1
expect S a, S b
reports
at 9950ms
exit a 1 & exit b 1
expect S a, S b
reports
at 10100ms
exit a 1 & exit b 1
expect S a, S b
reports
at 10200ms
exit a 1 & exit b 1
expect S a
report failure a exit:1 restart
report failure b exit:1 stop reason=limit
at 10300ms
exit a 1
report failure a exit:1 restart
at 10310ms
expect S a
view a running
view b failed

story A-12 a window of years is one
tree
  s one_for_one unlimited limit=2/7000d
    a
  f one_for_one unlimited limit=2/7000d,fixed
    b
boot
expect S a, S b
exit a 1 & exit b 1
reports
expect S a, S b
after 6998d
exit a 1 & exit b 1
reports
expect S a, S b
after 1d
exit a 1
report failure a exit:1 stop reason=limit
exit b 1
report failure b exit:1 stop reason=limit
expect nothing

story A-13 a restart of its supervisor is none of the actor's own
tree
  p one_for_one unlimited
    s one_for_one unlimited limit=1/infinity decider=exit:9->escalate,default
      a
      b
boot
expect S a, S b
exit b 9
reports
expect t a, x a, S a, S b
exit b 9
reports
expect t a, x a, S a, S b
exit a 1
expect S a
report failure a exit:1 restart
exit a 1
report failure a exit:1 stop reason=limit
