story what outlives SIGKILL for its kill_timeout is left behind by a stop, which says so
tree
  a
  b
boot
expect S a, S b
hear stopped terminated
undying b
stop b
expect t b
after 1s
expect K b
report killed_after_timeout b *
after 9999ms
expect nothing
view b stopping
after 1ms
reply stop b failed
report unkillable b unkillable
view b unkillable
expect nothing
stop b
reply stop b failed
report nothing
signal b KILL
report stopped b *
report terminated b *
view b stopped
expect x b
stop b
reply stop b done

story a shutdown goes on without a process that cannot be killed
tree
  a
  b kill_timeout=2s
boot
expect S a, S b
undying b
shutdown
expect t b
after 1s
expect K b
report killed_after_timeout b *
after 2s
report unkillable b unkillable
expect t a, x a, exit 0

story no second process is started before the first is gone, and then the restart goes on
tree
  a
boot
expect S a
undying a
restart a
expect t a
after 1s
expect K a
report killed_after_timeout a *
after 10s
reply restart a failed
report unkillable a unkillable
report failure a unkillable restart *
view a unkillable generation=1
after 1h
expect nothing
signal a KILL
expect x a, S a
view a running generation=2

story a start by hand is refused, and made when the process is gone
tree
  a
boot
expect S a
undying a
stop a
expect t a
after 11s
expect K a
report killed_after_timeout a *
report unkillable a unkillable
reply stop a failed
start a
reply start a failed
view a unkillable
expect nothing
stop a
reply stop a failed
view a unkillable
start a
reply start a failed
signal a KILL
expect x a, S a
view a running

story the supervisor's directive for an unkillable child: stop
tree
  s one_for_one decider=unkillable->stop,default
    a
    b
boot
expect S a, S b
undying a
restart a
expect t a
after 11s
expect K a
report killed_after_timeout a *
report unkillable a unkillable
report failure a unkillable stop *
reply restart a failed
view a unkillable
view b running
signal a KILL
view a failed cause=unkillable
expect x a

story the supervisor's directive for an unkillable child: escalate, and its own restart goes on without the child
tree
  s one_for_one decider=unkillable->escalate,default
    a
    b
boot
expect S a, S b
undying a
restart a
expect t a
after 11s
report killed_after_timeout a *
report unkillable a unkillable
report escalated s unkillable *
report failure s unkillable restart *
reply restart a failed
expect K a, t b, x b, S b
view s running
view a unkillable
after 1h
expect nothing
signal a KILL
expect x a, S a
view a running

story a one_for_all restart waits for a member that cannot be killed
tree
  s one_for_all
    a
    b
boot
expect S a, S b
undying b
exit a 1
report failure a exit:1 restart *
expect t b
after 11s
expect K b
report killed_after_timeout b *
report unkillable b unkillable
report failure b unkillable restart *
view b unkillable
view a backoff
after 1h
expect nothing
signal b KILL
expect x b, S a, S b

story leftovers of an actor can be unkillable after its main process has ended
tree
  a
boot
expect S a
lingers a
undying a
exit a 1
report failure a exit:1 restart *
expect t a
after 11s
expect K a
report killed_after_timeout a *
report unkillable a unkillable
report failure a unkillable restart *
gone a
expect x a, S a

story a removed actor keeps its place until its process is gone
tree
  a
  b
boot
expect S a, S b
undying a
remove a
expect t a
after 11s
expect K a
report killed_after_timeout a *
report unkillable a unkillable
after 1h
expect nothing
signal a KILL
expect x a, removed a

story a supervisor goes on without its process that cannot be killed, and starts no second one
tree
  m both permanent
    a
boot
expect S m, S a
undying m
restart m
expect t a, x a, t m
after 11s
expect K m
report killed_after_timeout m *
report unkillable m unkillable
report failure m unkillable restart *
reply restart m failed
stop m
reply stop m failed
view m unkillable
expect nothing
signal m KILL
expect x m
view m stopped
start m
expect S m, S a
reply start m done

story a supervisor is stopped though one below is unkillable, and its caller hears of that
tree
  s one_for_one
    a
    b
boot
expect S a, S b
undying b
stop s
expect t b
after 11s
expect K b, t a, x a
report killed_after_timeout b *
report unkillable b unkillable
reply stop s failed
view s stopped
signal b KILL
expect x b
stop s
reply stop s done

