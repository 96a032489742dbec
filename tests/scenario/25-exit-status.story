# The exit status of supd where the tree ends by itself.

story DECISIONS 52 an actor named by exit_code_from ends supd in order, with its code
tree
  a
  n never gives_exit
  b
boot
expect S a, S n, S b
exit n 3
report failure n exit:3 stop
expect t b, x b, t a, x a, exit 3

story DECISIONS 52 the normal end of an actor named by exit_code_from is 0
tree
  a
  n transient gives_exit
boot
expect S a, S n
exit n 0
expect t a, x a, exit 0

story DECISIONS 52 an actor named by exit_code_from that a signal killed: 128 and the signal
tree
  a
  n never gives_exit
boot
expect S a, S n
signal n KILL
report failure n signal:KILL stop
expect t a, x a, exit 137

story DECISIONS 52 an actor named by exit_code_from that never ran: 70
tree
  a
  n never gives_exit
broken n ENOENT
boot
report failure n exec:ENOENT stop
expect S a, S n, t a, x a, exit 70

story DECISIONS 52 a pre_start that fails before the first run is 70, too: the code of a hook does not count
tree
  a
  n never gives_exit hooks=pre_start
hook n pre_start fails 5
boot
reports
expect S a, pre_start n start, t a, x a, exit 70

story DECISIONS 52 a pre_start that fails at a restart is 70, though the actor ran before
tree limit=1/60s
  a
  n gives_exit hooks=pre_start
boot
expect S a, pre_start n start, S n
hook n pre_start fails 5
exit n 3
reports
expect pre_start n restart, t a, x a, exit 70

story DECISIONS 52 an actor that is restarted has not ended for good
tree
  a
  n transient gives_exit
boot
expect S a, S n
exit n 3
report failure n exit:3 restart
expect S n
exit n 0
expect t a, x a, exit 0

story DECISIONS 52 a stop by hand is not for good
tree
  a
  n never gives_exit
boot
expect S a, S n
stop n
expect t n, x n
reply stop n done
start n
expect S n
reply start n done
exit n 4
report failure n exit:4 stop
expect t a, x a, exit 4

story DECISIONS 52 an ordered shutdown by command stays 0
tree
  a
  n never gives_exit
answers n 5
boot
expect S a, S n
shutdown
expect t n, x n, t a, x a, exit 0

story DECISIONS 52 with auto_shutdown the code is that of its end, by a stop too
tree auto_shutdown=any_significant
  n gives_exit
  t never significant
boot
expect S n, S t
exit t 1
reports
expect t n, x n, exit 143

story DECISIONS 52 with auto_shutdown one that was never started is 70
tree auto_shutdown=any_significant
  n disabled gives_exit
  t never significant
boot
expect S t
exit t 0
expect exit 70

story DECISIONS 52 the code of a temporary actor counts, although the actor is gone from the tree
tree auto_shutdown=any_significant
  n temporary significant gives_exit
  a
boot
expect S n, S a
exit n 9
reports
expect removed n, t a, x a, exit 9

story DECISIONS 52 where the failure of the actor itself is escalated to the top its code counts
tree
  a
  n never gives_exit on_failure=escalating
boot
expect S a, S n
exit n 3
reports
expect t a, x a, exit 3

story DECISIONS 52 a top that gives up because of another actor is 70
tree decider=exit:9->escalate,any->restart
  a
  n never gives_exit
answers n 0
boot
expect S a, S n
exit a 9
reports
expect t n, x n, exit 70

story DECISIONS 52 an actor that its group takes along for good has ended
tree
  s one_for_all
    n never gives_exit
    b
  a
boot
expect S n, S b, S a
exit b 1
reports
expect t n, x n, t a, x a, exit 143

story DECISIONS 52 an actor that ended is awaited where its supervisor is restarted, which begins it anew
tree
  s one_for_one
    n never gives_exit
    b
boot
expect S n, S b
restart s
expect t b, x b, t n, x n, S n, S b
reply restart s done

story DECISIONS 52 an actor below a supervisor that failed for good has ended
tree decider=stopping
  s one_for_one decider=escalating
    n gives_exit
    b
  a
boot
expect S n, S b, S a
exit b 1
reports
expect t n, x n, t a, x a, exit 143

story DECISIONS 52 of replicas the last to end, and the first code that is not 0
tree
  n@1 never gives_exit
  n@2 never gives_exit
  n@3 never gives_exit
