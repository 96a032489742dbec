story 123 125 three watchers of a stopped actor are told once each
tree
  a
  b watch=a:signal:HUP
  c watch=a:run
  d watch=a:signal:USR1
hear told
boot
expect S a, S b, S c, S d
stop a
expect t a, x a, signal d SIGUSR1, run c a, signal b SIGHUP
reply stop a done
report told d normal of=a confirmed=yes child_failed=no incarnation=1
report told c normal of=a confirmed=yes
report told b normal of=a confirmed=yes

story 124 a stopped actor, and an unknown path: told at once, existence not confirmed (D-02)
tree
  a disabled
  b watch=a:signal:HUP,nobody:run
hear told
boot
expect S b, run b nobody, signal b SIGHUP
report told b normal of=nobody confirmed=no incarnation=0
report told b normal of=a confirmed=no incarnation=1

story 124 an actor that waits for its turn to start is not dead
tree
  b watch=s:signal:HUP,a:signal:HUP
  s one_for_one
    a
hear told
boot
expect S b, S a
report nothing

story 124 an actor below a supervisor that cannot start is told as never there
tree
  b watch=c:run
  s one_for_all on_failure=any->stop decider=escalating
    a ready=told
    t one_for_one
      c
hear told
boot
expect S b, S a
exit a 1
expect run b c
report escalated s
report failure s early_exit stop origin=a
report told b * of=c confirmed=no

story 124 an actor that is held below a supervisor in its backoff will not come
tree
  b watch=a:run
  s one_for_one backoff=1s/1s
    a
    c on_failure=any->escalate
hear told
boot
expect S b, S a, S c
exit c 1
expect t a, x a, run b a
report escalated s
report failure s exit:1 restart origin=c
report told b * of=a confirmed=yes
after 500ms
stop a hold
reply stop a done
after 500ms
expect S c
stop c
expect t c, x c
reply stop c done

story 126 an unwatch drops also the notices that wait already (D-04)
tree
  a
  b watch=a:signal:HUP ready=told
hear told
boot
expect S a, S b
stop a
expect t a, x a
reply stop a done
update b watch=none
ready b
expect nothing
report nothing

story 126 138 the watch is taken away before the end
tree
  a
  b watch=a:signal:HUP
hear told
boot
expect S a, S b
update b watch=none
stop a
expect t a, x a
reply stop a done
report nothing

story 128 136 a watcher that does not handle the end fails of a death pact, after it and before its own watchers (D-07)
tree
  a
  b watch=a:fail
  c watch=b:signal:HUP
hear told terminated
boot
expect S a, S b, S c
kill a
expect t a, x a, t b, x b, signal c SIGHUP
report failure a killed stop
report terminated a killed
report told b of=a confirmed=yes
report failure b death_pact stop of=a origin=b
report terminated b death_pact
report told c of=b confirmed=yes
view b failed cause=death_pact

story 136 a rule makes of a death pact a restart
tree decider=death_pact->restart,default
  a
  b watch=a:fail
boot
expect S a, S b
kill a
expect t a, x a, t b, x b, S b
report failure a killed stop
report failure b death_pact restart of=a
view b running restarts=1
after 1m
expect nothing

story 136 a rule lets it live
tree decider=death_pact->resume,default
  a
  b watch=a:fail
boot
expect S a, S b
stop a
expect t a, x a
reply stop a done
report failure b death_pact resume of=a log=warning
view b running restarts=0

story 129 two watches of a target in sequence count once (D-03)
tree
  a
  b watch=a:signal:HUP
hear told
boot
expect S a, S b
update b watch=a:signal:HUP
update b watch=a:signal:USR1
stop a
expect t a, x a, signal b SIGUSR1
reply stop a done
report told b * of=a

story 131 an actor that comes back under the same path is watched anew, as another incarnation (D-09)
tree
  a
  b watch=a:signal:HUP
hear told
boot
expect S a, S b
stop a
expect t a, x a, signal b SIGHUP
reply stop a done
report told b * of=a incarnation=1
start a
expect S a
reply start a done
stop a
expect t a, x a, signal b SIGHUP
reply stop a done
report told b * of=a incarnation=2

story 131 an actor that is removed and added again
tree
  a
  b watch=a:signal:HUP
hear told
boot
expect S a, S b
remove a
expect t a, x a, removed a, signal b SIGHUP
report told b * of=a confirmed=yes
add /user a
expect S a
report nothing
stop a
expect t a, x a, signal b SIGHUP
reply stop a done
report told b * of=a confirmed=yes