story a one_for_one supervisor that starts anew goes past a child that cannot be killed
tree
  s one_for_one
    a
    b
boot
expect S a, S b
undying a
restart s
expect t b, x b, t a
after 11s
expect K a, S b
report killed_after_timeout a *
report unkillable a unkillable
reply restart s done
view a unkillable
signal a KILL
expect x a, S a

story a watcher is told of an unkillable actor when that is gone, not before
tree
  a
  w watch=a:stop
boot
expect S a, S w
undying a
stop a
expect t a
after 11s
expect K a
report killed_after_timeout a *
report unkillable a unkillable
reply stop a failed
expect nothing
signal a KILL
expect x a, t w, x w

story a one-shot has not completed before its leftovers are gone
tree
  s both transient auto_shutdown=any_significant
    c temporary significant
  w needs=s:completed
boot
expect S s, S c
undying s
exit c 0
expect removed c, t s
after 11s
expect K s
report killed_after_timeout s *
report unkillable s unkillable
view w waiting lacks=s
signal s KILL
expect x s, S w

story the supervisor's directive for an unkillable child: resume means the restart that is under way
tree
  s one_for_one decider=unkillable->resume,default
    a
boot
expect S a
undying a
restart a
expect t a
after 11s
expect K a
report killed_after_timeout a *
report unkillable a unkillable
report failure a unkillable restart *
reply restart a failed
signal a KILL
expect x a, S a

story freeze_while_deciding ends when the child turns out to be unkillable
tree
  s one_for_one freezes=yes
    a
    b
boot
expect S a, S b
undying a
self_report a disk
report failure a self_report:disk restart
expect t a, freeze b
after 1s
expect K a
report killed_after_timeout a *
after 10s
expect thaw b
report unkillable a unkillable
report failure a unkillable restart *
signal a KILL
expect x a, S a

story post_stop is for what is gone
tree
  a hooks=post_stop
boot
expect S a
undying a
stop a
expect t a
after 11s
expect K a
report killed_after_timeout a *
report unkillable a unkillable
reply stop a failed
signal a KILL
expect x a

story what a supd that died has left holds its actor down, and no other
tree
  a
  b
left a
report unkillable a unkillable
boot
expect S b
view a unkillable generation=0
start a
reply start a failed
after 1h
expect nothing
signal a KILL
expect S a
view a running generation=1 restarts=0
report nothing

story what a supd that died has left: a stop and a shutdown go on without it
tree
  a
  b
left a
report unkillable a unkillable
boot
expect S b
stop a
reply stop a failed
view a unkillable
start a
reply start a failed
shutdown
expect t b, x b, exit 0

story a stopped actor with a leftover of a dead supd stays stopped
tree
  a disabled
  b temporary
left a
report unkillable a unkillable
left b
report unkillable b unkillable
boot
stop b
reply stop b failed
expect nothing
hear stopped terminated
signal a KILL
view a stopped
signal b KILL
expect removed b
report nothing
start a
reply start a done
expect S a

story a leftover of a dead supd holds up the actors that start or stop together with its actor
tree one_for_all
  a
  b
left a
report unkillable a unkillable
boot
expect nothing
view b waiting
signal a KILL
expect S a, S b

story a leftover of a dead supd below a supervisor that restarts
tree
  s one_for_all intensity=1/60s backoff=none
    a
    b needs=none
left b
report unkillable b unkillable
boot
expect S a
exit a 1
report failure a exit:1 restart *
expect S a
after 1h
expect nothing
signal b KILL
expect S b

story watchers are told of an actor that does not begin any more, though a dead supd has left a process of it
tree
  s one_for_all
    w watch=a:signal:HUP
    a temporary
left a
report unkillable a unkillable
boot
expect S w
hear told
exit w 1
report failure w exit:1 restart *
expect S w, signal w SIGHUP
report told w * of=a confirmed=no
signal a KILL
expect removed a

story an actor is stopped, and at once the process that a dead supd has left of it is gone
tree
  a temporary
  b
left a
report unkillable a unkillable
left b
report unkillable b unkillable
boot
stop a & signal a KILL & stop b & signal b KILL
expect removed a
reply stop a done
reply stop b done
view b stopped
