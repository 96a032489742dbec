# Process-bearing supervisors, and children that outlive a restart (A-20 to A-27, C15).

story a node with a process and children: the process first, and last
tree
  m one_for_one both ready=told
    a
    b
  z
boot
expect S m
view m starting
view a stopped
ready m
expect S a, S b, S z
view m running ready=yes
stop m
expect t b, x b, t a, x a, t m, x m
reply stop m done
view m stopped
view a stopped
start m
expect S m
ready m
expect S a, S b
reply start m done
shutdown
expect t z, x z, t b, x b, t a, x a, t m, x m, exit 0

story C15 O-12 the process dies: by default its children die, and begin anew
tree
  m one_for_one both
    a
    b
boot
expect S m, S a, S b
exit m 1
expect t b, x b, t a, x a, S m, S a, S b
report failure m exit:1 restart
view a running generation=2
view m running restarts=1

story 55 the children of a process that is restarted may be left alone
tree
  m one_for_one both keep_children=untouched
    a
    b
boot
expect S m, S a, S b
exit m 1
expect S m
report failure m exit:1 restart
view m running generation=2 restarts=1
view a running generation=1
view b running generation=1
stop m
expect t b, x b, t a, x a, t m, x m
reply stop m done

story 179 a process is restarted, and then its children
tree
  head one_for_one both
    mid one_for_one both keep_children=restart
      last
hear terminated
boot
expect S head, S mid, S last
signal mid KILL
expect S mid, t last, x last, S last
report failure mid signal:KILL restart
view mid running restarts=1
view last running restarts=1 generation=2
view head running generation=1
after 2s
expect nothing
report nothing

story 61 a manager and its workers are restarted
tree
  boss one_for_one
    manager one_for_all both decider=escalating keep_children=restart
      w1
      w2
      w3
hear terminated
boot
expect S manager, S w1, S w2, S w3
signal w1 KILL
expect t manager, x manager, S manager, S w1, t w2, x w2, S w2, t w3, x w3, S w3
report escalated manager signal:KILL origin=w1
report failure manager signal:KILL restart origin=w1
view manager restarts=1
view w1 running restarts=1
view w2 running restarts=1
view w3 running restarts=1
report nothing

story 54 a supervisor without a process keeps its children, too
tree
  s one_for_one decider=exit:30->stop keep_children=restart
    c
    d
hear terminated
boot
expect S c, S d
exit c 99
expect S c, t d, x d, S d
report escalated * exit:99 origin=c
report failure s exit:99 restart origin=c
view c running generation=2 restarts=1
view s running restarts=1
report nothing

story A-21 untouched: only the failed process is started again
tree
  s one_for_one decider=escalating keep_children=untouched
    c
    d
    e
boot
expect S c, S d, S e
exit d 1
expect S d
report escalated * exit:1 origin=d
report failure s exit:1 restart origin=d
view c running generation=1
view d running generation=2
view e running generation=1

story A-20 the seven steps, with hooks
tree
  m one_for_one both keep_children=restart hooks=all
    a hooks=all
boot
expect pre_start m start, S m, post_start m start, pre_start a start, S a, post_start a start
exit m 1
expect pre_restart m restart, post_stop m restart, pre_start m restart, S m, post_restart m restart
expect pre_restart a restart, t a, x a, post_stop a restart, pre_start a restart, S a, post_restart a restart
report failure m exit:1 restart

story A-20 with children that do not survive
tree
  m one_for_one both hooks=all
    a
    b
boot
expect pre_start m start, S m, post_start m start, S a, S b
restart m
expect pre_restart m restart, t b, x b, t a, x a, t m, x m, post_stop m restart
expect pre_start m restart, S m, post_restart m restart, S a, S b
reply restart m done

story a resume of the process leaves the children alone, whatever is kept
tree decider=exit:10->resume
  m one_for_one both
    a
boot
expect S m, S a
exit m 10
expect S m
report failure m exit:10 resume
view a running generation=1
view m running generation=2