boot
expect S n@1, S n@2, S n@3
exit n@3 7
report failure n@3 exit:7 stop
expect nothing
exit n@1 0
expect nothing
exit n@2 5
report failure n@2 exit:5 stop
expect exit 5

story DECISIONS 52 a stop by hand is no end for good while the group of the actor waits to be restarted
tree one_for_all
  a
  n gives_exit backoff=1s/1s
boot
expect S a, S n
exit n 3
report failure n exit:3 restart
expect t a, x a
stop n
reply stop n done
expect nothing
after 1s
expect S a

story DECISIONS 52 a stop by hand is no end for good while the group of the actor goes down to be restarted
tree one_for_all
  a
  n gives_exit
slow n 1s
boot
expect S a, S n
exit a 3
report failure a exit:3 restart
expect t n
stop n
expect nothing
after 1s
expect x n, S a
reply stop n done

story DECISIONS 52 a stop by hand of what its group takes along changes nothing
tree rest_for_one decider=stopping
  a
  b
  n gives_exit
slow n 1s
boot
expect S a, S b, S n
exit b 3
reports
expect t n
stop n
after 1s
reply stop n done
expect x n, t a, x a, exit 143

story DECISIONS 52 a stop by hand is no end for good either after the group stopped the actor and a start
tree
  s one_for_all decider=stopping
    n gives_exit
    b
  m never gives_exit
boot
expect S n, S b, S m
exit b 1
reports
expect t n, x n
start n
expect S n
reply start n done
exit m 0
reports
expect nothing
stop n
expect t n, x n
reply stop n done
expect nothing

story DECISIONS 52 a replica that its group takes along before it has begun is not awaited
tree rest_for_one decider=stopping
  n@1 gives_exit ready=told
  n@2 gives_exit
boot
expect S n@1
exit n@1 3
reports
expect exit 3

story DECISIONS 52 an actor that runs once has ended for good when its supervisor restarts its children
tree
  s one_for_one both keep_children=restart
    a
    n never gives_exit
  b
boot
expect S s, S a, S n, S b
exit s 1
reports
expect S s, t a, t n, x a, x n, t b, x b, t s, x s, exit 143

story DECISIONS 52 a top that fails because another actor could not start is 70
tree decider=escalating
  s one_for_one decider=escalating
    n gives_exit
    b
broken b ENOENT
boot
expect S n, S b, t n, x n
reports
expect exit 70

story DECISIONS 52 a top that gives up because of a supervisor, which failed for another actor, is 70
tree intensity=0/60s
  s one_for_one decider=escalating
    n gives_exit
    b
  a
boot
expect S n, S b, S a
exit b 1
reports
expect t a, x a, t n, x n, exit 70

story DECISIONS 52 a top that gives up because of the actor itself has the code of the actor
tree intensity=0/60s
  s one_for_one decider=escalating
    n gives_exit
    b
  a
boot
expect S n, S b, S a
exit n 5
reports
expect t a, x a, t b, x b, exit 5

story DECISIONS 52 without exit_code_from a significant actor that failed is 70
tree auto_shutdown=any_significant
  a
  t never significant
boot
expect S a, S t
exit t 1
reports
expect t a, x a, exit 70

story DECISIONS 52 a significant actor that failed before the last significant actor ended is 70
tree auto_shutdown=all_significant
  t temporary significant
  u never significant
boot
expect S t, S u
exit t 1
reports
expect removed t
exit u 0
expect exit 70

story DECISIONS 52 a significant actor that failed below a significant supervisor is 70
tree auto_shutdown=any_significant
  q one_for_one transient significant auto_shutdown=any_significant
    c never significant
  d
boot
expect S c, S d
exit c 1
reports
expect t d, x d, exit 70

story DECISIONS 52 a supervisor that began anew has forgotten the failure of a significant actor
tree auto_shutdown=all_significant
  q one_for_one transient significant auto_shutdown=all_significant
    c never significant
    d never significant
boot
expect S c, S d
exit c 1
reports
restart q
expect t d, x d, S c, S d
reply restart q done
exit c 0
exit d 0
expect exit 0

story DECISIONS 52 an actor that waits for what has failed for good never runs: supd ends with 70
tree
  a
  db never
  n never gives_exit needs=db:ready
  b
