story 110 a removed actor is stopped and its slot is free
tree
  a
  b
  c
boot
expect S a, S b, S c
slow b 200ms
remove b
expect t b
after 200ms
expect x b, removed b
view b unknown
view a generation=1
view c generation=1

story 110 a removed supervisor takes its subtree along, children first
tree
  s one_for_one
    a
    b
  c
boot
expect S a, S b, S c
remove s
expect t b, x b, removed b, t a, x a, removed a, removed s
view c generation=1

story 110 an added actor is started
tree
  a
boot
expect S a
add /user b
expect S b
view b running

story 110 an added supervisor comes with its children
tree
  a
boot
expect S a
add /user s one_for_one & add s b & add s c
expect S b, S c
view s running

story 110 an update keeps the process
tree
  a shutdown=1s
boot
expect S a
update a shutdown=3s
expect nothing
deaf a
stop a
expect t a
after 2999ms
expect nothing
after 1ms
expect K a, x a
report killed_after_timeout a
reply stop a done

story 110 a bounce restarts and counts nothing
tree
  s one_for_one intensity=0/60s
    a
    b
boot
expect S a, S b
bounce a
expect t a, x a, S a
view s window=0
view a restarts=0
view b generation=1

story C10 a plain stop survives an update, a bounce starts it
tree
  a
boot
expect S a
stop a
expect t a, x a
reply stop a done
update a shutdown=3s
expect nothing
view a stopped
bounce a
expect S a
view a running

story C10 a hold survives a bounce
tree
  a
boot
expect S a
stop a hold
expect t a, x a
reply stop a done
bounce a
expect nothing
view a stopped held=yes

story 50 an update of a supervisor keeps its counts
tree
  s one_for_one intensity=2/60s
    a
boot
expect S a
exit a 1
expect S a
reports
view s window=1
update s shutdown=infinity
view s running window=1

story 113 a moved actor has a new place in the order
tree
  a
  b
  c
boot
expect S a, S b, S c
before c a
expect nothing
shutdown
expect t b, x b, t a, x a, t c, x c, exit 0

story a removal during a backoff ends it
tree
  a backoff=1s/1s
  b
boot
expect S a, S b
exit a 1
reports
remove a
expect removed a
after 1h
expect nothing

story a removal during a restart ends where the last wish said
tree
  a
  b
boot
expect S a, S b
slow a 300ms
restart a
expect t a
remove a
after 300ms
expect x a, removed a
reply restart a superseded

story a stop that waits is answered when its actor is removed
tree
  a
boot
expect S a
slow a 300ms
stop a
expect t a
remove a
after 300ms
expect x a, removed a
reply stop a done

story 110 removed children are stopped in sequence, the last child first
tree
  a
  b
  c
boot
expect S a, S b, S c
slow b 100ms
slow c 200ms
remove c & remove b
expect t c
after 199ms
expect nothing
after 1ms
expect x c, removed c, t b
after 100ms
expect x b, removed b

story a bounce below a supervisor that stops does not keep it up
tree
  s one_for_one
    a
    b
boot
expect S a, S b
slow b 1s
stop s
expect t b
bounce a
after 1s
expect x b, t a, x a
reply stop s done
view s stopped

story a limit may change from a fixed window to a sliding one
tree
  s one_for_one limit=3/60s,fixed
    a
boot
expect S a
exit a 1
report failure a exit:1 restart
expect S a
update s limit=3/60s
exit a 1
report failure a exit:1 restart
expect S a

story the member that a group waits for may be removed
tree
  s one_for_all
    a backoff=1s/1m
    b
    c
boot
expect S a, S b, S c
slow c 1s
exit a 1
report failure a exit:1 restart
expect t c
remove a
expect removed a
after 1s
expect x c, t b, x b
after 1s
expect S b, S c

story a fixed window that becomes a sliding one of nothing is not read as one
tree
  s one_for_one limit=3/60s,fixed
    a
boot
expect S a
exit a 1
report failure a exit:1 restart
expect S a
update s limit=0/60s
view a running window=0

story a group restart leaves nothing behind when its supervisor is stopped in the same turn
tree one_for_all decider=killed->restart,default
  a backoff=1s/1m
hear backoff
boot
expect S a
kill a & stop a & shutdown
count exit 0 1
reply stop a done
report failure a killed restart
report nothing
after 1h
report nothing

story I8 an actor that is to be started while its group stops waits for the group
tree one_for_all
  d disabled
  a
  b shutdown=10s
boot
expect S a, S b
slow b 2s
exit a 1
expect t b
report failure a exit:1 restart
update d enabled
bounce d
expect nothing
after 2s
expect x b, S d, S a, S b

story I8 a group keeps its beginning when a child before it has gone
tree rest_for_one decider=exit:1->stop,default
  x
  a
  b shutdown=10s
  c
  d
boot
expect S x, S a, S b, S c, S d
remove x
expect t x, x x, removed x
slow b 2s
exit a 1
expect t d, x d, t c, x c, t b
report failure a exit:1 stop
before d c
start a
expect nothing
after 2s
expect x b, S a
reply start a done

story I8 a group keeps its beginning when a child is added before it
tree rest_for_one
  d disabled
  a
  b shutdown=10s
boot
expect S a, S b
slow b 2s
exit a 1
expect t b
report failure a exit:1 restart
add /user n disabled
before n d
start d
expect S d
reply start d done
after 2s
expect x b, S a, S b

story I22 a child in its delay waits on when a child that stands behind it now fails
tree rest_for_one
  x
  a backoff=1s/1m
  b
boot
expect S x, S a, S b
exit a 1
expect t b, x b
report failure a exit:1 restart
before x b
exit x 1
report failure x exit:1 restart
expect nothing
after 999ms
expect nothing
after 1ms
expect S a, S x, S b

story an actor that is down and is moved before a group that stops does not wait for the group (rest_for_one)
tree rest_for_one
  a
  b
  c
  d disabled
boot
expect S a, S b, S c
slow c 500ms
exit b 1
report failure b exit:1 restart *
expect t c
before d a
start d
expect S d
reply start d done
after 500ms
expect x c, S b, S c