story children that outlive the process wait for it with their own restarts
tree
  m one_for_one both keep_children=untouched backoff=5s/5s/5s/1000/0
    a
    b
boot
expect S m, S a, S b
exit m 1
report failure m exit:1 restart delay=5s
view m backoff
exit a 1
expect nothing
report failure a exit:1 restart
view a backoff
view b running
after 5s
expect S m, S a
view m running
view a running
view b running generation=1

story children that fail upwards while the process is away are started with it
tree
  m one_for_one both keep_children=untouched decider=escalating backoff=5s/5s/5s/1000/0
    a
    b
boot
expect S m, S a, S b
exit m 1
report failure m exit:1 restart delay=5s
exit a 1
expect nothing
view a waiting
after 5s
expect S m, S a
view m running
view b running generation=1

story stopped while its process is away: the children stop, in reverse
tree
  m one_for_one both keep_children=untouched backoff=5s/5s/5s/1000/0
    a
    b
  z
boot
expect S m, S a, S b, S z
exit m 1
report failure m exit:1 restart
view m backoff
stop m
expect t b, x b, t a, x a
reply stop m done
view m stopped
start m
expect S m, S a, S b
reply start m done
exit m 1
report failure m exit:1 restart
shutdown
expect t z, x z, t b, x b, t a, x a, exit 0

story a restart by hand while the children still start
tree
  m one_for_one both keep_children=untouched shutdown=10s
    a hooks=pre_start
    b
    c
hook a pre_start lasts 2s
boot
expect S m, pre_start a start
slow m 3s
restart m
expect t m
after 2s
expect nothing
view a starting
after 1s
expect x m, S m, S a, S b, S c
reply restart m done
view m running
view c running generation=1

story a restart by hand while the children still start, each is restarted
tree
  m one_for_one both keep_children=restart
    a ready=told
    b
boot
expect S m, S a
restart m
expect t m, x m, S m, t a, x a, S a
ready a
expect S b
reply restart m done
view m running

story the process gets its own time, the subtree all it needs
tree
  m one_for_one both shutdown=1s
    a shutdown=infinity
boot
expect S m, S a
slow a 60s
deaf m
stop m
expect t a
after 60s
expect x a, t m
after 1s
expect K m, x m
report killed_after_timeout m
reply stop m done

story a process that dies while the children still start has failed as any other
tree
  m one_for_one both
    a ready=told
boot
expect S m, S a
exit m 7
expect t a, x a, S m, S a
report failure m exit:7 restart

story when the main process of a supervisor ends normally its children end, too
tree
  m transient one_for_one both
    a
boot
expect S m, S a
exit m 0
expect t a, x a
view m done
view a stopped

story a supervisor with a process that gives up
tree
  m one_for_one both intensity=1/60s keep_children=restart
    a
    b
boot
expect S m, S a, S b
exit a 1
expect S a
report failure a exit:1 restart
exit a 1
expect t b, x b, t m, x m, S m, S a, S b
report failure a exit:1 escalate
report gave_up m
report failure m intensity restart
view m window=0

story a group restart of its siblings respects the children that it keeps
tree
  s one_for_all
    x
    m one_for_one both keep_children=untouched
      a
boot
expect S x, S m, S a
exit x 1
expect t m, x m, S x, S m
report failure x exit:1 restart
view a running generation=1

story a restart of any supervisor above starts everything below anew
tree
  s one_for_one
    m one_for_one both keep_children=untouched
      a
boot
expect S m, S a
restart s
expect t a, x a, t m, x m, S m, S a
reply restart s done

story when the first exec of a supervisor fails its children are never started
tree
  m one_for_one both
    a
broken m ENOENT
boot
expect S m
report failure m exec:ENOENT stop
view m failed
view a stopped

story 8 a temporary child of a supervisor that restarts what it keeps is stopped
tree
  m one_for_one both keep_children=restart
    a
    t temporary
boot
expect S m, S a, S t
exit m 1
expect S m, t a, t t, x a, x t, removed t, S a
report failure m exit:1 restart
view t unknown