slow a 1s
broken db ENOENT
boot
report failure db exec:ENOENT stop
report failure n exec:ENOENT stop origin=db group=0
expect S a, S db, t a
after 1s
expect x a, exit 70

story DECISIONS 52 an actor that waits for an actor that waits in vain never runs either: 70
tree
  n never gives_exit needs=api:ready
  api never needs=db:completed
  db never
boot
expect S db
exit db 1
report failure db exit:1 stop
report failure n exit:1 stop origin=db
expect exit 70

story DECISIONS 52 a supervisor with an actor that waits in vain does not hold up the actors behind it
tree rest_for_one
  db never
  s one_for_one
    api never needs=db:completed
  m one_for_one
    n never gives_exit
boot
expect S db
exit db 1
report failure db exit:1 stop
expect S n
exit n 0
expect exit 0

story DECISIONS 52 an actor behind one that waits in vain, in a group that starts in order, never runs: 70
tree rest_for_one
  db never
  api never needs=db:completed
  n never gives_exit
boot
expect S db
exit db 1
report failure db exit:1 stop
report failure n exit:1 stop origin=db
expect exit 70

story DECISIONS 52 an actor that ended before, with any code, and now waits in vain is 70
tree
  db never
  n gives_exit needs=db:ready backoff=1s/1s
boot
expect S db, S n
exit n 3
report failure n exit:3 restart
exit db 1
report failure db exit:1 stop
expect nothing
after 1s
report failure n exit:1 stop origin=db
expect exit 70

story DECISIONS 52 an actor may run as long as what it waits for is started again, by hand or itself
tree
  n never gives_exit needs=db:completed
  db transient backoff=1s/1s
boot
expect S db
exit db 1
reports
expect nothing
stop db
reply stop db done
expect nothing
start db
expect S db
reply start db done
exit db 0
expect S n
exit n 4
reports
expect exit 4

story DECISIONS 52 an actor that waits in vain does not end supd as long as another replica runs
tree
  n@1 never gives_exit needs=db:completed
  n@2 never gives_exit
  db never
boot
expect S n@2, S db
exit db 1
reports
expect nothing
exit n@2 0
report failure n@1 exit:1 stop origin=db
expect exit 70

story DECISIONS 52 an actor that waits in vain does not end supd while another replica is stopped by hand
tree
  n@1 never gives_exit needs=db:completed
  n@2 never gives_exit
  db never
boot
expect S n@2, S db
stop n@2
expect t n@2, x n@2
reply stop n@2 done
exit db 1
reports
expect nothing
start n@2
expect S n@2
reply start n@2 done
exit n@2 5
reports
expect exit 70

story DECISIONS 52 an actor may run as long as the supervisor of the needed actor starts that again
tree
  s one_for_one shutdown=infinity
    db never
    c
  n never gives_exit needs=db:completed
slow c 1s
boot
expect S db, S c
restart s
expect t c
exit db 1
reports
expect nothing
after 1s
expect x c, S db, S c
reply restart s done

story DECISIONS 52 a needed actor that is done and was never ready will not be ready: 70
tree
  a
  n never gives_exit needs=db:ready
  db never ready=told
boot
expect S a, S db
exit db 0
report failure db early_exit stop
report failure n early_exit stop origin=db
expect t a, x a, exit 70

story DECISIONS 52 an actor that was ready before it was done is not ready again
tree
  db never ready=told
  n gives_exit needs=db:ready backoff=1s/1s
boot
expect S db
ready db
expect S n
exit db 0
exit n 3
report failure n exit:3 restart
expect nothing
after 1s
report failure n normal stop origin=db
expect exit 70

story DECISIONS 52 of the replicas that an actor needs one is enough to make it wait in vain
tree start=parallel
  n never gives_exit needs=w:ready
  w@1 never ready=told
  w@2 never ready=told
boot
expect S w@1, S w@2
exit w@1 1
report failure w@1 early_exit stop
report failure n early_exit stop origin=w@1
expect t w@2, x w@2, exit 70

story DECISIONS 52 an actor waits in vain, too, if the supervisor of the needed actor has failed
tree decider=stopping
  n never gives_exit needs=db:completed
  s one_for_one decider=escalating
    db never
    c
boot
expect S db, S c
exit c 1
reports
expect t db, x db, exit 70

story DECISIONS 52 a replica that its group took along for good has ended, and is not waited for
tree
  n@1 never gives_exit needs=db:completed
  s one_for_all decider=stopping
    n@2 gives_exit
    c
  db never