story 131 an actor is added under the path of a watched actor that still stops
tree
  a
  b watch=a:signal:HUP
hear told
boot
expect S a, S b
slow a 500ms
once remove a & add /user a
expect t a, S a
after 500ms
expect x a, removed a, signal b SIGHUP
report told b * of=a confirmed=yes
stop a
expect t a, x a, signal b SIGHUP
reply stop a done
report told b * of=a confirmed=yes

story 131 an unknown path is added later: told once, then watched
tree
  b watch=a:signal:HUP
hear told
boot
expect S b, signal b SIGHUP
report told b * of=a confirmed=no
add /user a
expect S a
stop a
expect t a, x a, signal b SIGHUP
reply stop a done
report told b * of=a confirmed=yes

story 133 the supervisor of a child that failed is told of it, other watchers are not (D-10)
tree decider=exit:3->stop,default
  s one_for_one decider=exit:3->stop,default watch=a:run,c:run
    a
    c
  b watch=a:signal:HUP,c:signal:HUP
hear told
boot
expect S a, S c, S b
exit a 3
expect run s a, signal b SIGHUP
report failure a exit:3 stop
report told s exit:3 of=a child_failed=yes
report told b * of=a child_failed=no
stop c
expect t c, x c, run s c, signal b SIGHUP
reply stop c done
report told s * of=c child_failed=no
report told b * of=c child_failed=no

story 133 a supervisor with a death pact with its child fails with it
tree
  s one_for_one watch=a:fail
    a
    c
boot
expect S a, S c
kill a
expect t a, x a, t c, x c
report failure a killed stop
report failure s death_pact stop of=a origin=s
view s failed

story 135 a supervisor is restarted: its children end for their watchers, the supervisor does not
tree
  s one_for_one
    a on_failure=any->escalate
  b watch=a:signal:HUP,s:signal:USR1
hear told
boot
expect S a, S b
exit a 1
expect signal b SIGHUP, S a
report escalated s
report failure s exit:1 restart origin=a
report told b * of=a confirmed=yes
exit a 1
expect signal b SIGHUP, S a
report escalated s
report failure s exit:1 restart origin=a
report told b * of=a confirmed=yes incarnation=2

story D-01 restarts are invisible, however many
tree
  a
  b watch=a:fail
hear told
boot
expect S a, S b
exit a 1
expect S a
report failure a exit:1 restart
exit a 0
expect S a
signal a SEGV
expect S a
report failure a signal:SEGV restart
restart a
expect t a, x a, S a
reply restart a done
report nothing

story D-05 children before their supervisor
tree
  s one_for_one
    a
  b watch=s:signal:USR2,a:signal:USR1
hear told
boot
expect S a, S b
stop s
expect t a, x a, signal b SIGUSR1, signal b SIGUSR2
reply stop s done
report told b * of=a
report told b * of=s

story D-08 an ended watcher is told nothing, and a new incarnation begins anew
tree
  a
  b watch=a:signal:HUP
hear told
boot
expect S a, S b
slow b 1s
once stop b
expect t b
stop a
expect t a, x a
reply stop a done
after 1s
expect x b
reply stop b done
report nothing
start b
expect S b, signal b SIGHUP
reply start b done
report told b * of=a confirmed=no

story D-08 watches survive the restart of their watcher
tree
  a
  b watch=a:signal:HUP
hear told
boot
expect S a, S b
exit b 1
expect S b
report failure b exit:1 restart
stop a
expect t a, x a, signal b SIGHUP
reply stop a done
report told b * of=a

story D-08 what ends during the backoff is told to the next process
tree
  a
  b watch=a:signal:HUP backoff=1s/1s
  c watch=a:fail backoff=1s/1s
  d watch=a:run backoff=1s/1s
  e watch=a:restart backoff=1s/1s
  f watch=a:stop backoff=1s/1s
hear told
boot
expect S a, S b, S c, S d, S e, S f
exit b 1 & exit c 1 & exit d 1 & exit e 1 & exit f 1
report failure b exit:1 restart
report failure c exit:1 restart
report failure d exit:1 restart
report failure e exit:1 restart
report failure f exit:1 restart
stop a
expect t a, x a, run d a
reply stop a done
report told f * of=a
report told e * of=a
report told d * of=a
view f stopped due=no
after 1s
expect S b, S c, S d, S e, signal b SIGHUP, t c, x c
report told b * of=a
report told c * of=a
report failure c death_pact stop
after 10s
expect nothing