story a child that is held stays down, a stopped one comes back with each restart
tree
  m one_for_one both keep_children=restart
    a
    b
    c
boot
expect S m, S a, S b, S c
stop a
expect t a, x a
reply stop a done
stop b hold
expect t b, x b
reply stop b done
exit m 1
expect S m, S a, t c, x c, S c
report failure m exit:1 restart
view b stopped held=yes

story I8 a group waits, beyond its delay, for the children of a member that is stopped during it
tree
  s one_for_all
    a backoff=1s/1s/1s/1000/0
    m one_for_one both keep_children=untouched
      x shutdown=10s
boot
expect S a, S m, S x
slow x 2s
exit a 1
expect t m, x m
reports
after 500ms
stop m
expect t x
after 1s
expect nothing
after 2s
expect x x, S a
reply stop m done
view m stopped
view a running generation=2

story A-20 a survivor that gets ready before its turn is restarted all the same
tree
  m one_for_one keep_children=restart
    a ready=told on_failure=exit:3->escalate,default
    b ready=told
boot
expect S a
ready a
expect S b
ready b
exit b 1
expect S b
reports
exit a 3
expect S a
reports
ready b
expect nothing
ready a
expect t b, x b, S b
ready b
view b running generation=3
exit b 1
expect S b
reports

story C10 a stop while the process comes up is remembered, once
tree
  m one_for_one both ready=told
    a
    b
boot
expect S m
stop a
reply stop a done
ready m
expect S b
view a stopped
exit m 1
expect t b, x b, S m
report failure m exit:1 restart
ready m
expect S a, S b

story C10 a stop while a start of the process fails is forgotten with the next
tree
  m one_for_one both ready=told
    a
boot
expect S m
ready m
expect S a
exit m 1
expect t a, x a, S m
report failure m exit:1 restart
stop a
reply stop a done
exit m 1
expect S m
report failure m early_exit restart
ready m
expect S a

story C10 a stop while a pre_start runs is remembered until somebody starts it
tree
  s one_for_one hooks=pre_start
    a
    b
hook s pre_start lasts 1s
boot
expect pre_start s start
stop a
reply stop a done
after 1s
expect S b
start a
expect S a
reply start a done

story C10 a stop while the process of what keeps its children comes up is remembered
tree
  m one_for_one both keep_children=restart ready=told
    a
    b
boot
expect S m
ready m
expect S a, S b
exit m 1
expect S m
report failure m exit:1 restart
stop a
expect t a, x a
reply stop a done
ready m
expect t b, x b, S b
view a stopped
exit m 1
expect S m
report failure m exit:1 restart
ready m
expect S a, t b, x b, S b

story I17 a supervisor that waits for its start does not give up, and is started
tree one_for_all
  e ready=told
  m one_for_one both keep_children=untouched intensity=0/60s
    a
boot
expect S e
ready e
expect S m, S a
exit e 1
expect t m, x m, S e
report failure e exit:1 restart
exit a 1
expect nothing
report nothing
ready e
expect S m, S a
view m running
view a running

story an actor that is to be restarted with a supervisor that keeps it stays down if it is held meanwhile
tree
  s one_for_one keep_children=untouched decider=escalating backoff=1s/1s/1s/1000/0
    a shutdown=10s
boot
expect S a
slow a 5s
self_report a disk
report escalated s self_report:disk *
report failure s self_report:disk restart *
stop a hold
expect t a
after 1s
view s running
after 4s
expect x a
reply stop a done
view a stopped held=yes
expect nothing

story an actor that is to be restarted with a supervisor that keeps it stays down if it is stopped while that starts
tree
  s one_for_one keep_children=untouched decider=escalating hooks=pre_start hook_timeout=10s
    a shutdown=10s
boot
expect pre_start s start, S a
hook s pre_start lasts 2s
slow a 5s
self_report a disk
report escalated s self_report:disk *
report failure s self_report:disk restart *
expect pre_start s restart
stop a
expect t a
after 2s
view s running
after 3s
expect x a
reply stop a done
view a stopped
expect nothing