boot
expect S n@2, S c, S db
exit db 1
reports
expect nothing
exit c 1
report failure c exit:1 stop
report failure n@1 exit:1 stop origin=db
expect t n@2, x n@2, exit 70

story DECISIONS 52 an actor may run as long as a supervisor further above the needed actor starts that again
tree
  t one_for_one shutdown=infinity
    s one_for_one
      db never
    c
  n never gives_exit needs=db:completed
slow c 1s
boot
expect S db, S c
restart t
expect t c
exit db 1
reports
expect nothing
after 1s
expect x c, S db, S c
reply restart t done

story DECISIONS 52 while the supervisor of an actor restarts it is not decided whether the actor waits in vain
tree
  s one_for_one shutdown=infinity
    n never gives_exit needs=db:completed
    c
  db never
slow c 1s
boot
expect S c, S db
restart s
expect t c
exit db 1
report failure db exit:1 stop
expect nothing
obeys c
after 1s
report failure n exit:1 stop origin=db
reply restart s superseded
expect x c, exit 70

story DECISIONS 52 an actor that waits in vain holds up no sibling under one_for_one
tree
  db never
  api never needs=db:completed
  n never gives_exit
boot
expect S db
exit db 1
reports
expect S n
exit n 0
expect exit 0

story DECISIONS 52 an actor whose supervisor fails for good before the actor began is 70
tree
  a
  s one_for_one never hooks=pre_start
    n never gives_exit
hook s pre_start fails 5
boot
reports
expect S a, pre_start s start, t a, x a, exit 70

story DECISIONS 52 an actor is 70 if a supervisor further above fails for good before the actor began
tree
  a
  s one_for_one never hooks=pre_start
    t one_for_one
      n never gives_exit
hook s pre_start fails 5
boot
reports
expect S a, pre_start s start, t a, x a, exit 70

story DECISIONS 52 an actor that did not begin is awaited while its supervisor comes again
tree
  a
  s one_for_one hooks=pre_start backoff=1s/1s
    n never gives_exit
hook s pre_start fails 5
boot
reports
expect S a, pre_start s start
after 1s
reports
expect pre_start s start

story DECISIONS 52 a disabled actor below a supervisor that failed for good is awaited
tree
  a
  s one_for_one never hooks=pre_start
    n never gives_exit disabled
hook s pre_start fails 5
boot
reports
expect S a, pre_start s start

story DECISIONS 52 a supervisor that waits in vain takes along the actors below it
tree
  db never
  s one_for_one needs=db:completed
    n never gives_exit
boot
expect S db
exit db 1
report failure db exit:1 stop
report failure n exit:1 stop origin=db
expect exit 70

story DECISIONS 52 of two replicas one waits in vain and the other has lost its supervisor: 70
tree
  n@1 never gives_exit needs=db:completed
  db never
  s one_for_one never hooks=pre_start
    n@2 never gives_exit
hook s pre_start fails 5
boot
reports
expect S db, pre_start s start
exit db 1
reports
expect exit 70

story DECISIONS 52 an end does not count where the actor was to start again with a supervisor that failed since
tree
  s one_for_one never hooks=pre_start
    n@1 never gives_exit
  n@2 never gives_exit needs=db:completed
  db never
boot
reports
expect pre_start s start, S n@1, S db
hook s pre_start fails 5
restart s
expect t n@1, x n@1, pre_start s restart
reply restart s failed
reports
exit db 1
reports
expect exit 70

story DECISIONS 52 an actor that failed in its pre_start has ended, while its group takes along others before they began
tree one_for_all decider=stopping start=parallel
  a
  n@1 gives_exit hooks=pre_start
  n@2 gives_exit needs=a:completed
hook n@1 pre_start fails 5
boot
reports
expect S a, pre_start n@1 start, t a, x a, exit 70

story DECISIONS 52 an actor may run while the end of a supervisor of the needed actor is not decided
tree
  t one_for_one intensity=0/60s shutdown=infinity
    db never
    c
    d
  n never gives_exit needs=db:completed
slow c 1s
boot
expect S db, S c, S d
exit db 1 & exit d 1
reports
expect t c
after 1s
reports
expect x c, S db, S c, S d