story D-08 what ends while the watcher is restarted is told to the next process
tree
  a
  b watch=a:signal:HUP
hear told
boot
expect S a, S b
slow b 1s
once restart b
expect t b
stop a
expect t a, x a
reply stop a done
report nothing
after 1s
expect x b, S b, signal b SIGHUP
reply restart b done
report told b * of=a

story D-08 a signal waits until the watcher is ready, a pact does not
tree
  a
  b watch=a:signal:HUP ready=told
  c watch=a:fail ready=told
hear told
boot
expect S a, S b
ready b
expect S c
restart b
expect t b, x b, S b
stop a
expect t a, x a, t c, x c
reply stop a done
report told c * of=a
report failure c death_pact stop
ready b
expect signal b SIGHUP
report told b * of=a
reply restart b done

story a one-shot is told of an end while it works
tree
  a
  b watch=a:signal:HUP ready=exit
boot
expect S a, S b
stop a
expect t a, x a, signal b SIGHUP
reply stop a done

story the watcher is restarted: no failure, nothing counted, alone
tree one_for_all intensity=0/60s
  a
  b watch=a:restart on=failure
  c
boot
expect S a, S b, S c
stop a
expect t a, x a, t b, x b, S b
reply stop a done
view b running restarts=1 failures=0
view /user running window=0

story a watcher that starts after the end counts as restarted by it
tree
  a disabled
  b watch=a:restart
hear told
boot
expect S b
report told b * of=a confirmed=no
after 10s
expect nothing

story a supervisor that is restarted by the end of what it starts itself waits longer and longer
tree
  s one_for_one watch=a:restart backoff=100ms/10s
    a transient
boot
expect S a
loops a 0
exit a 0
after 99ms
expect nothing
after 1ms
expect S a
after 199ms
expect nothing
after 1ms
expect S a
after 400ms
expect S a

story two supervisors that restart each other come to rest
tree
  s one_for_one watch=b:restart backoff=100ms/10s
    a
  t one_for_one watch=a:restart backoff=100ms/10s
    b
boot
expect S a, S b
slow a 10ms & slow b 10ms
once restart t
expect t b
after 1s
expect x b, t a, S b, x a, t b, x b, S a, S b
reply restart t done
after 1m
expect nothing

story the watcher is stopped, and is not failed
tree
  a
  b watch=a:stop
  c watch=b:run
boot
expect S a, S b, S c
exit a 0 & stop a
expect t b, x b, run c b
reply stop a done
view b stopped

story a worker of a group that is on its way down is told when it is back
tree one_for_all
  s one_for_one
    a
  b watch=a:signal:HUP
  c
hear told
boot
expect S a, S b, S c
slow b 1s
exit c 1
expect t b
report failure c exit:1 restart
after 1s
expect x b, t a, x a, S a, S b, signal b SIGHUP, S c
report told b * of=a confirmed=yes

story I26 a circle of pacts ends, and each fails once
tree
  a watch=c:fail
  b watch=a:fail
  c watch=b:fail
boot
expect S a, S b, S c
kill a
expect t a, x a, t b, x b, t c, x c
report failure a killed stop
report failure b death_pact stop of=a
report failure c death_pact stop of=b
after 1m
expect nothing

story I26 a circle of pacts that restart
tree decider=death_pact->restart,default
  a watch=c:fail
  b watch=a:fail
  c watch=b:fail
boot
expect S a, S b, S c
kill a
expect t a, x a, t b, x b, S b
report failure a killed stop
report failure b death_pact restart of=a
after 1m
expect nothing

story a pact of a failed child moves with its place in the list
tree
  a
  n
  b watch=a:fail,n:run
boot
expect S a, S n, S b
kill a
expect t a, x a, t b, x b
report failure a killed stop
report failure b death_pact stop of=a
update b watch=n:run,a:fail
reset b
view b stopped cause=death_pact

story a watch that is added to an actor that runs is registered at once
tree
  a
  n
  b
hear told
boot
expect S a, S n, S b
stop n
expect t n, x n
reply stop n done
update b watch=a:signal:HUP,n:signal:HUP
expect signal b SIGHUP
report told b * of=n confirmed=no
stop a
expect t a, x a, signal b SIGHUP
reply stop a done
report told b * of=a confirmed=yes

story a temporary actor ends, and comes back with its supervisor
tree
  s one_for_one
    a temporary
  b watch=a:signal:HUP
