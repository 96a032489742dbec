story 1 C8 a permanent actor that ends normally is restarted and counted
tree
  s one_for_one intensity=2/1h
    a permanent
boot
expect S a
exit a 0
expect S a
report nothing
view a running restarts=1 generation=2
view s running window=1 children=1

story 2 a permanent actor ended by TERM from outside is restarted each time
tree
  s one_for_one intensity=2/1h
    a permanent
boot
expect S a
signal a TERM
expect S a
signal a TERM
expect S a
report nothing
view s window=2

story 3 C7 a permanent actor that fails is restarted
tree
  a permanent
boot
expect S a
exit a 1
expect S a
report failure a exit:1 restart origin=a preset=default group=no
view a running restarts=1 cause=exit:1

story 4 a transient actor that ends normally is done and can be started again (O-14)
tree
  a transient
boot
expect S a
exit a 0
expect nothing
view a done restarts=0
start a
expect S a
reply start a done
view a running restarts=0

story 5 a transient actor ended by a clean signal from outside is done
tree
  a transient
boot
expect S a
signal a TERM
expect nothing
view a done
start a
expect S a
reply start a done
signal a HUP
expect nothing
view a done

story 6 a transient actor that fails is restarted
tree
  a transient
boot
expect S a
exit a 3
expect S a
report failure a exit:3 restart

story 8 a temporary actor that ends normally disappears
tree
  a temporary
boot
expect S a
exit a 0
expect removed a
view a unknown

story 8 a temporary actor ended by TERM disappears
tree
  a temporary
boot
expect S a
signal a TERM
expect removed a
view a unknown

story 8 a temporary actor that fails disappears
tree
  a temporary
boot
expect S a
exit a 1
expect removed a
report failure a exit:1 stop reason=temporary
view a unknown

story 9 the name of a temporary actor that ended is free
tree
  s one_for_one
    a temporary
    b
boot
expect S a, S b
exit a 1
expect removed a
report failure a exit:1 stop
add s a temporary
expect S a
shutdown
expect t a, x a, removed a, t b, x b, exit 0

story 12 C13 a failing temporary actor does not touch its group, whatever the intensity (O-16)
tree
  s one_for_all intensity=0/60s
    a permanent
    t temporary
boot
expect S a, S t
exit t 1
expect removed t
report failure t exit:1 stop reason=temporary group=no
view a running restarts=0
view s running window=0

story 13 a normal end that leads to no restart does not touch its group (O-16, A-08)
tree
  s one_for_all
    a permanent
    b transient
boot
expect S a, S b
exit b 0
expect nothing
view a running restarts=0
view b done

story 14 a dumped core is a cause of its own
tree
  a transient
boot
expect S a
signal a ABRT core
expect S a
report failure a core:ABRT restart

story 1.1 success says which exit codes and signals are a normal end
tree
  a transient success=3,USR1
  b transient success=3,USR1
  c transient success=3,USR1
boot
expect S a, S b, S c
exit a 3 & signal b USR1 & exit c 0
expect S c
report failure c exit:0 restart
view a done
view b done

story 1.1 a kill -9 of unknown origin is a failure
tree
  a transient
boot
expect S a
signal a KILL
expect S a
report failure a signal:KILL restart

story C6 a normal end asks no decider unless a rule names normal
tree decider=any->stop
  a transient
  b permanent
boot
expect S a, S b
exit a 0
expect nothing
exit b 0
expect S b
report nothing

story a temporary supervisor that ended takes its children out of sight
tree
  s one_for_one temporary
    a
boot
expect S a
stop s
expect t a, x a, removed s
reply stop s done
view s unknown
view a unknown

story O-13 with an intensity of none one normal end of a permanent actor ends its supervisor
tree
  s one_for_one intensity=0/60s
    a
    b
boot
expect S a, S b
exit a 0
expect t b, x b, S a, S b
reports
view s running restarts=1

story DECISIONS 51 an actor with `never` that ends normally is done and can be started again
tree
  s one_for_one
    a never
boot
expect S a
exit a 0
expect nothing
view a done restarts=0
view s window=0
start a
expect S a
reply start a done
signal a TERM
expect nothing
view a done

story DECISIONS 51 an actor with `never` that fails stays listed, uncounted, and touches no group
tree
  s one_for_all intensity=0/60s
    a
    n never
boot
expect S a, S n
exit n 1
expect nothing
report failure n exit:1 stop reason=never group=no
view n failed restarts=0 cause=exit:1
view a running restarts=0
view s running window=0
start n
expect S n
reply start n done
view n running

story DECISIONS 51 a group restart does not start one with `never` again
tree
  s one_for_all
    a
    n never
    m never
boot
expect S a, S n, S m
exit m 0
expect nothing
exit a 1
report failure a exit:1 restart group=yes
expect t n, x n, S a
view n stopped
view m done

story DECISIONS 51 an actor with `never` is stopped by a rule's resume, restart or stop, not by escalate
tree
  s one_for_all decider=exit:9->escalate,any->resume
    a
    n never
boot
expect S a, S n
exit n 1
report failure n exit:1 stop reason=never group=no
expect nothing
view n failed
start n
expect S n
reply start n done
exit n 9
expect t a, x a, S a, S n
report escalated s *
report failure s * restart origin=n
view n running

story DECISIONS 51 an actor with `never` begins anew with its supervisor
tree
  s one_for_one
    a
    n never
boot
expect S a, S n
exit n 0
restart s
expect t a, x a, S a, S n
reply restart s done
view n running restarts=0

story DECISIONS 51 an added actor with `never` stays at its end
tree
  a
boot
expect S a
grow /user x never
expect S x
reply add x done
exit x 0
expect nothing
view x done
start x
expect S x
reply start x done

story DECISIONS 51 a significant one with `never` counts however it ends
tree
  s one_for_one transient auto_shutdown=any_significant
    a
    x never significant
boot
expect S a, S x
exit x 1
reports
expect t a, x a
view s done
view x failed

story DECISIONS 51 an actor with `never` that is restarted by its watch is stopped instead
tree
  a transient
  b never watch=a:restart
boot
expect S a, S b
exit a 0
expect t b, x b
view b stopped

story 111 DECISIONS 51 a disabled temporary child stays until it was started once
tree
  a temporary disabled
  b
boot
expect S b
view a stopped
stop a
reply stop a done
view a stopped
start a
expect S a
reply start a done
exit a 0
expect removed a
view a unknown

story NEW each restart is counted by what it was for, and what a supervisor's restart replaces, too
tree
  top one_for_one
    s one_for_all decider=exit:20->resume,exit:30->escalate,any->restart
      a
      b
boot
expect S a, S b
exit a 1
expect t b, x b, S a, S b
report failure a exit:1 restart
view a restarts=1 failure=1
view b restarts=1 group=1
exit b 0
expect t a, x a, S a, S b
view a restarts=2 group=1
view b restarts=2 end=1
exit a 20
expect S a
report failure a exit:20 resume
view a restarts=2 resume=1
exit a 30
expect t b, x b, S a, S b
report escalated s exit:30 origin=a
report failure s exit:30 restart origin=a
view s restarts=1 failure=1
view a restarts=3 supervisor=1 failure=1
view b restarts=3 supervisor=1
restart a
expect t a, x a, S a
reply restart a done
view a restarts=3 command=1
restart s
expect t b, x b, t a, x a, S a, S b
reply restart s done
view s restarts=1 command=1
view a restarts=3 command=2
view b restarts=3 command=1