story DECISIONS 52 a replica has not ended for good while its supervisor restarts, though another waits in vain
tree
  s one_for_one shutdown=infinity
    c
    n@1 never gives_exit
  n@2 never gives_exit needs=db:completed
  db never
slow c 1s
boot
expect S c, S n@1, S db
exit n@1 0
expect nothing
restart s
expect t c
exit db 1
reports
expect nothing
after 1s
expect x c, S c, S n@1
reply restart s done

story DECISIONS 52 a replica that ended has not ended for good while its supervisor restarts
tree
  s one_for_one shutdown=infinity
    n@1 never gives_exit
    c
  n@2 never gives_exit
slow c 1s
boot
expect S n@1, S c, S n@2
exit n@1 0
expect nothing
restart s
expect t c
exit n@2 3
reports
expect nothing
after 1s
expect x c, S n@1, S c
reply restart s done
exit n@1 4
reports
expect t c
after 1s
expect x c, exit 4

story DECISIONS 52 a disabled replica that was started by hand does not keep supd up after its end
tree
  s one_for_one shutdown=infinity
    n@1 never gives_exit disabled
    c
  n@2 never gives_exit
slow c 1s
boot
expect S c, S n@2
start n@1
expect S n@1
reply start n@1 done
exit n@1 5
reports
expect nothing
restart s
expect t c
exit n@2 3
reports
after 1s
reply restart s superseded
expect x c, exit 5

story DECISIONS 52 a temporary actor that the restart of its group forgets before it began is 70
tree one_for_all
  a ready=told
  n temporary gives_exit
boot
expect S a
exit a 1
reports
expect removed n, exit 70

story DECISIONS 52 an actor is 70 if the restart of a group forgets its temporary supervisor before that began
tree one_for_all
  a ready=told
  s one_for_one temporary
    n never gives_exit
boot
expect S a
exit a 1
reports
expect removed s, exit 70

story DECISIONS 52 an actor is 70 if its temporary supervisor is forgotten in the midst of its start
tree rest_for_one
  b
  a
  s one_for_one temporary
    c ready=told
    n never gives_exit
boot
expect S b, S a, S c
exit a 1
reports
expect t c, x c, removed s, t b, x b, exit 70

story DECISIONS 52 an actor that runs once is not started by the restart of its group, though it never began
tree one_for_all
  a ready=told
  n never gives_exit
boot
expect S a
exit a 1
reports
expect exit 70

story DECISIONS 52 an actor below a supervisor that runs once is not started by the restart of its group
tree one_for_all
  a ready=told
  s one_for_one never
    n gives_exit
boot
expect S a
exit a 1
reports
expect exit 70

story DECISIONS 52 a disabled actor that runs once is awaited, though the restart of its group does not start it
tree one_for_all
  a ready=told
  n never disabled gives_exit
boot
expect S a
exit a 1
reports
expect S a

story DECISIONS 52 the stop of a group takes an actor along before it began: 70
tree rest_for_one decider=stopping
  z
  a ready=told
  n never gives_exit
boot
expect S z, S a
exit a 1
reports
expect t z, x z, exit 70

story DECISIONS 52 a death pact stops an actor for good
tree
  e never
  n never gives_exit watch=e:stop
boot
expect S e, S n
exit e 1
reports
expect t n, x n, exit 143

story DECISIONS 52 a death pact that stops a supervisor ends the actor below it for good
tree
  e never
  a
  s one_for_one watch=e:stop
    n never gives_exit
boot
expect S e, S a, S n
exit e 1
reports
expect t n, x n, t a, x a, exit 143

story DECISIONS 52 an actor waits in vain for an actor that its group took along for good
tree
  s one_for_all decider=stopping
    db
    c
  n never gives_exit needs=db:completed
boot
expect S db, S c
exit c 1
report failure c exit:1 stop
report failure n normal stop origin=db
expect t db, x db, exit 70

story DECISIONS 52 an actor waits in vain for an actor that its group took along before it began
tree
  s one_for_all
    a ready=told
    db never
  n never gives_exit needs=db:completed
boot
expect S a
exit a 1
reports
expect S a
ready a
report failure n * stop origin=db
expect t a, x a, exit 70

story DECISIONS 52 an actor waits in vain for an actor that a death pact stopped
tree
  e never
  db watch=e:stop ready=told
  n never gives_exit needs=db:ready
boot
expect S e, S db
exit e 1
reports
expect t db, x db, exit 70
