story 15 one_for_one restarts only the one that crashed (O-17)
tree one_for_one
  a
  b
boot
expect S a, S b
exit a 1
expect S a
report failure a exit:1 restart group=no
view b running restarts=0 generation=1

story 16 27 C9 one_for_all stops everyone in reverse order and then starts in order (A-07)
tree
  s one_for_all
    a
    b
    c
    d
boot
expect S a, S b, S c, S d
exit b 1
expect t d, x d, t c, x c, t a, x a, S a, S b, S c, S d
report failure b exit:1 restart group=yes window=1
view s running window=1
view d running restarts=1

story 16 nothing starts before the last of the group is gone
tree
  s one_for_all
    a
    b
    c
boot
expect S a, S b, S c
slow a 300ms
slow c 500ms
exit b 1
expect t c
report failure b exit:1 restart
view b backoff
after 499ms
expect nothing
after 1ms
expect x c, t a
after 299ms
expect nothing
after 1ms
expect x a, S a, S b, S c

story 17 rest_for_one restarts the failed one and the later ones, shutdown goes backwards
tree
  s rest_for_one
    ch7
    ch3
    ch10
    ch2
    ch5
boot
expect S ch7, S ch3, S ch10, S ch2, S ch5
exit ch10 1
expect t ch5, x ch5, t ch2, x ch2, S ch10, S ch2, S ch5
report failure ch10 exit:1 restart group=yes
view ch7 generation=1
view ch3 generation=1
shutdown
expect t ch5, x ch5, t ch2, x ch2, t ch10, x ch10, t ch3, x ch3, t ch7, x ch7, exit 0

story O-18 C10 one_for_all revives finished transients and stopped actors, not held ones
tree
  s one_for_all
    a
    b transient
    c
    d
boot
expect S a, S b, S c, S d
exit b 0
stop c
expect t c, x c
reply stop c done
stop d hold
expect t d, x d
reply stop d done
exit a 1
expect S a, S b, S c
report failure a exit:1 restart
view d stopped held=yes

story O-19 rest_for_one revives a stopped later sibling, not a stopped earlier one
tree
  s rest_for_one
    a
    b
    c
boot
expect S a, S b, S c
stop a & stop c
count t a 1, t c 1, x a 1, x c 1
reply stop a done, stop c done
exit b 1
expect S b, S c
report failure b exit:1 restart
view a stopped

story O-21 two that crash at once are one restart under one_for_all
tree
  s one_for_all intensity=1/60s
    a
    b
    c
boot
expect S a, S b, S c
exit a 1 & exit b 1
expect t c, x c, S a, S b, S c
reports
view s running window=1

story O-21 all that crash at once are one restart under one_for_all
tree
  s one_for_all intensity=1/60s
    a
    b
    c
boot
expect S a, S b, S c
exit a 1 & exit b 2 & signal c SEGV
expect S a, S b, S c
reports
view s running window=1

story O-20 temporary siblings of a group restart are stopped and forgotten
tree
  s one_for_all
    a
    t temporary
    c
boot
expect S a, S t, S c
exit a 1
expect t c, x c, t t, x t, removed t, S a, S c
report failure a exit:1 restart
view t unknown

story 21 two that crash at once are two restarts under one_for_one
tree decider=stopping
  s one_for_one intensity=1/60s
    a
    b
    c
boot
expect S a, S b, S c
exit a 1 & exit b 1
expect t c, x c
report failure a exit:1 restart
report failure b exit:1 * reason=intensity
report gave_up s
report failure s intensity stop
view s failed
view a stopped

story 22 rest_for_one takes a batch in start order: one restart (O-22)
tree decider=stopping
  s rest_for_one intensity=1/60s
    a
    b
boot
expect S a, S b
exit b 1 & exit a 1
expect S a, S b
reports
view s running window=1

story 24 rest_for_one counts for its supervisor
tree decider=stopping
  s rest_for_one intensity=2/1h
    a
    b
    c
boot
expect S a, S b, S c
exit b 1
expect t c, x c, S b, S c
report failure b exit:1 restart window=1
view a generation=1
exit c 1
expect S c
report failure c exit:1 restart window=2
exit b 1
expect t c, x c, t a, x a
report failure b exit:1 * reason=intensity
report gave_up s
report failure s intensity stop
view s failed

story 28 an escalated failure takes the whole group of the level that decides
tree
  top one_for_all
    a
    mid one_for_all decider=escalating
      b
      c
boot
expect S a, S b, S c
exit b 1
expect t c, x c, t a, x a, S a, S b, S c
report escalated * exit:1 origin=b
report failure mid exit:1 restart origin=b group=yes
view top window=1
view mid running

story 29 an added child is the last to start and the first to stop
tree
  s rest_for_one
    a
    b
boot
expect S a, S b
add s c
expect S c
stop a
expect t a, x a
reply stop a done
start a
expect S a
reply start a done
exit b 1
expect t c, x c, S b, S c
report failure b exit:1 restart
shutdown
expect t c, x c, t b, x b, t a, x a, exit 0

story 30 a crash during a group stop is absorbed (O-11)
tree decider=stopping
  s one_for_all intensity=1/60s
    a
    b
    c
boot
expect S a, S b, S c
slow c 500ms
exit a 1
expect t c
report failure a exit:1 restart
after 100ms
exit b 1
expect nothing
reports
after 400ms
expect x c, S a, S b, S c
view s running window=1

story 30 a parallel supervisor stops its group at once and waits for all
tree
  s one_for_all stop=parallel
    a
    b
    c
boot
expect S a, S b, S c
slow b 200ms
slow c 100ms
exit a 1
count t b 1, t c 1
report failure a exit:1 restart
after 199ms
expect x c
after 1ms
expect x b, S a, S b, S c

story C15 a supervisor in a group restart has its whole subtree restarted
tree
  s rest_for_one
    a
    inner one_for_one
      b
      c
    d
boot
expect S a, S b, S c, S d
exit a 1
expect t d, x d, t c, x c, t b, x b, S a, S b, S c, S d
report failure a exit:1 restart
view inner running window=0
view s window=1

story 64 a transient child that fails takes its group along
tree
  s one_for_all
    a
    b
    t transient
boot
expect S a, S b, S t
exit t 1
expect t b, x b, t a, x a, S a, S b, S t
report failure t exit:1 restart group=yes
view s window=1
exit t 0
expect nothing
view t done

story I22 a group that waits for its delay goes on waiting when another is stopped beside it
tree rest_for_one decider=exit:9->stop,default
  x
  a backoff=1s/1s/1s/1000/0
  b
boot
expect S x, S a, S b
exit a 1
expect t b, x b
report failure a exit:1 restart
before x b
exit x 9
expect nothing
report failure x exit:9 stop
after 1s
expect S a

story 16 a group stops in reverse also after its supervisor killed its children once
tree
  s one_for_all shutdown=brutal_kill
    a
    b
    c
boot
expect S a, S b, S c
stop s
expect K c, K b, K a, x a, x b, x c
reply stop s done
start s
expect S a, S b, S c
reply start s done
slow c 300ms
exit a 1
expect t c
report failure a exit:1 restart group=yes
after 300ms
expect x c, t b, x b, S a, S b, S c
