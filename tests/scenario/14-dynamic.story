story an added actor is the last to start and the first to stop (29, O-03)
tree rest_for_one
  a
  b
boot
expect S a, S b
grow /user c
expect S c
reply add c done
stop a
expect t a, x a
reply stop a done
start a
expect S a
reply start a done
exit b 1
report failure b exit:1 restart
expect t c, x c, S b, S c
shutdown
expect t c, x c, t b, x b, t a, x a, removed c, exit 0

story an addition leaves no trace when its program cannot be started (102, I31)
tree one_for_all decider=otp
  a
boot
expect S a
cast c
broken c ENOENT
grow /user c
expect S c, removed c
report failure c exec:ENOENT stop reason=not_added
reply add c failed
view c unknown
view /user running children=1
after 1h
expect nothing

story an actor that ends before it is ready is not added, and nothing is counted (I31)
tree one_for_all intensity=0/60s
  a
boot
expect S a
grow /user c ready=told
expect S c
exit c 0
report failure c early_exit stop
expect removed c
reply add c failed
view /user running window=0 children=1

story an actor that is not ready in time is stopped and not added
tree
boot
grow /user c ready=told start_timeout=500ms
expect S c
after 500ms
expect t c, x c, removed c
report failure c start_timeout stop
reply add c failed

story once it was ready an added actor is restarted as any other (O-23)
tree
boot
grow /user c
expect S c
reply add c done
exit c 1
expect S c
report failure c exit:1 restart
broken c ENOENT 2
exit c 1
expect S c, S c
report failure c exit:1 restart
report failure c exec:ENOENT restart
report failure c exec:ENOENT restart
after 10ms
expect S c
view c running restarts=4

story an added temporary child disappears at its end, with its slot (9, O-15)
tree
  x temporary
boot
expect S x
exit x 1
expect removed x
report failure x exit:1 stop
grow /user y temporary
expect S y
reply add y done
exit y 0
expect removed y
view y unknown
view /user running children=1
grow /user y
expect S y
reply add y done
view y running

story temporary bystanders of a group restart are stopped and forgotten (O-20)
tree one_for_all
  a
boot
expect S a
grow /user x temporary & grow /user p
expect S x, S p
reply add x done
reply add p done
exit a 1
expect t p, x p, t x, x x, removed x, S a, S p
report failure a exit:1 restart
view x unknown

story what was added is forgotten when its supervisor is restarted, and a deleted one is back (O-03, 2.6)
tree
  s one_for_one
    a
    b
boot
expect S a, S b
grow s c
expect S c
reply add c done
stop a
expect t a, x a
reply stop a done
delete a
expect removed a
reply delete a done
view a unknown
restart s
expect t c, x c, t b, x b, removed c, S a, S b
reply restart s done
view c unknown
view a running

story an escalated failure that restarts the supervisor forgets the actors that were added
tree
  s one_for_one intensity=0/60s
    a
boot
expect S a
grow s c
expect S c
reply add c done
exit a 1
report failure a exit:1 escalate
report gave_up s
report failure s intensity restart
expect t c, x c, removed c, S a
view s running children=1

story delete: running, restarting, done, and then it is unknown (101, 88)
tree
  a backoff=10s/1m
  b
boot
expect S a, S b
delete a
expect nothing
reply delete a invalid
exit a 1
report failure a exit:1 restart
view a backoff
delete a
reply delete a invalid
view a backoff due=10s
stop a
reply stop a done
delete a
expect removed a
reply delete a done
start a
reply start a unknown
delete a
reply delete a unknown
view /user running children=2
after 1h
expect nothing

story an added child gives its slot back when it is deleted
tree
boot
grow /user c
expect S c
reply add c done
delete c
reply delete c invalid
stop c
expect t c, x c
reply stop c done
delete c
expect removed c
reply delete c done
view /user running children=0

story to shrink: several go, the last ones first, one after the other (DECISIONS 32)
tree one_for_all
  r1
  r2
boot
expect S r1, S r2
grow /user r3
expect S r3
reply add r3 done
slow r3 500ms
delete r3 stop & delete r2 stop
expect t r3
after 500ms
expect x r3, removed r3, t r2, x r2, removed r2
reply delete r3 done
reply delete r2 done
exit r1 1
expect S r1
report failure r1 exit:1 restart
view r2 unknown

story max_children bounds what is added, and those that are restarting count (107, E-01)
tree max_children=2
  a
  b
boot
expect S a, S b
grow /user c backoff=1m/1m & grow /user d
expect S c, S d
reply add c done
reply add d done
exit c 1
report failure c exit:1 restart
grow /user e
reply add e limit
stop c
reply stop c done
delete c
expect removed c
reply delete c done
grow /user e
expect S e
reply add e done