hear told
boot
expect S a, S b
exit a 0
expect removed a, signal b SIGHUP
report told b * of=a confirmed=yes
restart s
expect S a
reply restart s done
exit a 0
expect removed a, signal b SIGHUP
report told b * of=a confirmed=yes incarnation=2

story a command runs once for each end, one after the other, in the order of the ends
tree
  a
  c
  b watch=c:run,a:run
hear told
boot
expect S a, S c, S b
hook b run lasts 2s
stop a
expect t a, x a, run b a
reply stop a done
report told b * of=a
stop c
expect t c, x c
reply stop c done
report nothing
after 1999ms
expect nothing
after 1ms
expect run b c
report told b * of=c
after 10s
expect nothing

story a command that fails is told of as a hook that does, and changes nothing
tree
  a
  b watch=a:run
boot
expect S a, S b
hook b run fails
stop a
expect t a, x a, run b a
reply stop a done
report hook_failed b exit:1
view b running restarts=0

story what ends while a command runs is told afterwards, be it the same again
tree
  a
  b watch=a:run
hear told
boot
expect S a, S b
hook b run lasts 1s
stop a
expect t a, x a, run b a
reply stop a done
report told b * of=a incarnation=1
start a
expect S a
reply start a done
stop a
expect t a, x a
reply stop a done
after 1s
expect run b a
report told b * of=a incarnation=2

story a command goes on when the watcher is restarted, and is not run again
tree
  a
  b watch=a:run
boot
expect S a, S b
hook b run lasts 1s
stop a
expect t a, x a, run b a
reply stop a done
restart b
expect t b, x b, S b
reply restart b done
after 10s
expect nothing

story a watcher that does not watch any more waits for no command
tree
  a
  c
  b watch=a:run,c:run
boot
expect S a, S c, S b
hook b run lasts 10s
stop a
expect t a, x a, run b a
reply stop a done
update b watch=none
after 10s
expect nothing
update b watch=a:run
expect run b a

story what ends while the supervisor of the watcher is in its backoff is told after that
tree
  s one_for_one keep_children=untouched backoff=1s/1s
    b watch=a:signal:HUP
    c on_failure=any->escalate
  a
hear told
boot
expect S b, S c, S a
exit c 1
report escalated s
report failure s exit:1 restart
stop a
expect t a, x a
reply stop a done
report nothing
after 1s
expect S c, signal b SIGHUP
report told b * of=a

story nobody hears of the shutdown
tree
  a
  b watch=a:signal:HUP
  c watch=b:signal:HUP
hear told
boot
expect S a, S b, S c
shutdown
expect t c, x c, t b, x b, t a, x a, exit 0
report nothing

story O-15 a temporary actor is stopped, not restarted, by its watch
tree
  a
  b temporary watch=a:restart
hear told terminated
boot
expect S a, S b
stop a
expect t a, x a, t b, x b, removed b
reply stop a done
report terminated a *
report told b normal of=a confirmed=yes
report terminated b *

story a command that outlives a temporary watcher keeps no later one from being run
tree
  s one_for_one
    a
    b temporary watch=a:run
hear told
boot
expect S a, S b
hook b run lasts 1s
stop a
expect t a, x a, run b a
reply stop a done
report told b * of=a confirmed=yes
exit b 0
expect removed b
after 2s
expect nothing
restart s
expect S a, S b
reply restart s done
stop a
expect t a, x a, run b a
reply stop a done
report told b * of=a incarnation=2

story 124 an actor that had ended and is left down by a restart of its supervisor is told of
tree
  m one_for_one both keep_children=untouched
    a transient
  w watch=a:signal:HUP
boot
expect S m, S a, S w
exit a 0
expect signal w SIGHUP
slow m 1s
restart m
expect t m
stop w
expect t w, x w
reply stop w done
start w
expect S w
reply start w done
after 1s
expect x m, S m, signal w SIGHUP
reply restart m done
view a done

story D-02 a child of a supervisor that is coming up is about to begin, even beside stopped actors
tree
  w watch=a:signal:HUP
  z
  m one_for_one both ready=told
    a
boot
expect S w, S z, S m
stop z
expect t z, x z
reply stop z done
ready m
expect S a
exit a 1
expect S a
reports

story D-02 a stop while its supervisor comes up is its end
tree
  w watch=a:signal:HUP
  m one_for_one both ready=told
    a
boot
expect S w, S m
stop a
expect signal w SIGHUP
reply stop a done
ready m
expect nothing
