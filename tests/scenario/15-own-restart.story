story a supervisor's own restart sends it no notice of the actors below that it watches
tree
  app both watch=side:fail
    side
boot
expect S app, S side
hear terminated
exit app 1
report failure app exit:1 restart *
expect t side, x side
report terminated side *
expect S app, S side
restart app
expect t side, x side, t app, x app, S app, S side
report terminated side *
reply restart app done
stop side
expect t side, x side
reply stop side done
report terminated side *
report failure app death_pact stop *
expect t app, x app
report terminated app *

story a supervisor's own restart tells it nothing of a watched grandchild; a restart below it does
tree
  top one_for_one watch=leaf:fail
    mid one_for_one
      leaf
      other
boot
expect S leaf, S other
restart top
expect t other, x other, t leaf, x leaf, S leaf, S other
reply restart top done
expect nothing
restart mid
reply restart mid superseded
expect t other, x other, t leaf, x leaf
report failure top death_pact stop *
expect nothing
view top failed

story a supervisor that gives up and is restarted hears nothing of its watched children
tree
  outer one_for_one
    s one_for_one intensity=1/5s watch=a:fail
      a
      b
boot
expect S a, S b
exit b 1
report failure b exit:1 restart *
expect S b
exit b 1
report failure b exit:1 escalate *
report gave_up s *
expect t a, x a
report failure s intensity restart *
expect S a, S b

story what ended by itself before the restart is told after it
tree
  app both watch=side:signal:HUP
    side transient
    rest
boot
expect S app, S side, S rest
slow app 1s
exit side 0 & restart app
expect t rest, x rest, t app
after 1s
expect x app, S app, S side, S rest, signal app SIGHUP
reply restart app done

story a child that outlives the restart is watched all the time
tree
  app both keep_children=untouched watch=side:run
    side
boot
expect S app, S side
exit app 1
report failure app exit:1 restart *
expect S app
stop side
expect t side, x side, run app side
reply stop side done

story what lives, fails and is escalated ends of that failure, as its watchers hear
tree
  w watch=a:run
  s one_for_one decider=any->escalate
    a
    b
boot
expect S w, S a, S b
hear terminated
self_report a disk
report escalated s self_report:disk
report failure s self_report:disk restart *
expect t b, x b, t a, x a, run w a, S a, S b
report terminated b *
report terminated a self_report:disk
reports
stop a
expect t a, x a, run w a
reply stop a done
report terminated a normal

story what missed its watchdog and is escalated ends of the watchdog for its watchers
tree
  w watch=a:run
  s one_for_one decider=any->escalate
    a watchdog=1s
    b
boot
expect S w, S a, S b
hear terminated
after 1s
report escalated s watchdog
report failure s watchdog restart *
expect t b, x b, b a, x a, run w a, S a, S b
report terminated b *
report terminated a watchdog
reports
stop a
expect t a, x a, run w a
reply stop a done
report terminated a normal

story what is unhealthy and is escalated ends of its health for its watchers
tree
  w watch=a:run
  s one_for_one decider=any->escalate
    a health=10s/1
    b
boot
expect S w, S a, S b
hear terminated
after 10s
expect p a
probed a bad
report escalated s health
report failure s health restart *
expect t b, x b, t a, x a, run w a, S a, S b
report terminated b *
report terminated a health
reports
stop a
expect t a, x a, run w a
reply stop a done
report terminated a normal

story what had not begun before the restart, and is removed meanwhile, is told after it
tree
  app both watch=late:run
    side ready=told
    late
boot
expect S app, S side
slow side 1s
restart app
expect t side
remove late
expect removed late
after 1s
expect x side, t app, x app, S app, S side, run app late
ready side
reply restart app done

story what ends elsewhere while a supervisor is restarted is told after it
tree
  other
  app both watch=other:run
boot
expect S other, S app
slow app 1s
restart app
expect t app
stop other
expect t other, x other
reply stop other done
after 1s
expect x app, run app other, S app
reply restart app done

story a watch set while its supervisor is restarted sends no notice of that restart either
tree
  app both
    side
boot
expect S app, S side
slow side 1s
restart app
expect t side
update app watch=side:run
after 1s
expect x side, t app, x app, S app, S side
reply restart app done
obeys side
stop side
expect t side, x side, run app side
reply stop side done

story what had not begun before the restart, and does after it, has not ended
tree
  app both watch=late:run
    side ready=told
    late
boot
expect S app, S side
slow side 1s
restart app
expect t side
after 1s
expect x side, t app, x app, S app, S side
ready side
expect S late
reply restart app done
stop late
expect t late, x late, run app late
reply stop late done

story what ended with the restart and does not begin again is no news
tree
  app both watch=side:run
    side
boot
expect S app, S side
slow side 1s
restart app
expect t side
stop side hold
after 1s
reply stop side done
expect x side, t app, x app, S app
reply restart app done
view side stopped held=yes