story nothing can be added below a worker, or a supervisor that is down
tree
  s one_for_one
    a
  w
boot
expect S a, S w
grow w x
reply add x invalid
stop s
expect t a, x a
reply stop s done
grow s y
reply add y invalid
expect nothing
start s
expect S a
reply start s done

story an added supervisor has children of its own, which its restart brings back
tree
boot
grow /user s rest_for_one intensity=1/60s : x : y
expect S x, S y
reply add s done
exit x 1
report failure x exit:1 restart
expect t y, x y, S x, S y
exit x 1
expect t y, x y, S x, S y
report failure x exit:1 escalate
report gave_up s
report failure s intensity restart
view s running children=2
stop s
expect t y, x y, t x, x x
reply stop s done
delete s
expect removed x, removed y, removed s
reply delete s done
view /user running children=0

story a supervisor is not added when its child does not start
tree
boot
cast x
broken x ENOENT
grow /user s one_for_all : a : x
expect S a, S x, t a, x a, removed a, removed x, removed s
report escalated s
report failure s exec:ENOENT stop
reply add s failed
view /user running children=0

story a stop while it is being added takes it away
tree
boot
grow /user c ready=told
expect S c
stop c
expect t c, x c, removed c
reply add c superseded
reply stop c done
view c unknown

story an addition during a group restart waits for the group
tree one_for_all
  a
  b
boot
expect S a, S b
slow b 1s
exit a 1
report failure a exit:1 restart
expect t b
grow /user c
expect nothing
after 1s
expect x b, S a, S b, S c
reply add c done

story an addition during the start of its supervisor waits for its elders
tree
  a ready=told
  b
boot
expect S a
grow /user c
expect nothing
view c waiting
ready a
expect S b, S c
reply add c done

story a template that is not enabled is added and not started (111)
tree
boot
grow /user c disabled
expect nothing
reply add c done
view c stopped
start c
expect S c
reply start c done

story a parallel supervisor stops all that was added at once, on one clock (71, O-05)
tree
  s one_for_one stop=parallel
boot
grow s a shutdown=2s & grow s b shutdown=2s & grow s c shutdown=2s
expect S a, S b, S c
reply add a done
reply add b done
reply add c done
slow a 1s
slow b 1s
deaf c
stop s
expect t c, t b, t a
after 1s
expect x a, x b
after 1s
report killed_after_timeout c
expect K c, x c, removed a, removed b, removed c
reply stop s done

story shutdown takes what was added along
tree
  a
boot
expect S a
grow /user c
expect S c
reply add c done
shutdown
expect t c, x c, t a, x a, removed c, exit 0

story quit while something is being added
tree
boot
grow /user c ready=told
expect S c
quit
expect K c, x c, removed c, exit 0
reply add c superseded

story 36 an actor is deleted in the middle of its start, and started after all
tree
  a ready=told
  b
boot
expect S a
slow a 1s
delete a stop
expect t a
start a
expect nothing
reply delete a superseded
after 1s
expect x a, S a
ready a
expect S b
reply start a done

story an actor that failed before it was ready is not added, also if it is started meanwhile (I31)
tree
boot
cast c
slow c 800ms
grow /user c ready=told start_timeout=500ms
expect S c
after 500ms
expect t c
report failure c start_timeout stop
reply add c failed
start c
reply start c unknown
after 800ms
expect x c, removed c

story an added actor that failed before it was ready does not come back with a group (I31)
tree one_for_all
  a
boot
expect S a
cast c
slow c 800ms
grow /user c ready=told start_timeout=500ms
expect S c
after 500ms
expect t c
report failure c start_timeout stop
reply add c failed
exit a 1
expect nothing
report failure a exit:1 restart
after 800ms
expect x c, removed c, S a

story an added actor that failed before it was ready and cannot be killed is not added by a start, or by a reset of its supervisor (I31)
tree
boot
cast c
undying c
grow /user c ready=told start_timeout=500ms
expect S c
after 500ms
report failure c start_timeout stop
reply add c failed
expect t c
after 11s
expect K c
report killed_after_timeout c *
report unkillable c unkillable
start c
reply start c unknown
reset /user
restart c
reply restart c unknown
signal c KILL
expect x c, removed c

story children of a temporary supervisor are there again with it, before it starts
tree
  s one_for_one
    g both temporary on_demand
      b
boot
expect listen g
view b stopped
stop g
expect removed g
reply stop g done
view b unknown
restart s
expect listen g
reply restart s done
view b stopped
wait b ready
demand g
expect S g, S b
reply wait b done
