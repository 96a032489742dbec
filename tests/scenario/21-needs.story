story needs: an actor waits until its need is ready
tree start=parallel
  db ready=told
  api needs=db:ready
  web needs=db:started
boot
expect S db, S web
view api waiting lacks=db
view /user starting
ready db
expect S api
view api running lacks=no
view /user running

story needs: completed is the normal end of a one-shot
tree start=parallel
  job ready=exit
  api needs=job:completed
boot
expect S job
view api waiting lacks=job
exit job 0
expect S api

story needs: completed is not an end that failed
tree start=parallel
  job ready=exit on_failure=any->stop
  api needs=job:completed
boot
expect S job
exit job 3
report failure job exit:3 stop
expect nothing
view job failed
view api waiting lacks=job
start job
expect S job
exit job 0
expect S api
reply start job done

story needs: a temporary actor that has completed is gone from the tree, and counts as completed
tree start=parallel
  job temporary
  api needs=job:completed
boot
expect S job
exit job 0
expect removed job, S api
view job unknown

story needs: across the tree, and of supervisors
tree start=parallel
  s one_for_one
    a ready=told
    b
  t one_for_one needs=s:ready
    c
  d needs=s:started
  e needs=a:ready
boot
expect S d, S a
view t waiting lacks=s
view c stopped
ready a
expect S e, S b, S c
view t running

story needs: replicas are meant by their common name, however many there are
tree start=parallel
  w@1 ready=told
  w@2 ready=told
  api needs=w:ready
boot
expect S w@1, S w@2
view api waiting lacks=w@2,w@1
ready w@1
view api waiting lacks=w@2
grow /user w@3 ready=told
expect S w@3
ready w@2
expect nothing
view api waiting lacks=w@3
ready w@3
expect S api
reply add w@3 done

story needs: a replica that is deleted is waited for no more
tree start=parallel
  w@1
  w@2 ready=told
  api needs=w:ready
boot
expect S w@1, S w@2
view api waiting lacks=w@2
delete w@2 stop
expect t w@2, x w@2, removed w@2, S api
reply delete w@2 done

story needs: an unknown name is waited for until it is added
tree start=parallel
  api needs=later:ready
boot
expect nothing
view api waiting lacks=later?
grow /user later
expect S later, S api
reply add later done

story needs: in a sequence the younger ones wait with it
tree start=parallel
  db ready=told
  s one_for_one
    a needs=db:ready
    b
boot
expect S db
view a waiting lacks=db
view b waiting
view s starting
ready db
expect S a, S b

story needs: a sequence does not wait for a child that comes later in it (a circle that no file may have)
tree
  a needs=s:started
  b
  s one_for_one
    c
boot
expect S b, S a, S c

story needs: a sequence waits neither for a child that may not start nor for a failed start
tree
  db
  api needs=db:ready
  web
broken db ENOENT
boot
expect S db, S web
report failure db exec:ENOENT stop
view api waiting lacks=db
view /user running
fixed db
start db
expect S db, S api
reply start db done

story needs: a sequence waits for no child that needs a child that may not start
tree
  db disabled
  api needs=db:ready
  web needs=api:ready
  log
boot
expect S log
view /user running
start db
expect S db, S api, S web
reply start db done

story needs: what waits behind a supervisor that cannot go on is passed as well
tree
  db disabled
  s one_for_all
    a needs=db:ready
    b
  web
boot
expect nothing
view a waiting lacks=db
view s starting
view web waiting
start db
expect S db, S a, S b, S web
reply start db done

story needs: under one_for_all the sequence waits
tree one_for_all
  db disabled
  api needs=db:ready
  web
boot
expect nothing
view /user starting
view web waiting
start db
expect S db, S api, S web
reply start db done

story needs: a restart waits, too, after its delay
tree start=parallel
  db backoff=5s/5s
  api needs=db:ready backoff=1s/1s
boot
expect S db, S api
exit db 1 & exit api 1
report failure db exit:1 restart
report failure api exit:1 restart
expect nothing
after 1s
view api waiting lacks=db failures=1
after 4s
expect S db, S api
view api running

story needs: what is needed only to start may go down afterwards
tree
  db
  api needs=db:ready
boot
expect S db, S api
stop db
expect t db, x db
reply stop db done
view api running
restart api
expect t api, x api
view api waiting lacks=db
start db
expect S db, S api
reply start db done
reply restart api done

story needs: a group restart starts its members in order, each with what it needs
tree one_for_all
  db ready=told
  api needs=db:ready
boot
expect S db
ready db
expect S api
exit api 1
report failure api exit:1 restart
expect t db, x db, S db
view api waiting lacks=db
ready db
expect S api

story needs: a waiting actor can be stopped, and does not start then
tree start=parallel
  db ready=told
  api needs=db:ready
boot
expect S db
stop api
reply stop api done
view api stopped
ready db
expect nothing
start api
expect S api
reply start api done

story needs: a start by hand waits as well
tree start=parallel
  db disabled
  api disabled needs=db:ready
boot
expect nothing
start api
expect nothing
view api waiting lacks=db
stop api
reply start api superseded
reply stop api done
start api
start db
expect S db, S api
reply start db done
reply start api done

story needs: a start during the wait changes nothing, and is answered when it is ready
tree start=parallel
  db ready=told
  api needs=db:ready
boot
expect S db
start api
expect nothing
ready db
expect S api
reply start api done

story needs: a hold while it waits
tree start=parallel
  db ready=told
  api needs=db:ready
boot
expect S db
stop api hold
reply stop api done
ready db
expect nothing
view api stopped held=yes

story needs: a shutdown does not wait
tree start=parallel
  db ready=told
  api needs=db:ready
boot
expect S db
shutdown
expect t db, x db, exit 0

story needs: a reload takes them away, or others come
tree start=parallel
  db ready=told
  api needs=db:ready
  web needs=db:ready
boot
expect S db
update api needs=none
expect S api
update web needs=api:ready
expect S web

story needs: a reload adds them, for the next start
tree
  db ready=told
  api
boot
expect S db
ready db
expect S api
update api needs=db:ready
expect nothing
stop db
expect t db, x db
reply stop db done
restart api
expect t api, x api
view api waiting lacks=db
stop api
reply restart api superseded
reply stop api done

story needs: who waits is removed
tree start=parallel
  db ready=told
  api needs=db:ready
boot
expect S db
remove api
expect removed api
ready db
expect nothing

story needs: the needed one is removed, and comes back
tree start=parallel
  db ready=told
  api needs=db:ready
boot
expect S db
remove db
expect t db, x db, removed db
view api waiting lacks=db?
grow /user db
expect S db, S api
reply add db done

story needs: pre_start runs when all is there
tree start=parallel
  db ready=told
  api needs=db:ready hooks=pre_start
boot
expect S db
ready db
expect pre_start api start, S api

story needs: below a supervisor that restarts all begin anew
tree
  db ready=told
  s one_for_one backoff=1s/1s decider=escalating
    a needs=db:ready
    b
boot
expect S db
ready db
expect S a, S b
stop db
expect t db, x db
reply stop db done
exit b 1
report escalated s
report failure s exit:1 restart origin=b
expect t a, x a
after 1s
expect S b
view a waiting lacks=db
view b running

story needs: children that wait go on waiting below a supervisor that keeps its children
tree start=parallel
  db ready=told
  s one_for_one both keep_children=untouched
    a needs=db:ready
boot
expect S db, S s
exit s 1
report failure s exit:1 restart
expect S s
view a waiting lacks=db
ready db
expect S a

story needs: a circle that comes at run time holds up no other actor
tree
  x
boot
expect S x
grow /user a needs=b:ready
expect nothing
grow /user b needs=a:ready
expect nothing
view a waiting lacks=b
view b waiting lacks=a
view x running
grow /user c
expect S c
reply add c done
delete b stop
expect removed b
reply delete b done
reply add b superseded
stop a
expect removed a
reply stop a done
reply add a superseded

story needs: a delay that was hurried waits all the same
tree start=parallel
  db ready=told
  api needs=db:ready backoff=5s/5s
boot
expect S db
ready db
expect S api
exit api 1 & stop db
report failure api exit:1 restart
expect t db, x db
reply stop db done
start api
expect nothing
view api waiting lacks=db due=no
start db
expect S db
ready db
expect S api
reply start db done
reply start api done

story needs: a failed actor comes up although an earlier sibling waits for it
tree
  s one_for_one keep_children=restart
    a needs=b:completed
    b ready=told
boot
expect S b
restart s
expect nothing
exit b 1
expect S b
ready b
reply restart s done
view a waiting lacks=b
view b running

story needs: freeze_while_deciding freezes no actor below a supervisor that waits later in the sequence
tree
  s one_for_all
    a on_demand needs=c:completed
    g both one_for_one keep_children=restart freezes=yes
      b
      c transient
boot
expect listen a, S g, S b, S c
slow b 1h
self_report b disk
report failure b self_report:disk restart
expect t b, freeze c
demand a
view a waiting lacks=c
exit g 1
report failure g exit:1 restart
expect thaw c
view g waiting
exit c 0
expect S a, S g

story needs: freeze_while_deciding freezes no actor for a sibling that begins to wait later in the sequence
tree
  s rest_for_one freezes=yes start=parallel
    p one_for_all
      a needs=e:started
    c
    d
    e disabled
boot
expect S c, S d
update s start=sequential
exit d 1
report failure d exit:1 restart
expect freeze c, thaw c
view d waiting
view c running suspended=0
